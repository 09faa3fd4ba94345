"""What stands between a driver and the world: one SPI device and some GPIO lines, real or emulated."""

from typing import Protocol


class Bus(Protocol):
    """An SPI device, at the level of ``spidev``'s ``xfer2``."""

    def transfer(self, data: bytes) -> bytes:
        """Send *data*, return as many bytes. The controller's own chip select is low meanwhile. Raises OSError."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class Lines(Protocol):
    """GPIO lines by BCM number, at the level of ``gpiod``'s line request."""

    @property
    def fd(self) -> int:
        """Becomes readable when the interrupt line rose."""
        ...

    def set(self, line: int, high: bool) -> None:
        """Drive an output. Raises OSError."""
        ...

    def get(self, line: int) -> bool:
        """Whether a line is high. Raises OSError."""
        ...

    def take_edges(self) -> int:
        """How often the interrupt line rose since the last call; never waits. Raises OSError."""
        ...

    def close(self) -> None:
        """Let go of them."""
        ...


class Hardware(Protocol):
    """A board, opened."""

    @property
    def bus(self) -> Bus:
        """Its chip's bus."""
        ...

    @property
    def lines(self) -> Lines:
        """Its lines. Outputs begin as ``idle_levels`` says."""
        ...

    def close(self) -> None:
        """Let go of all of it."""
        ...
