"""What a gateway has of a network: the node's set, the shelf, and what it is to carry though nothing of it is here."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from tinyssb_node.errors import LocalError
from tinyssb_node.ids import FeedId
from tinyssb_node.islands.gateway.stored import WHOLE, FeedHolding, StoreHoldings


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
