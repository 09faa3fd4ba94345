"""What the firmware is given by MicroPython, as types. Only type checkers and CPython read this."""

from typing import Protocol


class PinLike(Protocol):
    """``machine.Pin``: called without an argument it tells the level, with one it sets it."""

    def __call__(self, value: int | None = None, /) -> int | None:
        """Read, or drive to *value*."""
        ...


class PinMaker(Protocol):
    """The class ``machine.Pin``."""

    IN: int
    OUT: int

    def __call__(self, number: int, mode: int = -1, /, *, value: int | None = None) -> PinLike:
        """The pin *number*, as an input or an output that begins with *value*."""
        ...


class SpiLike(Protocol):
    """``machine.SPI``."""

    def write_readinto(self, data: bytes, answer: bytearray, /) -> None:
        """Send *data*, and put into *answer* what comes meanwhile."""
        ...


class SpiMaker(Protocol):
    """The class ``machine.SPI``."""

    def __call__(
        self,
        unit: int,
        /,
        *,
        baudrate: int,
        polarity: int,
        phase: int,
        sck: PinLike,
        mosi: PinLike,
        miso: PinLike,
    ) -> SpiLike:
        """An SPI unit on these pins."""
        ...


class I2cLike(Protocol):
    """``machine.SoftI2C``."""

    def readfrom_mem(self, address: int, register: int, count: int, /) -> bytes:
        """Registers of a chip. Raises OSError if nobody answers."""
        ...

    def writeto_mem(self, address: int, register: int, data: bytes, /) -> None:
        """Write registers of a chip. Raises OSError if nobody answers."""
        ...


class Machine(Protocol):
    """The module ``machine``, as far as wiring needs it."""

    @property
    def Pin(self) -> PinMaker:  # noqa: N802 - MicroPython's name
        """Its class of pins."""
        ...

    @property
    def SPI(self) -> SpiMaker:  # noqa: N802 - MicroPython's name
        """Its class of buses."""
        ...


class Console(Protocol):
    """The cable to the host."""

    def read(self, most: int) -> bytes:
        """Up to *most* bytes that are there; empty: none."""
        ...

    def writable(self) -> bool:
        """Whether the host takes something now."""
        ...

    def write(self, data: bytes) -> None:
        """Send *data* to the host."""
        ...


class Watchdog(Protocol):
    """``machine.WDT``."""

    def feed(self) -> None:
        """We are alive."""
        ...
