"""Helpers and base classes of option records."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tinyssb_node.errors import SimulationOptionError
from tinyssb_node.sim import limits as sim_limits

SECOND_US = 1_000_000
_MEMBER = re.compile(r"n(0|[1-9][0-9]{0,3})(?:-n(0|[1-9][0-9]{0,3}))?")


def within(key: str, value: float, low: float, high: float) -> None:
    """Raise SimulationOptionError unless *low* <= *value* <= *high*."""
    if not low <= value <= high:
        raise SimulationOptionError(key, f"{value:g} is not possible; it takes {low:g} to {high:g}")


def us(seconds: float) -> int:
    """Convert seconds to whole microseconds."""
    return round(seconds * SECOND_US)


def members(key: str, texts: Iterable[str]) -> tuple[str, ...]:
    """Return the nodes that *texts* name, each once: ``n3``, or ``n3-n7`` for five of them. Raises
    SimulationOptionError."""
    names: dict[str, None] = {}
    for text in texts:
        match = _MEMBER.fullmatch(text)
        if match is None:
            raise SimulationOptionError(
                key, f"'{text}' names no node; they are n0, n1 and so on, or n3-n7 for a range"
            )
        first = int(match[1])
        last = int(match[2] or match[1])
        if not first <= last < sim_limits.NODES_MAX:
            raise SimulationOptionError(key, f"'{text}' is no range of nodes")
        names.update(dict.fromkeys(f"n{number}" for number in range(first, last + 1)))
    return tuple(names)


def check_span(at_s: float, until_s: float, key: str = "until_s") -> None:
    """Raise SimulationOptionError unless something may last from *at_s* until *until_s*, whose key is *key*."""
    within("at_s", at_s, 0, sim_limits.LONGEST_S)
    if not at_s <= until_s:
        raise SimulationOptionError(key, f"it ends at {until_s:g} s, before it begins at {at_s:g} s")
    if until_s > sim_limits.LONGEST_S:
        raise SimulationOptionError(
            key, f"it ends at {until_s:g} s; the latest possible is {sim_limits.LONGEST_S:g} s"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OfNodes:
    """An option that concerns some of the nodes."""

    nodes: tuple[str, ...]
    """Which: ``n3``, or ``n3-n7`` for five of them."""

    def __post_init__(self) -> None:
        members("nodes", self.nodes)

    def named(self) -> tuple[str, ...]:
        """Return the nodes it names."""
        return members("nodes", self.nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class AtTime(OfNodes):
    """An option that begins at a time, and is over at once unless it says otherwise."""

    at_s: float
    """Its begin."""

    def __post_init__(self) -> None:
        OfNodes.__post_init__(self)
        within("at_s", self.at_s, 0, sim_limits.LONGEST_S)

    @property
    def over_us(self) -> int:
        """The time when it is over."""
        return us(self.at_s)
