"""Interfaces of MicroPython's machine and of the cable. Only type checkers and CPython read this."""

from typing import Protocol


class PinLike(Protocol):
    """``machine.Pin``: a call without an argument reads the level, with one sets it."""

    def __call__(self, value: int | None = None, /) -> int | None:
        """Read the level, or drive it to *value*."""
        ...


class PinMaker(Protocol):
    """The class ``machine.Pin``."""

    IN: int
    OUT: int

    def __call__(self, number: int, mode: int = -1, /, *, value: int | None = None) -> PinLike:
        """Make the pin *number* an input, or an output with the first level *value*."""
        ...


class SpiLike(Protocol):
    """``machine.SPI``."""

    def write_readinto(self, data: bytes, answer: bytearray, /) -> None:
        """Send *data*, and store the bytes received meanwhile in *answer*."""
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
        """Open an SPI unit on these pins."""
        ...


class I2cLike(Protocol):
    """``machine.SoftI2C``."""

    def readfrom_mem(self, address: int, register: int, count: int, /) -> bytes:
        """Read registers of a chip. Raises OSError if it does not answer."""
        ...

    def writeto_mem(self, address: int, register: int, data: bytes, /) -> None:
        """Write registers of a chip. Raises OSError if it does not answer."""
        ...


class Machine(Protocol):
    """The part of the module ``machine`` that wiring needs."""

    @property
    def Pin(self) -> PinMaker:  # noqa: N802 - MicroPython's name
        """The class of pins."""
        ...

    @property
    def SPI(self) -> SpiMaker:  # noqa: N802 - MicroPython's name
        """The class of buses."""
        ...


class Console(Protocol):
    """The cable to the host."""

    def read(self, most: int) -> bytes:
        """Read up to *most* bytes, without waiting; empty: there are none."""
        ...

    def writable(self) -> bool:
        """Return whether the host accepts bytes now."""
        ...

    def write(self, data: bytes) -> None:
        """Send *data* to the host."""
        ...


class Watchdog(Protocol):
    """``machine.WDT``."""

    def feed(self) -> None:
        """Restart the watchdog's timer."""
        ...
