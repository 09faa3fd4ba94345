"""The base of emulated LoRa chips: pins, reset, and operations that take time. Pure."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from firmware_bridge.emulation.ether import Ether


class EmulatedChip(ABC):
    """The pins and the time of a chip."""

    START_US: int
    """Time from the end of a reset until the chip answers."""

    def __init__(self, ether: Ether, lines: Sequence[str]) -> None:
        """*lines*: the chip's outputs, all low at first."""
        self.on_line: Callable[[str, bool], None] = lambda _line, _high: None
        """Called when an output changes, with its name and level."""
        self.violations: list[str] = []
        """Accesses that the data sheet forbids, in words."""
        self.hung = False
        """Set by tests: the chip does not answer until it is reset."""
        self._ether = ether
        self._timeline = ether.timeline
        self._held = False
        self._busy_until_us = 0
        self._era = 0
        """Number of mode changes: an operation begun before one does not end after it."""
        self._lines = dict.fromkeys(lines, False)

    @abstractmethod
    def _restart(self) -> None:
        """Return to the state after power-up."""

    @abstractmethod
    def _states(self) -> dict[str, bool]:
        """Return the levels that the outputs should have now."""

    def reset_line(self, high: bool) -> None:
        """Drive NRESET: low stops the chip, and high restarts it."""
        if self._held and high:
            self.hung = False
            self._restart()
            self._busy_until_us = self._timeline.now_us() + self.START_US
        self._held = not high

    def brown_out(self) -> None:
        """Lose all state, as when the supply fails for a moment."""
        self._restart()
        self._update_lines()

    def _later(self, us: int, step: Callable[[], None]) -> None:
        """Run *step* after *us* microseconds, unless the mode changes before."""
        era = self._era

        def happen() -> None:
            if era == self._era and not self.hung:
                step()
                self._update_lines()

        self._timeline.at(self._timeline.now_us() + us, happen)

    def _update_lines(self) -> None:
        for line, high in self._states().items():
            if self._lines[line] != high:
                self._lines[line] = high
                self.on_line(line, high)
