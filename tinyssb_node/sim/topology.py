"""Topologies: each is a record that gives the nodes positions or links."""

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar

from tinyssb_node import limits
from tinyssb_node.errors import SimulationOptionError
from tinyssb_node.sim import limits as sim_limits
from tinyssb_node.sim.links import Position
from tinyssb_node.sim.values import members, within

Pair = tuple[str, str]
_RSSI_DBM = -80.0
"""The default for links is a good one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A layout of nodes: by position, or by link, in order."""

    positions_m: dict[str, Position] = field(default_factory=dict)
    """Position of each; empty where links are given."""
    links_dbm: dict[Pair, float] = field(default_factory=dict)
    """Received power of each pair that hears each other, whatever their positions; empty where positions determine
    all."""
    losses: dict[Pair, float] = field(default_factory=dict)
    """Probability of loss on those of these links that have one of their own."""
    sketch: dict[str, Position] = field(default_factory=dict)
    """Positions in the drawing for nodes without one, in units of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainTopology:
    """All nodes hear each other well."""

    KIND: ClassVar = "domain"

    def place(self, names: Sequence[str], chance: random.Random) -> Placement:
        """Lay out *names*."""
        del chance
        return _linked(names, ((i, j) for i in range(len(names)) for j in range(i)), _circle(len(names)))


@dataclass(frozen=True, slots=True, kw_only=True)
class LineTopology:
    """Each node hears the one before and the one behind."""

    KIND: ClassVar = "line"

    def place(self, names: Sequence[str], chance: random.Random) -> Placement:
        """Lay out *names*."""
        del chance
        row = [(float(i), 0.0) for i in range(len(names))]
        return _linked(names, ((i, i + 1) for i in range(len(names) - 1)), row)


@dataclass(frozen=True, slots=True, kw_only=True)
class RingTopology:
    """A line whose ends hear each other."""

    KIND: ClassVar = "ring"

    def place(self, names: Sequence[str], chance: random.Random) -> Placement:
        """Lay out *names*."""
        del chance
        return _linked(
            names,
            ((i, (i + 1) % len(names)) for i in range(len(names)) if len(names) > 1),
            _circle(len(names)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GridTopology:
    """Rows and columns; each node hears its up to four neighbours."""

    KIND: ClassVar = "grid"
    columns: int = 0
    """Number of columns; 0 for as near to a square as possible."""

    def __post_init__(self) -> None:
        within("columns", self.columns, 0, 1_000)

    def place(self, names: Sequence[str], chance: random.Random) -> Placement:
        """Lay out *names*."""
        del chance
        columns = self.columns or math.isqrt(len(names) - 1) + 1
        along = [(i, i + 1) for i in range(len(names) - 1) if (i + 1) % columns]
        down = [(i, i + columns) for i in range(len(names) - columns)]
        places = [(float(i % columns), -float(i // columns)) for i in range(len(names))]
        return _linked(names, along + down, places)


@dataclass(frozen=True, slots=True, kw_only=True)
class StarTopology:
    """n0 hears all other nodes, which hear only n0."""

    KIND: ClassVar = "star"

    def place(self, names: Sequence[str], chance: random.Random) -> Placement:
        """Lay out *names*."""
        del chance
        places = [(0.0, 0.0), *_circle(len(names) - 1)]
        return _linked(names, ((0, i) for i in range(1, len(names))), places)


@dataclass(frozen=True, slots=True, kw_only=True)
class IslandsTopology:
    """Groups in which all hear each other; the last of each hears the first of the next."""

    KIND: ClassVar = "islands"
    count: int = 3
    """Number of groups."""
    joined: bool = True
    """True if neighbouring groups are in touch."""

    def __post_init__(self) -> None:
        within("count", self.count, 1, 100)

    def place(self, names: Sequence[str], chance: random.Random) -> Placement:
        """Lay out *names*."""
        del chance
        bounds = [len(names) * number // self.count for number in range(self.count + 1)]
        pairs = [(i, j) for low, high in pairwise(bounds) for i in range(low, high) for j in range(low, i)]
        if self.joined:
            pairs += [(bound - 1, bound) for bound in bounds[1:-1] if 0 < bound < len(names)]
        places = [
            (3.0 * number + east, north)
            for number, (low, high) in enumerate(pairwise(bounds))
            for east, north in _circle(high - low)
        ]
        return _linked(names, pairs, places)


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldTopology:
    """Random positions in a rectangle, so that all nodes are connected without interference."""

    KIND: ClassVar = "field"
    width_m: float = 2_000.0
    """East to west."""
    height_m: float = 2_000.0
    """North to south."""
    reach_m: float
    """Most distance of each node to some node placed before it: so no node is out of reach."""
    apart_m: float = 0.0
    """Least distance to any of them."""
    hops_min: int = 1
    """Fewest hops between the two nodes that are farthest apart."""

    def __post_init__(self) -> None:
        for key in ("width_m", "height_m", "reach_m"):
            within(key, getattr(self, key), 1, 1e6)
        within("apart_m", self.apart_m, 0, self.reach_m)
        within("hops_min", self.hops_min, 1, sim_limits.NODES_MAX)

    def place(self, names: Sequence[str], chance: random.Random) -> Placement:
        """Lay out *names*. Raises SimulationOptionError if there is no room for all."""
        placed: list[Position] = []
        for _ in range(len(names) * 1_000):  # throws per node
            here = (chance.uniform(0, self.width_m), chance.uniform(0, self.height_m))
            nearest_m = min((math.dist(here, there) for there in placed), default=self.reach_m)
            if self.apart_m <= nearest_m <= self.reach_m:
                placed.append(here)
            if len(placed) == len(names):
                return Placement(positions_m=dict(zip(names, placed, strict=True)))
        raise SimulationOptionError(
            "reach_m",
            f"{len(names)} nodes found no places within {self.reach_m:g} m of each other; make it larger",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplicitTopology:
    """Explicit positions or links, or both."""

    KIND: ClassVar = "given"
    positions_m: tuple[tuple[str, float, float], ...] = ()
    """Node, metres east, metres north: all nodes, or none."""
    links: tuple[tuple[str, str, float], ...] = ()
    """Node, node, received power in dBm, whatever their positions."""
    losses: tuple[tuple[str, str, float], ...] = ()
    """Node, node, probability of loss between them instead of the channel's: of links that are in ``links``."""

    def __post_init__(self) -> None:
        if not (self.positions_m or self.links):
            raise SimulationOptionError("links", "a given topology has positions_m or links, or both")
        _check_once("positions_m", [name for name, _, _ in self.positions_m])
        for _, *place_m in self.positions_m:
            for metres in place_m:
                within("positions_m", metres, -1e6, 1e6)
        within("links", len(self.links), 0, limits.ETHER_LINKS_MAX)
        for left, right, rssi_dbm in self.links:
            if left == right:
                raise SimulationOptionError("links", f"a link has two ends, not {left} twice")
            within("links", rssi_dbm, -200, 33)
        linked = [_ends(link) for link in self.links]
        _check_once("links", linked)
        _check_once("losses", [_ends(loss) for loss in self.losses])
        for loss in self.losses:
            within("losses", loss[2], 0, 1)
            if _ends(loss) not in linked:
                raise SimulationOptionError("losses", f"there is no link between {_ends(loss)} in links")
        members("links", self.named())

    def named(self) -> tuple[str, ...]:
        """Return the nodes it names."""
        ends = [end for left, right, _ in self.links for end in (left, right)]
        return tuple(dict.fromkeys([name for name, _, _ in self.positions_m] + ends))

    def place(self, names: Sequence[str], chance: random.Random) -> Placement:
        """Lay out *names*. Raises SimulationOptionError if a place is missing."""
        del chance
        places = {name: (east_m, north_m) for name, east_m, north_m in self.positions_m}
        missing = [name for name in names if places and name not in places]
        if missing:
            raise SimulationOptionError("positions_m", f"no place is given for {', '.join(missing)}")
        losses = {_ends(loss): loss[2] for loss in self.losses}
        return Placement(
            positions_m=places,
            links_dbm={(left, right): rssi_dbm for left, right, rssi_dbm in self.links},
            losses={link[:2]: losses[_ends(link)] for link in self.links if _ends(link) in losses},
            sketch=dict(zip(names, _circle(len(names)), strict=True)),
        )


def _ends(link: tuple[str, str, float]) -> str:
    """Return both ends of a link, in the same order however it is written."""
    return " and ".join(sorted(link[:2]))


Topology = (
    DomainTopology
    | LineTopology
    | RingTopology
    | GridTopology
    | StarTopology
    | IslandsTopology
    | FieldTopology
    | ExplicitTopology
)
"""All ways to lay nodes out."""


def _linked(names: Sequence[str], pairs: Iterable[tuple[int, int]], places: Sequence[Position]) -> Placement:
    return Placement(
        links_dbm={(names[i], names[j]): _RSSI_DBM for i, j in pairs},
        sketch=dict(zip(names, places, strict=True)),
    )


def _circle(count: int) -> list[Position]:
    """So many places, evenly around the middle."""
    turns = [2 * math.pi * number / count for number in range(count)]
    return [(math.cos(turn), math.sin(turn)) for turn in turns]


def _check_once(key: str, names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SimulationOptionError(key, f"{', '.join(twice)} is there twice")
