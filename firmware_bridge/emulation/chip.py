"""What every emulated LoRa chip is, whatever its registers: a part with pins, a reset, steps that take time. Pure."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from firmware_bridge.emulation.ether import Ether


class EmulatedChip(ABC):
    """A chip's pins and its time."""

    START_US: int
    """From the end of a reset until the chip answers."""

    def __init__(self, ether: Ether, lines: Sequence[str]) -> None:
        """*lines* are its outputs, all low."""
        self.on_line: Callable[[str, bool], None] = lambda _line, _high: None
        """Called when an output changes, with its name."""
        self.violations: list[str] = []
        """What was asked of the chip at a time when it does not do it."""
        self.hung = False
        """Set: it answers nothing any more, until it is reset."""
        self._ether = ether
        self._timeline = ether.timeline
        self._held = False
        self._busy_until_us = 0
        self._era = 0
        """Counts changes of mode: what was begun before one does not happen after it."""
        self._lines = dict.fromkeys(lines, False)

    @abstractmethod
    def _restart(self) -> None:
        """Lose everything."""

    @abstractmethod
    def _states(self) -> dict[str, bool]:
        """How its outputs are to be now."""

    def reset_line(self, high: bool) -> None:
        """NRESET: held low it stops the chip; let go, the chip starts anew."""
        if self._held and high:
            self.hung = False
            self._restart()
            self._busy_until_us = self._timeline.now_us() + self.START_US
        self._held = not high

    def brown_out(self) -> None:
        """Lose everything, as when the supply fails for a moment."""
        self._restart()
        self._update_lines()

    def _later(self, us: int, step: Callable[[], None]) -> None:
        """Do *step* unless the mode is changed before."""
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
