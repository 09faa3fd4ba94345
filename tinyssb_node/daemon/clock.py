"""Time as the daemon sees it: one clock that never jumps, and the wall clock, which does."""

import time
from typing import Protocol

from tinyssb_node import limits
from tinyssb_node.events import ClockSet


class Clock(Protocol):
    """Two clocks, both in microseconds."""

    def now_us(self) -> int:
        """Since this boot began; never goes back."""
        ...

    def wall_us(self) -> int:
        """Since 1970-01-01 UTC; as wrong as the machine is."""
        ...


class SystemClock:
    """The machine's clocks."""

    def __init__(self) -> None:
        self._start_ns = time.monotonic_ns()

    def now_us(self) -> int:
        """See Clock."""
        return (time.monotonic_ns() - self._start_ns) // 1000

    def wall_us(self) -> int:
        """See Clock."""
        return time.time_ns() // 1000


class ClockWatch:
    """Notices when the wall clock was set."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._apart_us = clock.wall_us() - clock.now_us()

    def check(self) -> ClockSet | None:
        """The step since the last one reported, if it is more than a second; slow drift adds up to one."""
        apart_us = self._clock.wall_us() - self._clock.now_us()
        step_us = apart_us - self._apart_us
        if abs(step_us) <= limits.CLOCK_STEP_US:
            return None
        self._apart_us = apart_us
        return ClockSet(step_us=step_us)
