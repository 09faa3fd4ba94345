"""Nodes that move: each move is a record that puts itself on the world's schedule."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from tinyssb_node.errors import SimulationOptionError
from tinyssb_node.sim import limits as sim_limits
from tinyssb_node.sim.links import Position
from tinyssb_node.sim.values import members, us, within
from tinyssb_node.sim.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeMove:
    """A straight move of a node to another position, from its present one."""

    node: str
    """Which."""
    at_s: float
    """Its begin."""
    until_s: float
    """Its end."""
    to_m: tuple[float, float]
    """The new position: metres east and north."""

    def __post_init__(self) -> None:
        if len(members("node", (self.node,))) != 1:
            raise SimulationOptionError(
                "node", f"'{self.node}' is more than one node; give each a move of its own"
            )
        within("at_s", self.at_s, 0, sim_limits.LONGEST_S)
        if not self.at_s < self.until_s <= sim_limits.LONGEST_S:
            raise SimulationOptionError(
                "until_s", f"it arrives at {self.until_s:g} s, and sets out at {self.at_s:g} s"
            )
        for metres in self.to_m:
            within("to_m", metres, -1e6, 1e6)

    def named(self) -> tuple[str, ...]:
        """Return the node it names."""
        return (self.node,)

    @property
    def over_us(self) -> int:
        """Its end."""
        return us(self.until_s)

    def schedule(self, world: World) -> None:
        """Put it on the schedule, behind the end of a move before it."""
        world.at(us(self.at_s), lambda: world.later(0, partial(self._set_out, world)))

    def _set_out(self, world: World) -> None:
        here = world.inhabitants[self.node].position_m
        assert here is not None, "options let only nodes move that stand somewhere"
        # 100 m at a car's 20 m/s, a tenth of a decibel at ten kilometres.
        steps = math.ceil((us(self.until_s) - us(self.at_s)) / us(5.0))
        self._plan(world, here, 1, steps)

    def _plan(self, world: World, here: Position, step: int, steps: int) -> None:
        """Go step by step: a long move has many."""

        def go() -> None:
            world.move(self.node, self._between(here, step / steps))
            if step < steps:
                self._plan(world, here, step + 1, steps)

        begin_us, end_us = us(self.at_s), us(self.until_s)
        world.at(begin_us + (end_us - begin_us) * step // steps, go)

    def _between(self, here: Position, share: float) -> Position:
        (east_m, north_m), (to_east_m, to_north_m) = here, self.to_m
        return (east_m + share * (to_east_m - east_m), north_m + share * (to_north_m - north_m))


def check_moves(key: str, moves: Sequence[NodeMove]) -> None:
    """Raise SimulationOptionError if a node would have to be on its way to two places at a time."""
    seen: dict[str, list[NodeMove]] = {}
    for number, move in enumerate(moves):
        for other in seen.setdefault(move.node, []):
            if move.at_s < other.until_s and other.at_s < move.until_s:
                raise SimulationOptionError(
                    f"{key}[{number}].at_s",
                    f"{move.node} is under way from {other.at_s:g} s to {other.until_s:g} s already",
                )
        seen[move.node].append(move)
