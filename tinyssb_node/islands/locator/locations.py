"""The map from labels to locations, and its old flags (text, "Location map")."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.addresses import ContactAddress, Peer
from tinyssb_node.islands.locator.labels import Label
from tinyssb_node.islands.locator.randomness import LocatorRandomSource, pick
from tinyssb_node.islands.locator.values import Location, ResourceParameters

_Key: TypeAlias = tuple[Label, Peer]


@dataclass(frozen=True, slots=True)
class LocationChange:
    """What adding a location did to old flags."""

    added: Location
    """As it is in the map."""
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
        """When those were added that somebody told who answered a cookie, the oldest first."""
        self._unproved: dict[_Key, int] = {}
        """The others."""

    def __len__(self) -> int:
        return len(self._proved) + len(self._unproved)

    def labels(self) -> int:
        """How many resources there are."""
        return len(self._sets)

    def known(self, label: Label) -> tuple[Location, ...]:
        """Where a resource is."""
        return tuple(self._sets.get(label, {}).values())

    def count(
        self, label: Label, counts: Callable[[ResourceParameters], bool], but: Peer | None = None
    ) -> int:
        """How many locations, *but* one, have parameters that count."""
        found = self._sets.get(label, {})
        return sum(counts(location.parameters) for peer, location in found.items() if peer != but)

    def add(self, label: Label, location: Location, now_us: int, *, proved: bool) -> LocationChange:
        """Put it into the set of *label*, its age 0. *proved*: told by somebody who answered a cookie."""
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
        """Make room within the set, and within the whole."""
        found = self._sets[label]
        while len(found) > self._set_limit:
            self._remove((label, pick(self._chance, list(found))))
        while len(self._unproved) > limits.LOCATIONS_UNPROVED_MAX:
            self._remove(next(iter(self._unproved)))
        while len(self) > limits.LOCATIONS_MAX:
            self._remove(next(iter(self._unproved or self._proved)))

    def remove(self, label: Label, peer: Peer) -> None:
        """Remove this location of *label*, if it is there."""
        if peer in self._sets.get(label, {}):
            self._remove((label, peer))

    def forget(self, place: ContactAddress) -> None:
        """Remove whatever is said to be there."""
        for key in [key for key, location in self._all() if location.place == place]:
            self._remove(key)

    def expire(self, now_us: int) -> None:
        """Remove what reached the age limit."""
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
