"""What happens when, on an emulated ether. Pure: the time comes from whoever owns it."""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count


class Timeline:
    """Things to come, in order. Who asks for the time also makes happen what is due by then."""

    def __init__(self, clock_us: Callable[[], int]) -> None:
        self._clock_us = clock_us
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = count()
        self._now_us: int | None = None
        self.on_change: Callable[[], None] = lambda: None
        """Called when something was added: the next thing may be earlier than it was."""

    def now_us(self) -> int:
        """The time: of what is just happening, else the clock's."""
        return self._clock_us() if self._now_us is None else self._now_us

    def at(self, time_us: int, happen: Callable[[], None]) -> None:
        """Let *happen* be called at *time_us*, or at once if that is past."""
        heappush(self._heap, (max(time_us, self.now_us()), next(self._numbers), happen))
        self.on_change()

    def next_us(self) -> int | None:
        """When the next thing happens."""
        return self._heap[0][0] if self._heap else None

    def catch_up(self) -> None:
        """Make happen what is due."""
        if self._now_us is not None:
            return
        until_us = self._clock_us()
        try:
            while self._heap and self._heap[0][0] <= until_us:
                self._now_us, _, happen = heappop(self._heap)
                happen()
        finally:
            self._now_us = None


class VirtualTimeline(Timeline):
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self._virtual_us = 0
        super().__init__(lambda: self._virtual_us)

    def advance(self, us: int) -> None:
        """Let so much time pass, and what belongs in it happen in its turn."""
        until_us = self._virtual_us + us
        while (next_us := self.next_us()) is not None and next_us <= until_us:
            self._virtual_us = max(next_us, self._virtual_us)
            self.catch_up()
        self._virtual_us = until_us
