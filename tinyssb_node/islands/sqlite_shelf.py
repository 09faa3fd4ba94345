"""The store in SQLite of which feeds can be deleted: the shelf (``tinyssb_node.islands.shelf``), a file of its own."""

from collections.abc import Mapping
from typing import Final

from tinyssb_node.ids import FeedId
from tinyssb_node.store.sqlite import SqliteStore

_TABLES: Final = ("entries", "chunks", "side_chains")


class SqliteShelf(SqliteStore):
    """A ``ShelfStore`` in a file of the store's format. Arrivals are counted up, but have gaps."""

    def chunk_counts(self) -> Mapping[FeedId, int]:
        """Packets of side chains held, by feed."""
        rows = self._select("SELECT feed, count(*) FROM chunks GROUP BY feed", ())
        return {self._ids[number]: count for number, count in rows}

    def delete_feed(self, feed: FeedId) -> None:
        """Delete all that is held of *feed*. The file does not get smaller: what comes next takes the place."""
        self._flush()
        number = self._feeds.pop(feed).number
        del self._ids[number]
        self._moved.discard(feed)
        for table in _TABLES:
            self._write(f"DELETE FROM {table} WHERE feed = ?", [(number,)])  # noqa: S608 - names of ours
        self._write("DELETE FROM forks WHERE feed = ?", [(bytes(feed),)])
        self._write("DELETE FROM feeds WHERE number = ?", [(number,)])
        self._write(
            "DELETE FROM commits WHERE arrival < coalesce((SELECT min(arrival) FROM entries), ?)",
            [(self._arrival,)],
        )
