"""Traffic of a simulation: each kind is a record that puts the entries of some nodes on the schedule."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from hashlib import shake_256
from typing import ClassVar, Protocol

from tinyssb_node import limits
from tinyssb_node.ids import FeedId
from tinyssb_node.sim import limits as sim_limits
from tinyssb_node.sim.values import AtTime, OfNodes, check_span, us, within


class TrafficTarget(Protocol):
    """The interface to the world in which traffic takes place; ``World`` implements it."""

    def chance(self, purpose: str) -> random.Random:
        """Return the stream of chance for *purpose*."""
        ...

    def at(self, at_us: int, do: Callable[[], object]) -> None:
        """Do something at a time to come."""
        ...

    def inject(self, name: str, content: bytes) -> bool:
        """Publish *content* at a node. Return False if it could not."""
        ...

    def follow(self, name: str, feed: FeedId) -> None:
        """Add *feed* to a node's set."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BacklogTraffic(OfNodes):
    """Entries that nodes have published before they are on the air."""

    KIND: ClassVar = "backlog"
    entries: int
    """Entries by each of them."""
    size: int = 40
    """Bytes of content of each: up to 47 fit into the entry."""

    def __post_init__(self) -> None:
        OfNodes.__post_init__(self)
        within("entries", self.entries, 1, 100_000)
        within("size", self.size, 0, limits.CONTENT_PUBLISH_MAX)

    @property
    def over_us(self) -> int:
        """It is there from the beginning."""
        return 0

    @property
    def packets(self) -> int:
        """Entries and chunks that it comes to."""
        return len(self.named()) * self.entries * _packets(self.size)

    def schedule(self, world: TrafficTarget) -> None:
        """Publish, before the first second."""
        for name in self.named():
            for number in range(self.entries):
                world.inject(name, content(name, number, self.size))


@dataclass(frozen=True, slots=True, kw_only=True)
class PostTraffic(AtTime):
    """One entry of each node."""

    KIND: ClassVar = "post"
    size: int = 40
    """Bytes of content: up to 47 fit into the entry."""

    def __post_init__(self) -> None:
        AtTime.__post_init__(self)
        within("size", self.size, 0, limits.CONTENT_PUBLISH_MAX)

    @property
    def packets(self) -> int:
        """Entries and chunks that it comes to, at most."""
        return len(self.named()) * _packets(self.size)

    def schedule(self, world: TrafficTarget) -> None:
        """Put it on the schedule. A node that is off then publishes nothing."""
        for name in self.named():
            unique = content(f"{name} at {self.at_s}", 0, self.size)
            world.at(us(self.at_s), partial(world.inject, name, unique))


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodicPostTraffic(AtTime):
    """Entries of nodes at intervals."""

    KIND: ClassVar = "posts"
    every_s: float
    """Seconds between two entries of a node, on average: from half to one and a half times that."""
    at_s: float = 0.0
    """From when on."""
    until_s: float
    """Until when."""
    size: int = 40
    """Bytes of content of each: up to 47 fit into the entry."""

    def __post_init__(self) -> None:
        AtTime.__post_init__(self)
        check_span(self.at_s, self.until_s)
        least_s = max(0.01, (self.until_s - self.at_s) / 20_000)
        within("every_s", self.every_s, least_s, sim_limits.LONGEST_S)
        within("size", self.size, 0, limits.CONTENT_PUBLISH_MAX)

    @property
    def over_us(self) -> int:
        """The time of the last one."""
        return us(self.until_s)

    @property
    def packets(self) -> int:
        """Entries and chunks that it comes to, at most: no two are nearer than half of ``every_s``."""
        posts = math.ceil(2 * (self.until_s - self.at_s) / self.every_s)
        return len(self.named()) * posts * _packets(self.size)

    def schedule(self, world: TrafficTarget) -> None:
        """Put all of it on the schedule. A node that is off when its time comes publishes nothing."""
        for name in self.named():
            for number, at_us in enumerate(self._times_us(world.chance(f"posts {name} {self.at_s}"))):
                world.at(at_us, partial(world.inject, name, content(name, number, self.size)))

    def _times_us(self, chance: random.Random) -> list[int]:
        """Return the times at which one node publishes."""
        times_us = []
        now_s = self.at_s + chance.random() * self.every_s
        while now_s < self.until_s:
            times_us.append(us(now_s))
            now_s += self.every_s * (0.5 + chance.random())
        return times_us


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedIdTraffic(OfNodes):
    """Feed ids without entries in the sets of nodes."""

    KIND: ClassVar = "ids"
    first: int = 0
    """The first of them: ids are numbered, and the same at all nodes that know them."""
    count: int
    """Number of ids."""

    def __post_init__(self) -> None:
        OfNodes.__post_init__(self)
        within("first", self.first, 0, limits.SET_MAX)
        within("count", self.count, 1, limits.SET_MAX)

    @property
    def over_us(self) -> int:
        """It is there from the beginning."""
        return 0

    @property
    def packets(self) -> int:
        """There are no entries."""
        return 0

    def schedule(self, world: TrafficTarget) -> None:
        """Take them into the sets."""
        for number in range(self.first, self.first + self.count):
            feed = FeedId(world.chance(f"id {number}").randbytes(limits.FEED_ID_SIZE))
            for name in self.named():
                world.follow(name, feed)


Traffic = BacklogTraffic | PostTraffic | PeriodicPostTraffic | FeedIdTraffic
"""All kinds."""


def _packets(size: int) -> int:
    """Return the most entries and chunks that *size* bytes of content take."""
    return 2 + size // (limits.PACKET_SIZE - limits.MESSAGE_ID_SIZE)


def content(name: str, number: int, size: int) -> bytes:
    """Return unique content of *size* bytes, so that no two side chains have chunks in common."""
    return shake_256(f"{number} of {name}".encode()).digest(size)
