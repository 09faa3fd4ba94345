"""The shelf: feeds that are held and are in no set, so that the air knows nothing of them (decision 0048).

They are checked as any, and kept in a store of their own, of which what is in nobody's way no more can be deleted. A
feed that enters the set takes along what is here of it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, Protocol

from tinyssb_node import limits
from tinyssb_node.codec.crypto import Verify, verify_signed
from tinyssb_node.codec.dmx import Network, chunk_hash, first_prev
from tinyssb_node.codec.packets import parse_entry
from tinyssb_node.errors import LocalError
from tinyssb_node.feeds.chain import (
    Duplicate,
    Extended,
    Forked,
    HeldEntry,
    Tip,
    accept,
    expectations,
    extend,
)
from tinyssb_node.feeds.children import ends_feed
from tinyssb_node.feeds.sidechain import ChunkAccepted, SideChain, advance, begin
from tinyssb_node.ids import FeedId, Origin
from tinyssb_node.node.shelf_port import BringResult
from tinyssb_node.store.port import FeedRecord, Store

FULL: Final = "full"
"""Why a packet is refused that there is no room for."""
FORKED: Final = "Forked"
"""Why one is refused that is of a forked feed."""
GONE: Final = "not on the shelf"
"""Why one is refused that is no entry 1, while nothing of its feed is here: it may have been, until of late."""
UNKNOWN: Final = "nothing the node holds leads to it"
"""Why one is refused that is no packet of the feed, or comes too early."""


class ShelfStore(Store, Protocol):
    """A store of which feeds can be deleted."""

    def delete_feed(self, feed: FeedId) -> None:
        """Delete all that is held of *feed*."""
        ...


@dataclass(slots=True)
class _Feed:
    """One feed of the shelf."""

    record: FeedRecord
    tip: Tip
    packets: int
    """Held."""
    latest: int
    """Counts up over all feeds, whenever something comes."""
    chains: dict[int, SideChain] = field(default_factory=dict)
    """Unfinished ones, by the entries they hang on."""


class _Kept(NamedTuple):
    """The outcome of a packet that is of the feed."""

    entries: int = 0
    """Added."""
    chunks: int = 0
    """Added."""
    held: int = 0
    """1 if it was there before."""


class Shelf:
    """Feeds beside the set."""

    def __init__(
        self, store: ShelfStore, network: Network, *, packets_max: int, verify: Verify = verify_signed
    ) -> None:
        """Load the content that *store* holds of *network*, at most *packets_max* entries and chunks.

        More may be there if it was allowed before. The excess is deleted: first the feeds of which nothing
        came for longest.
        """
        self._store = store
        self._network = network
        self._verify = verify
        self._most = packets_max
        self._feeds: dict[FeedId, _Feed] = {}
        self._load()
        if self._packets > self._most:
            self._trim()

    def _trim(self) -> None:
        """Delete what is too much. If the disk does not take that, the next ``bring`` tries again."""
        try:
            self._make_room(None)
            self._store.commit(0)
        except LocalError:
            self._store.rollback()
            self._load()

    def _load(self) -> None:
        packets = {each.feed: each.packets for each in self._store.usage()}
        self._feeds = {}
        for record in self._store.feeds():
            last = self._store.entry(record.feed, record.seq) if record.seq else None
            entry = None if last is None else parse_entry(last.packet)
            ended = entry is not None and ends_feed(entry.type, entry.content)
            tip = Tip(record.feed, record.dialect, record.seq, record.tip, ended)
            latest = 0 if last is None else last.arrival
            self._feeds[record.feed] = _Feed(record, tip, packets.get(record.feed, 0), latest)
        for chain in self._store.side_chains():
            self._feeds[chain.feed].chains[chain.seq] = chain
        self._packets = sum(feed.packets for feed in self._feeds.values())
        self._latest = max((feed.latest for feed in self._feeds.values()), default=0)

    def __contains__(self, feed: FeedId) -> bool:
        return feed in self._feeds

    @property
    def feeds(self) -> Sequence[FeedId]:
        """All feeds of the shelf, sorted."""
        return sorted(self._feeds)

    # --- what comes

    def bring(self, feed: FeedId, packets: Sequence[bytes]) -> BringResult:
        """Check and keep packets of *feed*, 120 bytes each, entries in order, each before its chunks.

        All of it is durable at the end. Raises LocalErrors of the store, and then nothing of it was kept.
        """
        try:
            brought = self._bring(feed, packets)
            self._store.commit(0)
        except LocalError:
            self._store.rollback()
            self._load()
            raise
        return brought

    def drop(self, feeds: Sequence[FeedId]) -> None:
        """Delete *feeds*. Raises LocalErrors of the store."""
        for feed in feeds:
            if (gone := self._feeds.pop(feed, None)) is not None:
                self._packets -= gone.packets
                self._store.delete_feed(feed)
        self._store.commit(0)

    def _bring(self, feed: FeedId, packets: Sequence[bytes]) -> BringResult:
        here = self._feeds.get(feed)
        if here is None:
            record = FeedRecord(
                feed=feed, dialect=None, seq=0, tip=None, own=False, wanted=True, forked_at=None
            )
            here = _Feed(record, Tip(feed, None, 0, None), 0, self._latest)
        kept: list[_Kept] = []
        refused: tuple[int, str] | None = None
        for number, packet in enumerate(packets):
            room = here.packets < self._most // 4  # so that no feed evicts all others
            outcome = self._take(here, packet) if room else FULL
            if isinstance(outcome, str):
                refused = number, outcome
                break
            kept.append(outcome)
        if here.packets:
            self._latest += 1
            here.latest = self._latest
        return BringResult(
            shelved=True,
            entries=sum(each.entries for each in kept),
            chunks=sum(each.chunks for each in kept),
            held=sum(each.held for each in kept),
            refused=refused,
            dropped=self._make_room(feed),
        )

    def _make_room(self, feed: FeedId | None) -> list[FeedId]:
        """Delete feeds of which nothing came for longest, *feed* last of all, until the budget is kept; which."""
        dropped: list[FeedId] = []
        while self._packets > self._most:
            oldest = min(self._feeds, key=lambda each: (each == feed, self._feeds[each].latest))
            self._packets -= self._feeds.pop(oldest).packets
            self._store.delete_feed(oldest)
            dropped.append(oldest)
        return dropped

    def _take(self, here: _Feed, packet: bytes) -> _Kept | str:
        """Keep *packet* if it is of the feed and new. Return what came of it, or why it is refused."""
        feed = here.tip.feed
        if here.record.forked_at is None:
            for place in expectations(self._network, here.tip):
                if packet[: limits.DMX_SIZE] == place.dmx:
                    outcome = accept(place, packet, self._verify)
                    if isinstance(outcome, Extended):
                        self._append_entry(here, outcome)
                        return _Kept(entries=1)
        hash_ = chunk_hash(packet)
        waiting = [chain for chain in here.chains.values() if chain.next_hash == hash_]
        for chain in waiting:
            grown = advance(chain, packet)
            assert isinstance(grown, ChunkAccepted)
            self._append_chunk(here, grown, packet)
        if waiting:
            return _Kept(chunks=len(waiting))
        if any(place[0] == feed for place in self._store.find_chunks(hash_)):
            return _Kept(held=1)
        return self._look_back(here, packet)

    def _append_entry(self, here: _Feed, extended: Extended) -> None:
        feed, seq, id_ = extended.tip.feed, extended.tip.seq, extended.tip.id
        assert id_ is not None
        if not here.packets:
            here.record = replace(here.record, dialect=extended.tip.dialect)
            self._store.put_feed(here.record)
            self._feeds[feed] = here
        here.tip = extended.tip
        here.record = replace(here.record, seq=seq, tip=id_)
        self._store.append_entry(feed, seq, extended.packet, id_, Origin.IMPORT, None)
        self._count(here)
        chain = begin(feed, seq, extended.layout)
        if chain is not None:
            here.chains[seq] = chain
            self._store.put_side_chain(chain)

    def _append_chunk(self, here: _Feed, grown: ChunkAccepted, packet: bytes) -> None:
        chain = grown.chain
        self._store.append_chunk(chain.feed, chain.seq, grown.chunk, packet, Origin.IMPORT, None)
        self._store.put_side_chain(chain)
        self._count(here)
        if grown.complete:
            del here.chains[chain.seq]
        else:
            here.chains[chain.seq] = chain

    def _count(self, here: _Feed) -> None:
        here.packets += 1
        self._packets += 1

    def _look_back(self, here: _Feed, packet: bytes) -> _Kept | str:
        """A packet that nothing expects: one that is held, or a fork of one."""
        feed = here.tip.feed
        seqs = [seq for owner, seq in self._store.find_entries(packet[: limits.DMX_SIZE]) if owner == feed]
        # Of entry 1 there is a place in each dialect.
        for seq in dict.fromkeys([*seqs, *((1,) if here.tip.seq else ())]):
            outcome = extend(self._network, here.tip, seq, packet, self._held(here, seq))
            if isinstance(outcome, Duplicate):
                return _Kept(held=1)
            if isinstance(outcome, Forked):
                record = here.record
                if record.forked_at is None or record.forked_at > outcome.proof.seq:
                    self._store.put_fork(outcome.proof)
                    here.record = replace(record, forked_at=seq)
                    self._store.put_feed(here.record)
                return FORKED
        if here.record.forked_at is not None:
            return FORKED
        return UNKNOWN if here.packets else GONE

    def _held(self, here: _Feed, seq: int) -> HeldEntry:
        feed = here.tip.feed
        entry = self._store.entry(feed, seq)
        assert entry is not None
        if seq == 1:
            assert here.tip.dialect is not None
            return HeldEntry(first_prev(feed, here.tip.dialect), entry.packet)
        before = self._store.entry(feed, seq - 1)
        assert before is not None
        return HeldEntry(before.id, entry.packet)

    # --- what goes

    def packets(self, feed: FeedId) -> Iterator[bytes]:
        """All that is held of *feed*: entries in order, each before its chunks, and last what proves that it is
        forked."""
        seq = 1
        while page := self._store.entries(feed, seq, limits.CONTROL_PAGE):
            for entry in page:
                yield entry.packet
                yield from self._store.chunks(feed, entry.seq, 0, limits.CONTENT_FETCH_MAX)
            seq = page[-1].seq + 1
        for proof in self._store.forks():
            if proof.feed == feed:
                yield from (proof.held, proof.other)
