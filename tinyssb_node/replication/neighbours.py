"""Who is in reach on the air, and what they lack, as far as what they said tells.

Guesses, and used as such: they decide who is asked, and what goes first. Whoever is guessed wrong asks again.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tinyssb_node import limits
from tinyssb_node.ids import FeedId
from tinyssb_node.replication.want import NOT_WANTED, WantReading

Place = tuple[FeedId, int]
"""A feed and a sequence number."""


@dataclass(slots=True, eq=False)
class Neighbour:
    """A station in reach. Those without a name are taken for one."""

    speaker: bytes
    """Its name on the air, 2 bytes, or none."""
    signal: float = 1.0
    """How well it is heard: 1 for well, next to 0 for hardly."""
    said_us: int = 0
    """When it last said what it lacks."""
    credit: int = 0
    """Packets that its last request may still bring."""
    offered: int = 0
    """About how many entries it has that we want and lack."""
    _next: dict[FeedId, int] = field(default_factory=dict)
    _marks: dict[FeedId, OrderedDict[int, int]] = field(default_factory=dict)

    def said(self, reading: WantReading, now_us: int) -> None:
        """It said what it lacks. What it lacks first it did not hear; of what is behind that it says nothing."""
        self.said_us = now_us
        for feed in reading.unwanted:
            self._next.pop(feed, None)
            self._marks.pop(feed, None)
        for feed, seq in reading.wanted:
            self._next[feed] = seq
            marks = self._marks.get(feed)
            if marks:
                for heard in [each for each in marks if each <= seq]:
                    del marks[heard]

    def heard(self, feed: FeedId, seq: int, now_us: int) -> None:
        """An entry was sent in reach of us: it may have heard it."""
        following = self._next.get(feed)
        if following is None or following > seq:
            return
        marks = self._marks.setdefault(feed, OrderedDict())
        marks[seq] = now_us
        if len(marks) > limits.MARKS_MAX:
            marks.popitem(last=False)

    def awaits(self, feed: FeedId, seq: int) -> bool:
        """True if it said that it lacks an entry, and was not in reach of anybody who sent it since."""
        following = self._next.get(feed)
        return following is not None and following <= seq and seq not in self._marks.get(feed, ())

    def has(self, feed: FeedId, seq: int) -> bool:
        """True if it said that it has an entry."""
        return self._next.get(feed, 0) > seq

    def lacks(self, frontier: Callable[[FeedId], int], since_us: int) -> Sequence[Place]:
        """Of each feed the first entry that we have and it lacks, but for what it may have heard after *since_us*."""
        places = []
        for feed, seq in self._next.items():
            last = frontier(feed)
            if seq > last:
                continue
            marks = self._marks.get(feed)
            first = seq
            while marks is not None and marks.get(first, since_us) > since_us:
                first += 1
            if first <= last:
                places.append((feed, first))
        return places

    def offers_of(self, next_wanted: Callable[[FeedId], int]) -> set[FeedId]:
        """The feeds of which it has entries that we want and lack."""
        return set(self._offers(next_wanted))

    def _offers(self, next_wanted: Callable[[FeedId], int]) -> dict[FeedId, int]:
        """How many entries it has of each of them."""
        offers = {}
        for feed, seq in self._next.items():
            ours = next_wanted(feed)
            if ours != NOT_WANTED and seq > ours:
                offers[feed] = seq - ours
        return offers

    def we_got(self, feed: FeedId, seq: int) -> None:
        """We have one entry more."""
        if self.offered and self.has(feed, seq):
            self.offered -= 1

    def count_offers(self, next_wanted: Callable[[FeedId], int]) -> int:
        """How many entries it has that we want and lack."""
        self.offered = sum(self._offers(next_wanted).values())
        return self.offered


class Neighbours:
    """Everybody in reach of one face who has said something; the longest silent one makes room."""

    def __init__(self) -> None:
        self._by_name: OrderedDict[bytes, Neighbour] = OrderedDict()

    def __contains__(self, speaker: bytes) -> bool:
        return speaker in self._by_name

    def since(self, since_us: int) -> list[Neighbour]:
        """Those who said what they lack after *since_us*."""
        return [each for each in self._by_name.values() if each.said_us > since_us]

    def speaking(self, speaker: bytes) -> Neighbour:
        """The neighbour of that name, new if need be."""
        neighbour = self._by_name.setdefault(speaker, Neighbour(speaker))
        self._by_name.move_to_end(speaker)
        if len(self._by_name) > limits.NEIGHBOURS_MAX:
            self._by_name.popitem(last=False)
        return neighbour

    def forget(self, neighbour: Neighbour) -> None:
        """It does not answer: until it speaks again it is not there."""
        self._by_name.pop(neighbour.speaker, None)

    def heard(self, feed: FeedId, seq: int, now_us: int) -> None:
        """An entry was sent, by us or by somebody we heard."""
        for neighbour in self._by_name.values():
            neighbour.heard(feed, seq, now_us)

    def any_has(self, feed: FeedId, seq: int) -> bool:
        """True if somebody said that it has an entry."""
        return any(neighbour.has(feed, seq) for neighbour in self._by_name.values())
