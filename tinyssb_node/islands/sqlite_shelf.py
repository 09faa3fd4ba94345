"""The store in SQLite of which feeds can be deleted: the shelf (``tinyssb_node.islands.shelf``), a file of its own."""

from tinyssb_node.ids import FeedId
from tinyssb_node.store.sqlite import SqliteStore


class SqliteShelf(SqliteStore):
    """A ``ShelfStore`` in a file of the store's format. Arrivals are counted up, but have gaps."""

    def delete_feed(self, feed: FeedId) -> None:
        """Delete all that is held of *feed*. The file does not get smaller: what comes next takes the place."""
        self.cut_feed(feed, 0)
        number = self._feeds.pop(feed).number
        del self._ids[number]
        self._moved.discard(feed)
        self._write("DELETE FROM feeds WHERE number = ?", [(number,)])
