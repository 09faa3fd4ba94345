"""Memories of bounded size that suppress what was just given or heard on a face."""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from operator import attrgetter
from typing import Generic, TypeVar

from tinyssb_node import limits

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(slots=True)
class _Range:
    first: int
    last: int
    began_us: int
    at_us: int


class RecentReplies(Generic[K]):
    """Numbers of each chain that were just given on a face.

    A chain is a feed (numbers are sequence numbers) or a side chain (numbers of chunks). "Given" is by us or by a peer
    that was heard. It stores ranges, not the highest number: a peer that lacks entries far behind the newest must not
    wait for as long as there are new ones. Bounded: the longest untouched chain is forgotten first, and of each chain
    the oldest range.
    """

    def __init__(self, *, hold_us: int, most: int) -> None:
        self._hold_us = hold_us
        self._most = most
        self._ranges: OrderedDict[K, list[_Range]] = OrderedDict()

    def give(self, chain: K, first: int, last: int, now_us: int) -> None:
        """Record that numbers *first* to *last* of *chain* are given now."""
        ranges = self._ranges.setdefault(chain, [])
        self._ranges.move_to_end(chain)
        if ranges and self._grow(ranges[-1], first, last, now_us):
            return
        ranges.append(_Range(first, last, now_us, now_us))
        del ranges[: -limits.GIVEN_RANGES_MAX]
        if len(self._ranges) > self._most:
            self._ranges.popitem(last=False)

    def _grow(self, newest: _Range, first: int, last: int, now_us: int) -> bool:
        """Continue *newest* if possible. Not for longer than a hold: its beginning must get old in time."""
        if not newest.first <= first <= newest.last + 1 or now_us - newest.began_us >= self._hold_us:
            return False
        newest.last = max(newest.last, last)
        newest.at_us = now_us
        return True

    def first_to_give(self, chain: K, asked: int, now_us: int) -> int:
        """Return where a reply to "from *asked* on" should begin: behind what was given a moment ago."""
        ranges = self._ranges.get(chain)
        if ranges is None:
            return asked
        for given in sorted(ranges, key=attrgetter("first")):
            if now_us - given.at_us < self._hold_us and given.first <= asked:
                asked = max(asked, given.last + 1)
        return asked


class LatestByKey(Generic[K, V]):
    """The latest value of each of a bounded number of keys; the longest unset is forgotten first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: dict[K, V] = {}

    def __getitem__(self, key: K) -> V | None:
        return self._values.get(key)

    def __setitem__(self, key: K, value: V) -> None:
        self._values.pop(key, None)
        self._values[key] = value
        if len(self._values) > self._most:
            del self._values[next(iter(self._values))]


class RecentSet(Generic[K]):
    """A bounded set of things seen, with the time each was last seen."""

    def __init__(self, most: int) -> None:
        self._seen: LatestByKey[K, int] = LatestByKey(most)

    def add(self, key: K, now_us: int) -> None:
        """Remember *key* as seen now."""
        self._seen[key] = now_us

    def within(self, key: K, span_us: int, now_us: int) -> bool:
        """Return True if *key* was seen in the last *span_us*."""
        at_us = self._seen[key]
        return at_us is not None and now_us - at_us < span_us
