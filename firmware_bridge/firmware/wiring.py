"""Pin maps of microcontroller boards, and the port to a chip by MicroPython's ``machine``. Runs in MicroPython."""

from firmware_bridge.chips.modem import PATH_RECEIVE, PATH_SEND, RESET_LOW_US, RESET_WAIT_US
from firmware_bridge.firmware import limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from firmware_bridge.chips.port import LoraChip
    from firmware_bridge.firmware.port import Machine, PinLike


class Board:
    """The pin map of one board, in GPIO numbers; None if a line is missing. Sources: the modules in ``boards``."""

    def __init__(
        self,
        *,
        name: str,
        chip: "Callable[..., LoraChip]",
        power_max_dbm: int,
        spi: int,
        sck: int,
        mosi: int,
        miso: int,
        cs: int,
        irq: int,
        reset: "int | None" = None,
        busy: "int | None" = None,
        tx_enable: "int | None" = None,
        rx_enable: "int | None" = None,
        enable: "tuple[int, ...]" = (),
        power_bus: "tuple[int, int] | None" = None,
        options: "dict[str, object] | None" = None,
    ) -> None:
        self.name = name
        """The board's name, for people."""
        self.chip = chip
        """Makes the chip's driver from its port and *options*."""
        self.power_max_dbm = power_max_dbm
        """The chip's greatest power on this board."""
        self.spi = spi
        """The controller's SPI unit."""
        self.sck, self.mosi, self.miso = sck, mosi, miso
        """The bus."""
        self.cs = cs
        """Chip select, low during transfers."""
        self.irq = irq
        """DIO0 of a SX127x, DIO1 of a SX126x."""
        self.reset = reset
        """Reset, active low."""
        self.busy = busy
        """BUSY of a SX126x."""
        self.tx_enable = tx_enable
        """High while sending."""
        self.rx_enable = rx_enable
        """High while receiving."""
        self.enable = enable
        """High all the time: supplies and antenna switches."""
        self.power_bus = power_bus
        """SCL and SDA of a power supply chip that has to switch the radio on (``power``)."""
        self.options = options or {}
        """Further arguments of the chip's driver."""


class MachineChipPort:
    """The lines of a board. Implements ``chips.port.ChipPort``."""

    def __init__(self, board: Board, machine: "Machine", sleep_us: "Callable[[int], None]") -> None:
        """Open the lines, with nothing selected and no reset."""
        pin = machine.Pin
        self._sleep_us = sleep_us
        for number in board.enable:
            pin(number, pin.OUT, value=1)
        self._cs = pin(board.cs, pin.OUT, value=1)
        self._irq = pin(board.irq, pin.IN)
        self._reset = None if board.reset is None else pin(board.reset, pin.OUT, value=1)
        self._busy = None if board.busy is None else pin(board.busy, pin.IN)
        self._tx_enable = None if board.tx_enable is None else pin(board.tx_enable, pin.OUT, value=0)
        self._rx_enable = None if board.rx_enable is None else pin(board.rx_enable, pin.OUT, value=0)
        self._spi = machine.SPI(
            board.spi,
            baudrate=limits.SPI_HZ,
            polarity=0,
            phase=0,
            sck=pin(board.sck),
            mosi=pin(board.mosi),
            miso=pin(board.miso),
        )

    def transfer(self, data: bytes) -> bytes:
        """See ChipPort."""
        answer = bytearray(len(data))
        self._cs(0)
        self._spi.write_readinto(data, answer)
        self._cs(1)
        return bytes(answer)

    def busy(self) -> bool:
        """See ChipPort."""
        return self._busy is not None and bool(self._busy())

    def interrupted(self) -> bool:
        """Return whether the interrupt line is high."""
        return bool(self._irq())

    def reset(self) -> bool:
        """See ChipPort."""
        if self._reset is None:
            return False
        self._reset(0)
        self._sleep_us(RESET_LOW_US)
        self._reset(1)
        self._sleep_us(RESET_WAIT_US)
        return True

    def switch(self, path: int) -> None:
        """See ChipPort. Sets the low line first: both high at once short-circuit the antenna switch."""
        if path == PATH_SEND:
            self._turn(self._rx_enable, False)
        self._turn(self._tx_enable, path == PATH_SEND)
        self._turn(self._rx_enable, path == PATH_RECEIVE)

    def _turn(self, pin: "PinLike | None", high: bool) -> None:
        if pin is not None:
            pin(1 if high else 0)

    def sleep_us(self, us: int) -> None:
        """See ChipPort."""
        self._sleep_us(us)
