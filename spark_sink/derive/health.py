"""Health of the mesh in one sentence."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

_NAMED_MAX: Final = 3
"""Nodes that are named; more are counted."""
Level = Literal["good", "warning", "alarm", "unknown"]


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures from which the sentence is made."""

    nodes: int
    """Nodes whose logs are known."""
    entries: int
    """Entries that any node has."""
    behind: Sequence[tuple[str, int]] = ()
    """Names of nodes that lack some of them, and how many, in any order."""
    isolated: Sequence[str] = ()
    """Names of nodes that are out of contact with all others."""
    silent: Sequence[str] = ()
    """Names of nodes whose log ended without a stop."""
    split_since_us: int | None = None
    """Time since which the mesh is split, in mesh time; None if it is not."""
    alarms: int = 0
    """Alerts of the level `alarm` that go on."""
    warnings: int = 0
    """Open alerts of the level `warning`, without those of rules that are reported above."""


@dataclass(frozen=True, slots=True)
class Health:
    """The overview's first line."""

    level: Level
    sentence: str


def health(figures: Figures, clock: Callable[[int], str]) -> Health:
    """Describe the mesh; *clock* formats a time in microseconds for people, such as 14:02."""
    if not figures.nodes:
        return Health("unknown", "No node's log has been read yet.")
    parts = [_having(figures)]
    if figures.split_since_us is not None:
        parts.append(f"the mesh is split since {clock(figures.split_since_us)}")
    if figures.isolated:
        verb = "is" if len(figures.isolated) == 1 else "are"
        parts.append(f"{_list(figures.isolated)} {verb} out of contact with all others")
    if figures.silent:
        parts.append(f"the log of {_list(figures.silent)} ended without a stop")
    if figures.alarms:
        parts.append(_count(figures.alarms, "alarm is open", "alarms are open"))
    elif figures.warnings:
        parts.append(_count(figures.warnings, "warning is open", "warnings are open"))
    troubled = figures.split_since_us is not None or figures.isolated or figures.silent or figures.warnings
    level: Level = "alarm" if figures.alarms else "warning" if troubled or figures.behind else "good"
    return Health(level, "; ".join(parts) + ".")


def _having(figures: Figures) -> str:
    """Describe which nodes have all entries."""
    if not figures.entries:
        return f"{_count(figures.nodes, 'node', 'nodes')}, and nothing published yet"
    if not figures.behind:
        which = {1: "The only node has", 2: "Both nodes have"}.get(
            figures.nodes, f"All {figures.nodes:,} nodes have"
        )
        return f"{which} everything"
    missing = sum(entries for _, entries in figures.behind)
    copies = _count(missing, "copy of a message is missing", "copies of messages are missing")
    names = [name for name, _ in figures.behind]
    if len(names) > _NAMED_MAX:
        all_ = "all " if len(names) == figures.nodes else ""
        return f"{copies}, at {all_}{len(names):,}{'' if all_ else f' of {figures.nodes:,}'} nodes"
    return f"{copies}, at {_list(names)}"


def _list(names: Sequence[str]) -> str:
    """Join up to three names, in order; more are counted."""
    some = sorted(names)
    if len(some) > _NAMED_MAX:
        return f"{len(some):,} nodes"
    return some[0] if len(some) == 1 else f"{', '.join(some[:-1])} and {some[-1]}"


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
