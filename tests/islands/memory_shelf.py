"""A store in memory of which feeds can be deleted: the shelf of the simulator and of tests."""

from tinyssb_node.ids import FeedId
from tinyssb_node.store.memory import MemoryStore


class MemoryShelf(MemoryStore):
    """A ``ShelfStore`` that a power cut empties."""

    def delete_feed(self, feed: FeedId) -> None:
        """Delete all that is held of *feed*."""
        self.cut_feed(feed, 0)
        self._feeds.remove(feed)
