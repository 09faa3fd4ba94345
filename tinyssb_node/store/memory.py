"""The store in memory: for the simulator and for tests. The same contract tests apply to it and to SQLite."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Generic, TypeVar

from tinyssb_node import limits
from tinyssb_node.codec.dmx import chunk_hash
from tinyssb_node.feeds.fork import ForkProof
from tinyssb_node.feeds.sidechain import SideChain
from tinyssb_node.ids import FaceName, FeedId, MessageId, Origin
from tinyssb_node.store.port import (
    AirtimeCharge,
    FeedRecord,
    FeedUsage,
    NewestEntry,
    Receipt,
    StoredChunk,
    StoredEntry,
)

K = TypeVar("K")
V = TypeVar("V")


_META_ERASABLE = "erasable"
_KeyOf = Callable[[bytes], bytes]
_Journal = list[Callable[[], None]]
"""The undo steps of each write since the last commit, oldest first. There is one for all tables: most packets write
nothing, and committing nothing must cost next to nothing."""


class _Table(Generic[K, V]):
    """A dictionary that records in a journal how to undo each change."""

    __slots__ = ("_journal", "rows")

    def __init__(self, journal: _Journal) -> None:
        self.rows: dict[K, V] = {}
        self._journal = journal

    def put(self, key: K, value: V) -> None:
        self._journal.append(partial(self._undo, key, self.rows.get(key)))
        self.rows[key] = value

    def remove(self, key: K) -> None:
        self._journal.append(partial(self._undo, key, self.rows.get(key)))
        self.rows.pop(key, None)

    def _undo(self, key: K, before: V | None) -> None:
        if before is None:
            self.rows.pop(key, None)
        else:
            self.rows[key] = before


class MemoryStore:
    """A ``Store`` that a power cut empties."""

    def __init__(self) -> None:
        self._journal: _Journal = []
        self._feeds = _Table[FeedId, FeedRecord](self._journal)
        self._entries = _Table[tuple[FeedId, int], int](self._journal)
        self._chunks = _Table[tuple[FeedId, int, int], int](self._journal)
        self._entries_by_dmx = _Table[bytes, tuple[int, ...]](self._journal)
        self._chunks_by_hash = _Table[bytes, tuple[int, ...]](self._journal)
        self._side_chains = _Table[tuple[FeedId, int], SideChain](self._journal)
        self._forks = _Table[tuple[FeedId, int], ForkProof](self._journal)
        self._charges = _Table[tuple[str, int], AirtimeCharge](self._journal)
        self._receipts = _Table[int, Receipt](self._journal)
        self._undated: set[int] = set()
        """Receipts put since the last commit."""
        self._newest = _Table[tuple[FeedId, int], NewestEntry](self._journal)
        self._meta = _Table[str, str](self._journal)
        self._appends: list[StoredEntry | StoredChunk | None] = []
        """In order of arrival: number n at index n - 1; None if it was cut."""
        self._committed = 0
        """The last arrival number that a rollback keeps."""

    def feeds(self) -> Sequence[FeedRecord]:
        """Return all feeds, retired ones included, sorted by feed id."""
        return [record for _, record in sorted(self._feeds.rows.items())]

    def put_feed(self, record: FeedRecord) -> None:
        """Add or replace the record of a feed."""
        self._feeds.put(record.feed, record)

    def drop_feed(self, feed: FeedId) -> None:
        """Delete a feed of which nothing is stored, and that is not ours. Added again, it is new."""
        record = self._feeds.rows[feed]
        assert record.dialect is None, "what is held is kept"
        self._feeds.remove(feed)
        about = [receipt for receipt in self.receipts() if feed in {receipt.feed, receipt.holder}]
        self.drop_receipts([receipt.number for receipt in about])

    def cut_feed(self, feed: FeedId, keep: int) -> int:
        """Delete all that is stored of *feed* behind entry *keep*. Returns how many packets that were."""
        record = self._feeds.rows[feed]
        entries = [place for place in self._entries.rows if place[0] == feed and place[1] > keep]
        chunks = [place for place in self._chunks.rows if place[0] == feed and place[1] > keep]
        for entry in entries:
            self._cut(self._entries, entry, self._entries_by_dmx, _dmx_of)
        for chunk in chunks:
            self._cut(self._chunks, chunk, self._chunks_by_hash, chunk_hash)
        for chain in [chain for chain in self._side_chains.rows if chain[0] == feed and chain[1] > keep]:
            self._side_chains.remove(chain)
        for fork in [fork for fork in self._forks.rows if fork[0] == feed and fork[1] > keep]:
            self._forks.remove(fork)
        if record.seq > keep:
            last = self.entry(feed, keep)
            self._feeds.put(feed, replace(record, seq=keep, tip=None if last is None else last.id))
        return len(entries) + len(chunks)

    def _cut(
        self, places: "_Table[K, int]", place: K, index: "_Table[bytes, tuple[int, ...]]", key_of: _KeyOf
    ) -> None:
        arrival = places.rows[place]
        append = self._appends[arrival - 1]
        assert append is not None
        key = key_of(append.packet)
        left = tuple(other for other in index.rows[key] if other != arrival)
        if left:
            index.put(key, left)
        else:
            index.remove(key)
        places.remove(place)
        self._journal.append(partial(self._appends.__setitem__, arrival - 1, append))
        self._appends[arrival - 1] = None

    def usage(self) -> Sequence[FeedUsage]:
        """Return the room that each feed takes of which an entry is stored, sorted by feed id."""
        packets = Counter(feed for feed, *_ in (*self._entries.rows, *self._chunks.rows))
        begun: dict[FeedId, int] = {}
        for (feed, _), arrival in sorted(self._entries.rows.items(), reverse=True):
            begun[feed] = arrival
        return [
            FeedUsage(feed=feed, packets=packets[feed], begun=arrival)
            for feed, arrival in sorted(begun.items())
        ]

    def append_entry(
        self, feed: FeedId, seq: int, packet: bytes, id_: MessageId, origin: Origin, face: FaceName | None
    ) -> int:
        """Add a verified entry behind the last one and move the feed's frontier to it. Returns its arrival number."""
        record = self._feeds.rows.get(feed)
        assert record is not None, "a feed is put before its entries"
        assert seq == record.seq + 1, f"entry {seq} does not follow {record.seq}"
        arrival = len(self._appends) + 1
        self._appends.append(
            StoredEntry(
                feed=feed,
                seq=seq,
                packet=packet,
                id=id_,
                origin=origin,
                face=face,
                arrival=arrival,
                committed_us=0,
            )
        )
        self._entries.put((feed, seq), arrival)
        dmx = _dmx_of(packet)
        self._entries_by_dmx.put(dmx, (*self._entries_by_dmx.rows.get(dmx, ()), arrival))
        self._feeds.put(feed, replace(record, seq=seq, tip=id_))
        return arrival

    def append_chunk(
        self, feed: FeedId, seq: int, chunk: int, packet: bytes, origin: Origin, face: FaceName | None
    ) -> int:
        """Add a verified packet of a side chain. Returns its arrival number."""
        assert (feed, seq, chunk) not in self._chunks.rows, f"chunk {chunk} of entry {seq} is there"
        arrival = len(self._appends) + 1
        self._appends.append(
            StoredChunk(
                feed=feed,
                seq=seq,
                chunk=chunk,
                packet=packet,
                origin=origin,
                face=face,
                arrival=arrival,
                committed_us=0,
            )
        )
        self._chunks.put((feed, seq, chunk), arrival)
        hash_ = chunk_hash(packet)
        self._chunks_by_hash.put(hash_, (*self._chunks_by_hash.rows.get(hash_, ()), arrival))
        return arrival

    def put_side_chain(self, chain: SideChain) -> None:
        """Store the state of an unfinished side chain; delete it when the chain is complete."""
        if chain.complete:
            self._side_chains.remove((chain.feed, chain.seq))
        else:
            self._side_chains.put((chain.feed, chain.seq), chain)

    def side_chains(self, feed: FeedId | None = None) -> Iterator[SideChain]:
        """Yield the unfinished side chains, of one feed if so asked, sorted by feed and sequence number."""
        for place, chain in sorted(self._side_chains.rows.items()):
            if feed in (None, place[0]):
                yield chain

    def entry(self, feed: FeedId, seq: int) -> StoredEntry | None:
        """Return one entry."""
        arrival = self._entries.rows.get((feed, seq))
        return None if arrival is None else self._entry(arrival)

    def entries(self, feed: FeedId, first: int, limit: int) -> Sequence[StoredEntry]:
        """Return up to *limit* entries from sequence number *first* on, in order."""
        record = self._feeds.rows.get(feed)
        last = 0 if record is None else record.seq
        stop = min(first + limit - 1, last)
        return [self._entry(self._entries.rows[feed, seq]) for seq in range(max(first, 1), stop + 1)]

    def chunk(self, feed: FeedId, seq: int, chunk: int) -> bytes | None:
        """Return one packet of a side chain."""
        arrival = self._chunks.rows.get((feed, seq, chunk))
        append = None if arrival is None else self._appends[arrival - 1]
        return None if append is None else append.packet

    def chunks(self, feed: FeedId, seq: int, first: int, limit: int) -> Sequence[bytes]:
        """Return up to *limit* packets of a side chain from number *first* on, in order, up to the first one
        missing."""
        found: list[bytes] = []
        while len(found) < limit and (packet := self.chunk(feed, seq, first + len(found))) is not None:
            found.append(packet)
        return found

    def last_packet(self, feed: FeedId, seq: int) -> int:
        """Return the arrival number of the last packet of an entry and its side chain; 0: it is not stored."""
        arrival, chunk = self._entries.rows.get((feed, seq), 0), 0
        while (later := self._chunks.rows.get((feed, seq, chunk))) is not None:
            arrival, chunk = max(arrival, later), chunk + 1
        return arrival

    def find_entries(self, dmx: bytes) -> Sequence[tuple[FeedId, int]]:
        """Return the positions of stored entries with this DMX, in order of arrival."""
        found = (self._entry(arrival) for arrival in self._entries_by_dmx.rows.get(dmx, ()))
        return [(entry.feed, entry.seq) for entry in found]

    def find_chunks(self, hash_: bytes) -> Sequence[tuple[FeedId, int, int]]:
        """Return the positions of stored chunks with this SHA-256[:20], in order of arrival."""
        found = (self._appends[arrival - 1] for arrival in self._chunks_by_hash.rows.get(hash_, ()))
        return [(chunk.feed, chunk.seq, chunk.chunk) for chunk in found if isinstance(chunk, StoredChunk)]

    def may_hold(self, dmx: bytes, hash_: bytes) -> bool:
        """Return False if neither an entry with this DMX nor a chunk with this SHA-256[:20] is stored."""
        return dmx in self._entries_by_dmx.rows or hash_ in self._chunks_by_hash.rows

    def put_fork(self, proof: ForkProof) -> None:
        """Keep both branches of a fork. A place that has a proof keeps the one it has."""
        if (proof.feed, proof.seq) not in self._forks.rows:
            self._forks.put((proof.feed, proof.seq), proof)

    def fork_rows(self) -> Sequence[tuple[FeedId, int, ForkProof | None]]:
        """Return the same with the positions they are stored under; None instead of a proof that is malformed or about
        another position."""
        return [(proof.feed, proof.seq, proof) for proof in self.forks()]

    def forks(self) -> Sequence[ForkProof]:
        """Return all proofs, sorted by feed and sequence number."""
        return [proof for _, proof in sorted(self._forks.rows.items())]

    def after(self, arrival: int, limit: int) -> Sequence[StoredEntry | StoredChunk]:
        """Return the next *limit* appends with arrival numbers above *arrival*, in order; fewer if there are no
        more."""
        left = (append for append in islice(self._appends, arrival, None) if append is not None)
        return [*islice(left, limit)]

    def last_arrival(self) -> int:
        """Return the highest arrival number, 0 for none."""
        return len(self._appends)

    def put_charge(self, charge: AirtimeCharge) -> None:
        """Add or replace a charge."""
        self._charges.put((charge.band, charge.number), charge)

    def drop_charges(self, band: str, through: int) -> None:
        """Delete the account's charges up to and including number *through*."""
        for key in [key for key in self._charges.rows if key[0] == band and key[1] <= through]:
            self._charges.remove(key)

    def charges(self) -> Sequence[AirtimeCharge]:
        """Return all charges, sorted by account and number."""
        return [charge for _, charge in sorted(self._charges.rows.items())]

    def put_receipt(self, receipt: Receipt) -> None:
        """Add or replace a receipt; the next commit dates it."""
        self._receipts.put(receipt.number, replace(receipt, known_us=0))
        self._undated.add(receipt.number)

    def drop_receipts(self, numbers: Sequence[int]) -> None:
        """Delete the receipts of these numbers."""
        for number in numbers:
            self._receipts.remove(number)
            self._undated.discard(number)

    def receipts(self) -> Sequence[Receipt]:
        """Return all receipts, by number."""
        return [receipt for _, receipt in sorted(self._receipts.rows.items())]

    def unused(self) -> int:
        """Return the bytes of the store that hold nothing: none, in memory."""
        return 0

    def put_newest_entry(self, entry: NewestEntry) -> None:
        """Add or replace an entry of which earlier ones are missing; the next commit dates it."""
        self._newest.put((entry.feed, entry.seq), replace(entry, known_us=0))

    def drop_newest_entry(self, feed: FeedId, seq: int) -> None:
        """Delete such an entry."""
        self._newest.remove((feed, seq))

    def newest_entries(self) -> Sequence[NewestEntry]:
        """Return all of them, sorted by feed and sequence number."""
        return [entry for _, entry in sorted(self._newest.rows.items())]

    def get_meta(self, key: str) -> str | None:
        """Return a small value stored by name."""
        return self._meta.rows.get(key)

    def put_meta(self, key: str, value: str) -> None:
        """Keep a small value by name."""
        self._meta.put(key, value)

    def get_secret(self) -> bytes | None:
        """Return the secrets that must be erasable; None if there are none."""
        found = self._meta.rows.get(_META_ERASABLE)
        return None if found is None else bytes.fromhex(found)

    def put_secret(self, secret: bytes) -> None:
        """Keep secrets in place of those before."""
        self._meta.put(_META_ERASABLE, secret.hex())

    def commit(self, wall_us: int) -> None:
        """Make what was written so far final, and date it *wall_us*."""
        for index in range(self._committed, len(self._appends)):
            if (append := self._appends[index]) is not None:
                self._appends[index] = replace(append, committed_us=wall_us)
        self._committed = len(self._appends)
        for number in self._undated:
            self._receipts.rows[number] = replace(self._receipts.rows[number], known_us=wall_us)
        self._undated.clear()
        for place, entry in self._newest.rows.items():
            if not entry.known_us:
                self._newest.rows[place] = replace(entry, known_us=wall_us)
        self._journal.clear()

    def rollback(self) -> None:
        """Undo everything written since the last commit."""
        self._undated.clear()
        while self._journal:
            self._journal.pop()()
        del self._appends[self._committed :]

    def close(self) -> None:
        """Drop uncommitted writes; committed ones can still be read, which tests of restarts make use of."""
        self.rollback()

    def _entry(self, arrival: int) -> StoredEntry:
        entry = self._appends[arrival - 1]
        assert isinstance(entry, StoredEntry)
        return entry


def _dmx_of(packet: bytes) -> bytes:
    return packet[: limits.DMX_SIZE]
