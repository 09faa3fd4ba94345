"""An event loop in which nobody waits: where it would sleep until a timer, its clock jumps there instead.

Emulated radios live by the loop's clock alone. With this loop a test of them takes no longer than its code does, and a
busy machine changes nothing.
"""

import asyncio
import selectors


class _SkippingSelector(selectors.DefaultSelector):
    """A selector that never sleeps until a timeout; it counts the time it skipped."""

    skipped_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready. Without timers (*timeout* is None) only another thread can wake the loop."""
        ready = super().select(None if timeout is None else 0)
        if not ready and timeout is not None:
            self.skipped_s += max(timeout, 0.0)
        return ready


class SkippingLoop(asyncio.SelectorEventLoop):
    """A loop on a selector that skips waits."""

    def __init__(self) -> None:
        self._skipping = _SkippingSelector()
        super().__init__(self._skipping)

    def time(self) -> float:
        """The loop's own time; it stands still while code runs."""
        return self._skipping.skipped_s

    def skip(self, seconds: float) -> None:
        """Let time pass for code that blocks; stands for `time.sleep`."""
        self._skipping.skipped_s += seconds
