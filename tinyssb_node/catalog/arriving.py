"""Messages and files of which packets are missing: what is known of them from their beginning."""

from collections.abc import Iterable, Iterator

from tinyssb_node import limits
from tinyssb_node.catalog.rows import ArrivingRow
from tinyssb_node.content.files import FileHead, parse_head
from tinyssb_node.feeds.layout import LayoutKind
from tinyssb_node.ids import Dialect, FeedId, MessageId
from tinyssb_node.store.entries import entry_layout
from tinyssb_node.store.port import Store, StoredEntry

Incomplete = tuple[bytes, bytes, int, int, int, int]
"""Id, feed, entry, bytes of content, packets of its side chain, and how many of these are stored."""


def arriving_rows(store: Store, found: Iterable[Incomplete]) -> Iterator[ArrivingRow]:
    """Yield the rows of incomplete entries, with name and size of those that are files."""
    dialects = {record.feed: record.dialect for record in store.feeds()}
    for id_, feed_id, seq, size, chunks, held in found:
        feed = FeedId(feed_id)
        entry, dialect = store.entry(feed, seq), dialects.get(feed)
        head = None if entry is None or dialect is None else read_head(store, entry, dialect)
        yield ArrivingRow(
            id=MessageId(id_),
            feed=feed,
            seq=seq,
            is_file=head is not None,
            name=None if head is None else head.name,
            size=size if head is None or head.size is None else head.size,
            chunks=chunks,
            chunks_held=held,
        )


def read_head(store: Store, entry: StoredEntry, dialect: Dialect) -> FileHead | None:
    """Return the description at the beginning of the file in *entry*, as far as it is stored; None if it is no
    file."""
    layout = entry_layout(entry, dialect)
    if layout.form is LayoutKind.OPAQUE:
        return None
    first = store.chunks(entry.feed, entry.seq, 0, 1)
    beginning = layout.head + b"".join(chunk[: limits.CHUNK_CONTENT_SIZE] for chunk in first)
    return parse_head(beginning[: layout.size])
