"""A look at a store's file: how far it is, and whose feeds it has.

Light on purpose: whoever has been here a moment ago wants to know in a millisecond that nothing is new, and loads
``SqliteStore`` only if something is.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tinyssb_node import limits
from tinyssb_node.feeds.children import EntryType
from tinyssb_node.ids import FeedId
from tinyssb_node.store.sqlite_file import StoreFile, store_faults


class FeedSummary(NamedTuple):
    """Somebody's feed."""

    feed: FeedId
    seq: int
    """The last entry held, 0 for none."""
    own: bool
    wanted: bool


class StoreSummary(StoreFile):
    """Asks it."""

    def last_arrival(self) -> int:
        """The highest arrival number, 0 for none. Raises StoreDamagedError, StoreFailedError."""
        with store_faults(self._path, "reading"):
            (arrival,) = self._connection.execute(
                "SELECT max((SELECT coalesce(max(arrival), 0) FROM entries), "
                "(SELECT coalesce(max(arrival), 0) FROM chunks))"
            ).fetchone()
        return int(arrival)

    def packet(self, arrival: int) -> bytes | None:
        """The packet with that arrival number. Raises StoreDamagedError, StoreFailedError."""
        with store_faults(self._path, "reading"):
            row = self._connection.execute(
                "SELECT packet FROM entries WHERE arrival = ?1 UNION ALL "
                "SELECT packet FROM chunks WHERE arrival = ?1",
                (arrival,),
            ).fetchone()
        return None if row is None else bytes(row[0])

    def feeds(self) -> Sequence[FeedSummary]:
        """All feeds but for further ones, ours and those that say so, which are nobody else; sorted by feed id. Raises
        StoreDamagedError, StoreFailedError."""
        with store_faults(self._path, "reading"):
            rows = self._connection.execute(
                "SELECT feed, seq, own, wanted FROM feeds "
                "WHERE NOT child AND (dialect IS NOT NULL OR NOT retired) AND NOT EXISTS "
                "(SELECT 1 FROM entries WHERE entries.feed = number AND entries.seq = 1 AND substr(packet, ?, 1) = ?) "
                "ORDER BY feed",
                (limits.DMX_SIZE + 1, bytes([EntryType.CHILD_OF])),
            ).fetchall()
        return [FeedSummary(FeedId(feed), seq, bool(own), bool(wanted)) for feed, seq, own, wanted in rows]

    def forked(self) -> dict[FeedId, int]:
        """The forked feeds, and at which entry each is. Raises StoreDamagedError, StoreFailedError."""
        with store_faults(self._path, "reading"):
            rows = self._connection.execute(
                "SELECT feed, forked_at FROM feeds WHERE forked_at IS NOT NULL"
            ).fetchall()
        return {FeedId(feed): seq for feed, seq in rows}
