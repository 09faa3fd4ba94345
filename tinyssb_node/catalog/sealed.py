"""Private messages as they are stored, whoever can open them: for readers whose key is not on this node."""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Final

from tinyssb_node.catalog.rows import SealedRow
from tinyssb_node.content.private import may_be_sealed
from tinyssb_node.ids import FeedId, MessageId
from tinyssb_node.store.entries import entry_layout, read_whole_content
from tinyssb_node.store.port import Store

_FOUND: Final = (
    "SELECT messages.number, messages.id, people.feed, seq, committed_us FROM messages "
    "JOIN people ON people.number = messages.feed WHERE (kind = 'opaque' OR private) AND size <= ? "
    "AND (messages.number > ? OR messages.number IN ({again})) ORDER BY messages.number LIMIT ?"
)


def sealed_rows(
    connection: sqlite3.Connection,
    store: Store,
    after: int,
    again: Sequence[int],
    *,
    limit: int,
    size_max: int,
) -> Iterator[SealedRow]:
    """Yield entries that may be private messages of at most *size_max* bytes, the first *limit* to arrive after the
    number *after*, and those with the numbers *again*. Raises sqlite3.Error, and for the store."""
    dialects = {record.feed: record.dialect for record in store.feeds()}
    sql = _FOUND.format(again=",".join("?" * len(again)))
    for number, id_, feed_id, seq, committed_us in connection.execute(sql, (size_max, after, *again, limit)):
        feed = FeedId(feed_id)
        entry, dialect = store.entry(feed, seq), dialects.get(feed)
        if entry is None or entry.id != id_ or dialect is None:
            continue
        content = read_whole_content(store, entry, entry_layout(entry, dialect))
        if content is not None and not may_be_sealed(content):
            content = b""
        yield SealedRow(number, MessageId(id_), feed, seq, committed_us, content)
