"""Two gateways on a bench: stores, the sync between them, and every byte that goes over."""

import hashlib
from collections.abc import Sequence

from tests.islands.feed_sources import StoreFeedSource
from tests.nodes import key_of
from tests.replication.replicas import replica_of
from tinyssb_node.codec.dmx import chunk_hash
from tinyssb_node.ids import Dialect, FeedId, Origin, Verdict
from tinyssb_node.islands.feedsync.port import FeedState, KeptEntry
from tinyssb_node.islands.feedsync.sync import FeedDataReceived, FeedSync, FeedSyncViolation
from tinyssb_node.store.memory import MemoryStore

ROUNDS_MAX = 10_000


class LiveHolding:
    """The feeds that a store holds at any moment."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def state(self, feed: FeedId) -> FeedState | None:
        return StoreFeedSource(self._store).state(feed)

    def entries(self, feed: FeedId, first: int, limit: int) -> Sequence[KeptEntry]:
        return StoreFeedSource(self._store).entries(feed, first, limit)

    def chunks(self, feed: FeedId, seq: int, first: int, limit: int) -> Sequence[bytes]:
        return self._store.chunks(feed, seq, first, limit)


class Gateway:
    """One side: takes what it is given as a node would."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.replica = replica_of(self.store)
        self.sync: FeedSync | None = None
        self.duplicates = 0
        self.refused: list[str] = []

    def write(self, author: str, *contents: bytes, dialect: Dialect = Dialect.SPEC) -> FeedId:
        """*author*, whose feed is here, writes."""
        key = key_of(author)
        if key.feed_id not in self.replica.goset or not self.replica.record(key.feed_id).ours:
            self.replica.own_feed(key.feed_id, dialect, child=True)
        for content in contents:
            self.replica.append(key, content)
        if self.sync is not None:
            self.sync.changed([key.feed_id])
        return key.feed_id

    def take(self, *packets: bytes) -> None:
        """Packets come, from wherever."""
        for packet in packets:
            finding = self.replica.offer(packet, chunk_hash(packet), Origin.IMPORT, None)
            self.duplicates += finding.verdict is Verdict.DUPLICATE

    def packets(self, feed: FeedId, first: int = 1) -> list[bytes]:
        """Return the packets of *feed*: each entry, then its chunks."""
        found = []
        for number, entry in enumerate(self.store.entries(feed, first, 10**6), first):
            found += [entry.packet, *self.store.chunks(feed, number, 0, 10**6)]
        return found

    def begin(self, wants: Sequence[FeedId] = (), *, number: int = 0) -> FeedSync:
        """A connection is up; everything held is offered."""
        salt = hashlib.sha256(b"connection %d" % number).digest()
        self.sync = FeedSync(LiveHolding(self.store), salt)
        self.sync.offer(record.feed for record in self.store.feeds())
        for feed in wants:
            self.replica.add_feed(feed, None)
        self.sync.want(wants)
        return self.sync

    def settle(self) -> list[FeedSyncViolation]:
        """Do what a shell does with events."""
        assert self.sync is not None
        broken = []
        for event in self.sync.events():
            if isinstance(event, FeedSyncViolation):
                broken.append(event)
            if isinstance(event, FeedDataReceived):
                for packet in event.packets:
                    finding = self.replica.offer(packet, chunk_hash(packet), Origin.IMPORT, None)
                    self.duplicates += finding.verdict is Verdict.DUPLICATE
                    if finding.verdict not in {Verdict.NEW, Verdict.DUPLICATE} and finding.reason != "Forked":
                        self.refused.append(str(finding.reason))
                        self.sync.refused(event.feed, str(finding.reason))
                self.sync.changed([event.feed])
        return broken + [event for event in self.sync.events() if isinstance(event, FeedSyncViolation)]


def carry(one: Gateway, other: Gateway, *, packets_max: int = ROUNDS_MAX) -> list[FeedSyncViolation]:
    """Carry packets until there are no more, or so many went. Returns why either hung up."""
    broken: list[FeedSyncViolation] = []
    for _ in range(packets_max):
        moved = False
        for here, there in ((one, other), (other, one)):
            assert here.sync is not None
            assert there.sync is not None
            if (packet := here.sync.next_packet()) is not None:
                there.sync.receive(packet)
                broken += there.settle()
                moved = True
        if not moved or broken:
            return broken
    return broken


def connect(
    one: Gateway, other: Gateway, wants: Sequence[FeedId] = (), *, other_wants: Sequence[FeedId] | None = None
) -> list[FeedSyncViolation]:
    """Connect both, let both want *wants*, and carry all."""
    one.begin(wants)
    other.begin(wants if other_wants is None else other_wants)
    return carry(one, other)
