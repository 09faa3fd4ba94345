"""What chips are reached through and what they have in common, as types. Only type checkers and CPython read this."""

from typing import Protocol

from firmware_bridge.chips.modem import Difference, Frame, Modem


class ChipPort(Protocol):
    """The bus and the lines of one chip."""

    def transfer(self, data: bytes) -> bytes:
        """Send *data* with the chip selected; return as many bytes that came back meanwhile."""
        ...

    def busy(self) -> bool:
        """Whether the BUSY line is high; False where there is none."""
        ...

    def reset(self) -> bool:
        """Pull the reset line for as long as the chip asks for and wait until it has started. False: there is none."""
        ...

    def switch(self, path: int) -> None:
        """Put the antenna switch to one of ``modem.PATH_…``."""
        ...

    def sleep_us(self, us: int) -> None:
        """Wait for at least so long."""
        ...


class LoraChip(Protocol):
    """A chip that sends and receives LoRa frames. Each method raises ChipBusyError where there is a BUSY line."""

    @property
    def name(self) -> str:
        """``SX127x`` or ``SX126x``."""
        ...

    def begin(self) -> None:
        """Reset the chip, make sure that it is one, and start its clock. Raises WrongChipError, OscillatorError."""
        ...

    def after_reset(self) -> list[Difference]:
        """Reset the chip and tell which registers then hold something else than they should. Needs a reset line."""
        ...

    def configure(self, modem: Modem, power_dbm: int) -> None:
        """Set everything anew; afterwards in standby. Raises ModemError."""
        ...

    def start_receive(self) -> None:
        """Receive one frame after another until told otherwise."""
        ...

    def start_send(self, frame: bytes) -> None:
        """Send *frame*; EVENT_SENT tells when it has left. The chip is then in standby. Raises ModemError."""
        ...

    def start_cad(self) -> None:
        """Listen for somebody else's chirps for some symbols; EVENT_CAD_DONE tells the end. Then in standby."""
        ...

    def take_events(self) -> int:
        """What happened since the last call, as bits ``modem.EVENT_…``; 0 for nothing."""
        ...

    def read_frame(self, events: int) -> Frame:
        """The frame that EVENT_RECEIVED, one of *events*, told of."""
        ...

    def receiving(self) -> bool:
        """Whether a frame is coming in just now."""
        ...

    def rssi_dbm(self) -> int:
        """Power in the channel now. In receive mode only."""
        ...

    def standby(self) -> None:
        """Do nothing, clock running."""
        ...

    def sleep(self) -> None:
        """Use as little current as can be. ``configure`` wakes it up."""
        ...

    def differences(self) -> list[Difference]:
        """Registers that lost what ``configure`` wrote: a chip that was reset behind our back shows many."""
        ...
