"""Whole times of short texts that state only the lower bits of theirs: by the entries of their authors before them."""

import sqlite3
from collections.abc import Iterator
from typing import Final

from tinyssb_node.content.minutes import nearest_seconds

_SECOND_US: Final = 1_000_000
_BEFORE: Final = (
    "SELECT said_us FROM messages WHERE feed = ? AND seq < ? AND said_us IS NOT NULL AND NOT private "
    "ORDER BY seq DESC LIMIT 1"
)
_BEHIND: Final = (
    "SELECT number, seq, low_minutes, said_us, root, placed FROM messages WHERE feed = ? AND seq > ? "
    "AND (said_us IS NOT NULL OR low_minutes IS NOT NULL) AND NOT private ORDER BY seq LIMIT 1"
)


def last_time_us(connection: sqlite3.Connection, feed: int, seq: int) -> int | None:
    """Return the time of the last public entry of *feed*, its number here, before *seq* that states one; microseconds
    since 1970. None: there is none. Raises sqlite3.Error."""
    row = connection.execute(_BEFORE, (feed, seq)).fetchone()
    return None if row is None else int(row[0])


def resolve_time(connection: sqlite3.Connection, feed: int, seq: int, low_minutes: int) -> int | None:
    """Return the time of an entry that states these lower bits: the one nearest to that of its author's last public
    entry that states one; None: none of these is here. Raises sqlite3.Error."""
    reference_us = last_time_us(connection, feed, seq)
    found = None if reference_us is None else nearest_seconds(low_minutes, reference_us // _SECOND_US)
    return None if found is None else found * _SECOND_US


def resolve_later(connection: sqlite3.Connection, feed: int, seq: int) -> Iterator[bytes]:
    """Resolve anew the times of the entries behind *seq*, which became known after them; yield the tangles of those
    that change. Raises sqlite3.Error."""
    while (row := connection.execute(_BEHIND, (feed, seq)).fetchone()) is not None:
        number, seq, low_minutes, said_us, root, placed = row
        if low_minutes is None:
            return
        found = resolve_time(connection, feed, seq, low_minutes)
        if found == said_us:
            return
        connection.execute("UPDATE messages SET said_us = ? WHERE number = ?", (found, number))
        if placed is not None:
            yield bytes(root)
