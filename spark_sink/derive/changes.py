"""Changes of the mesh: splits, joins, and nodes that become isolated or come back."""

import json
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from spark_sink import limits
from spark_sink.arrays import Bools, Ints, components
from spark_sink.serving.database import table_of
from spark_sink.serving.tables import TABLES

SPLIT: Final = "split"
JOIN: Final = "join"
ISOLATED: Final = "isolated"
BACK: Final = "back"

_NONE: Final = -(2**63)


@dataclass(slots=True)
class GroupState:
    """State of all groups at the end of a slot. Nodes are indexes into `nodes`; an array has a value for each.

    A group is identified by the index of its first node; a node that is not up is a group by itself.
    """

    nodes: Ints
    slot_us: int
    up: Bools
    seen: Ints
    """Groups as the last slot had them."""
    told: Ints
    """Groups as reported: they change when two slots in a row agree."""
    alone: Ints
    """For how many slots in a row the node had no contact that counts; 0 while it has one."""
    fresh: Bools
    """It has had none since it came up."""
    contact_us: Ints
    """Last contact since it came up."""
    touched: Ints
    """For how many slots in a row it had one."""
    isolated_us: Ints
    """Time since which the node is reported as isolated; `_NONE` if it is not."""

    @classmethod
    def of(cls, nodes: Ints) -> "GroupState":
        """Return the state of nodes that were never up."""
        count = len(nodes)
        return cls(
            nodes=nodes,
            slot_us=_NONE,
            up=np.zeros(count, np.bool_),
            seen=np.arange(count),
            told=np.arange(count),
            alone=np.zeros(count, np.int64),
            fresh=np.zeros(count, np.bool_),
            contact_us=np.full(count, _NONE),
            touched=np.zeros(count, np.int64),
            isolated_us=np.full(count, _NONE),
        )

    def with_nodes(self, nodes: Ints) -> "GroupState":
        """Return a copy with further nodes, which were never up."""
        found = GroupState.of(np.union1d(self.nodes, nodes))
        place = np.searchsorted(found.nodes, self.nodes)
        found.slot_us = self.slot_us
        for name in ("up", "alone", "fresh", "contact_us", "touched", "isolated_us"):
            getattr(found, name)[place] = getattr(self, name)
        found.seen[place], found.told[place] = place[self.seen], place[self.told]
        return found


Told = tuple[int, str, str, str, int]
"""A row of the table."""


def changes(groups: pa.Table, before: GroupState | None = None) -> tuple[pa.Table, GroupState]:
    """Make rows of the table `changes`, from rows of `groups` in any order, and return the state at their end.

    *before* is the state before the first of them; None: nothing was before. A change is reported when two slots in a
    row show it, as of the first of them. That a node is isolated is reported as of its last contact. Parts of a mesh
    have at least two nodes; a single node is isolated, or back.
    """
    slot_us, node_no, group_no = (groups[name].to_numpy() for name in ("slot_us", "node_no", "group_no"))
    last_us = groups["last_us"].fill_null(_NONE).to_numpy()
    order = np.lexsort((node_no, slot_us))
    slot_us, node_no, group_no, last_us = (one[order] for one in (slot_us, node_no, group_no, last_us))
    now = (before or GroupState.of(np.empty(0, np.int64))).with_nodes(node_no)
    node, group = np.searchsorted(now.nodes, node_no), np.searchsorted(now.nodes, group_no)
    begins = np.flatnonzero(np.diff(slot_us, prepend=_NONE))
    rows: list[Told] = []
    for begin, end in zip(begins, np.append(begins, len(slot_us))[1:], strict=True):
        here = slice(begin, end)
        _step(now, int(slot_us[begin]), node[here], group[here], last_us[here], rows)
    return table_of("changes", TABLES["changes"].names, sorted(rows)), now


def _step(now: GroupState, slot_us: int, node: Ints, group: Ints, last_us: Ints, rows: list[Told]) -> None:
    """Go on by one slot, of which there are some *node*s, in what *group*, with what last contact."""
    if slot_us != now.slot_us + limits.SLOT_US:
        now.up = np.zeros(len(now.nodes), np.bool_)
        now.seen = np.arange(len(now.nodes))
    before_up = now.up
    now.slot_us = slot_us
    now.up = np.zeros(len(now.nodes), np.bool_)
    now.up[node] = True
    seen = np.arange(len(now.nodes))
    seen[node] = group
    if not (np.array_equal(seen, now.seen) and np.array_equal(seen, now.told)):
        _regroup(now, seen, rows)
    now.seen = seen
    _contacts(now, before_up, node, last_us, rows)


def _regroup(now: GroupState, seen: Ints, rows: list[Told]) -> None:
    """Keep the reported groups between what both slots join and what either of them joins.

    Nodes that were together and are apart in both slots are split; nodes that are together in both are joined.
    """
    places = np.arange(len(seen))
    told = _same(np.where(now.up, now.told, len(seen) + places), np.zeros_like(places))
    both = _same(now.seen, seen)
    either = components(len(seen), np.tile(places, 2), np.concatenate([now.seen, seen]))
    parted = _same(told, either)
    joined = components(len(seen), np.tile(places, 2), np.concatenate([parted, both]))
    for kind, whole, parts in ((SPLIT, told, parted), (JOIN, joined, parted)):
        for first in np.unique(whole[whole != parts]).tolist():
            row = _parts(now.nodes, np.flatnonzero(whole == first), parts)
            if len(row) > 1:
                t_us = now.slot_us - limits.SLOT_US
                rows.append((t_us, kind, f"group {row[0][0]}", _json({"parts": row}), now.slot_us))
    now.told = joined


def _same(one: Ints, other: Ints) -> Ints:
    """Return for each index the first one with the same *one* and the same *other*."""
    key = one * len(other) + other
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    return np.asarray(first[which])


def _parts(nodes: Ints, members: Ints, parts: Ints) -> list[list[int]]:
    """Return numbers of the nodes of each part of two or more."""
    part = parts[members]
    found = [nodes[members[part == one]].tolist() for one in np.unique(part)]
    return [some for some in found if len(some) > 1]


def _contacts(now: GroupState, before_up: Bools, node: Ints, last_us: Ints, rows: list[Told]) -> None:
    """Report nodes that become isolated, and nodes that are back."""
    came = now.up & ~before_up
    now.fresh |= came
    now.contact_us[came] = _NONE
    now.alone[came | ~now.up] = 0
    now.touched[came | ~now.up] = 0
    alone = last_us == _NONE
    now.alone[node] = np.where(alone, now.alone[node] + 1, 0)
    now.touched[node] = np.where(alone, 0, now.touched[node] + 1)
    now.fresh[node[~alone]] = False
    now.contact_us[node[~alone]] = last_us[~alone]
    least = limits.HOLD_SLOTS + np.where(now.fresh, limits.MOST_SLOTS, 0)
    for place in np.flatnonzero((now.alone >= least) & (now.isolated_us == _NONE)).tolist():
        begin_us = now.slot_us - (int(now.alone[place]) - 1) * limits.SLOT_US
        contact_us = int(now.contact_us[place])
        now.isolated_us[place] = begin_us if contact_us == _NONE else contact_us
        number = int(now.nodes[place])
        detail = _json({"nodes": [number]})
        rows.append((int(now.isolated_us[place]), ISOLATED, f"node {number}", detail, now.slot_us))
    for place in np.flatnonzero((now.touched >= limits.HOLD_SLOTS) & (now.isolated_us != _NONE)).tolist():
        begin_us = now.slot_us - (limits.HOLD_SLOTS - 1) * limits.SLOT_US
        number, since_us = int(now.nodes[place]), int(now.isolated_us[place])
        now.isolated_us[place] = _NONE
        detail = _json({"nodes": [number], "since_us": since_us})
        rows.append((begin_us, BACK, f"node {number}", detail, now.slot_us))


def _json(detail: dict[str, Any]) -> str:
    return json.dumps(detail, separators=(",", ":"), sort_keys=True)
