"""The part of the stores that faces may read (``faces.store_port``)."""

from collections.abc import Callable, Sequence

from tinyssb_node.codec.dmx import Network, chunk_hash, dmx_of
from tinyssb_node.faces import limits
from tinyssb_node.ids import FeedId
from tinyssb_node.limits import DMX_SIZE
from tinyssb_node.store.port import Store, StoredChunk, StoredEntry


class FaceStoreReader:
    """FaceStorePort on the store of one network."""

    def __init__(
        self, network: Network, store: Store, knows: Callable[[bytes], bool], keep: Callable[[str, str], None]
    ) -> None:
        """Read *store*; *knows* decides whether a packet is of the network, *keep* stores a value by name."""
        self.network = dmx_of(network.prefix).hex()
        self.set = network.goset_dmx.hex()
        self._store = store
        self.knows = knows
        self.keep = keep

    def follows(self) -> frozenset[FeedId]:
        """See FaceStorePort."""
        return frozenset(
            record.feed for record in self._store.feeds() if record.wanted and not record.retired
        )

    def feeds_of(self, packet: bytes) -> Sequence[FeedId]:
        """See FaceStorePort."""
        feeds = [
            feed
            for feed, seq in self._store.find_entries(packet[:DMX_SIZE])
            if (entry := self._store.entry(feed, seq)) is not None and entry.packet == packet
        ]
        return feeds or [*dict.fromkeys(feed for feed, _, _ in self._store.find_chunks(chunk_hash(packet)))]

    def after(self, arrival: int) -> tuple[Sequence[StoredEntry | StoredChunk], int]:
        """See FaceStorePort."""
        appended = self._store.after(arrival, limits.MQTT_BATCH)
        return appended, appended[-1].arrival if appended else arrival

    def last_arrival(self) -> int:
        """See FaceStorePort."""
        return self._store.last_arrival()

    def recall(self, key: str) -> str | None:
        """See FaceStorePort."""
        return self._store.get_meta(key)
