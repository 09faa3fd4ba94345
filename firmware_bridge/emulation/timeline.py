"""The event queue of an emulated ether. Pure: the time comes from its owner."""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count


class Timeline:
    """Scheduled events, in order of time."""

    def __init__(self, clock_us: Callable[[], int]) -> None:
        self._clock_us = clock_us
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = count()
        self._now_us: int | None = None
        self.on_change: Callable[[], None] = lambda: None
        """Called when an event was added: the next one may be earlier than before."""

    def now_us(self) -> int:
        """Return the time of the current event, or else of the clock."""
        return self._clock_us() if self._now_us is None else self._now_us

    def at(self, time_us: int, happen: Callable[[], None]) -> None:
        """Schedule *happen* at *time_us*, or at once if that is past."""
        heappush(self._heap, (max(time_us, self.now_us()), next(self._numbers), happen))
        self.on_change()

    def next_us(self) -> int | None:
        """Return the time of the next event."""
        return self._heap[0][0] if self._heap else None

    def catch_up(self) -> None:
        """Run the events that are due."""
        if self._now_us is not None:
            return
        until_us = self._clock_us()
        try:
            while self._heap and self._heap[0][0] <= until_us:
                self._now_us, _, happen = heappop(self._heap)
                happen()
        finally:
            self._now_us = None
