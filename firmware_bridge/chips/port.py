"""Interfaces below and above the register drivers. Only type checkers and CPython read this."""

from typing import Protocol

from firmware_bridge.chips.modem import Frame, Modem, RegisterMismatch


class ChipPort(Protocol):
    """The bus and the lines of one chip."""

    def transfer(self, data: bytes) -> bytes:
        """Send *data* with the chip selected; return the bytes that came back meanwhile, as many."""
        ...

    def busy(self) -> bool:
        """Return whether the BUSY line is high; False if there is none."""
        ...

    def reset(self) -> bool:
        """Reset the chip by its reset line, and wait until it has started. Returns False if there is no such line."""
        ...

    def switch(self, path: int) -> None:
        """Set the antenna switch to one of ``modem.PATH_…``."""
        ...

    def sleep_us(self, us: int) -> None:
        """Wait for at least *us* microseconds."""
        ...


class LoraChip(Protocol):
    """A register driver of a LoRa chip. Its methods raise ChipBusyError if the chip has a BUSY line that stays high."""

    @property
    def name(self) -> str:
        """The family: ``SX127x`` or ``SX126x``."""
        ...

    def begin(self) -> None:
        """Reset the chip, identify it, and start its clock. Raises WrongChipError, OscillatorError."""
        ...

    def after_reset(self) -> list[RegisterMismatch]:
        """Reset the chip, and return registers with another value than the data sheet says. Needs a reset line."""
        ...

    def configure(self, modem: Modem, power_dbm: int) -> None:
        """Write all settings; then in standby. Raises ModemError."""
        ...

    def start_receive(self) -> None:
        """Receive frames continuously, until another command."""
        ...

    def start_send(self, frame: bytes) -> None:
        """Send *frame*; EVENT_SENT signals its end. Then in standby. Raises ModemError."""
        ...

    def start_cad(self) -> None:
        """Detect channel activity for some symbols; EVENT_CAD_DONE signals the end. Then in standby."""
        ...

    def take_events(self) -> int:
        """Return the events since the last call, as bits ``modem.EVENT_…``; 0 for none."""
        ...

    def read_frame(self, events: int) -> Frame:
        """Read the frame that EVENT_RECEIVED, one of *events*, announced."""
        ...

    def receiving(self) -> bool:
        """Return whether a frame is coming in now."""
        ...

    def rssi_dbm(self) -> int:
        """Return the power in the channel now. In receive mode only."""
        ...

    def standby(self) -> None:
        """Go to standby: idle, with the clock running."""
        ...

    def sleep(self) -> None:
        """Go to sleep, with the least current. ``configure`` wakes the chip."""
        ...

    def differences(self) -> list[RegisterMismatch]:
        """Return registers that lost what ``configure`` wrote. A chip that was reset unnoticed has many."""
        ...
