"""Records of entries and chunks from what the store holds of them, the same as when they were appended."""

from collections.abc import Iterator

from tinyssb_node import limits
from tinyssb_node.codec.packets import parse_entry
from tinyssb_node.events import ChunkAppended, EntryAppended
from tinyssb_node.feeds.layout import Layout, layout_of
from tinyssb_node.ids import Dialect, FeedId
from tinyssb_node.store.port import Store, StoredChunk, StoredEntry


def rederive(store: Store, arrival: int) -> Iterator[tuple[EntryAppended | ChunkAppended, int]]:
    """Yield every committed append of *store* above *arrival*, in order, with the wall clock of its commit.

    Raises StoreFailedError.
    """
    dialects = {record.feed: record.dialect for record in store.feeds()}
    while page := store.after(arrival, limits.EVENT_CATCH_UP_BATCH):
        for append in page:
            if not append.committed_us:
                return
            yield _event(store, dialects, append), append.committed_us
        arrival = page[-1].arrival


def _event(
    store: Store, dialects: dict[FeedId, Dialect | None], append: StoredEntry | StoredChunk
) -> EntryAppended | ChunkAppended:
    dialect = dialects[append.feed]
    assert dialect is not None, "the first entry of a feed fixed its dialect"
    if isinstance(append, StoredEntry):
        return _entry_appended(append, dialect)
    entry = store.entry(append.feed, append.seq)
    assert entry is not None, "a side chain hangs on an entry"
    return _chunk_appended(append, _layout(entry.packet, dialect))


def _layout(packet: bytes, dialect: Dialect) -> Layout:
    entry = parse_entry(packet)
    return layout_of(entry.type, entry.content, dialect)


def _entry_appended(entry: StoredEntry, dialect: Dialect) -> EntryAppended:
    layout = _layout(entry.packet, dialect)
    return EntryAppended(
        feed=entry.feed,
        seq=entry.seq,
        id=entry.id,
        type=parse_entry(entry.packet).type,
        size=layout.size,
        chunks=layout.chunks,
        origin=entry.origin,
        face=entry.face,
        arrival=entry.arrival,
    )


def _chunk_appended(chunk: StoredChunk, layout: Layout) -> ChunkAppended:
    before = len(layout.head) + chunk.chunk * limits.CHUNK_CONTENT_SIZE
    return ChunkAppended(
        feed=chunk.feed,
        seq=chunk.seq,
        chunk=chunk.chunk,
        size=min(limits.CHUNK_CONTENT_SIZE, layout.size - before),
        complete=chunk.chunk + 1 == layout.chunks,
        origin=chunk.origin,
        face=chunk.face,
        arrival=chunk.arrival,
    )
