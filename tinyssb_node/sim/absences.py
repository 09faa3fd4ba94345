"""Nodes that are out of touch most of the time, by a schedule: asleep, or on a round from place to place.

Unlike a fault, an absence has no end: the nodes have to agree in spite of it.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from tinyssb_node import limits
from tinyssb_node.errors import SimulationOptionError
from tinyssb_node.sim import limits as sim_limits
from tinyssb_node.sim.values import AtTime, members, us, within
from tinyssb_node.sim.world import World


def _check_cycle(key: str, present_s: float, every_s: float) -> None:
    within("every_s", every_s, 1, sim_limits.LONGEST_S)
    within(key, present_s, 0.001, every_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sleep(AtTime):
    """Nodes that are awake for a while now and then, and asleep otherwise: they neither send nor hear."""

    KIND: ClassVar = "sleep"
    at_s: float = 0.0
    """When they wake first; they are asleep until then."""
    awake_s: float
    """How long they are awake."""
    every_s: float
    """Time from waking to waking."""

    def __post_init__(self) -> None:
        AtTime.__post_init__(self)
        _check_cycle("awake_s", self.awake_s, self.every_s)

    def schedule(self, world: World) -> None:
        """Put it on the schedule."""
        for name in self.named():
            world.sleep(name)
            world.at(us(self.at_s), partial(self._wake, world, name))

    def _wake(self, world: World, name: str) -> None:
        world.wake(name)
        world.later(us(self.awake_s), partial(world.sleep, name))
        world.later(us(self.every_s), partial(self._wake, world, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Visits:
    """A node that visits one place after the other, round and round, and is out of reach of all of them in between."""

    KIND: ClassVar = "visits"
    node: str
    """Which."""
    places: tuple[str, ...]
    """The nodes at each place: ``n3``, or ``n3-n7`` for five of them."""
    at_s: float = 0.0
    """When the first visit begins."""
    stay_s: float
    """How long it is in reach at each visit."""
    every_s: float
    """Time from visit to visit."""

    def __post_init__(self) -> None:
        if len(members("node", (self.node,))) != 1:
            raise SimulationOptionError("node", f"'{self.node}' is more than one node")
        within("places", len(self.places), 1, limits.ETHER_CUTS_MAX)
        if self.node in members("places", self.places):
            raise SimulationOptionError("places", f"{self.node} cannot visit itself")
        within("at_s", self.at_s, 0, sim_limits.LONGEST_S)
        _check_cycle("stay_s", self.stay_s, self.every_s)

    def named(self) -> tuple[str, ...]:
        """Return the nodes it names."""
        return (self.node, *members("places", self.places))

    def schedule(self, world: World) -> None:
        """Put it on the schedule."""
        for place in self.places:
            world.cut((self.node,), members("places", (place,)))
        world.at(us(self.at_s), partial(self._visit, world, 0))

    def _visit(self, world: World, number: int) -> None:
        there = members("places", (self.places[number % len(self.places)],))
        world.uncut((self.node,), there)
        world.later(us(self.stay_s), partial(world.cut, (self.node,), there))
        world.later(us(self.every_s), partial(self._visit, world, number + 1))


Absence = Sleep | Visits
"""All reasons to be out of touch."""
