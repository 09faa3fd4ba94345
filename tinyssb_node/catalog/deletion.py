"""Removing from the catalog what the store has deleted: entries of feeds that had to make room."""

import sqlite3
from collections.abc import Callable, Sequence
from typing import Final

from tinyssb_node.catalog.entry_meaning import CHAT
from tinyssb_node.catalog.rows import SILENT, MessageKind
from tinyssb_node.catalog.tangle_placement import UNSETTLE, split_ids
from tinyssb_node.catalog.tie_numbers import tables_of, update_of
from tinyssb_node.content.short_text import brief_tie

_PLACED: Final = (
    "SELECT placed, number, id, feed, seq, followed, previous FROM {table} "
    "WHERE root = ? AND space = ? AND placed IS NOT NULL"
)
_UNPLACED: Final = (
    "SELECT number, previous FROM {table} WHERE placed IS NULL AND space = ? AND (root IS NULL OR root = ?)"
)

TiesOf = Callable[[int, int, str], tuple[bytes | None, bytes]]
"""Returns the root and the predecessors that an entry, by number of its feed and its sequence number, names itself in
the tangle of that space."""


def delete_messages(connection: sqlite3.Connection, feed: int, keep: int, ties_of: TiesOf) -> None:
    """Delete the messages of the feed with number *feed* behind entry *keep*. Those that follow one of them wait for it
    again, as they would if it had never come.

    Within a transaction of the caller's, without sums that a ``TanglePlacer`` has not written yet. Raises
    sqlite3.Error.
    """
    execute, place = connection.execute, (feed, keep)
    rows = execute(
        "SELECT id, space, root, placed FROM messages WHERE feed = ?1 AND seq > ?2 AND space IS NOT NULL "
        "UNION ALL SELECT id, space, root, placed FROM further_ties WHERE feed = ?1 AND seq > ?2",
        place,
    ).fetchall()
    spoken = execute(
        "SELECT number, text, kind FROM messages WHERE feed = ? AND seq > ? AND text != ''", place
    ).fetchall()
    words = [(number, text) for number, text, kind in spoken if kind not in SILENT]
    connection.executemany("INSERT INTO words (words, rowid, text) VALUES ('delete', ?, ?)", words)
    execute(
        "DELETE FROM waits WHERE number IN (SELECT number FROM messages WHERE feed = ?1 AND seq > ?2 "
        "UNION ALL SELECT number FROM further_ties WHERE feed = ?1 AND seq > ?2)",
        place,
    )
    execute(
        "DELETE FROM brief_ties WHERE number IN (SELECT number FROM messages WHERE feed = ? AND seq > ?)",
        place,
    )
    execute("DELETE FROM messages WHERE feed = ? AND seq > ?", place)
    execute("DELETE FROM further_ties WHERE feed = ? AND seq > ?", place)
    gone: dict[tuple[str, bytes], set[bytes]] = {}
    for id_, space, root, placed in rows:
        if placed is not None:
            gone.setdefault((space, root), set()).add(id_)
    for (space, root), ids in sorted(gone.items()):
        _let_followers_wait(connection, space, root, ids, ties_of)
        _let_waiting_wait(connection, space, root, ids)
    for root in sorted({root for _, space, root, _ in rows if root is not None and space == CHAT}):
        _forget_if_empty(connection, root)


def _let_followers_wait(
    connection: sqlite3.Connection, space: str, root: bytes, gone: set[bytes], ties_of: TiesOf
) -> None:
    """Remove from the tangle *root* of *space* all messages that follow those *gone*, which it grows by."""
    rows = [
        row
        for table in tables_of(space)
        for row in connection.execute(_PLACED.format(table=table), (root, space))
    ]
    standing: dict[bytes, int] = {}
    """The numbers of tips that may become ones again."""
    followed: set[bytes] = set()
    for _, number, id_, feed, seq, was_followed, packed in sorted(rows):
        previous = list(split_ids(packed))
        if not gone.isdisjoint(previous):
            lost = gone.intersection(previous)
            gone.add(id_)
            named_root, named = ties_of(feed, seq, space)
            sql = update_of(number, "placed = NULL, order_us = NULL, root = ?, previous = ?, followed = 0")
            connection.execute(sql, (named_root, named, number))
            connection.execute("DELETE FROM brief_ties WHERE number = ?", (number,))
            _wait(connection, number, _meaning(named, lost))
        else:
            followed.update(previous)
            if was_followed:
                standing[id_] = number
    for id_, number in standing.items():
        if id_ not in followed and not _is_file(connection, number):
            connection.execute(update_of(number, "followed = 0"), (number,))
    if space == CHAT:
        _count_speakers(connection, root)
    connection.execute(UNSETTLE, (space, root))


def _is_file(connection: sqlite3.Connection, number: int) -> bool:
    """Return whether a placed message is a file, which is never a tip."""
    row = connection.execute("SELECT kind FROM messages WHERE number = ?", (number,)).fetchone()
    return row is not None and row[0] == MessageKind.FILE


def _count_speakers(connection: sqlite3.Connection, root: bytes) -> None:
    """Count anew who has placed messages in the conversation *root*."""
    connection.execute("DELETE FROM speakers WHERE root = ?", (root,))
    connection.execute(
        "INSERT INTO speakers SELECT root, feed, count(*), max(placed) FROM messages "
        "WHERE root = ? AND placed IS NOT NULL AND space = ? GROUP BY feed",
        (root, CHAT),
    )


def _let_waiting_wait(connection: sqlite3.Connection, space: str, root: bytes, gone: set[bytes]) -> None:
    """Let the messages without a place that may follow those *gone* from the tangle *root* of *space* wait for them."""
    rows = [
        row
        for table in tables_of(space)
        for row in connection.execute(_UNPLACED.format(table=table), (space, root))
    ]
    for number, packed in rows:
        lacking = _meaning(packed, gone)
        if lacking:
            _wait(connection, number, lacking)


def _meaning(named: bytes, gone: set[bytes]) -> list[bytes]:
    """Return the ties among the concatenated *named* that mean a message that is *gone*."""
    brief = {brief_tie(one) for one in gone}
    return [one for one in split_ids(named) if one in gone or one in brief]


def _wait(connection: sqlite3.Connection, number: int, lacking: Sequence[bytes]) -> None:
    """Let a message wait for those that are *lacking*, besides those that it waits for."""
    rows = [(one, number) for one in lacking]
    further = connection.executemany("INSERT OR IGNORE INTO waits VALUES (?, ?)", rows).rowcount
    sql = update_of(number, "lacking = lacking + ?")
    connection.execute(sql, (further, number))


def _forget_if_empty(connection: sqlite3.Connection, root: bytes) -> None:
    """Forget the conversation *root* if no message of it is left."""
    sql = "SELECT 1 FROM messages WHERE root = ? AND space = ? LIMIT 1"
    if connection.execute(sql, (root, CHAT)).fetchone() is None:
        connection.execute("DELETE FROM circles WHERE root = ?", (root,))
