"""Feeds that a gateway has of a network (store, shelf, carried feeds), and which of them it offers and seeks."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tinyssb_node.errors import LocalError
from tinyssb_node.ids import FeedId
from tinyssb_node.islands.gateway import limits
from tinyssb_node.islands.gateway.config import FeedSelection
from tinyssb_node.islands.locator.values import ResourceParameters
from tinyssb_node.store.sqlite_file import StoreFile, store_faults

WHOLE = 255
"""``FeedHolding.whole`` of a feed with complete side chains."""


class FeedHolding(NamedTuple):
    """How much of a feed is stored."""

    feed: FeedId
    seq: int
    """The last entry stored, 0 for none."""
    whole: int
    """Share of complete side chains, in 255ths, rounded down."""
    ours: bool
    """True if we have its key."""
    wanted: bool
    """False if the user does not want it."""
    in_set: bool
    """False if it is stored outside the set."""
    forked: bool
    """True if it is frozen."""


class StoreHoldings(StoreFile):
    """Feeds of one store file, read again whenever the file has changed.

    A look costs a millisecond when nothing has changed; otherwise it reads what is new.
    """

    def __init__(self, path: Path) -> None:
        """Raises StoreTooNewError, StoreDamagedError, StoreFailedError."""
        super().__init__(path)
        self._version = -1
        """SQLite's number for the version of the file that was read last."""
        self._arrival = 0
        """Side chains were counted up to this arrival number."""
        self._begun: dict[int, int] = {}
        """Number of side chains with chunks, by the feed's number in the file."""
        self._numbers: set[int] = set()
        """The feeds' numbers at the last look."""
        self.feeds: Sequence[FeedHolding] = []
        """The result of the last look, sorted by feed id."""

    def look(self) -> bool:
        """Update ``feeds``. Return False if nothing has changed. Raises StoreDamagedError, StoreFailedError."""
        with store_faults(self._path, "reading"):
            (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        if version == self._version:
            return False
        with self.snapshot():
            feeds = self._read()
        # A write between version and read is read twice, and none is missed.
        self._version = version
        changed, self.feeds = feeds != self.feeds, feeds
        return changed

    def _read(self) -> Sequence[FeedHolding]:
        select = self._connection.execute
        # A feed that was removed has left its number behind.
        rows = select(
            "SELECT number, feed, seq, own OR child, wanted, NOT retired, forked_at IS NOT NULL FROM feeds "
            "WHERE own OR child OR seq OR NOT retired ORDER BY feed"
        ).fetchall()
        before, self._numbers = self._numbers, {row[0] for row in rows}
        if not before <= self._numbers:
            # A feed was deleted, as from a shelf, and its number may be used again.
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


class CombinedHoldings:
    """Store and shelf as one; of each feed, whichever has more of it."""

    def __init__(self, store: Path, shelf: Path, carried: Collection[FeedId] = ()) -> None:
        """Use the store at *store*, and the shelf at *shelf* once there is one. *carried*: wanted feeds that are in no
        set. Raises StoreTooNewError, StoreDamagedError, StoreFailedError."""
        self._set = StoreHoldings(store)
        self._path = shelf
        self._shelf: StoreHoldings | None = None
        self._carried = carried
        self._looked = False
        self.feeds: Sequence[FeedHolding] = []
        """The result of the last look, sorted by feed id."""

    def close(self) -> None:
        """Close both files."""
        self._set.close()
        if self._shelf is not None:
            self._shelf.close()

    def look(self) -> bool:
        """Look again. Return False if nothing has changed. Raises StoreDamagedError, StoreFailedError."""
        if self._shelf is None and self._path.exists():
            # While it is being made, or if it cannot be read, it counts as absent.
            with suppress(LocalError):
                self._shelf = StoreHoldings(self._path)
        changed = self._set.look()
        changed |= self._shelf is not None and self._shelf.look()
        if self._looked and not changed:
            return False
        found, self._looked = self._merged(), True
        changed, self.feeds = found != self.feeds, found
        return changed

    def _merged(self) -> list[FeedHolding]:
        feeds = {feed: _nothing(feed) for feed in self._carried}
        if self._shelf is not None:
            feeds |= {one.feed: one._replace(in_set=False) for one in self._shelf.feeds if one.seq}
        for one in self._set.feeds:
            other = feeds.get(one.feed)
            if other is None or other.seq <= one.seq:
                feeds[one.feed] = one
            else:
                # It has entered the set, and its packets on the shelf are being moved there.
                feeds[one.feed] = one._replace(seq=other.seq, whole=other.whole)
        return sorted(feeds.values())


def _nothing(feed: FeedId) -> FeedHolding:
    return FeedHolding(feed, 0, WHOLE, ours=False, wanted=True, in_set=False, forked=False)


def offered_feeds(feeds: Iterable[FeedHolding], which: FeedSelection) -> Sequence[FeedHolding]:
    """Return the offered ones of *feeds*, at most OFFERS_MAX: our own first, then those of the set."""
    allowed = [
        one
        for one in feeds
        if which is not FeedSelection.NONE
        and (one.ours or (which is FeedSelection.SET and one.wanted))
        and one.seq
    ]
    return sorted(allowed, key=lambda one: (not one.ours, not one.in_set, one.feed))[: limits.OFFERS_MAX]


def wanted_feeds(
    feeds: Iterable[FeedHolding], which: FeedSelection, carried: Collection[FeedId] = ()
) -> Mapping[FeedId, tuple[int, int]]:
    """Return the wanted ones of *feeds*, each with entries stored and the share of complete side chains, in 255ths.

    A forked feed is frozen, and one that has left the set is whole. Feeds that are *carried* are in no set.
    """
    return {
        one.feed: (one.seq, one.whole)
        for one in feeds
        if which is not FeedSelection.NONE
        and (
            one.feed in carried or (one.in_set and (one.ours or (which is FeedSelection.SET and one.wanted)))
        )
        and not one.forked
    }


def adverts(
    feeds: Sequence[FeedHolding], offer: FeedSelection, wanted: Iterable[FeedId]
) -> Mapping[FeedId, ResourceParameters]:
    """Return the adverts of *feeds*: how much of each offered feed is here.

    Feeds that are *wanted* and not here are advertised as empty, if feeds of others may be advertised at all. Nodes
    that learn of a newer version then report it to us (old flags of the text), and we need not ask again and again.
    """
    told = {one.feed: ResourceParameters(one.seq, one.whole) for one in offered_feeds(feeds, offer)}
    if offer is FeedSelection.SET:
        for feed in wanted:
            if feed not in told and len(told) < limits.OFFERS_MAX:
                told[feed] = ResourceParameters(0, 0)
    return told
