"""A quick summary of a store's file: its last arrival number, and its feeds.

Cheap on purpose: a program that looks again after a moment learns in a millisecond that nothing is new, and loads
``SqliteStore`` only if something is.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tinyssb_node import limits
from tinyssb_node.feeds.children import EntryType
from tinyssb_node.ids import Dialect, FeedId
from tinyssb_node.store.sqlite_file import GIVEN_ARRIVAL, LAST_ARRIVAL, StoreFile, store_faults


class FeedSummary(NamedTuple):
    """A feed of another author."""

    feed: FeedId
    seq: int
    """The last entry held, 0 for none."""
    own: bool
    wanted: bool
    pending: bool
    """True if it is followed, nothing of it came, and no peer named it for the set."""


class StoreSummary(StoreFile):
    """A reader of the summary."""

    def last_arrival(self) -> int:
        """Return the highest arrival number, 0 for none. Raises StoreDamagedError, StoreFailedError."""
        return self._number(LAST_ARRIVAL)

    def given_arrival(self) -> int:
        """Return the highest arrival number that was ever given, also to what is deleted; 0 for none. Raises
        StoreDamagedError, StoreFailedError."""
        return self._number(GIVEN_ARRIVAL)

    def _number(self, expression: str) -> int:
        with store_faults(self._path, "reading"):
            (number,) = self._connection.execute(f"SELECT {expression}").fetchone()
        return int(number)

    def packet(self, arrival: int) -> bytes | None:
        """Return the packet with that arrival number. Raises StoreDamagedError, StoreFailedError."""
        with store_faults(self._path, "reading"):
            row = self._connection.execute(
                "SELECT packet FROM entries WHERE arrival = ?1 UNION ALL "
                "SELECT packet FROM chunks WHERE arrival = ?1",
                (arrival,),
            ).fetchone()
        return None if row is None else bytes(row[0])

    def entries(self) -> int:
        """Return how many entries the frontiers of all feeds count. Raises StoreDamagedError, StoreFailedError."""
        return self._number("coalesce((SELECT sum(seq) FROM feeds), 0)")

    def has_newest_entries(self) -> bool:
        """Return True if there are entries beyond a frontier. Raises StoreDamagedError, StoreFailedError."""
        with store_faults(self._path, "reading"):
            return self._connection.execute("SELECT 1 FROM newest_entries LIMIT 1").fetchone() is not None

    def feeds(self) -> Sequence[FeedSummary]:
        """Return all main feeds, sorted by feed id. Further feeds are left out: our own, and those that declare to be
        one; and feeds that only a peer wants. Raises StoreDamagedError, StoreFailedError."""
        with store_faults(self._path, "reading"):
            rows = self._connection.execute(
                "SELECT feed, seq, own, wanted, beyond AND followed = 1 AND wanted AND NOT own AND seq = 0 FROM feeds "
                "WHERE NOT child AND (dialect IS NOT NULL OR NOT (retired OR beyond AND NOT followed)) AND NOT EXISTS "
                "(SELECT 1 FROM entries WHERE entries.feed = number AND entries.seq = 1 AND substr(packet, ?, 1) = ?) "
                "ORDER BY feed",
                (limits.DMX_SIZE + 1, bytes([EntryType.CHILD_OF])),
            ).fetchall()
        return [
            FeedSummary(FeedId(feed), seq, bool(own), bool(wanted), bool(pending))
            for feed, seq, own, wanted, pending in rows
        ]

    def dialect(self, feed: FeedId) -> Dialect | None:
        """Return the dialect of *feed*; None: it has no entry here. Raises StoreDamagedError, StoreFailedError."""
        with store_faults(self._path, "reading"):
            row = self._connection.execute(
                "SELECT dialect FROM feeds WHERE feed = ?", (bytes(feed),)
            ).fetchone()
        return None if row is None or row[0] is None else Dialect(row[0])

    def forked(self) -> dict[FeedId, int]:
        """Return the forked feeds, and the sequence number of each fork. Raises StoreDamagedError, StoreFailedError."""
        with store_faults(self._path, "reading"):
            rows = self._connection.execute(
                "SELECT feed, forked_at FROM feeds WHERE forked_at IS NOT NULL"
            ).fetchall()
        return {FeedId(feed): seq for feed, seq in rows}
