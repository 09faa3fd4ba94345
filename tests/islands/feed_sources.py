"""The feeds of a store, as the sync of gateways sees them."""

from collections import defaultdict
from collections.abc import Sequence

from tinyssb_node.codec.packets import parse_entry
from tinyssb_node.feeds.layout import layout_of
from tinyssb_node.ids import FeedId
from tinyssb_node.islands.feedsync.port import FeedState, ForkPair, KeptEntry
from tinyssb_node.store.port import FeedRecord, Store, StoredEntry


class StoreFeedSource:
    """The feeds that *store* held when this was made: make it anew when the store has changed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._records = {record.feed: record for record in store.feeds()}
        self._chains: dict[FeedId, list[tuple[int, int]]] = defaultdict(list)
        for chain in store.side_chains():
            if not chain.broken:
                self._chains[chain.feed].append((chain.seq, chain.held))
        self._forks: dict[FeedId, ForkPair] = {}
        for proof in store.forks():
            self._forks.setdefault(proof.feed, ForkPair(proof.seq, proof.held, proof.other))

    @property
    def records(self) -> Sequence[FeedRecord]:
        """All feeds, sorted by feed id."""
        return list(self._records.values())

    def state(self, feed: FeedId) -> FeedState | None:
        """How far *feed* is held; None: nothing is known of it."""
        record = self._records.get(feed)
        if record is None:
            return None
        return FeedState(record.seq, record.tip, tuple(self._chains.get(feed, ())), self._forks.get(feed))

    def entries(self, feed: FeedId, first: int, limit: int) -> Sequence[KeptEntry]:
        """Up to *limit* entries from sequence number *first* on, in order."""
        return [self._kept(entry) for entry in self._store.entries(feed, first, limit)]

    def chunks(self, feed: FeedId, seq: int, first: int, limit: int) -> Sequence[bytes]:
        """Up to *limit* packets of a side chain from number *first* on, in order, up to the first one missing."""
        return self._store.chunks(feed, seq, first, limit)

    def _kept(self, entry: StoredEntry) -> KeptEntry:
        dialect = self._records[entry.feed].dialect
        assert dialect is not None, "a feed with entries has a dialect"
        parsed = parse_entry(entry.packet)
        return KeptEntry(entry.packet, entry.id, layout_of(parsed.type, parsed.content, dialect).chunks)


class CombinedFeedSource:
    """Feeds that are held in one of two places: of one that is in both, where more of it is."""

    def __init__(self, first: StoreFeedSource, second: StoreFeedSource) -> None:
        self._first = first
        self._second = second

    def state(self, feed: FeedId) -> FeedState | None:
        """How far *feed* is held; None: nothing is known of it."""
        return self._of(feed).state(feed)

    def entries(self, feed: FeedId, first: int, limit: int) -> Sequence[KeptEntry]:
        """Up to *limit* entries from sequence number *first* on, in order."""
        return self._of(feed).entries(feed, first, limit)

    def chunks(self, feed: FeedId, seq: int, first: int, limit: int) -> Sequence[bytes]:
        """Up to *limit* packets of a side chain from number *first* on, in order, up to the first one missing."""
        return self._of(feed).chunks(feed, seq, first, limit)

    def _of(self, feed: FeedId) -> StoreFeedSource:
        first, second = self._first.state(feed), self._second.state(feed)
        if second is None or (first is not None and first.seq >= second.seq):
            return self._first
        return self._second
