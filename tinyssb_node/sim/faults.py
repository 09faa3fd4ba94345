"""What goes wrong in a simulation: each fault is a record that puts itself on the world's schedule.

Faults of the channel that strike packets at random (loss, duplicates, flipped bits) are in ``options.Channel``.
"""

import random
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from tinyssb_node.errors import OptionError
from tinyssb_node.sim import limits as sim_limits
from tinyssb_node.sim.values import members, us, within
from tinyssb_node.sim.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Nobody of *left* and nobody of *right* hear each other for a while."""

    KIND: ClassVar = "cut"
    left: tuple[str, ...]
    """One side."""
    right: tuple[str, ...]
    """The other."""
    at_s: float = 0.0
    """When it begins."""
    until_s: float
    """When it ends."""

    def __post_init__(self) -> None:
        both = sorted(set(members("left", self.left)) & set(members("right", self.right)))
        if both:
            raise OptionError("right", f"{', '.join(both)} cannot be on both sides of a cut")
        _check_span(self.at_s, self.until_s)

    def named(self) -> tuple[str, ...]:
        """The nodes it speaks of."""
        return members("left", self.left) + members("right", self.right)

    @property
    def over_us(self) -> int:
        """When the network is whole again."""
        return us(self.until_s)

    def schedule(self, world: World) -> None:
        """Put it on the schedule."""
        left, right = members("left", self.left), members("right", self.right)
        world.at(us(self.at_s), lambda: world.cut(left, right))
        world.at(us(self.until_s), lambda: world.uncut(left, right))


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash:
    """Nodes lose power, and come back with what their stores had committed."""

    KIND: ClassVar = "crash"
    nodes: tuple[str, ...]
    """Which."""
    at_s: float
    """When."""
    down_s: float = 10.0
    """How long they are off."""
    torn: bool = False
    """Whether the power goes between writing and committing what the next packet or user brings: that is lost."""

    def __post_init__(self) -> None:
        members("nodes", self.nodes)
        _check_span(self.at_s, self.at_s + self.down_s)

    def named(self) -> tuple[str, ...]:
        """The nodes it speaks of."""
        return members("nodes", self.nodes)

    @property
    def over_us(self) -> int:
        """When the last of them is back; a torn one waits for something to lose."""
        return us(self.at_s + self.down_s)

    def schedule(self, world: World) -> None:
        """Put it on the schedule."""
        for name in self.named():
            world.at(us(self.at_s), partial(world.crash, name, us(self.down_s), torn=self.torn))


@dataclass(frozen=True, slots=True, kw_only=True)
class BrownOut:
    """Nodes lose power in the middle of the next packet they send: nobody gets it."""

    KIND: ClassVar = "brown_out"
    nodes: tuple[str, ...]
    """Which."""
    at_s: float
    """From when on."""
    down_s: float = 10.0
    """How long they are off."""

    def __post_init__(self) -> None:
        members("nodes", self.nodes)
        _check_span(self.at_s, self.at_s + self.down_s)

    def named(self) -> tuple[str, ...]:
        """The nodes it speaks of."""
        return members("nodes", self.nodes)

    @property
    def over_us(self) -> int:
        """When they are back, if they send at once."""
        return us(self.at_s + self.down_s)

    def schedule(self, world: World) -> None:
        """Put it on the schedule."""
        for name in self.named():
            world.at(us(self.at_s), partial(world.brown_out, name, us(self.down_s)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Hang:
    """Radios hang: nothing goes out and nothing comes in, and what was being sent stays with them until they work."""

    KIND: ClassVar = "hang"
    nodes: tuple[str, ...]
    """Whose."""
    at_s: float
    """When."""
    for_s: float
    """How long."""

    def __post_init__(self) -> None:
        members("nodes", self.nodes)
        _check_span(self.at_s, self.at_s + self.for_s)

    def named(self) -> tuple[str, ...]:
        """The nodes it speaks of."""
        return members("nodes", self.nodes)

    @property
    def over_us(self) -> int:
        """When they work again."""
        return us(self.at_s + self.for_s)

    def schedule(self, world: World) -> None:
        """Put it on the schedule."""
        for name in self.named():
            world.at(us(self.at_s), partial(world.hang, name, us(self.for_s)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Wall clocks jump; what never jumps, the monotonic clock, is all that a node's decisions rest on."""

    KIND: ClassVar = "clock"
    nodes: tuple[str, ...]
    """Whose."""
    at_s: float
    """When."""
    step_s: float | None = None
    """By how much, forward positive; None sets it to 1970."""

    def __post_init__(self) -> None:
        members("nodes", self.nodes)
        _check_span(self.at_s, self.at_s)
        if self.step_s is not None:
            within("step_s", self.step_s, -100 * sim_limits.LONGEST_S, 100 * sim_limits.LONGEST_S)

    def named(self) -> tuple[str, ...]:
        """The nodes it speaks of."""
        return members("nodes", self.nodes)

    @property
    def over_us(self) -> int:
        """A clock that is wrong disturbs nobody."""
        return us(self.at_s)

    def schedule(self, world: World) -> None:
        """Put it on the schedule."""
        step_us = None if self.step_s is None else us(self.step_s)
        for name in self.named():
            world.at(us(self.at_s), partial(world.set_clock, name, step_us))


@dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """Nodes are switched on only later."""

    KIND: ClassVar = "late"
    nodes: tuple[str, ...]
    """Which."""
    at_s: float
    """When."""

    def __post_init__(self) -> None:
        members("nodes", self.nodes)
        _check_span(self.at_s, self.at_s)

    def named(self) -> tuple[str, ...]:
        """The nodes it speaks of."""
        return members("nodes", self.nodes)

    @property
    def over_us(self) -> int:
        """When they are there."""
        return us(self.at_s)

    def schedule(self, world: World) -> None:
        """Put it on the schedule."""
        for name in self.named():
            world.at(0, partial(world.crash, name, us(self.at_s)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Churn:
    """Nodes come and go at random."""

    KIND: ClassVar = "churn"
    nodes: tuple[str, ...]
    """Which."""
    at_s: float = 0.0
    """From when on."""
    until_s: float
    """Until when; all are back then."""
    up_s: float = 600.0
    """How long one stays, on average."""
    down_s: float = 60.0
    """How long one is away, on average."""

    def __post_init__(self) -> None:
        members("nodes", self.nodes)
        _check_span(self.at_s, self.until_s)
        within("up_s", self.up_s, 1, sim_limits.LONGEST_S)
        within("down_s", self.down_s, 1, sim_limits.LONGEST_S)

    def named(self) -> tuple[str, ...]:
        """The nodes it speaks of."""
        return members("nodes", self.nodes)

    @property
    def over_us(self) -> int:
        """When all are back for good."""
        return us(self.until_s)

    def schedule(self, world: World) -> None:
        """Put it on the schedule."""
        for name in self.named():
            for at_us, down_us in self._absences(world.chance(f"churn {name}")):
                world.at(at_us, partial(world.crash, name, down_us))

    def _absences(self, chance: random.Random) -> list[tuple[int, int]]:
        """When one node goes, and for how long."""
        absences = []
        now_us = us(self.at_s) + us(chance.expovariate(1 / self.up_s))
        while now_us < us(self.until_s):
            down_us = min(us(chance.expovariate(1 / self.down_s)), us(self.until_s) - now_us)
            absences.append((now_us, down_us))
            now_us += down_us + 1 + us(chance.expovariate(1 / self.up_s))
        return absences


Fault = Cut | Crash | BrownOut | Hang | Clock | Late | Churn
"""All that can go wrong."""


def _check_span(at_s: float, until_s: float) -> None:
    within("at_s", at_s, 0, sim_limits.LONGEST_S)
    if not at_s <= until_s <= sim_limits.LONGEST_S:
        raise OptionError("until_s", f"it ends at {until_s:g} s, before it begins at {at_s:g} s")
