"""Search for feeds: when each is looked up, and which locations found are worth a connection. Pure."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tinyssb_node.ids import FeedId
from tinyssb_node.islands.gateway import limits
from tinyssb_node.islands.locator.addresses import ContactAddress, split_relayed
from tinyssb_node.islands.locator.values import Location, ResourceParameters


class ConnectionCandidate(NamedTuple):
    """A location worth a connection."""

    place: ContactAddress
    feed: FeedId
    """The feed to be fetched there."""
    seq: int
    """The number of its entries reported there."""
    newer: bool
    """True if that is more than is stored here; False: only later entries would come from there."""


@dataclass(slots=True)
class _Sought:
    """A feed that is wanted."""

    seq: int = 0
    whole: int = 0
    """How much of it is stored here: entries, and side chains in 255ths."""
    due_us: int = 0
    """When it is to be looked up."""
    wait_us: int = limits.LOOKUP_RETRY_US
    """Time until the next lookup, if it is not found."""
    since_us: int | None = None
    """When the running lookup began."""
    settled_us: int | None = None
    """When that lookup ends, after a location was found."""
    ended_us: int = -limits.LOOKUP_DOUBT_US
    """When the last one ended."""
    doubted: bool = False
    """A reported location failed since then: look the feed up, whatever is connected."""
    denials: int = 0
    """Negative reports of this lookup."""
    places: dict[ContactAddress, tuple[ResourceParameters, int]] = field(default_factory=dict)
    """Locations found by our lookups, and since when they are known."""
    news: dict[ContactAddress, tuple[ResourceParameters, int]] = field(default_factory=dict)
    """Locations that peers reported unrequested, and since when they are known."""

    def known(self) -> dict[ContactAddress, tuple[ResourceParameters, int]]:
        """Return the locations of both kinds."""
        return self.places | self.news


class FeedSearch:
    """The feeds of one network that are wanted from others."""

    def __init__(self, entropy: Callable[[], float]) -> None:
        """*entropy* returns numbers in [0, 1): gateways that start together must not stay in step."""
        self._entropy = entropy
        self._sought: dict[FeedId, _Sought] = {}
        self._again_us = limits.LOOKUP_AGAIN_US

    @property
    def feeds(self) -> Collection[FeedId]:
        """The wanted feeds."""
        return self._sought.keys()

    def places(self, feed: FeedId) -> Mapping[ContactAddress, ResourceParameters]:
        """Return the known locations of *feed*."""
        sought = self._sought.get(feed)
        return {} if sought is None else {place: told for place, (told, _) in sought.known().items()}

    def held(self, feed: FeedId) -> int:
        """Return the stored entries of *feed*; 0 if it is not wanted."""
        return self._sought[feed].seq if feed in self._sought else 0

    def looking(self, feed: FeedId) -> bool:
        """Return True if a lookup of *feed* is running."""
        return feed in self._sought and self._sought[feed].since_us is not None

    def lacking(self) -> list[FeedId]:
        """Return the feeds whose lookups have found nothing so far."""
        return [
            feed
            for feed, sought in self._sought.items()
            if sought.since_us is not None and sought.settled_us is None
        ]

    def want(self, held: Mapping[FeedId, tuple[int, int]]) -> list[FeedId]:
        """Want these feeds and no others. Of each, so many entries, and side chains in 255ths, are stored.

        Return the feeds whose lookups are to be ended.
        """
        gone = [feed for feed in self._sought if feed not in held]
        stopped = [feed for feed in gone if self._sought.pop(feed).since_us is not None]
        for feed, (seq, whole) in held.items():
            sought = self._sought.setdefault(feed, _Sought())
            sought.seq, sought.whole = seq, whole
        return stopped

    # --- lookups

    def due(self, now_us: int, linked: Collection[ContactAddress]) -> list[FeedId]:
        """Begin lookups that are due, few at a time, the longest waiting first. Return their feeds."""
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
        """Add *locations* of *feed* that a lookup found; those of other feeds are ignored."""
        sought = self._sought.get(feed)
        if sought is None:
            return
        for location in locations:
            sought.news.pop(location.place, None)
            self._learn(sought.places, limits.PLACES_MAX, location, now_us)
            if sought.settled_us is None and location.parameters.timestamp:
                sought.settled_us = now_us + limits.LOOKUP_SETTLE_US

    def location_hinted(self, feed: FeedId, locations: Iterable[Location], now_us: int) -> None:
        """Add *locations* with more of *feed* that a peer reported unrequested. They may be made up, so they take no
        room of those that were found."""
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
        """Add a location: one for each node. If there are too many, evict at random, so no node evicts all."""
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
        """Count a report that no node has *feed*."""
        if (sought := self._sought.get(feed)) is not None:
            sought.denials += 1

    def ended(self, feed: FeedId, now_us: int) -> None:
        """End the lookup of *feed*. The time of the next one depends on what it found."""
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

    def finished_lookups(self, now_us: int, linked: Collection[ContactAddress]) -> list[FeedId]:
        """Return the feeds whose lookups are finished and are to be ended."""
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
        """Look up all feeds now: there is a route to others again."""
        for sought in self._sought.values():
            sought.due_us, sought.wait_us = min(sought.due_us, now_us), limits.LOOKUP_RETRY_US

    # --- connections

    def failed(self, place: ContactAddress, now_us: int) -> bool:
        """Forget *place*, where a connection failed. Feeds without another location are looked up soon.

        Return False if the location was reported unrequested: then only that report is forgotten, since a peer may have
        made it up to keep us from *place* (eclipse). A lookup decides.
        """
        told = [sought for sought in self._sought.values() if sought.news.pop(place, None) is not None]
        had = [sought for sought in self._sought.values() if place in sought.places]
        if told or not had:
            # A report that is not there any more was evicted meanwhile.
            for sought in told or [sought for sought in self._sought.values() if sought.news]:
                sought.doubted = True
                sought.due_us = min(sought.due_us, max(now_us, sought.ended_us + limits.LOOKUP_DOUBT_US))
            return False
        for sought in had:
            del sought.places[place]
            if not any(told.timestamp for told, _ in sought.known().values()):
                # A running lookup has found no node with anything so far, and continues.
                sought.settled_us = None
                sought.due_us = min(sought.due_us, now_us + sought.wait_us)
        return True

    def lost(self, place: ContactAddress, now_us: int) -> None:
        """Look up soon what *place* had: its connection has ended, and may not come back."""
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
        """Return up to *room* locations to connect to, besides those *linked*, and none of those *resting*.

        The newest and largest come first; half of the time random ones that lookups found, since liars claim the most.
        """
        best: dict[ContactAddress, tuple[tuple[bool, int, int, bool, float], ConnectionCandidate]] = {}
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
                direct = not split_relayed(place.node)[1]  # a relay has a quota
                rank = (
                    (False, 0, 0, False, chance) if any_ else (newer, gain, told.completeness, direct, chance)
                )
                if place not in best or rank > best[place][0]:
                    best[place] = (rank, ConnectionCandidate(place, feed, told.timestamp, newer))
        ranked = [call for _, call in sorted(best.values(), key=lambda one: one[0], reverse=True)]
        return self._spread(ranked, len(linked), room)

    def _spread(
        self, ranked: Sequence[ConnectionCandidate], linked: int, room: int
    ) -> Sequence[ConnectionCandidate]:
        """Choose one location for each feed, and few where nothing newer is known."""
        chosen: dict[FeedId, ConnectionCandidate] = {}
        for call in ranked:
            full = linked + len(chosen) >= limits.CALLS_LIVE_MAX
            if len(chosen) < room and call.feed not in chosen and (call.newer or not full):
                chosen[call.feed] = call
        return list(chosen.values())

    def _done(self, sought: _Sought, linked: Collection[ContactAddress]) -> bool:
        """Return True if no lookup is needed."""
        return not sought.doubted and self._live(sought, linked)

    def _live(self, sought: _Sought, linked: Collection[ContactAddress]) -> bool:
        """Return True if a location with the feed is connected, and nothing newer is known elsewhere."""
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
