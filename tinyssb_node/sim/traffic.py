"""What is published in a simulation, by whom and when: each kind is a record that puts itself on the schedule."""

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
    """Where traffic takes place; ``World`` is one."""

    def chance(self, purpose: str) -> random.Random:
        """The stream of chance for *purpose*."""
        ...

    def at(self, at_us: int, do: Callable[[], object]) -> None:
        """Do something at a time to come."""
        ...

    def publish(self, name: str, content: bytes) -> bool:
        """A node publishes *content*. False if it could not."""
        ...

    def follow(self, name: str, feed: FeedId) -> None:
        """A node takes *feed* into its set."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BacklogTraffic(OfNodes):
    """What nodes have published before they are on the air."""

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
                world.publish(name, content(name, number, self.size))


@dataclass(frozen=True, slots=True, kw_only=True)
class PostTraffic(AtTime):
    """Nodes publish one entry each."""

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
            world.at(us(self.at_s), partial(world.publish, name, unique))


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodicPostTraffic(AtTime):
    """Nodes publish every so often."""

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
        least_s = max(0.01, (self.until_s - self.at_s) / sim_limits.POSTS_MAX)
        within("every_s", self.every_s, least_s, sim_limits.LONGEST_S)
        within("size", self.size, 0, limits.CONTENT_PUBLISH_MAX)

    @property
    def over_us(self) -> int:
        """When the last was published."""
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
                world.at(at_us, partial(world.publish, name, content(name, number, self.size)))

    def _times_us(self, chance: random.Random) -> list[int]:
        """When one node publishes."""
        times_us = []
        now_s = self.at_s + chance.random() * self.every_s
        while now_s < self.until_s:
            times_us.append(us(now_s))
            now_s += self.every_s * (0.5 + chance.random())
        return times_us


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedIdTraffic(OfNodes):
    """Nodes know feed ids of which there is no entry."""

    KIND: ClassVar = "ids"
    first: int = 0
    """The first of them: ids are numbered, and the same for all who know them."""
    count: int
    """How many."""

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
    """Entries and chunks, at most, of *size* bytes of content."""
    return 2 + size // (limits.PACKET_SIZE - limits.MESSAGE_ID_SIZE)


def content(name: str, number: int, size: int) -> bytes:
    """Something to publish: *size* bytes like nobody else's, so that no two side chains have chunks in common."""
    return shake_256(f"{number} of {name}".encode()).digest(size)
