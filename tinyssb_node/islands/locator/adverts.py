"""Buffers of adverts that wait for others to go with (text, "Advertisement buffers")."""

from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.addresses import Peer
from tinyssb_node.islands.locator.labels import Label
from tinyssb_node.islands.locator.packets import size_of
from tinyssb_node.islands.locator.values import Advert


class AdvertBuffers:
    """One for each bit position; within one, an advert for each label and peer."""

    def __init__(self, *, count_max: int, group_size: int) -> None:
        self._count_max = count_max
        self._room = limits.DATAGRAM_MAX - 3 - group_size
        """Bytes of adverts that fit in a post: it has their number, a type and the group's length beside."""
        self._waiting: dict[int, dict[tuple[Label, Peer], Advert]] = {}
        self._sizes: dict[int, int] = {}

    def __len__(self) -> int:
        return sum(len(adverts) for adverts in self._waiting.values())

    def fits(self, at: int, advert: Advert) -> bool:
        """True if it can be added, and all there sent in one post."""
        adverts = self._waiting.get(at, {})
        return len(adverts) < self._count_max and self._sizes.get(at, 0) + _size(advert) <= self._room

    def add(self, at: int, advert: Advert) -> bool:
        """Let it wait. True if it is the first there. The caller has seen that it fits."""
        adverts = self._waiting.setdefault(at, {})
        key = (advert.label, advert.location.place.peer)
        before = adverts.pop(key, None)
        size = self._sizes.get(at, 0) + _size(advert) - (0 if before is None else _size(before))
        adverts[key] = advert
        self._sizes[at] = size
        return len(adverts) == 1 and before is None

    def full(self, at: int) -> bool:
        """True if the limit of occupancy is reached."""
        return len(self._waiting.get(at, {})) >= self._count_max

    def take(self, at: int) -> tuple[Advert, ...]:
        """Remove all."""
        self._sizes.pop(at, None)
        return tuple(self._waiting.pop(at, {}).values())


def _size(advert: Advert) -> int:
    """Bytes of it within a post."""
    return limits.LABEL_SIZE + size_of(advert.location)
