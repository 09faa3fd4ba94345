"""Positions and values of sensors that people share with everybody, or with a private group of ours."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tinyssb_node.catalog.rows import TelemetryRow
from tinyssb_node.content.limits import CLAIM_MIN_US
from tinyssb_node.content.telemetry import is_valid, parse_telemetry, time_us
from tinyssb_node.ids import FeedId

if TYPE_CHECKING:
    from tinyssb_node.screens.session import NodeSession


def shared_telemetry(node: NodeSession) -> list[TelemetryRow]:
    """Return the last records of each person: the public ones, and those in groups if the daemon runs. Not those of
    blocked people."""
    from tinyssb_node.control.client import DaemonError, DaemonUnreachableError

    rows = list(node.catalog.telemetry())
    blocked = {person.feed: person.blocked for person in node.catalog.people()}
    own = node.own
    try:
        for row in node.client.group_telemetry():
            record, feed = parse_telemetry(bytes.fromhex(row.record)), FeedId.from_hex(row.feed)
            if record is not None and not blocked.get(feed, False):
                rows.append(
                    TelemetryRow(
                        feed=feed,
                        own=feed == own,
                        committed_us=row.committed_us,
                        record=record,
                        group=row.group,
                    )
                )
    except (DaemonError, DaemonUnreachableError):
        # Not running, or an older version: public ones are shown all the same.
        node.hang_up()
    return rows


def latest_valid(rows: Iterable[TelemetryRow], now_us: int) -> list[TelemetryRow]:
    """Return of each person and kind the latest record that is valid, the latest first. A withdrawal counts for those
    alone to whom it was sent."""
    latest: dict[tuple[FeedId, type], TelemetryRow] = {}
    valid = [row for row in rows if is_valid(row.record, row.committed_us, now_us)]
    for row in sorted(valid, key=lambda row: (_time_us(row), row.committed_us)):
        latest[row.feed, type(row.record)] = row
    return sorted(latest.values(), key=lambda row: (-_time_us(row), row.feed))


def _time_us(row: TelemetryRow) -> int:
    return time_us(row.record, row.committed_us)


def wall_us() -> int:
    """Return the wall clock, microseconds since 1970."""
    return time.time_ns() // 1_000


def said_s(now_us: int) -> int | None:
    """Return the time that a record states, seconds since 1970; None: the clock was never set."""
    return now_us // 1_000_000 if now_us >= CLAIM_MIN_US else None
