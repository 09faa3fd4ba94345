"""When what is due: one time for each thing to do."""

from collections.abc import Hashable, Iterator
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Final

NEVER_US: Final = 2**62
"""Later than any time."""


class LocatorTimers:
    """Times by key. Setting one anew replaces it."""

    def __init__(self) -> None:
        self._due: dict[Hashable, tuple[int, int]] = {}
        """Time and number by key."""
        self._heap: list[tuple[int, int, Hashable]] = []
        """Some are out of date: those that ``_due`` does not have so."""
        self._numbers = count()

    def set(self, key: Hashable, due_us: int) -> None:
        """Let *key* be due then."""
        entry = due_us, next(self._numbers)
        self._due[key] = entry
        heappush(self._heap, (*entry, key))
        if len(self._heap) > 2 * len(self._due) + 16:
            self._heap = [(*kept, key) for key, kept in self._due.items()]
            heapify(self._heap)

    def cancel(self, key: Hashable) -> None:
        """Let it never be due; it need not be set."""
        self._due.pop(key, None)

    def due_us(self, key: Hashable) -> int | None:
        """When it is due."""
        entry = self._due.get(key)
        return None if entry is None else entry[0]

    def next_us(self) -> int:
        """When the first is due; NEVER_US if none is."""
        while self._heap:
            due_us, number, key = self._heap[0]
            if self._due.get(key) == (due_us, number):
                return due_us
            heappop(self._heap)
        return NEVER_US

    def pop(self, now_us: int) -> Iterator[Hashable]:
        """What is due, each once; what is set meanwhile for now or before comes next time."""
        end = next(self._numbers)
        while self.next_us() <= now_us and self._heap[0][1] < end:
            key = heappop(self._heap)[2]
            del self._due[key]
            yield key
