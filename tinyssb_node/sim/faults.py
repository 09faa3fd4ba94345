"""Faults in a simulation: each is a record that puts itself on the world's schedule.

Faults of the channel that strike packets at random (loss, duplicates, flipped bits) are in ``options.ChannelOptions``.
"""

import random
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from tinyssb_node.errors import SimulationOptionError
from tinyssb_node.sim import limits as sim_limits
from tinyssb_node.sim.values import AtTime, check_span, members, us, within
from tinyssb_node.sim.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A time in which no node of *left* and no node of *right* hear each other."""

    KIND: ClassVar = "cut"
    left: tuple[str, ...]
    """One side."""
    right: tuple[str, ...]
    """The other."""
    at_s: float = 0.0
    """Its begin."""
    until_s: float
    """Its end."""

    def __post_init__(self) -> None:
        both = sorted(set(members("left", self.left)) & set(members("right", self.right)))
        if both:
            raise SimulationOptionError("right", f"{', '.join(both)} cannot be on both sides of a cut")
        check_span(self.at_s, self.until_s)

    def named(self) -> tuple[str, ...]:
        """Return the nodes it names."""
        return members("left", self.left) + members("right", self.right)

    @property
    def over_us(self) -> int:
        """The time when the network is whole again."""
        return us(self.until_s)

    def schedule(self, world: World) -> None:
        """Put it on the schedule."""
        left, right = members("left", self.left), members("right", self.right)
        world.at(us(self.at_s), lambda: world.cut(left, right))
        world.at(us(self.until_s), lambda: world.uncut(left, right))


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerLoss(AtTime):
    """A time in which nodes are off."""

    down_s: float = 10.0
    """Its duration."""

    def __post_init__(self) -> None:
        AtTime.__post_init__(self)
        check_span(self.at_s, self.at_s + self.down_s, "down_s")

    @property
    def over_us(self) -> int:
        """The time when they are back, unless the loss has to wait for something to strike."""
        return us(self.at_s + self.down_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCrash(PowerLoss):
    """A loss of power, after which nodes come back with what their stores had committed."""

    KIND: ClassVar = "crash"
    torn: bool = False
    """True if the power goes between writing and committing what the next packet or user brings: that is lost, and the
    node waits for something to lose."""

    def schedule(self, world: World) -> None:
        """Put it on the schedule."""
        for name in self.named():
            world.at(us(self.at_s), partial(world.crash, name, us(self.down_s), torn=self.torn))


@dataclass(frozen=True, slots=True, kw_only=True)
class BrownOut(PowerLoss):
    """A loss of power in the middle of the next packet that nodes send: no node receives it."""

    KIND: ClassVar = "brown_out"

    def schedule(self, world: World) -> None:
        """Put it on the schedule."""
        for name in self.named():
            world.at(us(self.at_s), partial(world.brown_out, name, us(self.down_s)))


@dataclass(frozen=True, slots=True, kw_only=True)
class LyingDisk(AtTime):
    """Disks that report writes which are only in a cache; then power is lost, and the cache with it.

    They do write when a node publishes, all that the cache holds. A node that lost the end of its own feed would fork
    it, which its owner must prevent: it cannot be detected from that disk alone.
    """

    KIND: ClassVar = "lying_disk"
    until_s: float
    """The time when power is lost; from then on the disks are honest."""
    down_s: float = 10.0
    """Time for which the nodes are off."""

    def __post_init__(self) -> None:
        AtTime.__post_init__(self)
        check_span(self.at_s, self.until_s)
        check_span(self.until_s, self.until_s + self.down_s, "down_s")

    @property
    def over_us(self) -> int:
        """The time when they are back."""
        return us(self.until_s + self.down_s)

    def schedule(self, world: World) -> None:
        """Put it on the schedule."""
        for name in self.named():
            world.at(us(self.at_s), partial(world.lie, name))
            world.at(us(self.until_s), partial(world.lie_no_more, name, us(self.down_s)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RadioHang(AtTime):
    """A time in which radios neither send nor receive; what was being sent waits in them until they work."""

    KIND: ClassVar = "hang"
    for_s: float
    """Its duration."""

    def __post_init__(self) -> None:
        AtTime.__post_init__(self)
        check_span(self.at_s, self.at_s + self.for_s, "for_s")

    @property
    def over_us(self) -> int:
        """The time when they work again."""
        return us(self.at_s + self.for_s)

    def schedule(self, world: World) -> None:
        """Put it on the schedule."""
        for name in self.named():
            world.at(us(self.at_s), partial(world.hang, name, us(self.for_s)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockJump(AtTime):
    """A jump of wall clocks; a node's decisions use the monotonic clock only, which never jumps."""

    KIND: ClassVar = "clock"
    step_s: float | None = None
    """By how much, forward positive; None sets it to 1970."""

    def __post_init__(self) -> None:
        AtTime.__post_init__(self)
        if self.step_s is not None:
            within("step_s", self.step_s, -100 * sim_limits.LONGEST_S, 100 * sim_limits.LONGEST_S)

    def schedule(self, world: World) -> None:
        """Put it on the schedule."""
        step_us = None if self.step_s is None else us(self.step_s)
        for name in self.named():
            world.at(us(self.at_s), partial(world.set_clock, name, step_us))


@dataclass(frozen=True, slots=True, kw_only=True)
class LateStart(AtTime):
    """Nodes that are switched on late."""

    KIND: ClassVar = "late"

    def schedule(self, world: World) -> None:
        """Put it on the schedule."""
        for name in self.named():
            world.at(0, partial(world.crash, name, us(self.at_s)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Churn(AtTime):
    """Nodes that come and go at random."""

    KIND: ClassVar = "churn"
    at_s: float = 0.0
    """From when on."""
    until_s: float
    """Until when; all are back then."""
    up_s: float = 600.0
    """Average time that one stays."""
    down_s: float = 60.0
    """Average time that one is away."""

    def __post_init__(self) -> None:
        AtTime.__post_init__(self)
        check_span(self.at_s, self.until_s)
        within("up_s", self.up_s, 1, sim_limits.LONGEST_S)
        within("down_s", self.down_s, 1, sim_limits.LONGEST_S)

    @property
    def over_us(self) -> int:
        """The time when all are back for good."""
        return us(self.until_s)

    def schedule(self, world: World) -> None:
        """Put it on the schedule: each absence when the one before begins, as there may be many."""
        for name in self.named():
            self._plan(world, name, world.chance(f"churn {name}"), us(self.at_s))

    def _plan(self, world: World, name: str, chance: random.Random, from_us: int) -> None:
        """Schedule the absences of a node that is there from *from_us* on."""
        gone_us = from_us + us(chance.expovariate(1 / self.up_s))
        if gone_us >= us(self.until_s):
            return
        down_us = min(us(chance.expovariate(1 / self.down_s)), us(self.until_s) - gone_us)

        def leave() -> None:
            world.crash(name, down_us)
            self._plan(world, name, chance, gone_us + down_us + 1)

        world.at(gone_us, leave)


Fault = Partition | NodeCrash | BrownOut | LyingDisk | RadioHang | ClockJump | LateStart | Churn
"""All that can go wrong."""
