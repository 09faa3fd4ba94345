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


class CombinedHoldings:
    """The store and the shelf as one, of each feed what more is held of."""

    def __init__(self, store: Path, shelf: Path, carried: Collection[FeedId] = ()) -> None:
        """The store at *store*, and the shelf at *shelf* once there is one. *carried*: feeds that are to be had though
        they are in no set. Raises StoreTooNewError, StoreDamagedError, StoreFailedError."""
        self._set = StoreHoldings(store)
        self._path = shelf
        self._shelf: StoreHoldings | None = None
        self._carried = carried
        self._looked = False
        self.feeds: Sequence[FeedHolding] = []
        """What was found at the last look, sorted by feed id."""

    def close(self) -> None:
        """Let go of both files."""
        self._set.close()
        if self._shelf is not None:
            self._shelf.close()

    def look(self) -> bool:
        """Look again. False if nothing has changed. Raises StoreDamagedError, StoreFailedError."""
        if self._shelf is None and self._path.exists():
            # It is just being made, or cannot be read: as if it were not there.
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
                # It has entered the set, and what is on the shelf is on its way there.
                feeds[one.feed] = one._replace(seq=other.seq, whole=other.whole)
        return sorted(feeds.values())


def _nothing(feed: FeedId) -> FeedHolding:
    return FeedHolding(feed, 0, WHOLE, ours=False, wanted=True, in_set=False, forked=False)


def offered_feeds(feeds: Iterable[FeedHolding], which: FeedSelection) -> Sequence[FeedHolding]:
    """Those of *feeds* that others may have: our own first, then those of the set, as many as are offered at all."""
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
    """Those of *feeds* that are to be had, each with entries held and the share of side chains whole, in 255ths.

    A forked feed is frozen, and one that has left the set is whole. Those *carried* are in none.
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
    """What is told of *feeds*: how much is here of what others may have.

    Of what is *wanted* and not here that nothing is, if feeds of others may be told of at all: so that whoever learns
    of somebody who has it tells us (the old flags of the text), and we need not ask again and again.
    """
    told = {one.feed: ResourceParameters(one.seq, one.whole) for one in offered_feeds(feeds, offer)}
    if offer is FeedSelection.SET:
        for feed in wanted:
            if feed not in told and len(told) < limits.OFFERS_MAX:
                told[feed] = ResourceParameters(0, 0)
    return told
