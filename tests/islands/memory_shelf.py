"""A store in memory of which feeds can be deleted: the shelf of the simulator and of tests."""

from collections import Counter
from collections.abc import Mapping

from tinyssb_node import limits
from tinyssb_node.codec.dmx import chunk_hash
from tinyssb_node.ids import FeedId
from tinyssb_node.store.memory import MemoryStore


class MemoryShelf(MemoryStore):
    """A ``ShelfStore`` that a power cut empties."""

    def chunk_counts(self) -> Mapping[FeedId, int]:
        """Packets of side chains held, by feed."""
        return Counter(feed for feed, _, _ in self._chunks.rows)

    def delete_feed(self, feed: FeedId) -> None:
        """Delete all that is held of *feed*. Its packets stay in memory, where nothing finds them."""
        entries = {place: arrival for place, arrival in self._entries.rows.items() if place[0] == feed}
        chunks = {place: arrival for place, arrival in self._chunks.rows.items() if place[0] == feed}
        for place, arrival in entries.items():
            dmx = self._appends[arrival - 1].packet[: limits.DMX_SIZE]
            alike = self._entries_by_dmx.rows[dmx]
            self._entries_by_dmx.put(dmx, tuple(other for other in alike if other != arrival))
            self._entries.remove(place)
        for part, arrival in chunks.items():
            hash_ = chunk_hash(self._appends[arrival - 1].packet)
            equal = self._chunks_by_hash.rows[hash_]
            self._chunks_by_hash.put(hash_, tuple(other for other in equal if other != arrival))
            self._chunks.remove(part)
        for key in [key for key in self._side_chains.rows if key[0] == feed]:
            self._side_chains.remove(key)
        for key in [key for key in self._forks.rows if key[0] == feed]:
            self._forks.remove(key)
        self._feeds.remove(feed)
