"""The newest entries of feeds, fetched before their history and stored apart until it reaches them.

An entry cannot be checked without the id of the entry before. A peer states it in an ANCHOR, which proves nothing, but
the entry's signature covers it: an entry that fits shows that the anchor was right. Entries behind it are checked as
usual (docs/formats/packets.md, "NEWEST and ANCHOR").
"""

from collections.abc import Sequence
from dataclasses import replace

from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network, chunk_hash
from tinyssb_node.codec.packets import parse_entry
from tinyssb_node.feeds.chain import Expectation, Extended, expectation_behind
from tinyssb_node.feeds.children import ends_feed
from tinyssb_node.feeds.layout import layout_of
from tinyssb_node.feeds.sidechain import ChunkAccepted, SideChain, advance, begin
from tinyssb_node.ids import Dialect, FeedId, MessageId
from tinyssb_node.store.port import NewestEntry, Store


class NewestEntries:
    """The proven entries beyond the frontier, and the anchors that wait for their entry, of all feeds."""

    def __init__(self, store: Store, network: Network) -> None:
        self._store = store
        self._network = network
        self._rows: dict[FeedId, dict[int, NewestEntry]] = {}
        self._anchors: dict[FeedId, dict[tuple[int, MessageId], None]] = {}
        """Statements about what an entry follows, by feed, oldest first."""
        self._packets: dict[bytes, tuple[FeedId, int]] = {}
        """The packets of all of them, and of their side chains."""
        for entry in store.newest_entries():
            self._keep(entry)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def feeds(self) -> Sequence[FeedId]:
        """The feeds of which there are some."""
        return [*self._rows]

    def of_feed(self, feed: FeedId) -> Sequence[NewestEntry]:
        """Return the entries stored of *feed* beyond its frontier, in order."""
        return [entry for _, entry in sorted(self._rows.get(feed, {}).items())]

    def last(self, feed: FeedId) -> int:
        """Return the sequence number of the last one, 0 for none."""
        return max(self._rows.get(feed, ()), default=0)

    def find(self, packet: bytes) -> tuple[FeedId, int] | None:
        """Return the position of *packet* if it is one of them, or of the side chain of one."""
        return self._packets.get(packet)

    def expect(self, feed: FeedId, seq: int, prev: MessageId) -> bool:
        """Note that entry *seq* of *feed* is said to follow *prev*. False if that is known."""
        anchors = self._anchors.setdefault(feed, {})
        if seq in self._rows.get(feed, ()) or (seq, prev) in anchors:
            return False
        anchors[seq, prev] = None
        if len(anchors) > limits.NEWEST_ANCHORS_MAX:
            del anchors[next(iter(anchors))]
        return True

    def places(self, feed: FeedId, dialect: Dialect, frontier: int) -> tuple[Expectation, ...]:
        """Return the positions beyond *frontier* + 1 where an entry may be proven next."""
        rows = self._rows.get(feed, {})
        places = {**self._anchors.get(feed, {})}
        for entry in rows.values():
            content = parse_entry(entry.packet)
            if entry.seq + 1 not in rows and not ends_feed(content.type, content.content):
                places[entry.seq + 1, entry.id] = None
        return tuple(
            expectation_behind(self._network, feed, seq, dialect, prev)
            for seq, prev in places
            if frontier + 1 < seq <= limits.SEQ_MAX and seq not in rows
        )

    def chains(self, feed: FeedId, dialect: Dialect) -> Sequence[SideChain]:
        """Return the side chains that lack packets, as far as they are fetched."""
        chains = [self._chain(entry, dialect) for entry in self.of_feed(feed)]
        return [chain for chain in chains if chain is not None and not chain.complete and not chain.broken]

    def _chain(self, entry: NewestEntry, dialect: Dialect) -> SideChain | None:
        content = parse_entry(entry.packet)
        chain = begin(entry.feed, entry.seq, layout_of(content.type, content.content, dialect))
        if chain is None or chain.chunks > limits.NEWEST_CHUNKS_MAX:
            return None
        for packet in entry.chunks:
            grown = advance(chain, packet)
            if not isinstance(grown, ChunkAccepted):
                return None  # Damaged on disk: `tinyssb verify` reports it.
            chain = grown.chain
        return chain

    def add(self, extended: Extended) -> SideChain | None:
        """Store an entry whose signature proves it. Return its side chain, if that is fetched."""
        tip = extended.tip
        assert tip.id is not None
        assert tip.dialect is not None
        entry = NewestEntry(feed=tip.feed, seq=tip.seq, prev=extended.prev, id=tip.id, packet=extended.packet)
        self._anchors.get(tip.feed, {}).pop((tip.seq, extended.prev), None)
        self._put(entry)
        rows = self._rows[tip.feed]
        if len(rows) > limits.NEWEST_KEPT_MAX:
            self._drop(tip.feed, min(rows))
        return self._chain(entry, tip.dialect)

    def add_chunk(self, chain: SideChain, packet: bytes) -> None:
        """Store the packet that has completed *chain* up to here."""
        entry = self._rows.get(chain.feed, {}).get(chain.seq)
        if entry is not None:
            self._put(replace(entry, chunks=(*entry.chunks, packet)))

    def following(self, feed: FeedId, seq: int, prev: MessageId) -> Sequence[tuple[bytes, bytes]] | None:
        """Remove the entry *seq* of *feed*, which the history has reached with *prev* before it. Return its packet and
        those of its side chain, each behind its hash; nothing if it is not stored. None if it follows another entry:
        the author signed two histories, and none of those behind it is kept."""
        rows = self._rows.get(feed, {})
        entry = rows.get(seq)
        if entry is None:
            return []
        if entry.prev != prev:
            for other in [number for number in rows if number >= seq]:
                self._drop(feed, other)
            return None
        self._drop(feed, seq)
        return [(chunk_hash(packet), packet) for packet in (entry.packet, *entry.chunks)]

    def forget(self, feed: FeedId) -> None:
        """Delete the entries stored of *feed* beyond its frontier."""
        self._anchors.pop(feed, None)
        for seq in [*self._rows.get(feed, ())]:
            self._drop(feed, seq)

    def _keep(self, entry: NewestEntry) -> None:
        self._rows.setdefault(entry.feed, {})[entry.seq] = entry
        self._packets.update(dict.fromkeys((entry.packet, *entry.chunks), (entry.feed, entry.seq)))

    def _put(self, entry: NewestEntry) -> None:
        self._keep(entry)
        self._store.put_newest_entry(entry)

    def _drop(self, feed: FeedId, seq: int) -> None:
        rows = self._rows[feed]
        entry = rows.pop(seq)
        for packet in (entry.packet, *entry.chunks):
            self._packets.pop(packet, None)
        self._store.drop_newest_entry(feed, seq)
        if not rows:
            del self._rows[feed]
