"""One network of the node towards others: its locator, and what is told and asked by it."""

import random
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from secrets import token_bytes
from typing import Final, NamedTuple, Protocol

from tinyssb_node.codec.dmx import Network
from tinyssb_node.ids import FeedId, NetworkName
from tinyssb_node.islands.gateway import limits
from tinyssb_node.islands.gateway.config import GatewayConfig
from tinyssb_node.islands.gateway.feed_search import ConnectionCandidate, FeedSearch
from tinyssb_node.islands.gateway.holdings import FeedHolding, adverts, wanted_feeds
from tinyssb_node.islands.gateway.peersfile import KnownPeers
from tinyssb_node.islands.gateway.reachability import NOWHERE
from tinyssb_node.islands.locator import limits as locator_limits
from tinyssb_node.islands.locator.addresses import ContactAddress, Peer
from tinyssb_node.islands.locator.locator import Locator
from tinyssb_node.islands.locator.peers import LocatorRandomSource
from tinyssb_node.islands.locator.values import (
    Effect,
    Label,
    Location,
    LocatorCounters,
    LocatorSettings,
    LookupEnded,
    NewerVersionReported,
    ResourceFound,
    ResourceNotFound,
    ResourceParameters,
    SendDatagram,
    group_of_network,
    label_of_feed,
)

Watch = Callable[[tuple[Location, ...], bool], None]
"""Is told of a report: locations, none where nobody is said to have it; and whether the lookup is over."""


class HoldingChanges(NamedTuple):
    """What has changed here."""

    feeds: Sequence[FeedId]
    """Feeds of which more, or something else, is held."""
    gone: Sequence[FeedId]
    """Feeds that are not sought any more."""


class HoldingsPort(Protocol):
    """What is held of the network."""

    @property
    def feeds(self) -> Sequence[FeedHolding]:
        """At the last look."""
        ...

    def look(self) -> bool:
        """Look again. False if nothing has changed."""
        ...


class GatewayNetwork:
    """One network."""

    def __init__(
        self,
        name: NetworkName,
        network: Network,
        config: GatewayConfig,
        holdings: HoldingsPort,
        send: Callable[[Peer, bytes], None],
        *,
        chance: LocatorRandomSource | None = None,
    ) -> None:
        """Say by *send* what is to be said, once ``begin`` was called. *chance*: the system's, unless told."""
        self.name: Final = name
        self.network: Final = network
        group = group_of_network(network)
        self.ending: Final = group + bytes((len(group),))
        """What all datagrams of its locators end with."""
        self._chance = chance or random.SystemRandom()
        self.seeking: Final = FeedSearch(self._chance.random)
        self.holdings: Final = holdings
        self._config = config
        self._send = send
        self._locator: Locator | None = None
        self._me, self._young_since_us = NOWHERE, 0
        self._before: tuple[Peer, ...] = ()
        """Who was known when that began."""
        self._met = 0
        """Peers that answered, at the last look."""
        self._known: dict[FeedId, FeedHolding] = {}
        """What was held at the last look."""
        self._refrained: dict[FeedId, int] = {}
        """Feeds that are not to be had for a while, and until when."""
        self._stale = False
        """What is to be had has changed, though nothing that is held."""
        self._offered: dict[FeedId, ResourceParameters] = {}
        self._feeds: dict[Label, FeedId] = {}
        """Feeds that are sought or watched, by label."""
        self._watches: dict[FeedId, list[Watch]] = {}
        self._learnt = False
        self.newer: int = 0
        """How often somebody told us that we are behind."""
        self.lookups: int = 0
        """Lookups begun."""

    # --- who we are

    def begin(self, me: ContactAddress, known: KnownPeers, now_us: int) -> None:
        """Be *me* from now on, and know these peers beside those known already. What was told before is told anew."""
        if self._locator is not None:
            before = self.known()
            known = KnownPeers((*before.historic, *known.historic), (*before.recent, *known.recent))
        self._me, self._young_since_us, self._met = me, now_us, 0
        self._before = tuple(dict.fromkeys(known.recent))[: locator_limits.RECENT_MAX]
        # Who cannot be reached is not told of news either.
        self.seeking.repeat_after(limits.LOOKUP_AGAIN_US if me.node else limits.LOOKUP_RETRY_MAX_US)
        self._locator = Locator(
            LocatorSettings(group=group_of_network(self.network)),
            me,
            self._chance,
            token_bytes(locator_limits.SECRET_SIZE),
            now_us,
            historic=tuple(dict.fromkeys(known.historic)),
            recent=self._before,
        )
        self._offered.clear()
        self._advertise(now_us)
        for feed in self.seeking.feeds:
            self.seeking.ended(feed, now_us)
        self.seeking.hurry(now_us)
        for feed in self._watches:
            self._seek(feed, now_us)

    def known(self) -> KnownPeers:
        """The peers, for stable storage: as long as nobody answers, those that did before."""
        locator = self._locator
        if locator is None:
            return KnownPeers()
        return KnownPeers(locator.historic(), locator.recent() or self._before)

    def counts(self) -> LocatorCounters | None:
        """What the locator did and holds; None: it has not begun."""
        return None if self._locator is None else self._locator.counts()

    @property
    def address(self) -> bytes:
        """Our node address; empty if others cannot reach us, or that is not known yet."""
        return self._me.node

    def held(self, feed: FeedId) -> int:
        """How many entries of *feed* are held, of those that are sought."""
        return self.seeking.held(feed)

    @property
    def offers(self) -> Mapping[FeedId, ResourceParameters]:
        """What is told of feeds."""
        return self._offered

    def take_learnt(self) -> bool:
        """Return True if locations were learnt since the last call."""
        learnt, self._learnt = self._learnt, False
        return learnt

    # --- input

    def receive(self, datagram: bytes, source: Peer, now_us: int) -> None:
        """Somebody sent *datagram*."""
        if self._locator is None:
            return
        before = self._locator.counts().confirmed
        self._perform(self._locator.receive(datagram, source, now_us), now_us)
        confirmed = self._locator.counts().confirmed
        if confirmed and not before:
            # Nobody answered, and now somebody does: whatever was not found meanwhile says nothing.
            self._young_since_us, self._met = now_us, 0
            self.seeking.hurry(now_us)
        if now_us - self._young_since_us < limits.YOUNG_US:
            self._ask_again(self._locator, confirmed, now_us)

    def wake(self, now_us: int) -> None:
        """Do what is due."""
        if self._locator is not None and self._locator.next_wake_us() <= now_us:
            self._perform(self._locator.wake(now_us), now_us)

    def next_wake_us(self) -> int | None:
        """When ``wake`` is due; None: never, so far."""
        return None if self._locator is None else self._locator.next_wake_us()

    def look(self, linked: Collection[ContactAddress], now_us: int) -> HoldingChanges | None:
        """See what is held, tell others of it, and look for what is not; *linked* are called. None: all is as it was.

        Raises StoreDamagedError, StoreFailedError.
        """
        changes = None
        back = [feed for feed, until_us in self._refrained.items() if until_us <= now_us]
        for feed in back:
            del self._refrained[feed]
        if self.holdings.look() or back or self._stale:
            self._stale = False
            before, wanted = self._known, set(self.seeking.feeds)
            self._known = {one.feed: one for one in self.holdings.feeds}
            held = wanted_feeds(self.holdings.feeds, self._config.seek, self._config.carry)
            for feed in self.seeking.want(
                {feed: held[feed] for feed in held.keys() - self._refrained.keys()}
            ):
                self._stop(feed)
            self._advertise(now_us)
            changes = HoldingChanges(
                [feed for feed, one in self._known.items() if before.get(feed) != one],
                list(wanted - set(self.seeking.feeds)),
            )
        for feed in self.seeking.finished_lookups(now_us, linked):
            self.seeking.ended(feed, now_us)
            self._stop(feed)
        if self._locator is not None:
            for feed in self.seeking.due(now_us, linked):
                self._seek(feed, now_us)
        return changes

    def calls(
        self,
        linked: Collection[ContactAddress],
        room: int,
        now_us: int,
        *,
        resting: Collection[ContactAddress] = (),
    ) -> Sequence[ConnectionCandidate]:
        """Up to *room* places to connect to, none of those *resting*."""
        return self.seeking.calls(now_us, linked, room, resting=resting)

    def failed(self, place: ContactAddress, now_us: int) -> None:
        """A connection to *place* failed, or it did not have what was promised."""
        if self.seeking.failed(place, now_us) and self._locator is not None:
            self._locator.failed(place, now_us)

    def refrain(self, feed: FeedId, now_us: int) -> None:
        """The daemon does not take *feed*, or had to let go of it: do without it for a while."""
        self._refrained[feed] = now_us + limits.REFRAIN_US
        self._stale = True

    # --- somebody watches

    def watch(self, feed: FeedId, watch: Watch, now_us: int) -> None:
        """Look for *feed*, whatever the policy says, and tell *watch* of each report. Raises TooManyLookupsError."""
        self._watches.setdefault(feed, []).append(watch)
        self._seek(feed, now_us)

    def unwatch(self, feed: FeedId, watch: Watch) -> None:
        """It has seen enough."""
        self._watches[feed].remove(watch)
        if not self._watches[feed]:
            del self._watches[feed]
            if not self.seeking.looking(feed):
                self._stop(feed)

    # --- by the locator

    def _advertise(self, now_us: int) -> None:
        if self._locator is None:
            return
        told = adverts(self.holdings.feeds, self._config.offer, self.seeking.feeds)
        for feed in self._offered.keys() - told.keys():
            self._locator.withdraw(label_of_feed(feed))
            del self._offered[feed]
        for feed, parameters in told.items():
            if self._offered.get(feed) != parameters:
                self._locator.offer(label_of_feed(feed), parameters, now_us)
                self._offered[feed] = parameters

    def _seek(self, feed: FeedId, now_us: int) -> None:
        if self._locator is None:
            return
        label = label_of_feed(feed)
        self._feeds[label] = feed
        self.lookups += 1
        self._perform(self._locator.seek(label, now_us), now_us)

    def _ask_again(self, locator: Locator, confirmed: int, now_us: int) -> None:
        """While we know few, each new one may know what others did not: begin lookups anew that found nothing."""
        if confirmed > self._met:
            for feed in self.seeking.lacking():
                locator.stop_seeking(label_of_feed(feed))
                self._perform(locator.seek(label_of_feed(feed), now_us), now_us)
        self._met = confirmed

    def _stop(self, feed: FeedId) -> None:
        """The lookup is over, unless somebody watches."""
        if self._locator is not None and feed not in self._watches:
            self._locator.stop_seeking(label_of_feed(feed))
            self._feeds.pop(label_of_feed(feed), None)

    def _perform(self, effects: Iterable[Effect], now_us: int) -> None:
        for effect in effects:
            if isinstance(effect, SendDatagram):
                self._send(effect.to, effect.datagram)
            elif isinstance(effect, NewerVersionReported):
                self._told_newer(effect, now_us)
            elif (feed := self._feeds.get(effect.label)) is not None:
                self._reported(feed, effect, now_us)

    def _reported(
        self, feed: FeedId, effect: ResourceFound | ResourceNotFound | LookupEnded, now_us: int
    ) -> None:
        locations = effect.locations if isinstance(effect, ResourceFound) else ()
        if isinstance(effect, ResourceFound):
            self.seeking.found(feed, locations, now_us)
            self._learnt = True
        elif isinstance(effect, ResourceNotFound):
            if now_us - self._young_since_us >= limits.YOUNG_US:
                self.seeking.denied(feed)
        else:
            self.seeking.ended(feed, now_us)
        for watch in tuple(self._watches.get(feed, ())):
            watch(locations, isinstance(effect, LookupEnded))

    def _told_newer(self, effect: NewerVersionReported, now_us: int) -> None:
        """We are behind, somebody says."""
        self.newer += 1
        self._learnt = True
        for feed in self.seeking.feeds:
            if label_of_feed(feed) == effect.label:
                self.seeking.location_hinted(feed, effect.locations, now_us)
                return
