"""The port between a driver and a board: one SPI device and some GPIO lines, real or emulated."""

from typing import Protocol


class Hardware(Protocol):
    """A board whose bus and lines are open; lines have their BCM numbers. Outputs begin as ``idle_levels`` says."""

    @property
    def fd(self) -> int:
        """A file descriptor that becomes readable when the interrupt line rose."""
        ...

    def transfer(self, data: bytes) -> bytes:
        """Send *data*, return as many bytes. The controller's own chip select is low meanwhile. Raises OSError."""
        ...

    def set(self, line: int, high: bool) -> None:
        """Drive an output. Raises OSError."""
        ...

    def get(self, line: int) -> bool:
        """Return whether a line is high. Raises OSError."""
        ...

    def take_edges(self) -> int:
        """Count the rising edges of the interrupt line since the last call; never waits. Raises OSError."""
        ...

    def close(self) -> None:
        """Release bus and lines."""
        ...
