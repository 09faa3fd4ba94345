"""Stored entries as content: its layout, and all of it where it is stored."""

from bisect import bisect_left
from typing import Final

from tinyssb_node import limits
from tinyssb_node.feeds.layout import Layout, layout_of
from tinyssb_node.feeds.sidechain import reassemble
from tinyssb_node.ids import Dialect
from tinyssb_node.store.port import NewestEntry, Store, StoredEntry

_TYPE_AT: Final = limits.DMX_SIZE
_CONTENT_AT: Final = _TYPE_AT + limits.TYPE_SIZE
_SIGNATURE_AT: Final = _CONTENT_AT + limits.CONTENT_SIZE


def type_of(entry: StoredEntry | NewestEntry) -> int:
    """Return the entry's type byte."""
    return entry.packet[_TYPE_AT]


def entry_layout(entry: StoredEntry | NewestEntry, dialect: Dialect | None) -> Layout:
    """Return the layout of the entry's content in a feed of *dialect*."""
    content = entry.packet[_CONTENT_AT:_SIGNATURE_AT]
    assert dialect is not None, "the first entry of a feed fixed its dialect"
    return layout_of(type_of(entry), content, dialect)


def read_whole_content(store: Store, entry: StoredEntry, layout: Layout) -> bytes | None:
    """Return the content of an entry; None while packets of its side chain are missing."""
    if not layout.chunks:
        return layout.head
    packets = store.chunks(entry.feed, entry.seq, 0, layout.chunks)
    return reassemble(layout, packets) if len(packets) == layout.chunks else None


def newest_content(entry: NewestEntry, layout: Layout) -> bytes | None:
    """Return the content of an entry beyond the frontier; None while packets of its side chain are missing."""
    return reassemble(layout, entry.chunks) if len(entry.chunks) == layout.chunks else None


def count_chunks(store: Store, entry: StoredEntry, layout: Layout) -> int:
    """Return how many packets of an entry's side chain are stored. They are stored in order, so few are looked up."""
    return bisect_left(
        range(layout.chunks), True, key=lambda chunk: store.chunk(entry.feed, entry.seq, chunk) is None
    )
