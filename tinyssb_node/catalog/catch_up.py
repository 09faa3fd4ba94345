"""Bringing the catalog up to date from the store, in transactions that several processes may do concurrently."""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from tinyssb_node.catalog import limits, schema
from tinyssb_node.catalog.deletion import delete_messages
from tinyssb_node.catalog.entry_meaning import CHAT, Meaning, meaning_of
from tinyssb_node.catalog.rows import PUBLIC, SILENT, MessageKind
from tinyssb_node.catalog.tangle_placement import (
    NOWHERE,
    TangleMembership,
    TanglePlacer,
    TanglePosition,
    settle_orders,
)
from tinyssb_node.catalog.tie_numbers import further_number
from tinyssb_node.catalog.time_resolution import resolve_later, resolve_time
from tinyssb_node.content.private import SealKey
from tinyssb_node.feeds.layout import Layout
from tinyssb_node.feeds.sidechain import reassemble
from tinyssb_node.ids import FeedId, MessageId
from tinyssb_node.store.entries import entry_layout, read_whole_content, type_of
from tinyssb_node.store.port import FeedRecord, Store, StoredChunk, StoredEntry

Progress = Callable[[int, int], None]
"""Called with the number of appends read, and of all."""

_KEEP: Final = """
INSERT OR REPLACE INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


@dataclass(slots=True)
class _Person:
    """A feed's row of ``people``."""

    number: int
    own: bool
    entries: int
    last_us: int
    said: str | None
    said_seq: int


@dataclass(slots=True)
class _Begun:
    """An entry, and the arrived part of its side chain."""

    person: _Person
    entry: StoredEntry
    layout: Layout
    packets: list[bytes] = field(default_factory=list)


@dataclass(slots=True)
class _Batch:
    """The state of one transaction that reads appends."""

    connection: sqlite3.Connection
    store: Store
    key: SealKey | None
    placer: TanglePlacer
    records: dict[FeedId, FeedRecord]
    people: dict[FeedId, _Person] = field(default_factory=dict)
    changed: set[FeedId] = field(default_factory=set)
    begun: dict[tuple[int, int], _Begun] = field(default_factory=dict)
    """Messages that arrived in this transaction and are incomplete, by number of the feed and entry."""
    held: dict[tuple[int, int], int] = field(default_factory=dict)
    """Packets of the side chains of earlier entries that arrived."""
    chunks: dict[tuple[int, int], int] = field(default_factory=dict)
    """How many there are in all, where that was needed."""
    circles: set[MessageId] = field(default_factory=set)
    """Conversations that are known to be in the table."""


def catch_up(
    connection: sqlite3.Connection, path: Path, store: Store, key: SealKey | None, progress: Progress
) -> int:
    """Read the appends of *store* that the catalog lacks; return their number.

    *store* is one state of the store, of which the catalog has a beginning. Raises CatalogFailedError; earlier
    transactions stay committed. Entries that were read and that the store has deleted since are deleted here, too.
    """
    done = 0
    while True:
        with schema.writing(connection, path):
            (arrival, placed) = connection.execute("SELECT arrival, placed FROM state").fetchone()
            appends = store.after(arrival, limits.CATALOG_BATCH)
            records = {record.feed: record for record in store.feeds()}
            batch = _Batch(connection, store, key, TanglePlacer(connection, placed), records)
            _read(batch, appends)
            last = not appends or appends[-1].arrival == store.last_arrival()
            if last:
                settle_orders(connection)  # in the last transaction only: it reads whole tangles
        done += len(appends)
        if appends:
            progress(done, done + store.last_arrival() - appends[-1].arrival)
        if last:
            return done


def _read(batch: _Batch, appends: Sequence[StoredEntry | StoredChunk]) -> None:
    """Delete what the store has deleted, read *appends* into the catalog, in their order, and update its state."""
    execute = batch.connection.execute
    for number, feed, *rest in execute(
        "SELECT number, feed, own, entries, last_us, said, said_seq FROM people"
    ):
        batch.people[FeedId(feed)] = _Person(number, *rest)
    for feed, person in list(batch.people.items()):
        record = batch.records.get(feed)
        if person.entries > (keep := 0 if record is None else record.seq):
            _cut(batch, feed, keep)
    for append in appends:
        if isinstance(append, StoredEntry):
            _read_entry(batch, append)
        else:
            _read_chunk(batch, append)
    _keep_beginnings(batch)
    batch.placer.finish()
    rows = [(held, *place) for place, held in batch.held.items()]
    batch.connection.executemany("UPDATE messages SET held = ? WHERE feed = ? AND seq = ?", rows)
    batch.connection.executemany(
        "INSERT OR REPLACE INTO people VALUES (?, ?, ?, ?, ?, ?, ?)",
        [_person_row(feed, batch.people[feed]) for feed in batch.changed],
    )
    if appends:
        execute("UPDATE state SET arrival = ?, packet = ?", (appends[-1].arrival, appends[-1].packet))
    for append in reversed(appends):
        record = batch.records[append.feed]
        if record.own or record.followed:
            execute("UPDATE state SET kept_arrival = ?, kept_packet = ?", (append.arrival, append.packet))
            return


def _cut(batch: _Batch, feed: FeedId, keep: int) -> None:
    """Delete what there is of *feed* behind entry *keep*, as the store did."""
    person = batch.people[feed]
    authors = {each.number: one for one, each in batch.people.items()}

    def ties_of(number: int, seq: int, space: str) -> tuple[bytes | None, bytes]:
        found = _stored_meaning(batch, authors[number], seq)
        if found is None:
            return None, b""
        tie = next((one for one in found.further if one.space == space), found)
        return None if tie.root is None else bytes(tie.root), b"".join(tie.previous)

    batch.placer.finish()
    delete_messages(batch.connection, person.number, keep, ties_of)
    batch.changed.add(feed)
    person.entries = keep
    sql = "SELECT committed_us FROM messages WHERE feed = ? AND seq = ?"
    (person.last_us,) = batch.connection.execute(sql, (person.number, keep)).fetchone() or (0,)
    if person.said_seq > keep:
        person.said, person.said_seq = _alias(batch, feed, person.number)


def _alias(batch: _Batch, feed: FeedId, number: int) -> tuple[str | None, int]:
    """Return the latest alias among the messages of *feed* that are in the catalog, and the entry with it; 0 for
    none."""
    sql = "SELECT seq FROM messages WHERE feed = ? AND kind = ? ORDER BY seq DESC"
    for (seq,) in batch.connection.execute(sql, (number, MessageKind.IAM.value)).fetchall():
        found = _stored_meaning(batch, feed, seq)
        if found is not None and found.alias is not None:
            return found.alias or None, seq
    return None, 0


def _stored_meaning(batch: _Batch, feed: FeedId, seq: int) -> Meaning | None:
    """Return the meaning of an entry in the store; None if it, or a packet of its side chain, is not there."""
    entry = batch.store.entry(feed, seq)
    if entry is None:
        return None
    content = read_whole_content(batch.store, entry, entry_layout(entry, batch.records[feed].dialect))
    return None if content is None else meaning_of(type_of(entry), content, entry.id, feed, batch.key)


def _person_row(feed: FeedId, person: _Person) -> tuple[int | bytes | str | None, ...]:
    return (
        person.number,
        bytes(feed),
        person.own,
        person.entries,
        person.last_us,
        person.said,
        person.said_seq,
    )


def _person(batch: _Batch, feed: FeedId) -> _Person:
    """Return the row of *feed*, which will change."""
    batch.changed.add(feed)
    person = batch.people.get(feed)
    if person is None:
        person = _Person(len(batch.people) + 1, batch.records[feed].own, 0, 0, None, 0)
        batch.people[feed] = person
    return person


def _read_entry(batch: _Batch, entry: StoredEntry) -> None:
    person = _person(batch, entry.feed)
    if entry.seq <= person.entries:
        _cut(batch, entry.feed, entry.seq - 1)  # it was deleted, and came again
    person.entries, person.last_us = entry.seq, entry.committed_us
    layout = entry_layout(entry, batch.records[entry.feed].dialect)
    if layout.chunks:
        batch.begun[person.number, entry.seq] = _Begun(person, entry, layout)
    else:
        _understand(batch, person, entry, layout, layout.head)


def _read_chunk(batch: _Batch, chunk: StoredChunk) -> None:
    """Count a packet of a side chain; after the last one the message can be parsed. They arrive in order, without
    gaps."""
    person = _person(batch, chunk.feed)
    place = (person.number, chunk.seq)
    begun = batch.begun.get(place)
    if begun is not None:
        begun.packets.append(chunk.packet)
        if len(begun.packets) == begun.layout.chunks:
            del batch.begun[place]
            whole = reassemble(begun.layout, begun.packets)
            _understand(batch, person, begun.entry, begun.layout, whole)
        return
    batch.held[place] = chunk.chunk + 1
    if place not in batch.chunks:
        sql = "SELECT coalesce(max(chunks), 0) FROM messages WHERE feed = ? AND seq = ?"
        (batch.chunks[place],) = batch.connection.execute(sql, place).fetchone()
    entry = batch.store.entry(chunk.feed, chunk.seq) if batch.chunks[place] == chunk.chunk + 1 else None
    if entry is not None:
        layout = entry_layout(entry, batch.records[entry.feed].dialect)
        content = read_whole_content(batch.store, entry, layout)
        assert content is not None, "the store has what it said came"
        _understand(batch, person, entry, layout, content)


def _keep_beginnings(batch: _Batch) -> None:
    """Write the rows of messages whose packets are incomplete."""
    for begun in batch.begun.values():
        meaning = Meaning(kind=MessageKind.OPAQUE, text=begun.layout.head.hex(), cut=True)
        _keep(batch, begun.person, begun.entry, begun.layout, len(begun.packets), meaning, NOWHERE)


def _understand(batch: _Batch, person: _Person, entry: StoredEntry, layout: Layout, content: bytes) -> None:
    """Index an entry whose content is complete, with its meaning, and its position if it can be placed."""
    meaning = meaning_of(type_of(entry), content, entry.id, entry.feed, batch.key)
    if meaning.low_minutes is not None:
        meaning = replace(
            meaning, said_us=resolve_time(batch.connection, person.number, entry.seq, meaning.low_minutes)
        )
    if meaning.space is None:
        _keep(batch, person, entry, layout, layout.chunks, meaning, NOWHERE)
    else:
        root = None if meaning.root is None else bytes(meaning.root)
        previous = b"".join(meaning.previous)
        tie = TangleMembership(
            entry.arrival,
            bytes(entry.id),
            person.number,
            entry.seq,
            meaning.said_us,
            meaning.space,
            root,
            previous,
        )
        position = batch.placer.place(tie)
        _keep(batch, person, entry, layout, layout.chunks, meaning, position)
        if position.placed is not None and position.root is not None:
            batch.placer.release(tie, position.root)
        for index, further in enumerate(meaning.further, 1):
            place = replace(
                tie,
                number=further_number(entry.arrival, index),
                space=further.space,
                root=None if further.root is None else bytes(further.root),
                previous=b"".join(further.previous),
            )
            batch.placer.add_further(entry.arrival, place)
    if meaning.said_us is not None and not meaning.private:
        for changed in resolve_later(batch.connection, person.number, entry.seq):
            batch.placer.unsettle(changed)
    _note_people(batch, entry, meaning, person)
    if meaning.kind not in SILENT and meaning.text:
        row = (entry.arrival, meaning.text)
        batch.connection.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", row)


def _keep(
    batch: _Batch,
    person: _Person,
    entry: StoredEntry,
    layout: Layout,
    held: int,
    meaning: Meaning,
    found: TanglePosition,
) -> None:
    """Write the row of a message, replacing an incomplete one."""
    row = (
        entry.arrival,
        bytes(entry.id),
        person.number,
        entry.seq,
        entry.committed_us,
        meaning.said_us,
        meaning.low_minutes,
        entry.origin.value,
        meaning.kind.value,
        meaning.space,
        found.root,
        b"".join(meaning.previous) if found.placed is None else found.previous,
        found.lacking,
        found.placed,
        found.order_us,
        not meaning.tip,
        meaning.text,
        meaning.cut,
        meaning.voice_size,
        layout.size,
        layout.chunks,
        held,
        meaning.private,
        meaning.step,
    )
    batch.connection.execute(_KEEP, row)


def _note_people(batch: _Batch, entry: StoredEntry, meaning: Meaning, person: _Person) -> None:
    """Write the alias and the conversation's members that the entry gives."""
    if meaning.alias is not None and entry.seq > person.said_seq:
        person.said, person.said_seq = meaning.alias or None, entry.seq
    root = meaning.root
    if meaning.space == CHAT and root is not None and root not in batch.circles:
        batch.circles.add(root)
        name = root.hex()[: limits.CIRCLE_NAME_DIGITS] if meaning.members else PUBLIC
        row = (bytes(root), name, b"".join(meaning.members))
        batch.connection.execute("INSERT OR IGNORE INTO circles VALUES (?, ?, ?)", row)
