"""A set of feed ids under a salt: short ids, their sketch and checksum (docs/formats/packets.md)."""

from collections import OrderedDict
from collections.abc import Iterable
from hashlib import sha256

from tinyssb_node import limits
from tinyssb_node.codec.packets import Sketch
from tinyssb_node.ids import FeedId
from tinyssb_node.replication.goset import Goset
from tinyssb_node.replication.sketch import combine, sketch_of


def short_id(salt: bytes, feed: FeedId) -> int:
    """Return the first 4 bytes of the SHA-256 over *salt* and *feed*; 1 in place of 0, which no sketch can
    represent."""
    return int.from_bytes(sha256(salt + feed).digest()[: limits.SHORT_ID_SIZE]) or 1


def checksum_of(salt: bytes, shorts: Iterable[int]) -> bytes:
    """Return the first 3 bytes of the SHA-256 over *salt* and the short ids in order.

    It is over short ids, so that a receiver that computed a peer's short ids can check the result.
    """
    in_order = b"".join(short.to_bytes(limits.SHORT_ID_SIZE) for short in sorted(shorts))
    return sha256(salt + in_order).digest()[: limits.SET_CHECKSUM_SIZE]


class SaltedSet:
    """A set under one salt. Costly results are computed on first use, and updated from then on."""

    def __init__(self, salt: bytes, feeds: Iterable[FeedId]) -> None:
        self.salt = salt
        self.feeds: dict[int, FeedId] = {}
        """Feed ids by short id."""
        self.ambiguous = False
        """True if two ids of the set have the same short id: the set cannot be described under this salt."""
        self._sums: bytes | None = None
        self._checksum: bytes | None = None
        for feed in feeds:
            self.add(feed)

    def add(self, feed: FeedId) -> None:
        """Add an id that is not in the set."""
        short = short_id(self.salt, feed)
        self.ambiguous = self.ambiguous or short in self.feeds
        self.feeds[short] = feed
        self._checksum = None
        if self._sums is not None:
            self._sums = combine(self._sums, sketch_of([short]))

    @property
    def sums(self) -> bytes:
        """The sketch of the short ids, 104 bytes."""
        if self._sums is None:
            self._sums = sketch_of(self.feeds)
        return self._sums

    @property
    def checksum(self) -> bytes:
        """The checksum of the short ids, 3 bytes."""
        if self._checksum is None:
            self._checksum = checksum_of(self.salt, self.feeds)
        return self._checksum

    def sketch(self, capacity: int) -> Sketch:
        """Return the sketch from which others can compute up to *capacity* differences, 0 to 26; of fewer ids than
        that, all of them."""
        capacity = min(capacity, len(self.feeds))
        sums = self.sums[: capacity * limits.SHORT_ID_SIZE] if capacity else b""
        return Sketch(salt=self.salt, count=len(self.feeds), sums=sums, checksum=self.checksum)


class SaltedSets:
    """A node's set under the few salts that are in use."""

    def __init__(self, goset: Goset) -> None:
        self._goset = goset
        self._sets: OrderedDict[bytes, SaltedSet] = OrderedDict()

    def under(self, salt: bytes) -> SaltedSet:
        """Return the set under *salt*; the salt unused for longest is evicted."""
        found = self._sets.pop(salt, None)
        if found is None:
            found = SaltedSet(salt, self._goset.feeds)
        self._sets[salt] = found
        if len(self._sets) > limits.SALTS_MAX:
            self._sets.popitem(last=False)
        return found

    def under_fresh(self, salt: bytes) -> SaltedSet:
        """Return the set under the first salt from *salt* on under which all short ids differ."""
        found = self.under(salt)
        for _ in range(8):  # the second salt is needed once in 130,000 times
            if not found.ambiguous:
                break
            found = self.under((int.from_bytes(found.salt) + 1 & 0xFFFF_FFFF).to_bytes(limits.SALT_SIZE))
        return found

    def grew(self, feed: FeedId) -> None:
        """Add *feed* to all of them."""
        for salted in self._sets.values():
            salted.add(feed)

    def shrank(self) -> None:
        """Drop all results: a feed left the node's set."""
        self._sets.clear()
