"""What a store holds of each feed, in a few numbers: for whoever tells others of it while somebody else writes.

A look costs a millisecond when nothing has changed, and what is new when something has.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tinyssb_node.ids import FeedId
from tinyssb_node.store.sqlite_file import StoreFile, store_faults

WHOLE = 255
"""``FeedHolding.whole`` of a feed that lacks nothing of its side chains."""


class FeedHolding(NamedTuple):
    """What is held of a feed."""

    feed: FeedId
    seq: int
    """The last entry held, 0 for none."""
    whole: int
    """Share of side chains that are whole, in 255ths, rounded down."""
    ours: bool
    """True if we hold its key."""
    wanted: bool
    """False if its user does not want it."""
    in_set: bool
    """False if it is held beside the set."""
    forked: bool
    """True if it is frozen."""


class StoreHoldings(StoreFile):
    """Looks again and again."""

    def __init__(self, path: Path) -> None:
        """Raises StoreTooNewError, StoreDamagedError, StoreFailedError."""
        super().__init__(path)
        self._version = -1
        """SQLite's number for the state of the file that was read last."""
        self._arrival = 0
        """Side chains were counted up to this arrival number."""
        self._begun: dict[int, int] = {}
        """Side chains of which something is held, by the feed's number in the file."""
        self._numbers: set[int] = set()
        """The numbers there were at the last look."""
        self.feeds: Sequence[FeedHolding] = []
        """What was found at the last look, sorted by feed id."""

    def look(self) -> bool:
        """Bring ``feeds`` up to date. False if the file is as it was. Raises StoreDamagedError, StoreFailedError."""
        with store_faults(self._path, "reading"):
            (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        if version == self._version:
            return False
        with self.snapshot():
            feeds = self._read()
        # A write between the question and the read is read twice, and none is missed.
        self._version = version
        changed, self.feeds = feeds != self.feeds, feeds
        return changed

    def _read(self) -> Sequence[FeedHolding]:
        select = self._connection.execute
        # One that was forgotten has left its number behind.
        rows = select(
            "SELECT number, feed, seq, own OR child, wanted, NOT retired, forked_at IS NOT NULL FROM feeds "
            "WHERE own OR child OR seq OR NOT retired ORDER BY feed"
        ).fetchall()
        before, self._numbers = self._numbers, {row[0] for row in rows}
        if not before <= self._numbers:
            # Something was deleted, as it may be from a shelf, and others may get its number.
            self._begun, self._arrival = {}, 0
        (arrival,) = select("SELECT coalesce(max(arrival), 0) FROM chunks").fetchone()
        for feed, count in select(
            "SELECT feed, count(*) FROM chunks WHERE arrival > ? AND chunk = 0 GROUP BY feed",
            (self._arrival,),
        ):
            self._begun[feed] = self._begun.get(feed, 0) + count
        self._arrival = arrival
        lacking = {
            feed: (count, untouched)
            for feed, count, untouched in select(
                "SELECT feed, count(*), sum(held = 0) FROM side_chains GROUP BY feed"
            )
        }
        return [
            FeedHolding(
                FeedId(feed),
                seq,
                self._share(number, *lacking.get(number, (0, 0))),
                bool(ours),
                bool(wanted),
                bool(in_set),
                bool(forked),
            )
            for number, feed, seq, ours, wanted, in_set, forked in rows
        ]

    def _share(self, number: int, lacking: int, untouched: int) -> int:
        chains = self._begun.get(number, 0) + untouched
        return (chains - lacking) * WHOLE // chains if chains else WHOLE
