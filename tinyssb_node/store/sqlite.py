"""The store in SQLite (decision 0004). Format: ``docs/formats/store.md``.

Appends are buffered and written many at a time: by ``commit``, or by the first read that might need them. Frontiers and
unfinished side chains are written once per commit, however often they changed in between.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Self

from tinyssb_node import limits
from tinyssb_node.codec.dmx import chunk_hash
from tinyssb_node.errors import (
    ForkProofFormatError,
    LocalError,
    StoreDamagedError,
    StoreFailedError,
    StoreFullError,
)
from tinyssb_node.feeds.fork import ForkProof, parse_proof, serialize_proof
from tinyssb_node.feeds.sidechain import SideChain
from tinyssb_node.ids import Dialect, FaceName, FeedId, MessageId, Origin
from tinyssb_node.store.lock import FolderLock
from tinyssb_node.store.port import (
    AirtimeCharge,
    FeedRecord,
    FeedUsage,
    NewestEntry,
    Receipt,
    StoredChunk,
    StoredEntry,
)
from tinyssb_node.store.presence_filter import PresenceFilter
from tinyssb_node.store.recovery import recover_log, sync_names, take_lock
from tinyssb_node.store.sqlite_file import (
    GIVEN_ARRIVAL,
    META_ARRIVALS,
    end_exclusive_mode,
    open_for_reading,
    open_for_writing,
    store_faults,
)
from tinyssb_node.store.wrapping_key import WrappingKey

SqlValue = int | str | bytes | None

_UNFINISHED: Final = (
    "SELECT feed, seq, chunks, held, next_hash, content_size FROM side_chains "
    "WHERE (feed, seq) > (?, ?) AND feed <= ? ORDER BY feed, seq LIMIT 256"
)


@dataclass(slots=True)
class KeptFeed:
    """A feed's record with its number in the file."""

    number: int
    record: FeedRecord
    seq: int
    """Ahead of the record's while appends come in; the record is updated when it is read."""
    tip: MessageId | None

    @property
    def dropped(self) -> bool:
        """True if it is nowhere but in the table, where its number may not go to another one."""
        return self.record.retired and self.record.dialect is None

    def current(self) -> FeedRecord:
        """Return the record with the current frontier."""
        if self.record.seq != self.seq:
            self.record = replace(self.record, seq=self.seq, tip=self.tip)
        return self.record


def proof_of(feed: bytes, seq: int, raw: object) -> ForkProof | None:
    """Parse the proof in *raw* of a fork of *feed* at *seq*; None if it is malformed or about another position."""
    if not isinstance(raw, bytes):
        return None
    try:
        proof = parse_proof(raw)
    except ForkProofFormatError:
        return None
    return proof if (proof.feed, proof.seq) == (feed, seq) else None


def feed_row(feed: KeptFeed) -> tuple[SqlValue, ...]:
    """Return the row of ``feeds``."""
    record = feed.current()
    return (
        feed.number,
        bytes(record.feed),
        None if record.dialect is None else record.dialect.value,
        record.seq,
        None if record.tip is None else bytes(record.tip),
        record.own,
        record.wanted,
        record.forked_at,
        record.child,
        record.retired,
        record.beyond,
        record.followed + 2 * record.for_group,
        record.newest,
    )


def kept_feed(
    row: tuple[int, bytes, str | None, int, bytes | None, int, int, int | None, int, int, int, int, int],
) -> KeptFeed:
    """Parse a row of ``feeds``."""
    number, feed, dialect, seq, tip, own, wanted, forked_at, child, retired, beyond, followed, newest = row
    record = FeedRecord(
        feed=FeedId(feed),
        dialect=None if dialect is None else Dialect(dialect),
        seq=seq,
        tip=None if tip is None else MessageId(tip),
        own=bool(own),
        wanted=bool(wanted),
        forked_at=forked_at,
        child=bool(child),
        retired=bool(retired),
        beyond=bool(beyond),
        followed=bool(followed & 1),
        for_group=bool(followed & 2),
        newest=newest,
    )
    return KeptFeed(number, record, record.seq, record.tip)


_HASH_PREFIX: Final = 8
"""Bytes of a chunk's hash that are indexed, as a signed integer: SQLite's own size."""
_MEND_PROOF: Final = (
    "`tinyssb verify --repair` keeps a copy of it and takes out what is damaged; "
    "peers that have the feed prove its fork again."
)
"""Advice about a damaged proof."""

_META_ERASABLE: Final = "erasable"
"""Name in the store of the secrets that must be erasable, encrypted, in hexadecimal."""
_COMMITS_OF_NOTHING: Final = """
WITH spans AS (
    SELECT arrival AS last, coalesce(
        (SELECT max(earlier.arrival) FROM commits AS earlier WHERE earlier.arrival < commits.arrival), 0
    ) AS before FROM commits
    WHERE arrival >= ?1 AND arrival <= coalesce((SELECT min(arrival) FROM commits WHERE arrival >= ?2), ?2)
)
DELETE FROM commits WHERE arrival IN (
    SELECT last FROM spans
    WHERE NOT EXISTS (SELECT 1 FROM entries WHERE arrival > before AND arrival <= last)
    AND NOT EXISTS (SELECT 1 FROM chunks WHERE arrival > before AND arrival <= last)
)
"""
"""Deletion of those commits that dated the appends from one arrival number to another one, and date none any more."""

_EntryRow = tuple[int, int, bytes, bytes, str, str | None, int, int]
_ChunkRow = tuple[int, int, int, bytes, str, str | None, int, int]


class SqliteStore:
    """A ``Store`` in one file. Opened for writing, it keeps the lock of the file's folder until it is closed."""

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: FolderLock | None) -> None:
        """Use ``open`` or ``open_readonly``."""
        self._path = path
        self._connection = connection
        self._lock = lock
        self._spoiled = False
        """A write failed: SQLite may have undone the transaction by itself, so nothing may be added to it."""
        self._alone = False
        """True if opened on a full disk: no other process can read the file until something could be written."""
        self._feeds: dict[FeedId, KeptFeed] = {}
        self._ids: dict[int, FeedId] = {}
        """Feeds by their number in the file."""
        self._moved: set[FeedId] = set()
        """Feeds that differ from the file."""
        self._new_entries: list[tuple[int, int, int, int, bytes, bytes, str, str | None]] = []
        self._new_chunks: list[tuple[int, int, int, int, int, bytes, str, str | None]] = []
        self._new_side_chains: dict[tuple[int, int], SideChain] = {}
        self._new_receipts: dict[int, Receipt] = {}
        self._new_newest: dict[tuple[FeedId, int], NewestEntry] = {}
        self._arrival = 0
        """The last arrival number given."""
        self._committed = 0
        """The last arrival number that a rollback keeps."""
        self._wrapping = WrappingKey(path)
        self._secret: bytes | None = None
        self._secret_loaded = False
        self._hints: PresenceFilter | None = None
        """Of DMX and hashes, from the first time that a packet is looked for; of a store that others write, never."""
        self._load()

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the store at *path* for writing, made if there is none; its folder exists.

        On a full disk a store that is there is opened all the same: it can be read, and written once there is room.

        Raises StoreLockedError, StoreTooNewError, StoreDamagedError, StoreFullError, StoreFailedError.
        """
        with ExitStack() as undo:
            lock = take_lock(path)
            undo.callback(lock.release)
            recover_log(path)
            try:
                connection, alone = open_for_writing(path), False
            except StoreFullError:
                connection, alone = open_for_writing(path, alone=True), True
            undo.callback(connection.close)
            sync_names(path)
            store = cls(path, connection, lock)
            store._alone = alone
            undo.pop_all()
            return store

    @classmethod
    def open_readonly(cls, path: Path) -> Self:
        """Open the store at *path* for reading, as it is now, while others may have it open; writes fail.

        Raises StoreTooNewError, StoreDamagedError, StoreFailedError.
        """
        with ExitStack() as undo:
            connection = open_for_reading(path)
            undo.callback(connection.close)
            store = cls(path, connection, None)
            undo.pop_all()
            return store

    def feeds(self) -> Sequence[FeedRecord]:
        """Return all feeds, retired ones included, sorted by feed id."""
        return [feed.current() for _, feed in sorted(self._feeds.items()) if not feed.dropped]

    def put_feed(self, record: FeedRecord) -> None:
        """Add or replace the record of a feed."""
        known = self._feeds.get(record.feed)
        number = next(reversed(self._ids), 0) + 1 if known is None else known.number
        self._feeds[record.feed] = KeptFeed(number, record, record.seq, record.tip)
        self._ids[number] = record.feed
        self._moved.add(record.feed)

    def drop_feed(self, feed: FeedId) -> None:
        """Delete a feed of which nothing is stored, and that is not ours. Added again, it is new."""
        record = self._feeds[feed].current()
        assert record.dialect is None, "what is held is kept"
        self.put_feed(replace(record, retired=True))
        about = [each.number for each in self._new_receipts.values() if feed in {each.feed, each.holder}]
        for number in about:
            del self._new_receipts[number]
        # Not one by one: many ids leave a set at once, and all receipts would be read for each of them.
        self._write("DELETE FROM receipts WHERE feed = ?1 OR holder = ?1", [(self._feeds[feed].number,)])

    def cut_feed(self, feed: FeedId, keep: int) -> int:
        """Delete all that is stored of *feed* behind entry *keep*. Returns how many packets that were. The file does
        not get smaller: what comes next takes the room."""
        known = self._feeds[feed]
        place = (known.number, keep)
        sql = (
            "SELECT count(*), min(arrival), max(arrival) FROM ("
            "SELECT arrival FROM entries WHERE feed = ?1 AND seq > ?2 UNION ALL "
            "SELECT arrival FROM chunks WHERE feed = ?1 AND seq > ?2)"
        )
        ((packets, first, last),) = self._select(sql, place)
        for table in ("entries", "chunks", "side_chains"):
            self._write(f"DELETE FROM {table} WHERE feed = ? AND seq > ?", [place])  # noqa: S608 - our names
        self._write("DELETE FROM forks WHERE feed = ? AND seq > ?", [(bytes(feed), keep)])
        if packets:
            self._write(_COMMITS_OF_NOTHING, [(first, last)])
            self.put_meta(META_ARRIVALS, str(self._arrival))
        if known.seq > keep:
            before = self.entry(feed, keep)
            known.seq, known.tip = keep, None if before is None else before.id
            self._moved.add(feed)
        return int(packets)

    def usage(self) -> Sequence[FeedUsage]:
        """Return the room that each feed takes of which an entry is stored, sorted by feed id."""
        # Counted in the indexes by place: no row is read but the first one of each feed.
        sql = (
            "SELECT (SELECT count(*) FROM entries WHERE feed = ?1) + (SELECT count(*) FROM chunks WHERE feed = ?1), "
            "(SELECT arrival FROM entries WHERE feed = ?1 ORDER BY seq LIMIT 1)"
        )
        found = []
        for feed, known in sorted(self._feeds.items()):
            ((packets, begun),) = self._select(sql, (known.number,)) if known.seq else ((0, None),)
            if begun is not None:
                found.append(FeedUsage(feed=feed, packets=packets, begun=begun))
        return found

    def append_entry(
        self, feed: FeedId, seq: int, packet: bytes, id_: MessageId, origin: Origin, face: FaceName | None
    ) -> int:
        """Add a verified entry behind the last one and move the feed's frontier to it. Returns its arrival number."""
        known = self._feeds.get(feed)
        assert known is not None, "a feed is put before its entries"
        assert seq == known.seq + 1, f"entry {seq} does not follow {known.seq}"
        known.seq, known.tip = seq, id_
        self._moved.add(feed)
        self._arrival = arrival = self._arrival + 1
        dmx = int.from_bytes(packet[: limits.DMX_SIZE], "big")
        # Plain bytes and text: sqlite3 looks for an adapter for every subclass it meets.
        self._new_entries.append((arrival, known.number, seq, dmx, packet, bytes(id_), origin.value, face))
        if self._hints is not None:
            self._hints.add(dmx)
        return arrival

    def append_chunk(
        self, feed: FeedId, seq: int, chunk: int, packet: bytes, origin: Origin, face: FaceName | None
    ) -> int:
        """Add a verified packet of a side chain. Returns its arrival number."""
        number = self._feeds[feed].number
        self._arrival = arrival = self._arrival + 1
        hash_ = _hash_prefix(chunk_hash(packet))
        self._new_chunks.append((arrival, number, seq, chunk, hash_, packet, origin.value, face))
        if self._hints is not None:
            self._hints.add(hash_)
        return arrival

    def put_side_chain(self, chain: SideChain) -> None:
        """Store the state of an unfinished side chain; delete it when the chain is complete."""
        self._new_side_chains[self._feeds[chain.feed].number, chain.seq] = chain

    def side_chains(self, feed: FeedId | None = None) -> Iterator[SideChain]:
        """Yield the unfinished side chains, of one feed if so asked: those of a feed together, in order of their
        sequence numbers."""
        if feed is not None and feed not in self._feeds:
            return
        first, last = (0, 2**62) if feed is None else 2 * (self._feeds[feed].number,)
        place = first, 0
        while rows := self._select(_UNFINISHED, (*place, last)):
            for number, *rest in rows:
                yield SideChain(self._ids[number], *rest)
            place = rows[-1][:2]

    def entry(self, feed: FeedId, seq: int) -> StoredEntry | None:
        """Return one entry, O(log n)."""
        return next(iter(self.entries(feed, seq, 1)), None)

    def entries(self, feed: FeedId, first: int, limit: int) -> Sequence[StoredEntry]:
        """Return up to *limit* entries from sequence number *first* on, in order."""
        known = self._feeds.get(feed)
        if known is None:
            return []
        sql = (
            "SELECT feed, seq, packet, id, origin, face, arrival, committed_us FROM dated_entries "
            "WHERE feed = ? AND seq >= ? AND seq < ? ORDER BY seq"
        )
        return [self._entry(row) for row in self._select(sql, (known.number, first, first + limit))]

    def chunk(self, feed: FeedId, seq: int, chunk: int) -> bytes | None:
        """Return one packet of a side chain, O(log n)."""
        return next(iter(self.chunks(feed, seq, chunk, 1)), None)

    def chunks(self, feed: FeedId, seq: int, first: int, limit: int) -> Sequence[bytes]:
        """Return up to *limit* packets of a side chain from number *first* on, in order."""
        known = self._feeds.get(feed)
        if known is None:
            return []
        sql = (
            "SELECT packet FROM chunks WHERE feed = ? AND seq = ? AND chunk >= ? AND chunk < ? ORDER BY chunk"
        )
        return [packet for (packet,) in self._select(sql, (known.number, seq, first, first + limit))]

    def last_packet(self, feed: FeedId, seq: int) -> int:
        """Return the arrival number of the last packet of an entry and its side chain; 0: it is not stored."""
        entry = self.entry(feed, seq)
        if entry is None:
            return 0
        sql = "SELECT arrival FROM chunks WHERE feed = ? AND seq = ? ORDER BY chunk DESC LIMIT 1"
        rows = self._select(sql, (self._feeds[feed].number, seq))
        return max(entry.arrival, *(int(arrival) for (arrival,) in rows), 0)

    def find_entries(self, dmx: bytes) -> Sequence[tuple[FeedId, int]]:
        """Return the positions of stored entries with this DMX, in order of arrival."""
        sql = "SELECT feed, seq FROM entries WHERE dmx = ? ORDER BY arrival"
        return [(self._ids[number], seq) for number, seq in self._select(sql, (int.from_bytes(dmx, "big"),))]

    def find_chunks(self, hash_: bytes) -> Sequence[tuple[FeedId, int, int]]:
        """Return the positions of stored chunks with this SHA-256[:20], in order of arrival."""
        sql = "SELECT feed, seq, chunk, packet FROM chunks WHERE hash = ? ORDER BY arrival"
        return [
            (self._ids[number], seq, chunk)
            for number, seq, chunk, packet in self._select(sql, (_hash_prefix(hash_),))
            if chunk_hash(packet) == hash_
        ]

    def may_hold(self, dmx: bytes, hash_: bytes) -> bool:
        """Return False if neither an entry with this DMX nor a chunk with this SHA-256[:20] is stored."""
        if self._hints is None:
            if self._lock is None:
                return True
            # Includes what is buffered: from now on the filter is given appends only.
            self._flush()
            with store_faults(self._path, "reading"):
                rows = self._connection.execute("SELECT dmx FROM entries UNION ALL SELECT hash FROM chunks")
                self._hints = PresenceFilter(number for (number,) in rows)
        return self._hints.may_have(dmx, hash_[:_HASH_PREFIX])

    def put_fork(self, proof: ForkProof) -> None:
        """Keep both branches of a fork. A place that has a proof keeps the one it has."""
        row = (bytes(proof.feed), proof.seq, serialize_proof(proof))
        self._write("INSERT OR IGNORE INTO forks VALUES (?, ?, ?)", [row])

    def forks(self) -> Sequence[ForkProof]:
        """Return all proofs, sorted by feed and sequence number. Raises StoreDamagedError."""
        proofs = []
        for feed, seq, proof in self.fork_rows():
            if proof is None:
                reason = f"the proof that {feed.hex()} is forked at entry {seq} is damaged"
                raise StoreDamagedError(self._path, reason, _MEND_PROOF)
            proofs.append(proof)
        return proofs

    def fork_rows(self) -> Sequence[tuple[FeedId, int, ForkProof | None]]:
        """Return the same with the positions they are stored under; None instead of a proof that is malformed or about
        another position."""
        rows = self._select("SELECT feed, seq, proof FROM forks ORDER BY feed, seq", ())
        if any(not isinstance(feed, bytes) or len(feed) != limits.FEED_ID_SIZE for feed, _, _ in rows):
            raise StoreDamagedError(self._path, "it has a proof of no feed")
        return [(FeedId(feed), seq, proof_of(feed, seq, proof)) for feed, seq, proof in rows]

    def after(self, arrival: int, limit: int) -> Sequence[StoredEntry | StoredChunk]:
        """Return the next *limit* appends with arrival numbers above *arrival*, in order; fewer if there are no
        more."""
        sql = (
            "SELECT max(arrival) FROM (SELECT arrival FROM entries WHERE arrival > ?1 "
            "UNION ALL SELECT arrival FROM chunks WHERE arrival > ?1 ORDER BY arrival LIMIT ?2)"
        )
        ((last,),) = self._select(sql, (arrival, limit))
        if last is None:
            return []
        bounds = (arrival, last)
        sql = (
            "SELECT feed, seq, packet, id, origin, face, arrival, committed_us FROM dated_entries "
            "WHERE arrival > ? AND arrival <= ?"
        )
        found: list[StoredEntry | StoredChunk] = [self._entry(row) for row in self._select(sql, bounds)]
        sql = (
            "SELECT feed, seq, chunk, packet, origin, face, arrival, committed_us FROM dated_chunks "
            "WHERE arrival > ? AND arrival <= ?"
        )
        found += [self._chunk(row) for row in self._select(sql, bounds)]
        return sorted(found, key=attrgetter("arrival"))

    def last_arrival(self) -> int:
        """Return the highest arrival number that was given, 0 for none."""
        return self._arrival

    def put_charge(self, charge: AirtimeCharge) -> None:
        """Add or replace a charge."""
        row = (charge.band, charge.number, charge.advert, charge.airtime_us, charge.ended_us)
        self._write("INSERT OR REPLACE INTO charges VALUES (?, ?, ?, ?, ?)", [row])

    def drop_charges(self, band: str, through: int) -> None:
        """Delete the account's charges up to and including number *through*."""
        self._write("DELETE FROM charges WHERE band = ? AND number <= ?", [(band, through)])

    def charges(self) -> Sequence[AirtimeCharge]:
        """Return all charges, sorted by account and number."""
        sql = "SELECT band, number, advert, airtime_us, ended_us FROM charges ORDER BY band, number"
        return [
            AirtimeCharge(
                band=band, number=number, advert=bool(advert), airtime_us=airtime_us, ended_us=ended_us
            )
            for band, number, advert, airtime_us, ended_us in self._select(sql, ())
        ]

    def put_receipt(self, receipt: Receipt) -> None:
        """Add or replace a receipt; the next commit dates it."""
        self._new_receipts[receipt.number] = replace(receipt, known_us=0)

    def drop_receipts(self, numbers: Sequence[int]) -> None:
        """Delete the receipts of these numbers."""
        for number in numbers:
            self._new_receipts.pop(number, None)
        self._write("DELETE FROM receipts WHERE number = ?", [(number,) for number in numbers])

    def receipts(self) -> Sequence[Receipt]:
        """Return all receipts, by number."""
        sql = "SELECT number, feed, seq, holder, face, speaker, known_us FROM receipts"
        found = {row[0]: self._receipt(row) for row in self._select(sql, ())}
        return [receipt for _, receipt in sorted((found | self._new_receipts).items())]

    def unused(self) -> int:
        """Return the bytes of the file that hold nothing: what is appended takes these first."""
        sql = "SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size"
        ((size,),) = self._select(sql, ())
        return int(size)

    def put_newest_entry(self, entry: NewestEntry) -> None:
        """Add or replace an entry of which earlier ones are missing; the next commit dates it."""
        self._new_newest[entry.feed, entry.seq] = replace(entry, known_us=0)

    def drop_newest_entry(self, feed: FeedId, seq: int) -> None:
        """Delete such an entry."""
        self._new_newest.pop((feed, seq), None)
        self._write(
            "DELETE FROM newest_entries WHERE feed = ? AND seq = ?", [(self._feeds[feed].number, seq)]
        )

    def newest_entries(self) -> Sequence[NewestEntry]:
        """Return all of them, sorted by feed and sequence number."""
        rows = self._select("SELECT feed, seq, prev, id, packet, chunks, known_us FROM newest_entries", ())
        stored = [self._newest_entry(row) for row in rows]
        found = {(entry.feed, entry.seq): entry for entry in stored} | self._new_newest
        return [entry for _, entry in sorted(found.items())]

    def get_meta(self, key: str) -> str | None:
        """Return a small value stored by name."""
        return next(
            (value for (value,) in self._select("SELECT value FROM meta WHERE key = ?", (key,))), None
        )

    def put_meta(self, key: str, value: str) -> None:
        """Keep a small value by name."""
        self._write("INSERT OR REPLACE INTO meta VALUES (?, ?)", [(key, value)])

    def get_secret(self) -> bytes | None:
        """Return the secrets that must be erasable; None if there are none, or their key is lost."""
        self._load_secret()
        return self._secret

    def put_secret(self, secret: bytes) -> None:
        """Keep secrets in place of those before, which nothing on the disk opens once this is committed."""
        self._load_secret()
        with self._writing():
            sealed = self._wrapping.seal(secret)
        self.put_meta(_META_ERASABLE, sealed.hex())
        self._secret = secret

    def _load_secret(self) -> None:
        """Read the secrets, once; overwrite the key that a crash left of others."""
        if self._secret_loaded:
            return
        sealed = self.get_meta(_META_ERASABLE)
        settle = self._lock is not None
        self._secret = None if sealed is None else self._wrapping.open(bytes.fromhex(sealed), settle=settle)
        self._secret_loaded = True

    def commit(self, wall_us: int) -> None:
        """Make everything written since the last commit durable (fsync included), stamped with *wall_us*."""
        self._flush()
        if self._moved:
            rows = [feed_row(self._feeds[feed]) for feed in self._moved]
            self._write("INSERT OR REPLACE INTO feeds VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        if self._new_receipts:
            dated = [self._receipt_row(receipt, wall_us) for receipt in self._new_receipts.values()]
            self._write("INSERT OR REPLACE INTO receipts VALUES (?, ?, ?, ?, ?, ?, ?)", dated)
            self._new_receipts.clear()
        if self._new_newest:
            proven = [self._newest_row(entry, wall_us) for entry in self._new_newest.values()]
            self._write("INSERT OR REPLACE INTO newest_entries VALUES (?, ?, ?, ?, ?, ?, ?)", proven)
            self._new_newest.clear()
        if self._arrival > self._committed:
            self._write("INSERT INTO commits VALUES (?, ?)", [(self._arrival, wall_us)])
        if self._connection.in_transaction:
            with self._writing():
                self._connection.execute("COMMIT")
                self._wrapping.settle()
            self._end_alone()
        self._moved.clear()
        self._committed = self._arrival

    def _end_alone(self) -> None:
        """There was room for a commit: let others read the file again."""
        if not self._alone:
            return
        # Without room for more, the next commit tries again.
        with suppress(StoreFullError):
            end_exclusive_mode(self._path, self._connection)
            self._alone = False

    def rollback(self) -> None:
        """Undo everything written since the last commit."""
        with store_faults(self._path, "undoing a transaction"):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        self._spoiled = False
        self._new_entries.clear()
        self._new_chunks.clear()
        self._new_side_chains.clear()
        self._new_receipts.clear()
        self._new_newest.clear()
        self._moved.clear()
        self._wrapping.forget_next()
        self._secret_loaded = False
        self._load()

    def close(self) -> None:
        """Close the file and release the lock; uncommitted writes are lost."""
        self._connection.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _load(self) -> None:
        """Load what is cached in memory, as of the last commit."""
        with store_faults(self._path, "reading"):
            feeds = [kept_feed(row) for row in self._connection.execute("SELECT * FROM feeds")]
            (arrival,) = self._connection.execute(f"SELECT {GIVEN_ARRIVAL}").fetchone()
        self._feeds = {feed.record.feed: feed for feed in feeds}
        self._ids = {feed.number: feed.record.feed for feed in sorted(feeds, key=attrgetter("number"))}
        self._arrival = self._committed = arrival

    @contextmanager
    def _writing(self) -> Iterator[None]:
        if self._spoiled:
            raise StoreFailedError(
                f"{self._path}: a write failed before; nothing is written until it is undone"
            )
        try:
            with store_faults(self._path, "writing"):
                yield
        except LocalError:
            self._spoiled = True
            raise

    def _write(self, sql: str, rows: Sequence[tuple[SqlValue, ...]]) -> None:
        with self._writing():
            if not self._connection.in_transaction:
                self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(sql, rows)

    def _flush(self) -> None:
        """Write what is buffered, so that it can be read, and committed or undone."""
        if self._new_entries:
            self._write("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", self._new_entries)
            self._new_entries.clear()
        if self._new_chunks:
            self._write("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?)", self._new_chunks)
            self._new_chunks.clear()
        if self._new_side_chains:
            changed = self._new_side_chains.items()
            gone = [place for place, chain in changed if chain.complete]
            kept = [
                (*place, chain.chunks, chain.held, chain.next_hash, chain.content_size)
                for place, chain in changed
                if not chain.complete
            ]
            self._write("DELETE FROM side_chains WHERE feed = ? AND seq = ?", gone)
            self._write("INSERT OR REPLACE INTO side_chains VALUES (?, ?, ?, ?, ?, ?)", kept)
            self._new_side_chains.clear()

    def _select(self, sql: str, values: tuple[SqlValue, ...]) -> list[tuple[Any, ...]]:
        self._flush()
        with store_faults(self._path, "reading"):
            return self._connection.execute(sql, values).fetchall()

    def _entry(self, row: _EntryRow) -> StoredEntry:
        number, seq, packet, id_, origin, face, arrival, committed_us = row
        return StoredEntry(
            feed=self._ids[number],
            seq=seq,
            packet=packet,
            id=MessageId(id_),
            origin=Origin(origin),
            face=None if face is None else FaceName(face),
            arrival=arrival,
            committed_us=committed_us,
        )

    def _chunk(self, row: _ChunkRow) -> StoredChunk:
        number, seq, chunk, packet, origin, face, arrival, committed_us = row
        return StoredChunk(
            feed=self._ids[number],
            seq=seq,
            chunk=chunk,
            packet=packet,
            origin=Origin(origin),
            face=None if face is None else FaceName(face),
            arrival=arrival,
            committed_us=committed_us,
        )

    def _newest_entry(self, row: tuple[int, int, bytes, bytes, bytes, bytes, int]) -> NewestEntry:
        number, seq, prev, id_, packet, chunks, known_us = row
        size = limits.PACKET_SIZE
        return NewestEntry(
            feed=self._ids[number],
            seq=seq,
            prev=MessageId(prev),
            id=MessageId(id_),
            packet=packet,
            chunks=tuple(chunks[at : at + size] for at in range(0, len(chunks), size)),
            known_us=known_us,
        )

    def _newest_row(self, entry: NewestEntry, wall_us: int) -> tuple[SqlValue, ...]:
        place = self._feeds[entry.feed].number, entry.seq, bytes(entry.prev), bytes(entry.id)
        return (*place, entry.packet, b"".join(entry.chunks), wall_us)

    def _receipt(self, row: tuple[int, int, int, int | None, str | None, bytes, int]) -> Receipt:
        number, feed, seq, holder, face, speaker, known_us = row
        return Receipt(
            number=number,
            feed=self._ids[feed],
            seq=seq,
            holder=None if holder is None else self._ids[holder],
            face=None if face is None else FaceName(face),
            speaker=speaker,
            known_us=known_us,
        )

    def _receipt_row(self, receipt: Receipt, wall_us: int) -> tuple[SqlValue, ...]:
        holder = None if receipt.holder is None else self._feeds[receipt.holder].number
        feed = self._feeds[receipt.feed].number
        return (receipt.number, feed, receipt.seq, holder, receipt.face, receipt.speaker, wall_us)


def _hash_prefix(hash_: bytes) -> int:
    return int.from_bytes(hash_[:_HASH_PREFIX], "big", signed=True)
