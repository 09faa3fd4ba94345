"""Which feeds to look for, when, and which of the places found are worth a connection. Pure: time is told."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tinyssb_node.ids import FeedId
from tinyssb_node.islands.gateway import limits
from tinyssb_node.islands.locator.addresses import ContactAddress
from tinyssb_node.islands.locator.values import Location, ResourceParameters


class ConnectionCandidate(NamedTuple):
    """A place worth a connection."""

    place: ContactAddress
    feed: FeedId
    """The feed for which it is."""
    seq: int
    """How many entries of it are said to be there."""
    newer: bool
    """True if that is more than is held here; False: only news would come from there."""


@dataclass(slots=True)
class _Sought:
    """A feed that is to be had."""

    seq: int = 0
    whole: int = 0
    """How much of it is held here: entries, and side chains in 255ths."""
    due_us: int = 0
    """When it is to be looked for."""
    wait_us: int = limits.LOOKUP_RETRY_US
    """How long after that again, if it is not found."""
    since_us: int | None = None
    """A lookup is under way since then."""
    settled_us: int | None = None
    """When that ends, now that a place was found."""
    ended_us: int = -limits.LOOKUP_DOUBT_US
    """When the last one ended."""
    doubted: bool = False
    """Since then nothing came of news: what is true is to be looked for, whoever is connected."""
    denials: int = 0
    """Reports of this lookup that nobody has it."""
    places: dict[ContactAddress, tuple[ResourceParameters, int]] = field(default_factory=dict)
    """Where lookups of ours found it, and since when that is known."""
    news: dict[ContactAddress, tuple[ResourceParameters, int]] = field(default_factory=dict)
    """Where somebody said unasked that more of it is, and since when that is known."""

    def known(self) -> dict[ContactAddress, tuple[ResourceParameters, int]]:
        """Both."""
        return self.places | self.news


class FeedSearch:
    """The feeds of one network that are to be had from others."""

    def __init__(self, entropy: Callable[[], float]) -> None:
        """*entropy* returns numbers from 0 up to 1: gateways that start together must not ask together for ever."""
        self._entropy = entropy
        self._sought: dict[FeedId, _Sought] = {}
        self._again_us = limits.LOOKUP_AGAIN_US

    @property
    def feeds(self) -> Collection[FeedId]:
        """What is to be had."""
        return self._sought.keys()

    def places(self, feed: FeedId) -> Mapping[ContactAddress, ResourceParameters]:
        """Where *feed* is said to be."""
        sought = self._sought.get(feed)
        return {} if sought is None else {place: told for place, (told, _) in sought.known().items()}

    def held(self, feed: FeedId) -> int:
        """Entries of *feed* that are held; 0 if it is not to be had."""
        return self._sought[feed].seq if feed in self._sought else 0

    def looking(self, feed: FeedId) -> bool:
        """True if a lookup for *feed* is under way."""
        return feed in self._sought and self._sought[feed].since_us is not None

    def lacking(self) -> list[FeedId]:
        """Those that are being looked for and were not found so far."""
        return [
            feed
            for feed, sought in self._sought.items()
            if sought.since_us is not None and sought.settled_us is None
        ]

    def want(self, held: Mapping[FeedId, tuple[int, int]]) -> list[FeedId]:
        """These are to be had, and no others; of each, so many entries, and side chains in 255ths, are held.

        Returns those whose lookups are to be ended.
        """
        gone = [feed for feed in self._sought if feed not in held]
        stopped = [feed for feed in gone if self._sought.pop(feed).since_us is not None]
        for feed, (seq, whole) in held.items():
            sought = self._sought.setdefault(feed, _Sought())
            sought.seq, sought.whole = seq, whole
        return stopped

    # --- lookups

    def due(self, now_us: int, linked: Collection[ContactAddress]) -> list[FeedId]:
        """The feeds to be looked for from now on: few at a time, those first that wait longest."""
        running = sum(sought.since_us is not None for sought in self._sought.values())
        waiting = sorted(
            (sought.due_us, feed)
            for feed, sought in self._sought.items()
            if sought.since_us is None and sought.due_us <= now_us and not self._done(sought, linked)
        )
        begun = [feed for _, feed in waiting[: max(0, limits.LOOKUPS_MAX - running)]]
        for feed in begun:
            sought = self._sought[feed]
            sought.since_us, sought.settled_us, sought.denials = now_us, None, 0
        return begun

    def found(self, feed: FeedId, locations: Iterable[Location], now_us: int) -> None:
        """A lookup found *locations* of *feed*; those of others are ignored."""
        sought = self._sought.get(feed)
        if sought is None:
            return
        for location in locations:
            sought.news.pop(location.place, None)
            self._learn(sought.places, limits.PLACES_MAX, location, now_us)
            if sought.settled_us is None and location.parameters.timestamp:
                sought.settled_us = now_us + limits.LOOKUP_SETTLE_US

    def told(self, feed: FeedId, locations: Iterable[Location], now_us: int) -> None:
        """Somebody says unasked that there is more of *feed* at *locations*. Anybody could have made that up, so it
        takes no room of those that were found."""
        if (sought := self._sought.get(feed)) is not None:
            for location in locations:
                self._learn(sought.news, limits.NEWS_PLACES_MAX, location, now_us)

    def _learn(
        self,
        places: dict[ContactAddress, tuple[ResourceParameters, int]],
        most: int,
        location: Location,
        now_us: int,
    ) -> None:
        """Remember it: one place of each node, and if there are too many, any ones: nobody drives out all others."""
        place = location.place
        if place not in places:
            same = [known for known in places if known.node == place.node]
            if same and self._entropy() < 0.5:
                return
            for known in same:
                del places[known]
            if len(places) >= most:
                del places[list(places)[int(self._entropy() * len(places))]]
        places[place] = (location.parameters, now_us)

    def denied(self, feed: FeedId) -> None:
        """A report told that nobody has *feed*."""
        if (sought := self._sought.get(feed)) is not None:
            sought.denials += 1

    def ended(self, feed: FeedId, now_us: int) -> None:
        """The lookup is over. When the next one is due depends on what it found."""
        sought = self._sought.get(feed)
        if sought is None or sought.since_us is None:
            return
        if sought.settled_us is None:
            wait_us, sought.wait_us = sought.wait_us, min(2 * sought.wait_us, limits.LOOKUP_RETRY_MAX_US)
        else:
            wait_us, sought.wait_us = self._again_us, limits.LOOKUP_RETRY_US
        sought.since_us = sought.settled_us = None
        sought.ended_us, sought.doubted = now_us, False
        sought.due_us = now_us + int(wait_us * (0.75 + 0.5 * self._entropy()))

    def over(self, now_us: int, linked: Collection[ContactAddress]) -> list[FeedId]:
        """The feeds whose lookups have found what there is to find, and are to be ended."""
        return [
            feed
            for feed, sought in self._sought.items()
            if sought.since_us is not None
            and (
                self._done(sought, linked)
                or sought.denials >= limits.LOOKUP_DENIALS_MAX
                or (sought.settled_us is not None and sought.settled_us <= now_us)
            )
        ]

    def repeat_after(self, again_us: int) -> None:
        """Set the wait before a feed that was found is looked for again."""
        self._again_us = again_us

    def hurry(self, now_us: int) -> None:
        """Look for everything now: there is a way to others again."""
        for sought in self._sought.values():
            sought.due_us, sought.wait_us = min(sought.due_us, now_us), limits.LOOKUP_RETRY_US

    # --- connections

    def failed(self, place: ContactAddress, now_us: int) -> bool:
        """Nothing came of a connection to *place*: it is forgotten. Feeds that are nowhere else are looked for soon.

        False if somebody had told of it unasked: then that is forgotten, and nothing else, since whoever wants to keep
        us from *place* could have made it up. A lookup is to tell how it is.
        """
        told = [sought for sought in self._sought.values() if sought.news.pop(place, None) is not None]
        had = [sought for sought in self._sought.values() if place in sought.places]
        if told or not had:
            # News that are not even there any more had to make room for others meanwhile.
            for sought in told or [sought for sought in self._sought.values() if sought.news]:
                sought.doubted = True
                sought.due_us = min(sought.due_us, max(now_us, sought.ended_us + limits.LOOKUP_DOUBT_US))
            return False
        for sought in had:
            del sought.places[place]
            if not any(told.timestamp for told, _ in sought.known().values()):
                # A lookup that is under way has found nobody so far who has anything, and goes on.
                sought.settled_us = None
                sought.due_us = min(sought.due_us, now_us + sought.wait_us)
        return True

    def lost(self, place: ContactAddress, now_us: int) -> None:
        """The connection to *place* has ended: what it had is looked for soon, in case that it does not come back."""
        for sought in self._sought.values():
            if place in sought.known():
                sought.due_us = min(sought.due_us, now_us + limits.CALL_AGAIN_US)

    def calls(
        self,
        now_us: int,
        linked: Collection[ContactAddress],
        room: int,
        *,
        resting: Collection[ContactAddress] = (),
    ) -> Sequence[ConnectionCandidate]:
        """Up to *room* places to connect to, given those that are connected, but not to those *resting*.

        What is newest, and most, first; every other time any of those that lookups found: who lies claims to have most.
        """
        best: dict[ContactAddress, tuple[tuple[bool, int, int, float], ConnectionCandidate]] = {}
        any_ = self._entropy() < 0.5
        for feed, sought in self._sought.items():
            self._forget_old(sought, now_us, linked)
            if self._live(sought, linked):
                continue
            for place, (told, _) in ((any_ and sought.places) or sought.known()).items():
                if place in linked or place in resting or not told.timestamp:
                    continue
                newer = self._newer(sought, told)
                gain = max(0, told.timestamp - sought.seq)
                chance = self._entropy()
                rank = (False, 0, 0, chance) if any_ else (newer, gain, told.completeness, chance)
                if place not in best or rank > best[place][0]:
                    best[place] = (rank, ConnectionCandidate(place, feed, told.timestamp, newer))
        ranked = [call for _, call in sorted(best.values(), key=lambda one: one[0], reverse=True)]
        return self._spread(ranked, len(linked), room)

    def _spread(
        self, ranked: Sequence[ConnectionCandidate], linked: int, room: int
    ) -> Sequence[ConnectionCandidate]:
        """One call for each feed at a time, and few where nothing is known to be newer."""
        chosen: dict[FeedId, ConnectionCandidate] = {}
        for call in ranked:
            full = linked + len(chosen) >= limits.CALLS_LIVE_MAX
            if len(chosen) < room and call.feed not in chosen and (call.newer or not full):
                chosen[call.feed] = call
        return list(chosen.values())

    def _done(self, sought: _Sought, linked: Collection[ContactAddress]) -> bool:
        """True if there is nothing to look for."""
        return not sought.doubted and self._live(sought, linked)

    def _live(self, sought: _Sought, linked: Collection[ContactAddress]) -> bool:
        """True if a place that has it, and nothing newer is known elsewhere, is connected."""
        known = sought.known()
        here = [told for place, (told, _) in known.items() if place in linked]
        best = max((told.timestamp for told, _ in known.values()), default=0)
        return any(told.timestamp and max(told.timestamp, sought.seq) >= best for told in here)

    @staticmethod
    def _newer(sought: _Sought, told: ResourceParameters) -> bool:
        if told.timestamp == sought.seq:
            return told.completeness > sought.whole
        return told.timestamp > sought.seq

    @staticmethod
    def _forget_old(sought: _Sought, now_us: int, linked: Collection[ContactAddress]) -> None:
        for places in (sought.places, sought.news):
            old = [place for place, (_, since) in places.items() if now_us - since > limits.PLACES_AGE_US]
            for place in set(old).difference(linked):
                del places[place]
