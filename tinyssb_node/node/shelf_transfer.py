"""Transfer of feeds from the shelf into the set. The shelf is opened when it is first needed.

Most nodes are no gateways: they must not have in memory what the shelf needs.
"""

from collections.abc import Iterator, Sequence

from tinyssb_node.errors import StoreFailedError
from tinyssb_node.ids import FeedId
from tinyssb_node.node.shelf_port import BringResult, OpenShelf, ShelfPort
from tinyssb_node.replication.replica import Replica


class ShelfTransfer:
    """The shelf of a node, once it is open, and the feeds that are on their way from it into the set."""

    def __init__(self, open_: OpenShelf | None, replica: Replica) -> None:
        """*open_* opens it; None: this node has none."""
        self._open = open_
        self._replica = replica
        self._shelf: ShelfPort | None = None
        self._moving: dict[FeedId, Iterator[bytes]] = {}
        self._moved: list[FeedId] = []
        """Feeds that are to be deleted from the shelf once what was taken from it is on the disk."""
        for feed in () if (shelf := self._find(make=False)) is None else shelf.feeds:
            self.entered(feed)  # Where a crash came in between.

    def _find(self, *, make: bool) -> ShelfPort | None:
        """Return the shelf, made if there is none and *make* is True; None: there is none."""
        if self._shelf is None and self._open is not None:
            self._shelf = self._open(make)
        return self._shelf

    def _lose(self) -> None:
        """Go on without a shelf: its file is broken, and what it held can be fetched again."""
        self._open = self._shelf = None
        self._moving.clear()
        self._moved.clear()

    def bring(self, feed: FeedId, packets: Sequence[bytes]) -> BringResult | None:
        """Put packets of *feed*, of which the set has none, onto the shelf; None: there is none. Raises
        StoreFullError."""
        try:
            shelf = self._find(make=True)
            return None if shelf is None else shelf.bring(feed, packets)
        except StoreFailedError:
            self._lose()
            return None

    def entered(self, feed: FeedId) -> None:
        """Begin to move what the shelf has of *feed*, which is in the set now."""
        shelf = self._find(make=False)
        replica = self._replica
        if shelf is not None and feed in shelf and feed in replica.goset and feed not in replica.blocked:
            self._moving[feed] = shelf.packets(feed)

    def has(self, feed: FeedId) -> bool:
        """Return True if packets of *feed* are on the shelf."""
        shelf = self._find(make=False)
        return shelf is not None and feed in shelf

    @property
    def due(self) -> bool:
        """True if ``take`` has something to do, at once."""
        return bool(self._moving or self._moved) and not self._replica.read_only

    def take(self, count: int, feed: FeedId | None = None) -> Sequence[bytes]:
        """Return the next packets that go from the shelf into the set, *count* at most; of *feed* alone if it is given.
        Raises StoreFullError."""
        try:
            return self._take(count, feed)
        except StoreFailedError:
            self._lose()
            return ()

    def _take(self, count: int, feed: FeedId | None) -> Sequence[bytes]:
        if self._moved:
            assert self._shelf is not None
            moved, self._moved = self._moved, []
            self._shelf.drop(moved)
        packets: list[bytes] = []
        for moving in list(self._moving) if feed is None else [feed]:
            while len(packets) < count:
                packet = next(self._moving[moving], None)
                if packet is None:
                    del self._moving[moving]
                    self._moved.append(moving)
                    break
                packets.append(packet)
        return packets

    def moves(self, feed: FeedId) -> bool:
        """Return True if some of *feed* is still on its way."""
        return feed in self._moving
