"""Report for Home Assistant: the node, its last public message, and nodes that share sensors or a position."""

import shutil
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from tinyssb_node.alerts.homeassistant import limits
from tinyssb_node.catalog.rows import PUBLIC, MessageKind, MessageRow, TelemetryRow
from tinyssb_node.content.telemetry import PositionRecord, SensorRecord
from tinyssb_node.control.client import DaemonUnreachableError
from tinyssb_node.ids import FeedId
from tinyssb_node.screens.check_result import CheckResult
from tinyssb_node.screens.checkup import problems
from tinyssb_node.screens.people import DisplayNames
from tinyssb_node.screens.safetext import one_line
from tinyssb_node.screens.session import NodeSession
from tinyssb_node.screens.telemetry import latest_valid

_TEXTS: Final = frozenset({MessageKind.TEXT, MessageKind.TAV, MessageKind.NOTE})


@dataclass(frozen=True, slots=True, kw_only=True)
class LastMessage:
    """The latest public message."""

    id: str
    """40 hexadecimal digits."""
    author: str
    text: str
    committed_us: int
    """When it was stored here, by the wall clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherNode:
    """A node, or a person, that shares sensors or a position with everybody."""

    feed: FeedId
    name: str
    heard_us: int | None
    """When its last entry was stored here, by the wall clock."""
    sensors: SensorRecord | None = None
    """Its latest valid values."""
    position: PositionRecord | None = None
    """Its latest valid position."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReport:
    """The state of the node."""

    name: str
    feed: str
    """64 hexadecimal digits."""
    version: str
    problems: Sequence[CheckResult]
    free_bytes: int
    """Free room of its disk."""
    entries: int | None = None
    """Entries that it stores; None while the daemon is away."""
    airtime: float | None = None
    """Share of the airtime that the law allows which was used, of the fullest sub-band; None without such a law."""
    heard_us: int | None = None
    """When a packet was last received, by the wall clock."""
    last: LastMessage | None = None
    others: Sequence[OtherNode] = ()


def look(
    node: NodeSession, *, name: str, feed: FeedId, version: str, now_us: int | None = None
) -> NodeReport:
    """Look at the node. What the daemon says is missing while it is away. Raises errors of the catalog, OSError."""
    now_us = time.time_ns() // 1_000 if now_us is None else now_us
    node.catch_up()
    names = node.names()
    entries: int | None = None
    airtime: float | None = None
    heard_us: int | None = None
    try:
        entries = node.client.status().entries
        airtime = max(
            (row.used_us / row.limit_us for row in node.client.airtime() if row.limit_us), default=None
        )
        ago = [row.heard_us for row in node.client.faces() if row.heard_us is not None]
        heard_us = now_us - min(ago) if ago else None
    except DaemonUnreachableError:
        node.hang_up()
    return NodeReport(
        name=name,
        feed=feed.hex(),
        version=version,
        problems=problems(node.home),
        free_bytes=shutil.disk_usage(node.home.root).free,
        entries=entries,
        airtime=airtime,
        heard_us=heard_us,
        last=_last(node, names, name),
        others=_others(node, names, now_us),
    )


def _last(node: NodeSession, names: DisplayNames, name: str) -> LastMessage | None:
    """Return the latest public text; ours are by the node's *name*."""
    blocked = {person.feed for person in node.catalog.people() if person.blocked}
    rows: Iterable[MessageRow] = node.catalog.messages(PUBLIC, limit=20)
    found = [row for row in rows if row.kind in _TEXTS and row.text and row.feed not in blocked]
    if not found:
        return None
    row = found[-1]
    return LastMessage(
        id=row.id.hex(),
        author=one_line(name if row.own else names.of(row.feed), limits.NAME_CELLS),
        text=one_line(row.text)[: limits.STATE_MAX],
        committed_us=row.committed_us,
    )


def _others(node: NodeSession, names: DisplayNames, now_us: int) -> list[OtherNode]:
    """Return those that share with everybody, the last heard first. What groups share stays in them."""
    people = {
        person.feed: person for person in node.catalog.people() if not person.blocked and not person.own
    }
    found: dict[FeedId, list[TelemetryRow]] = {}
    for row in latest_valid(node.catalog.telemetry(), now_us):
        if row.feed in people:
            found.setdefault(row.feed, []).append(row)
    nodes = [
        OtherNode(
            feed=feed,
            name=one_line(names.of(feed), limits.NAME_CELLS),
            heard_us=people[feed].last_us,
            sensors=next((row.record for row in rows if isinstance(row.record, SensorRecord)), None),
            position=next((row.record for row in rows if isinstance(row.record, PositionRecord)), None),
        )
        for feed, rows in found.items()
    ]
    return sorted(nodes, key=lambda one: (-(one.heard_us or 0), one.feed))[: limits.NODES_MAX]
