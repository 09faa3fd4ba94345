"""Removing from the catalog what the store has deleted: entries of feeds that had to make room."""

import sqlite3
from collections.abc import Callable, Sequence

from tinyssb_node.catalog.entry_meaning import CHAT
from tinyssb_node.catalog.rows import SILENT, MessageKind
from tinyssb_node.catalog.tangle_placement import split_ids
from tinyssb_node.content.short_text import brief_tie

TiesOf = Callable[[int, int], tuple[bytes | None, bytes]]
"""Returns the root and the predecessors that an entry, by number of its feed and its sequence number, names itself."""


def delete_messages(connection: sqlite3.Connection, feed: int, keep: int, ties_of: TiesOf) -> None:
    """Delete the messages of the feed with number *feed* behind entry *keep*. Those that follow one of them wait for it
    again, as they would if it had never come.

    Within a transaction of the caller's, without sums that a ``TanglePlacer`` has not written yet. Raises
    sqlite3.Error.
    """
    execute, place = connection.execute, (feed, keep)
    rows = execute(
        "SELECT id, root, placed FROM messages WHERE feed = ? AND seq > ? AND space IS NOT NULL", place
    ).fetchall()
    spoken = execute(
        "SELECT number, text, kind FROM messages WHERE feed = ? AND seq > ? AND text != ''", place
    ).fetchall()
    words = [(number, text) for number, text, kind in spoken if kind not in SILENT]
    connection.executemany("INSERT INTO words (words, rowid, text) VALUES ('delete', ?, ?)", words)
    execute(
        "DELETE FROM waits WHERE number IN (SELECT number FROM messages WHERE feed = ? AND seq > ?)", place
    )
    execute(
        "DELETE FROM brief_ties WHERE number IN (SELECT number FROM messages WHERE feed = ? AND seq > ?)",
        place,
    )
    execute("DELETE FROM messages WHERE feed = ? AND seq > ?", place)
    gone = {id_ for id_, _, placed in rows if placed is not None}
    roots = sorted({root for _, root, placed in rows if placed is not None})
    for root in roots:
        _let_followers_wait(connection, root, gone, ties_of)
    if gone:
        _let_waiting_wait(connection, gone)
    for root in sorted({root for _, root, _ in rows if root is not None}):
        _forget_if_empty(connection, root)


def _let_followers_wait(
    connection: sqlite3.Connection, root: bytes, gone: set[bytes], ties_of: TiesOf
) -> None:
    """Remove from the tangle *root* all messages that follow those *gone*, which it grows by."""
    rows = connection.execute(
        "SELECT number, id, feed, seq, kind, followed, previous FROM messages "
        "WHERE root = ? AND placed IS NOT NULL ORDER BY placed",
        (root,),
    ).fetchall()
    standing: dict[bytes, int] = {}
    """The numbers of tips that may become ones again."""
    followed: set[bytes] = set()
    for number, id_, feed, seq, kind, was_followed, packed in rows:
        previous = list(split_ids(packed))
        if not gone.isdisjoint(previous):
            lost = gone.intersection(previous)
            gone.add(id_)
            named_root, named = ties_of(feed, seq)
            values = (named_root, named, kind == MessageKind.FILE, number)
            sql = (
                "UPDATE messages SET placed = NULL, order_us = NULL, root = ?, previous = ?, followed = ? "
                "WHERE number = ?"
            )
            connection.execute(sql, values)
            connection.execute("DELETE FROM brief_ties WHERE number = ?", (number,))
            _wait(connection, number, _meaning(named, lost))
        else:
            followed.update(previous)
            if was_followed and kind != MessageKind.FILE:
                standing[id_] = number
    tips = [(number,) for id_, number in standing.items() if id_ not in followed]
    connection.executemany("UPDATE messages SET followed = 0 WHERE number = ?", tips)
    connection.execute("DELETE FROM speakers WHERE root = ?", (root,))
    connection.execute(
        "INSERT INTO speakers SELECT root, feed, count(*), max(placed) FROM messages "
        "WHERE root = ? AND placed IS NOT NULL AND space = ? GROUP BY feed",
        (root, CHAT),
    )
    connection.execute(
        "INSERT INTO orders VALUES (?, 1, 0) ON CONFLICT (root) DO UPDATE SET unsettled = 1", (root,)
    )


def _let_waiting_wait(connection: sqlite3.Connection, gone: set[bytes]) -> None:
    """Let the messages without a place that follow those *gone* wait for them, too."""
    rows = connection.execute(
        "SELECT number, previous FROM messages WHERE placed IS NULL AND space IS NOT NULL"
    ).fetchall()
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
    connection.execute("UPDATE messages SET lacking = lacking + ? WHERE number = ?", (further, number))


def _forget_if_empty(connection: sqlite3.Connection, root: bytes) -> None:
    """Forget the conversation *root* if no message of it is left."""
    sql = "SELECT 1 FROM messages WHERE root = ? AND space = ? LIMIT 1"
    if connection.execute(sql, (root, CHAT)).fetchone() is None:
        connection.execute("DELETE FROM circles WHERE root = ?", (root,))
