"""Neighbours on the air, and the entries they lack, by their WANTs.

These are guesses, and used as such: they decide which node is addressed, and what is sent first. After a wrong guess
the neighbour requests again.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tinyssb_node import limits
from tinyssb_node.codec.packets import GENERATION_SIZE
from tinyssb_node.ids import FeedId
from tinyssb_node.replication.coded_entries import generation_of
from tinyssb_node.replication.want import NOT_WANTED, WantReading

Place = tuple[FeedId, int]
"""A feed and a sequence number."""


@dataclass(frozen=True, slots=True)
class GenerationSum:
    """A sum of the entries of a generation, any that was not sent yet."""

    feed: FeedId
    generation: int


Gift = Place | GenerationSum
"""An entry, or what completes a generation: what a neighbour can be given."""


@dataclass(slots=True, eq=False)
class Neighbour:
    """A node in reach. All nodes without a name are taken for one."""

    speaker: bytes
    """Its name on the air, 2 bytes, or none."""
    signal: float = 1.0
    """Quality of its signal: 1 for good, near 0 for barely readable."""
    rssi_dbm: int | None = None
    """Signal strength of its last WANT, where the face knows it."""
    snr_db: float | None = None
    """Signal to noise ratio of it, likewise."""
    said_us: int = 0
    """Time of its last WANT."""
    credit: int = 0
    """Packets that its last request may still be answered with."""
    coded: bool = False
    """True if its last WANT said that it reads coded entries."""
    offered: int = 0
    """About how many entries it has that we want and lack."""
    proved: bool = False
    """True if it gave something new when it was asked last."""
    passed: bool = False
    """True if it gave nothing when it was asked, and was not heard since."""
    _next: dict[FeedId, int] = field(default_factory=dict)
    _marks: dict[FeedId, OrderedDict[int, int]] = field(default_factory=dict)
    _lacking: dict[FeedId, int] = field(default_factory=dict)
    """How many rows of the generation it is at it still needs, where that is known."""
    _said: dict[FeedId, tuple[int, int]] = field(default_factory=dict)
    """Next number of each feed, and the rows lacking as a negative number, by its last WANT about it."""
    _taking: set[FeedId] = field(default_factory=set)
    """Feeds of which its WANTs show that it takes what it gets."""

    def record_want(self, reading: WantReading, signal: float, now_us: int) -> None:
        """Record a WANT of it, heard with *signal*. It did not hear the first entry it lacks of a feed; of those behind
        that one the WANT says at most how many are lacking."""
        self.said_us = now_us
        self.signal = signal
        self.passed = False
        self.coded = reading.lacking is not None
        lacking = reading.lacking or {}
        for feed in reading.unwanted:
            self._next.pop(feed, None)
            self._marks.pop(feed, None)
            self._lacking.pop(feed, None)
            self._said.pop(feed, None)
            self._taking.discard(feed)
        for feed, seq in reading.wanted:
            self._compare(feed, seq, lacking.get(feed, GENERATION_SIZE))
            self._next[feed] = seq
            if feed in lacking:
                self._lacking[feed] = lacking[feed]
            else:
                self._lacking.pop(feed, None)
            self._forget_marks(feed, seq)

    def record_signal(self, rssi_dbm: int | None, snr_db: float | None) -> None:
        """Record how its last WANT was heard; None where the face does not know that."""
        self.rssi_dbm, self.snr_db = rssi_dbm, snr_db

    def _forget_marks(self, feed: FeedId, seq: int) -> None:
        """Forget what it may have received of a feed from the first entry that it lacks on. A node without a name is a
        deployed one: it dropped all that came behind that entry."""
        marks = self._marks.get(feed)
        if not marks:
            return
        if not self.speaker:
            del self._marks[feed]
            return
        for heard in [each for each in marks if each <= seq]:
            del marks[heard]

    def _compare(self, feed: FeedId, seq: int, lacking: int) -> None:
        said, now = self._said.get(feed), (seq, -lacking)
        self._said[feed] = now
        if said is not None and now > said:
            self._taking.add(feed)
        elif said is not None and now < said:
            self._taking.discard(feed)

    def takes(self, feed: FeedId) -> bool:
        """Return True if its last WANTs show that it takes what it is given of a feed."""
        return feed in self._taking

    def record_delivery(self) -> None:
        """Record that it gave something new when it was asked."""
        self.proved = True

    def record_silence(self) -> None:
        """Record that it gave nothing when it was asked."""
        self.proved, self.passed = False, True

    @property
    def is_known(self) -> bool:
        """True if it gave something, or showed that it takes what it gets."""
        return self.proved or bool(self._taking)

    def grant(self, credit: int) -> None:
        """Allow so many packets in reply to its last request."""
        self.credit = credit

    def spend(self) -> None:
        """Take one of them off."""
        self.credit -= 1

    def heard(self, feed: FeedId, seq: int, now_us: int) -> None:
        """Record an entry that was sent in reach of us: the neighbour may have received it."""
        following = self._next.get(feed)
        if following is None or following > seq:
            return
        marks = self._marks.setdefault(feed, OrderedDict())
        marks[seq] = now_us
        if len(marks) > limits.MARKS_MAX:
            marks.popitem(last=False)

    def heard_sum(self, feed: FeedId, generation: int, last: int, now_us: int) -> None:
        """Record that a sum of entries of a generation, up to entry *last*, was sent in reach of us."""
        rows = self._lacking.get(feed)
        if rows is None or generation_of(self._next[feed]) != generation:
            return
        rows = min(rows, last - self._next[feed] + 1)
        if rows > 1:
            self._lacking[feed] = rows - 1
            return
        del self._lacking[feed]
        for seq in range(self._next[feed], last + 1):
            self.heard(feed, seq, now_us)

    def awaits(self, feed: FeedId, seq: int) -> bool:
        """Return True if it lacks an entry by its WANT, and was not in reach of a node that sent it since."""
        following = self._next.get(feed)
        return following is not None and following <= seq and seq not in self._marks.get(feed, ())

    def has(self, feed: FeedId, seq: int) -> bool:
        """Return True if it has an entry by its WANT."""
        return self._next.get(feed, 0) > seq

    def next_wanted(self, feed: FeedId) -> int:
        """Return the first entry of a feed that it lacks by its WANT; 0 if that is not known."""
        return self._next.get(feed, 0)

    def lacks(self, frontier: Callable[[FeedId], int], since_us: int) -> Sequence[Gift]:
        """Return for each feed the first entry that we have and it lacks, but for those it may have received after
        *since_us*; or the generation of which it lacks some."""
        places: list[Gift] = []
        for feed, seq in self._next.items():
            last = frontier(feed)
            if seq > last:
                continue
            if feed in self._lacking:
                places.append(GenerationSum(feed, generation_of(seq)))
                continue
            marks = self._marks.get(feed)
            first = seq
            while marks is not None and marks.get(first, since_us) > since_us:
                first += 1
            if first <= last:
                places.append((feed, first))
        return places

    def offers_of(self, next_wanted: Callable[[FeedId], int]) -> set[FeedId]:
        """Return the feeds of which it has entries that we want and lack."""
        return set(self._offers(next_wanted))

    def _offers(self, next_wanted: Callable[[FeedId], int]) -> dict[FeedId, int]:
        """Return how many entries it has of each of them."""
        offers = {}
        for feed, seq in self._next.items():
            ours = next_wanted(feed)
            if ours != NOT_WANTED and seq > ours:
                offers[feed] = seq - ours
        return offers

    def record_received(self, feed: FeedId, seq: int) -> None:
        """Record that we stored one entry more."""
        if self.offered and self.has(feed, seq):
            self.offered -= 1

    def count_offers(
        self, next_wanted: Callable[[FeedId], int], lacking: Callable[[FeedId], int] = lambda _feed: 0
    ) -> int:
        """Return how many packets of it we want: entries, or rows of a generation where *lacking* says how many."""
        offers = self._offers(next_wanted)
        self.offered = sum(min(entries, lacking(feed) or entries) for feed, entries in offers.items())
        return self.offered


class Neighbours:
    """All neighbours on one face that sent a WANT. The one silent for longest makes room, of those that never gave
    anything when they were asked, if there are any: names cost nothing to make up."""

    def __init__(self) -> None:
        self._by_name: OrderedDict[bytes, Neighbour] = OrderedDict()

    def all(self) -> list[Neighbour]:
        """Return all that are remembered, those heard last at the end."""
        return [*self._by_name.values()]

    def since(self, since_us: int) -> list[Neighbour]:
        """Return those that sent a WANT after *since_us*."""
        return [each for each in self._by_name.values() if each.said_us > since_us]

    def get_or_add(self, speaker: bytes) -> Neighbour:
        """Return the neighbour of that name, added if need be."""
        neighbour = self._by_name.setdefault(speaker, Neighbour(speaker))
        self._by_name.move_to_end(speaker)
        if len(self._by_name) > limits.NEIGHBOURS_MAX:
            others = (each for each in self._by_name.values() if each is not neighbour)
            unproved = (each.speaker for each in others if not each.proved)
            del self._by_name[next(unproved, next(iter(self._by_name)))]
        return neighbour

    def get(self, speaker: bytes) -> Neighbour | None:
        """Return the neighbour of that name, if there is one."""
        return self._by_name.get(speaker)

    def heard(self, feed: FeedId, seq: int, now_us: int) -> None:
        """Record an entry that we sent or received."""
        for neighbour in self._by_name.values():
            neighbour.heard(feed, seq, now_us)

    def heard_sum(self, feed: FeedId, generation: int, last: int, now_us: int) -> None:
        """Record a sum of entries of a generation, up to entry *last*, that we sent or received."""
        for neighbour in self._by_name.values():
            neighbour.heard_sum(feed, generation, last, now_us)

    def that_have(self, feed: FeedId, seq: int) -> list[Neighbour]:
        """Return the neighbours that have an entry by their WANTs."""
        return [neighbour for neighbour in self._by_name.values() if neighbour.has(feed, seq)]
