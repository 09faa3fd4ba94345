"""The set of feeds on which peers agree (spec 3.2). It grows, and shrinks by feeds that have ended (decision 0036)."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence

from tinyssb_node import limits
from tinyssb_node.ids import FeedId

_ZERO = bytes(limits.FEED_ID_SIZE)


def subset_of(feeds: Sequence[FeedId], xor: bytes, count: int) -> tuple[FeedId, ...] | None:
    """Return those *count* of *feeds* whose ids XOR to *xor*, 32 bytes; None if there are none. Selections with the
    same XOR cannot be made up from ids that are keys."""
    basis: dict[int, tuple[int, int]] = {}
    for number, feed in enumerate(feeds):
        rest, chosen = _reduce(basis, int.from_bytes(feed, "big"), 1 << number)
        if rest:
            basis[rest.bit_length()] = rest, chosen
    rest, chosen = _reduce(basis, int.from_bytes(xor, "big"), 0)
    if rest or chosen.bit_count() != count:
        return None
    return tuple(feed for number, feed in enumerate(feeds) if chosen >> number & 1)


def _reduce(basis: Mapping[int, tuple[int, int]], rest: int, chosen: int) -> tuple[int, int]:
    """Reduce *rest* by *basis*; return what remains, and *chosen* with the selection that was used."""
    while (found := basis.get(rest.bit_length())) is not None and rest:
        rest, chosen = rest ^ found[0], chosen ^ found[1]
    return rest, chosen


def xor_of(feeds: Iterable[bytes]) -> bytes:
    """XOR of feed ids, 32 bytes; zeros for none."""
    total = 0
    for feed in feeds:
        total ^= int.from_bytes(feed, "big")
    return total.to_bytes(limits.FEED_ID_SIZE, "big")


class Goset:
    """Feed ids in lexicographic order; WANT and CHNK refer to a feed by its index."""

    def __init__(self, feeds: Iterable[FeedId] = (), places: int = limits.SET_MAX) -> None:
        """*feeds* may be more than the *places*, if these were more before."""
        self.places = places
        self._feeds = sorted(set(feeds))
        assert len(self._feeds) <= limits.SET_MAX
        self._index = {feed: number for number, feed in enumerate(self._feeds)}
        self.state = xor_of(self._feeds)
        """XOR of all ids, 32 bytes (spec 3.4.2)."""

    def __len__(self) -> int:
        return len(self._feeds)

    def __contains__(self, feed: FeedId) -> bool:
        return feed in self._index

    def __getitem__(self, index: int) -> FeedId:
        return self._feeds[index]

    @property
    def feeds(self) -> Sequence[FeedId]:
        """All ids, sorted."""
        return tuple(self._feeds)

    @property
    def full(self) -> bool:
        """True if no further id fits (spec 3.6.1)."""
        return not self.has_room(seen=False)

    def has_room(self, *, seen: bool) -> bool:
        """Return True if a further id fits; *seen*: one that a deployed peer has in its set, which need not fit into
        the places."""
        return len(self._feeds) < (limits.SET_MAX if seen else self.places)

    def index(self, feed: FeedId) -> int:
        """Index of a feed of the set. Raises KeyError."""
        return self._index[feed]

    def add(self, feed: FeedId, *, seen: bool = False) -> bool:
        """Add *feed*, which a deployed peer has in its set if *seen*. Return False if it is present, the set is full,
        or it is the all-zero id, which is no feed."""
        if feed in self._index or not self.has_room(seen=seen) or feed == _ZERO:
            return False
        self._feeds.insert(bisect_left(self._feeds, feed), feed)
        self._index = {feed: number for number, feed in enumerate(self._feeds)}
        self.state = xor_of((self.state, feed))
        return True

    def remove(self, feed: FeedId) -> None:
        """Remove a feed of the set. Raises KeyError."""
        del self._feeds[self._index[feed]]
        self._index = {feed: number for number, feed in enumerate(self._feeds)}
        self.state = xor_of((self.state, feed))

    def region(self, low: FeedId, high: FeedId) -> Sequence[FeedId]:
        """Return the ids from *low* to *high*, both included if present."""
        return self._feeds[bisect_left(self._feeds, low) : bisect_right(self._feeds, high)]
