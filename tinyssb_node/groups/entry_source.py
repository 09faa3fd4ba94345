"""Complete entries of the store for a group reader, each with the context that an envelope is bound to."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tinyssb_node.codec.dmx import first_prev
from tinyssb_node.feeds.layout import Layout
from tinyssb_node.feeds.sidechain import reassemble
from tinyssb_node.ids import Dialect, FeedId, MessageId
from tinyssb_node.store.entries import entry_layout, read_whole_content, type_of
from tinyssb_node.store.port import Store, StoredChunk, StoredEntry


@dataclass(frozen=True, slots=True)
class SealedEntry:
    """A complete entry."""

    feed: FeedId
    seq: int
    id: MessageId
    prev: MessageId
    """Id of the entry before, or the value that the feed's dialect has before entry 1. An envelope is bound to it."""
    type: int
    """Its type byte."""
    content: bytes
    """Its whole content."""
    arrival: int = field(default=0, compare=False)
    """Arrival number in the store of its last packet: when it was complete."""


class SealedEntrySource(Protocol):
    """The entries that a group reader reads."""

    def entry(self, feed: FeedId, seq: int) -> SealedEntry | None:
        """Return one entry; None unless it is complete."""
        ...

    def came_us(self, feed: FeedId, seq: int) -> int | None:
        """Return when an entry was committed to the store, by the wall clock; None: not yet, or it is not there."""
        ...

    def again(self, feed: FeedId, type_: int | None = None) -> None:
        """Deliver the entries of *feed* once more, or only those of one type."""
        ...

    def restart(self) -> None:
        """Deliver all entries once more."""
        ...


@dataclass(slots=True)
class _Again:
    """Entries of one feed that are delivered once more."""

    feed: FeedId
    type: int | None
    """Only those of this type; None: all."""
    until: int
    """The last arrival number of those entries."""
    seq: int = 1
    """The next sequence number."""


@dataclass(slots=True)
class _Chained:
    """An entry, and the packets of its side chain that arrived directly after it."""

    entry: StoredEntry
    prev: MessageId
    layout: Layout
    packets: list[bytes]

    def awaits(self, chunk: StoredChunk) -> bool:
        """Return whether *chunk* is its next packet."""
        entry = self.entry
        return (chunk.feed, chunk.seq, chunk.chunk) == (entry.feed, entry.seq, len(self.packets))


class StoreEntrySource:
    """The entries of a store, each delivered once when it is complete; in order of arrival, except for entries that are
    requested again."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._arrival = 0
        self._again: deque[_Again] = deque()
        self._dialects: dict[FeedId, Dialect | None] = {}
        self._last: dict[FeedId, tuple[int, MessageId]] = {}
        """Number and id of the latest entry of each feed."""
        self._chained: _Chained | None = None
        """The latest entry with a side chain."""

    @property
    def read_all(self) -> bool:
        """True if nothing is left to be delivered."""
        return not self._again and self._arrival >= self._store.last_arrival()

    def next(self, limit: int) -> list[SealedEntry]:
        """Return the complete entries among the next *limit* entries and packets. There may be none."""
        return self._next_again(limit) if self._again else self._next_new(limit)

    def entry(self, feed: FeedId, seq: int) -> SealedEntry | None:
        """Return one entry; None unless it is complete."""
        entry = self._store.entry(feed, seq)
        return None if entry is None else self._whole(entry)

    def came_us(self, feed: FeedId, seq: int) -> int | None:
        """Return when an entry was committed to the store, by the wall clock; None: not yet, or it is not there."""
        entry = self._store.entry(feed, seq)
        return None if entry is None else entry.committed_us or None

    def again(self, feed: FeedId, type_: int | None = None) -> None:
        """Deliver the entries of *feed* once more, or only those of one type."""
        if not any(one.feed == feed and one.type in {None, type_} and one.seq == 1 for one in self._again):
            self._again.append(_Again(feed, type_, self._arrival))

    def restart(self) -> None:
        """Deliver all entries once more."""
        self._arrival = 0
        self._again.clear()
        self._chained = None

    # --- once more

    def _next_again(self, limit: int) -> list[SealedEntry]:
        asked = self._again[0]
        entries = self._store.entries(asked.feed, asked.seq, limit)
        if len(entries) < limit:
            self._again.popleft()
        asked.seq += len(entries)
        return list(self._handed(asked, entries))

    def _handed(self, asked: _Again, entries: Sequence[StoredEntry]) -> Iterator[SealedEntry]:
        for entry in entries:
            if entry.arrival > asked.until:
                return
            if asked.type in {None, type_of(entry)}:
                whole = self._whole(entry)
                if whole is not None:
                    yield whole
            self._last[entry.feed] = entry.seq, entry.id

    # --- new entries and packets

    def _next_new(self, limit: int) -> list[SealedEntry]:
        rows = self._store.after(self._arrival, limit)
        self._arrival = rows[-1].arrival if rows else self._store.last_arrival()
        entries = []
        for row in rows:
            whole = self._begun(row) if isinstance(row, StoredEntry) else self._ended(row)
            if whole is not None:
                entries.append(whole)
        return entries

    def _begun(self, entry: StoredEntry) -> SealedEntry | None:
        """Handle an entry. Returns it if it has no side chain."""
        prev, layout = self._prev(entry), self._layout(entry)
        self._last[entry.feed] = entry.seq, entry.id
        if not layout.chunks:
            return _sealed(entry, prev, layout.head, entry.arrival)
        self._chained = _Chained(entry, prev, layout, [])
        return None

    def _ended(self, chunk: StoredChunk) -> SealedEntry | None:
        """Handle a packet of a side chain. Returns its entry if it was the last one."""
        last = self._chained
        if last is not None and last.awaits(chunk):
            last.packets.append(chunk.packet)
            if len(last.packets) < last.layout.chunks:
                return None
            self._chained = None
            return _sealed(last.entry, last.prev, reassemble(last.layout, last.packets), chunk.arrival)
        entry = self._store.entry(chunk.feed, chunk.seq)
        assert entry is not None, "a side chain hangs on an entry"
        return self._whole(entry) if chunk.chunk == self._layout(entry).chunks - 1 else None

    # --- one entry

    def _layout(self, entry: StoredEntry) -> Layout:
        return entry_layout(entry, self._dialect(entry.feed))

    def _whole(self, entry: StoredEntry) -> SealedEntry | None:
        layout = self._layout(entry)
        content = read_whole_content(self._store, entry, layout)
        if content is None:
            return None
        arrival = self._store.last_packet(entry.feed, entry.seq) if layout.chunks else entry.arrival
        return _sealed(entry, self._prev(entry), content, arrival)

    def _prev(self, entry: StoredEntry) -> MessageId:
        if entry.seq == 1:
            return first_prev(entry.feed, self._dialect(entry.feed))
        before = self._last.get(entry.feed)
        if before is not None and before[0] == entry.seq - 1:
            return before[1]
        stored = self._store.entry(entry.feed, entry.seq - 1)
        assert stored is not None, "a feed has no gaps"
        return stored.id

    def _dialect(self, feed: FeedId) -> Dialect:
        dialect = self._dialects.get(feed)
        if dialect is None:
            self._dialects = {record.feed: record.dialect for record in self._store.feeds()}
            dialect = self._dialects[feed]
        assert dialect is not None, "the first entry of a feed fixed its dialect"
        return dialect


def _sealed(entry: StoredEntry, prev: MessageId, content: bytes, arrival: int) -> SealedEntry:
    return SealedEntry(entry.feed, entry.seq, entry.id, prev, type_of(entry), content, arrival)
