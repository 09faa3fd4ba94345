"""The newest messages of feeds that are followed newest first: readable before the history they follow."""

from collections.abc import Iterator

from tinyssb_node.catalog.entry_meaning import CHAT, meaning_of
from tinyssb_node.catalog.rows import MessageRow
from tinyssb_node.content.private import SealKey
from tinyssb_node.ids import Origin
from tinyssb_node.store.entries import entry_layout, newest_content, type_of
from tinyssb_node.store.port import Store


def newest_messages(store: Store, key: SealKey | None, root: bytes, name: str) -> Iterator[MessageRow]:
    """Return those of the conversation *name*, whose tangle is *root*, sorted by feed and sequence number."""
    records = {record.feed: record for record in store.feeds()}
    stored = {record.feed: record.seq for record in records.values()}
    for entry in store.newest_entries():
        missing = entry.seq - 1 - stored[entry.feed]
        stored[entry.feed] += 1
        layout = entry_layout(entry, records[entry.feed].dialect)
        content = newest_content(entry, layout)
        if content is None:
            continue
        meaning = meaning_of(type_of(entry), content, entry.id, entry.feed, key)
        if meaning.space != CHAT or meaning.root != root:
            continue
        yield MessageRow(
            id=entry.id,
            feed=entry.feed,
            seq=entry.seq,
            arrival=0,
            committed_us=entry.known_us,
            said_us=meaning.said_us,
            origin=Origin.PEER,
            own=False,
            kind=meaning.kind,
            conversation=name,
            tangle=None,
            previous=meaning.previous,
            placed=None,
            missing=(),
            text=meaning.text,
            cut=meaning.cut,
            voice_size=meaning.voice_size,
            size=layout.size,
            chunks=layout.chunks,
            chunks_held=layout.chunks,
            private=meaning.private,
            older_missing=missing,
        )
