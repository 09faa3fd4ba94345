"""Quotas of disk space for feeds that nobody here asked for (decision 0063).

A feed of a stranger costs its author nothing and us a part of the disk. So each may have so many packets, and all
together so many. A feed that has its share grows no more: what is stored of it stays, and is given to others. Where all
together have theirs, one is *evicted*: all that is stored of it is deleted, and it is not requested again unless
somebody here follows it. Feeds that are ours, or that our user or a group of ours follows, are only counted.
"""

import sys
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from tinyssb_node.ids import FeedId
from tinyssb_node.store.port import FeedUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaLimits:
    """The room for feeds that nobody here asked for, in packets (entries and chunks)."""

    feed_packets: int = sys.maxsize
    """Most packets of each."""
    total_packets: int = sys.maxsize
    """Most packets of all together."""
    closed: bool = False
    """True while nothing of them is taken: what is free of the disk is for what somebody here wants."""


UNLIMITED: Final = QuotaLimits()
"""No quota: for the simulator, where nodes have disks without end."""


class FeedQuota:
    """The room that each feed takes, and which of those that nobody here asked for may have more."""

    def __init__(self, usage: Iterable[FeedUsage], limits: QuotaLimits = UNLIMITED) -> None:
        """Count what a store has."""
        self._limits = limits
        self._packets = {each.feed: each.packets for each in sorted(usage, key=lambda each: each.begun)}
        """By feed, in the order in which they began."""
        self._others: set[FeedId] = set()
        self._evicted: dict[FeedId, None] = {}
        self._leaving: dict[FeedId, None] = {}
        self._total = 0
        self.chosen = 0
        """How often ``choose`` found a feed that had to make room."""
        self.refused: set[FeedId] = set()
        """Feeds of which nothing more is taken now."""

    @property
    def packets(self) -> Mapping[FeedId, int]:
        """The packets stored of each feed that has any, in the order in which they began."""
        return self._packets

    @property
    def others(self) -> AbstractSet[FeedId]:
        """The feeds that nobody here asked for."""
        return self._others

    @property
    def evicted(self) -> Collection[FeedId]:
        """The feeds of which all was deleted, and that nobody followed since, the one evicted first in front."""
        return self._evicted.keys()

    @property
    def others_packets(self) -> int:
        """The packets stored of all of them together."""
        return self._total

    @property
    def limits(self) -> QuotaLimits:
        """The limits in force."""
        return self._limits

    # --- what happens

    def note(self, feed: FeedId, *, asked_for: bool, evicted: bool) -> None:
        """*feed* is known: *asked_for* if it is ours, or somebody here follows it; or it is *evicted*."""
        held = self._packets.get(feed, 0)
        if asked_for == (feed in self._others):
            self._total += -held if asked_for else held
            (self._others.discard if asked_for else self._others.add)(feed)
            if asked_for:
                self._leaving.pop(feed, None)
        if evicted:
            self._evicted.setdefault(feed)
        else:
            self._evicted.pop(feed, None)
        self._judge(feed)

    def forget(self, feed: FeedId) -> None:
        """*feed*, of which nothing is stored, is known no more."""
        self._others.discard(feed)
        self._evicted.pop(feed, None)
        self.refused.discard(feed)

    def added(self, feed: FeedId) -> None:
        """A packet of *feed* was stored."""
        self._packets[feed] = held = self._packets.get(feed, 0) + 1
        if feed in self._others:
            self._total += 1
            if held >= self._limits.feed_packets:
                self.refused.add(feed)

    def removed(self, feed: FeedId, packets: int) -> None:
        """So many *packets* of *feed* were deleted."""
        self._packets[feed] -= packets
        if feed in self._others:
            self._total -= packets
        if not self._packets[feed]:
            del self._packets[feed]
            self._leaving.pop(feed, None)

    def set_limits(self, limits: QuotaLimits) -> Collection[FeedId]:
        """Set other limits. Return the feeds of which more is taken now, or no more."""
        before, self._limits = set(self.refused), limits
        for feed in self._others:
            self._judge(feed)
        return before ^ self.refused

    def _judge(self, feed: FeedId) -> None:
        other = feed in self._others
        full = other and self._packets.get(feed, 0) >= self._limits.feed_packets
        refused = feed in self._evicted or feed in self._leaving or full or (other and self._limits.closed)
        (self.refused.add if refused else self.refused.discard)(feed)

    # --- eviction

    def evict(self, feed: FeedId) -> int:
        """Let all that is stored of *feed*, which nobody here asked for, be deleted. Return how many packets it is."""
        packets = self._packets.get(feed, 0)
        if packets:
            assert feed in self._others, "what somebody here wants is kept"
            self._leaving[feed] = None
            self.refused.add(feed)
        return packets

    def stay(self, feed: FeedId) -> None:
        """Delete no more of *feed*."""
        self._leaving.pop(feed, None)
        self._judge(feed)

    @property
    def is_due(self) -> bool:
        """True if something is to be deleted now."""
        return bool(self._leaving or self._total > self._limits.total_packets)

    def choose(self) -> tuple[FeedId, int] | None:
        """Return a feed that is to be evicted, and how many packets of it or more are to be deleted at once to stay
        within the limits. None: there is room for all.

        The largest of the young ones goes, the younger ones being those that began last and take half of the room
        together. So feeds that have long been here are safe from new ones, and of new ones a flood goes before a feed
        of a few entries.
        """
        if not self._leaving and self.is_due:
            young: list[FeedId] = []
            packets = 0
            for feed in reversed(self._packets):
                if feed in self._others and 2 * packets < self._total:
                    young.append(feed)
                    packets += self._packets[feed]
            self.chosen += 1
            self.evict(max(young, key=self._packets.__getitem__))
        if not self._leaving:
            return None
        return next(iter(self._leaving)), max(0, self._total - self._limits.total_packets)
