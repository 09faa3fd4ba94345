"""Share of the hash table that a locator keeps: locations, local resources, adverts to be sent."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Generic, TypeAlias, TypeVar

from tinyssb_node.errors import LocalError
from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.addresses import ContactAddress, Peer
from tinyssb_node.islands.locator.packets import size_of
from tinyssb_node.islands.locator.peers import LocatorRandomSource, pick
from tinyssb_node.islands.locator.values import Advert, Label, Location, ResourceParameters

K = TypeVar("K")
V = TypeVar("V")


class ExpiringMap(Generic[K, V]):
    """Map whose values expire by age; when it is full, the oldest is evicted."""

    def __init__(self, *, most: int, age_us: int) -> None:
        self.most = most
        self._age_us = age_us
        self._rows: dict[K, tuple[int, V]] = {}
        """Time and value by key, the oldest first."""

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, key: K, value: V, now_us: int) -> None:
        """Store *value*, and evict the oldest if there are too many."""
        self._rows.pop(key, None)
        self._rows[key] = now_us, value
        if len(self._rows) > self.most:
            del self._rows[next(iter(self._rows))]

    def change(self, key: K, value: V) -> None:
        """Replace the value of *key*; its age stays."""
        self._rows[key] = self._rows[key][0], value

    def get(self, key: K, now_us: int) -> V | None:
        """Return the value of *key*, unless it has expired."""
        row = self._rows.get(key)
        return row[1] if row is not None and now_us - row[0] < self._age_us else None

    def has(self, key: K, now_us: int) -> bool:
        """Return True if *key* has a value that has not expired."""
        row = self._rows.get(key)
        return row is not None and now_us - row[0] < self._age_us

    def expire(self, now_us: int) -> None:
        """Remove expired values."""
        while self._rows:
            key = next(iter(self._rows))
            if now_us - self._rows[key][0] < self._age_us:
                return
            del self._rows[key]


class LocalResources:
    """Resources that this node has: parameters by label, and when each is advertised next."""

    def __init__(self) -> None:
        self._rows: dict[Label, ResourceParameters] = {}
        self._periods_us: dict[Label, int] = {}
        """Time from the next advert to the one after it."""

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Label]:
        return iter(self._rows)

    def get(self, label: Label) -> ResourceParameters | None:
        """Return what we have of a resource."""
        return self._rows.get(label)

    def put(self, label: Label, parameters: ResourceParameters) -> None:
        """Add or change a resource. Raises LocalError, and ValueError for numbers out of range."""
        in_range = 0 <= parameters.timestamp <= limits.TIMESTAMP_MAX
        if not (in_range and 0 <= parameters.completeness <= limits.COMPLETENESS_MAX):
            raise ValueError(f"out of range: {parameters}")
        if label not in self._rows and len(self._rows) >= limits.RESOURCES_MAX:
            raise LocalError(
                f"{limits.RESOURCES_MAX} resources are offered, the most there can be. "
                "This one was not added. Withdraw another first"
            )
        self._rows[label] = parameters

    def remove(self, label: Label) -> None:
        """Remove a resource."""
        self._rows.pop(label, None)
        self._periods_us.pop(label, None)

    def begin_again(self, label: Label) -> None:
        """Advertise a resource as often as a new one: its location is new."""
        self._periods_us.pop(label, None)

    def next_period_us(self, label: Label, longest_us: int) -> int:
        """Return the time to the next advert of a resource, and double it for the one after."""
        period_us = min(self._periods_us.get(label, limits.ADVERT_FIRST_US), longest_us)
        self._periods_us[label] = 2 * period_us
        return period_us


_Key: TypeAlias = tuple[Label, Peer]


@dataclass(frozen=True, slots=True)
class LocationChange:
    """The effect of an added location on old flags."""

    added: Location
    """The location as stored in the map."""
    newer: tuple[Location, ...]
    """Not empty if the flag of the added one was turned on: those newer than it."""
    flagged: tuple[Location, ...]
    """Others whose flags were turned on."""


class LocationMap:
    """Sets of locations by label; within a set, one for each pair of node and message address.

    A location is flagged as old if its set has a strictly newer one. Flags are never turned off, but a location that is
    added again is as it is said to be then.
    """

    def __init__(self, *, set_limit: int, age_us: int, chance: LocatorRandomSource) -> None:
        self._set_limit = set_limit
        self._age_us = age_us
        self._chance = chance
        self._sets: dict[Label, dict[Peer, Location]] = {}
        """No set is empty."""
        self._proved: dict[_Key, int] = {}
        """Time of addition of locations reported by proved addresses, the oldest first."""
        self._unproved: dict[_Key, int] = {}
        """The same for all others."""

    def __len__(self) -> int:
        return len(self._proved) + len(self._unproved)

    def labels(self) -> int:
        """Return the number of resources."""
        return len(self._sets)

    def known(self, label: Label) -> tuple[Location, ...]:
        """Return the locations of a resource."""
        return tuple(self._sets.get(label, {}).values())

    def count(
        self, label: Label, counts: Callable[[ResourceParameters], bool], but: Peer | None = None
    ) -> int:
        """Return how many locations, *but* one, have parameters for which *counts* is true."""
        found = self._sets.get(label, {})
        return sum(counts(location.parameters) for peer, location in found.items() if peer != but)

    def add(self, label: Label, location: Location, now_us: int, *, proved: bool) -> LocationChange:
        """Add it to the set of *label*, with age 0. *proved*: reported by an address that answered a cookie."""
        peer = location.place.peer
        key = (label, peer)
        found = self._sets.setdefault(label, {})
        timestamp = location.parameters.timestamp
        newer = tuple(
            other
            for known, other in found.items()
            if known != peer and other.parameters.timestamp > timestamp
        )
        turned = bool(newer) and not location.parameters.old
        if turned:
            location = _flag(location)
        flagged = [
            _flag(other)
            for known, other in found.items()
            if known != peer and other.parameters.timestamp < timestamp and not other.parameters.old
        ]
        for other in flagged:
            found[other.place.peer] = other
        found[peer] = location
        proved = self._proved.pop(key, None) is not None or proved
        self._unproved.pop(key, None)
        (self._proved if proved else self._unproved)[key] = now_us
        self._bound(label)
        return LocationChange(location, newer if turned else (), tuple(flagged))

    def _bound(self, label: Label) -> None:
        """Evict locations until the set, and the whole map, are within their limits."""
        found = self._sets[label]
        while len(found) > self._set_limit:
            self._remove((label, pick(self._chance, list(found))))
        while len(self._unproved) > limits.LOCATIONS_UNPROVED_MAX:
            self._remove(next(iter(self._unproved)))
        while len(self) > limits.LOCATIONS_MAX:
            self._remove(next(iter(self._unproved or self._proved)))

    def remove(self, label: Label, peer: Peer) -> None:
        """Remove the location of *label* at *peer*, if there is one."""
        if peer in self._sets.get(label, {}):
            self._remove((label, peer))

    def forget(self, place: ContactAddress) -> None:
        """Remove all locations at *place*."""
        for key in [key for key, location in self._all() if location.place == place]:
            self._remove(key)

    def expire(self, now_us: int) -> None:
        """Remove locations that reached the age limit."""
        for added in (self._proved, self._unproved):
            while added:
                key = next(iter(added))
                if added[key] + self._age_us > now_us:
                    break
                self._remove(key)

    def _all(self) -> Iterator[tuple[_Key, Location]]:
        for label, found in self._sets.items():
            for peer, location in found.items():
                yield (label, peer), location

    def _remove(self, key: _Key) -> None:
        label, peer = key
        del self._sets[label][peer]
        if not self._sets[label]:
            del self._sets[label]
        self._proved.pop(key, None)
        self._unproved.pop(key, None)


def _flag(location: Location) -> Location:
    return replace(location, parameters=replace(location.parameters, old=True))


class AdvertBuffers:
    """Adverts that wait to be sent together: a buffer for each bit position, in it one for each label and peer."""

    def __init__(self, *, count_max: int, group_size: int) -> None:
        self._count_max = count_max
        self._room = limits.DATAGRAM_MAX - 3 - group_size
        """Bytes of adverts that fit in a post: it has their number, a type and the group's length beside."""
        self._waiting: dict[int, dict[tuple[Label, Peer], Advert]] = {}
        self._sizes: dict[int, int] = {}

    def __len__(self) -> int:
        return sum(len(adverts) for adverts in self._waiting.values())

    def fits(self, at: int, advert: Advert) -> bool:
        """Return True if all adverts of the buffer still fit in one post with this one."""
        adverts = self._waiting.get(at, {})
        return len(adverts) < self._count_max and self._sizes.get(at, 0) + _size(advert) <= self._room

    def add(self, at: int, advert: Advert) -> bool:
        """Add an advert that fits. Return True if it is the first in its buffer."""
        adverts = self._waiting.setdefault(at, {})
        key = (advert.label, advert.location.place.peer)
        before = adverts.pop(key, None)
        size = self._sizes.get(at, 0) + _size(advert) - (0 if before is None else _size(before))
        adverts[key] = advert
        self._sizes[at] = size
        return len(adverts) == 1 and before is None

    def full(self, at: int) -> bool:
        """Return True if the buffer is full."""
        return len(self._waiting.get(at, {})) >= self._count_max

    def take(self, at: int) -> tuple[Advert, ...]:
        """Remove and return all adverts of a buffer."""
        self._sizes.pop(at, None)
        return tuple(self._waiting.pop(at, {}).values())


def _size(advert: Advert) -> int:
    """Return the bytes of an advert within a post."""
    return limits.LABEL_SIZE + size_of(advert.location)
