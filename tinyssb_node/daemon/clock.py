"""The daemon's two clocks: one that never jumps, and the wall clock, which does."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol
from uuid import uuid4

from tinyssb_node import limits
from tinyssb_node.codec.events import ClockSet
from tinyssb_node.scheduling.budget import BootReference

BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
"""The file in which Linux identifies this boot (random(4))."""


class Clock(Protocol):
    """Two clocks, both in microseconds."""

    def now_us(self) -> int:
        """Return the time since this boot began; it never goes back, and continues while the machine sleeps."""
        ...

    def wall_us(self) -> int:
        """Return the time since 1970-01-01 UTC; as wrong as the machine's clock is."""
        ...


class SystemClock:
    """The machine's clocks."""

    def __init__(self) -> None:
        self._start_ns = boottime_ns()

    def now_us(self) -> int:
        """See Clock."""
        return (boottime_ns() - self._start_ns) // 1000

    def wall_us(self) -> int:
        """See Clock."""
        return time.time_ns() // 1000


def boottime_ns() -> int:
    """Return nanoseconds since the system booted, including time asleep (clock_gettime(2), CLOCK_BOOTTIME).

    A system without that clock has one that may stop while asleep. Airtime is then spent more slowly, never faster.
    """
    return time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def find_boot(
    clock: Clock, *, boot_id: Path = BOOT_ID, boottime_ns: Callable[[], int] = boottime_ns
) -> BootReference:
    """Return which boot of the system this is, and how far into it *clock* showed 0.

    If the system does not say, this run of the program counts as a boot of its own. Time before it then counts as no
    time, which is the safe side.
    """
    try:
        found = boot_id.read_text("ascii").split()
    except (OSError, UnicodeDecodeError):
        found = []
    if len(found) != 1:
        return BootReference(str(uuid4()), 0)
    return BootReference(found[0], boottime_ns() // 1_000 - clock.now_us())


class ClockWatch:
    """Detector of changes of the wall clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._apart_us = clock.wall_us() - clock.now_us()

    def check(self) -> ClockSet | None:
        """Return the step since the last one returned, if it is more than a second; slow drift adds up to a step."""
        apart_us = self._clock.wall_us() - self._clock.now_us()
        step_us = apart_us - self._apart_us
        if abs(step_us) <= limits.CLOCK_STEP_US:
            return None
        self._apart_us = apart_us
        return ClockSet(step_us=step_us)
