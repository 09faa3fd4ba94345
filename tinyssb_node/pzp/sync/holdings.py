"""Messages that a replica has of a tangle, as Bloom filters and digests, and which of them it gives.

A filter takes three bytes for each message and has false positives, each time for others.
"""

import struct
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from blake3 import blake3

from tinyssb_node.pzp.sync import limits
from tinyssb_node.pzp.sync.packets import EMPTY, DepthRange, PzpDigest
from tinyssb_node.pzp.sync.port import PzpReplica

_NUMBERS: Final = struct.Struct(
    "<8I"
)  # an id sets 8 bits; 17 would err half as often, and take twice as long


class Bloom:
    """A filter that somebody made with *salt*. Any bytes are one; of no bytes nothing is in it."""

    def __init__(self, bits: bytes, salt: bytes) -> None:
        self._bits = bits
        self._salt = salt

    def __contains__(self, item: str) -> bool:
        bits = self._bits
        size = 8 * len(bits)
        return size > 0 and all(
            bits[place >> 3] >> (place & 7) & 1 for place in _places(item, self._salt, size)
        )


def make_bloom(items: Iterable[str], salt: bytes) -> bytes:
    """The bits of a filter over *items*; none for none."""
    listed = list(items)
    if not listed:
        return b""
    bits = bytearray((limits.FILTER_BITS_EACH * len(listed) + limits.FILTER_BITS_MORE) // 8)
    size = 8 * len(bits)
    for item in listed:
        for place in _places(item, salt, size):
            bits[place >> 3] |= 1 << (place & 7)
    return bytes(bits)


def _places(item: str, salt: bytes, size: int) -> list[int]:
    """The bits that *item* sets in a filter of *size* bits."""
    digest = blake3(salt + item.encode()).digest(_NUMBERS.size)
    return [number % size for number in _NUMBERS.unpack(digest)]


_PLACE: Final = "place "
"""Goes in front of an id in a filter where only the message's place is held, and what it says would be taken."""
_GONE: Final = "gone "
"""Goes in front of an id in a filter where the message was deleted: only its place would be taken."""


@dataclass(frozen=True, slots=True)
class DepthWindow:
    """The messages of some depths of a tangle."""

    depths: DepthRange
    """The depths looked at."""
    ids: list[str]
    """The known messages of these depths, in topological order."""


class TangleHoldings:
    """The messages currently held of one tangle."""

    def __init__(self, msgs: PzpReplica, root: str) -> None:
        self._bare = msgs.bare(root)
        self._ghosts = msgs.ghosts(root)
        self.tangle: Final = msgs.tangle(root)
        feed = self.tangle.facts.feed
        self.owner: Final = feed.owner if feed is not None and isinstance(feed.owner, str) else None
        """The group whose feed it is; in V1 a key, of which there is no identity. None for another tangle."""

    def ids(self, depths: DepthRange) -> list[str]:
        """The messages of these *depths*, in topological order."""
        return self.tangle.slice(depths.low, depths.high)

    def depth(self, message: str) -> int:
        """The depth of *message*, which is known."""
        return self.tangle.depth(message) or 0

    def item(self, message: str) -> str:
        """Return the form of *message*, which is known, in filters and digests."""
        return _PLACE + message if self._bare.get(message) else message

    def whole(self) -> DepthRange:
        """The range of depths of messages that are held with what they say."""
        ends = [self._first_whole(back=back) for back in (False, True)]
        low, high = (None if one is None else self.depth(one) for one in ends)
        return EMPTY if low is None or high is None else DepthRange(low, high)

    def _first_whole(self, *, back: bool) -> str | None:
        walk = self.tangle.walk(0, limits.DEPTH_MAX, back=back)
        return next((one for one in walk if one not in self._bare), None)

    def window(self, depths: DepthRange) -> DepthWindow:
        """The messages of these *depths*, or of the first of them if there are too many."""
        ids = list(islice(self.tangle.walk(depths.low, depths.high), limits.WINDOW_IDS_MAX + 1))
        if len(ids) <= limits.WINDOW_IDS_MAX:
            return DepthWindow(depths, ids)
        cut = self.depth(ids.pop())
        if self.depth(ids[0]) != cut:
            cut -= 1
            ids = [one for one in ids if self.depth(one) <= cut]
        return DepthWindow(DepthRange(depths.low, cut), ids)

    def ghosts(self, depths: DepthRange) -> list[str]:
        """Return deleted messages of these *depths* in the form used in filters; of too many, some."""
        found = (_GONE + one for one, depth in self._ghosts.items() if depth in depths)
        return list(islice(found, limits.WINDOW_IDS_MAX))

    def is_lacked(self, message: str, theirs: Bloom) -> bool:
        """Return True if the filter's peer lacks *message*, or lacks its payload, which is held here."""
        if message in theirs or _GONE + message in theirs:
            return False
        return message not in self._bare or _PLACE + message not in theirs


def identity_ids(held: TangleHoldings) -> list[str]:
    """The messages of an identity that go along with those that are written for it."""
    return list(islice(held.tangle.walk(0, limits.DEPTH_MAX), limits.IDENTITY_IDS_MAX))


def _with_identity(msgs: PzpReplica, held: TangleHoldings, ids: Iterable[str]) -> Iterator[str]:
    """The items of *ids*, and of the identity whose feed it is."""
    yield from map(held.item, ids)
    if held.owner is not None:
        identity = TangleHoldings(msgs, held.owner)
        yield from map(identity.item, identity_ids(identity))


def digests(msgs: PzpReplica, held: TangleHoldings, start: int, salt: bytes) -> list[PzpDigest]:
    """Return digests of the messages from depth *start* on, window by window, and of the identity."""
    found: list[PzpDigest] = []
    while True:
        window = held.window(DepthRange(start, limits.DEPTH_MAX))
        if len(found) == limits.WINDOWS_MAX - 1:
            window = DepthWindow(
                DepthRange(start, limits.DEPTH_MAX), held.ids(DepthRange(start, limits.DEPTH_MAX))
            )
        found.append(PzpDigest(window.depths.high, digest_of(msgs, held, window.depths, salt)))
        start = window.depths.high + 1
        if start > limits.DEPTH_MAX:
            return found


def differs_from(
    msgs: PzpReplica, held: TangleHoldings, start: int, theirs: Iterable[PzpDigest], salt: bytes
) -> int | None:
    """The depth from which on *theirs*, which begin at *start*, are not what is held here; None if they are.

    What is longer than a window is not looked at: who holds the same would have ended it earlier.
    """
    for number, one in enumerate(theirs, 1):
        depths = DepthRange(start, one.high)
        too_long = number < limits.WINDOWS_MAX and held.window(depths).depths != depths
        if too_long or digest_of(msgs, held, depths, salt) != one.value:
            return start
        start = one.high + 1
    return None


def digest_of(msgs: PzpReplica, held: TangleHoldings, depths: DepthRange, salt: bytes) -> bytes:
    """Return the digest of the messages of *depths*; the identity belongs to the deepest."""
    ids = held.ids(depths)
    items = _with_identity(msgs, held, ids) if depths.high == limits.DEPTH_MAX else map(held.item, ids)
    return blake3(salt + "\n".join(items).encode()).digest(limits.DIGEST_SIZE)


def filter_of(msgs: PzpReplica, held: TangleHoldings, window: DepthWindow, salt: bytes) -> bytes:
    """A filter over what of a window, the root and the identity need not be given."""
    root = held.tangle.root
    ids = dict.fromkeys(window.ids if root not in held.tangle else [*window.ids, root])
    return make_bloom([*_with_identity(msgs, held, ids), *held.ghosts(window.depths)], salt)


@dataclass(frozen=True, slots=True)
class PlannedMessage:
    """One message to give."""

    id: str
    place_only: bool
    """True: without what it says, as it is on the way to the root only."""


def plan(held: TangleHoldings, ids: Iterable[str], want: DepthRange, theirs: Bloom) -> list[PlannedMessage]:
    """Return the messages to give for *want*: those of *ids* that the peer lacks, and paths to the root.

    Every message in the plan is the root, or follows one that is in it or that the peer has: so the peer can
    check it.
    """
    tangle = held.tangle
    lacking = [one for one in ids if held.depth(one) in want and held.is_lacked(one, theirs)]
    giving = dict.fromkeys(lacking, False)
    for one in lacking:
        for before in () if _is_led_to(held, one, giving, theirs) else tangle.path_to_root(one):
            if before in giving or not _is_unheard_of(before, theirs):
                break
            giving[before] = True
        if len(giving) >= limits.WAYS_MAX:
            break
    return [PlannedMessage(one, giving[one]) for one in sorted(giving, key=held.depth)]


def _is_unheard_of(message: str, theirs: Bloom) -> bool:
    """Return True if the peer that made the filter has nothing of *message*, not even its place."""
    return message not in theirs and _PLACE + message not in theirs


def _is_led_to(held: TangleHoldings, message: str, giving: Collection[str], theirs: Bloom) -> bool:
    """Return True if a peer that is given *giving* can check *message*."""
    return message == held.tangle.root or any(
        one in giving or not _is_unheard_of(one, theirs) for one in held.tangle.prev(message)
    )
