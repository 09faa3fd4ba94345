"""One network in the gateway: its locator, what it advertises, and which feeds it looks up."""

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
from tinyssb_node.islands.gateway.reachability import BOTH_FAMILIES, NOWHERE
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
    NodeParameters,
    ResourceFound,
    ResourceNotFound,
    ResourceParameters,
    SendDatagram,
    group_of_network,
    label_of_feed,
)

# After a start the locator knows too few peers to conclude that nobody has a feed.
_YOUNG_US: Final = 30_000_000
Watch = Callable[[tuple[Location, ...], bool], None]
"""Called for each report with its locations (empty: not found), and whether the lookup is over."""


class HoldingChanges(NamedTuple):
    """Changes of stored and wanted feeds."""

    feeds: Sequence[FeedId]
    """Feeds of which more, or something else, is stored."""
    gone: Sequence[FeedId]
    """Feeds that are not wanted any more."""


class HoldingsPort(Protocol):
    """Port to the stored feeds of the network."""

    @property
    def feeds(self) -> Sequence[FeedHolding]:
        """The feeds at the last look."""
        ...

    def look(self) -> bool:
        """Look again. Return False if nothing has changed."""
        ...


class GatewayNetwork:
    """One network of the gateway."""

    def __init__(
        self,
        name: NetworkName,
        network: Network,
        config: GatewayConfig,
        holdings: HoldingsPort,
        send: Callable[[Peer, bytes], None],
        *,
        chance: LocatorRandomSource | None = None,
        free_bytes: Callable[[], int] = lambda: 0,
    ) -> None:
        """Send datagrams by *send*, once ``begin`` was called. *chance* defaults to the system's randomness;
        *free_bytes* returns the free space for feeds, which peers are told."""
        self._free_bytes = free_bytes
        self.name: Final = name
        self.network: Final = network
        self.group: Final = group_of_network(network)
        """The group identifier of its locators."""
        self.ending: Final = self.group + bytes((len(self.group),))
        """The last bytes of all datagrams of its locators."""
        self._chance = chance or random.SystemRandom()
        self.seeking: Final = FeedSearch(self._chance.random)
        self.holdings: Final = holdings
        self._config = config
        self._send = send
        self._locator: Locator | None = None
        self._me, self._young_since_us, self._begun_us = NOWHERE, 0, 0
        self._families: Collection[int] = BOTH_FAMILIES
        self._relayed: tuple[ContactAddress, ...] = ()
        """Our locations at relays."""
        self._before: tuple[Peer, ...] = ()
        """Peers known when the locator began."""
        self._met = 0
        """Confirmed peers at the last look."""
        self._known: dict[FeedId, FeedHolding] = {}
        """Stored feeds at the last look."""
        self._refrained: dict[FeedId, int] = {}
        """Feeds that are not fetched for a while, and until when."""
        self._stale = False
        """The wanted feeds have changed, though nothing that is stored."""
        self._offered: dict[FeedId, ResourceParameters] = {}
        self._feeds: dict[Label, FeedId] = {}
        """Feeds that are sought or watched, by label."""
        self._watches: dict[FeedId, list[Watch]] = {}
        self._learnt = False
        self.newer: int = 0
        """How often a peer reported newer versions to us."""
        self.lookups: int = 0
        """Lookups begun."""

    # --- our address

    def begin(
        self,
        me: ContactAddress,
        known: KnownPeers,
        now_us: int,
        *,
        also: ContactAddress | None = None,
        families: Collection[int] = BOTH_FAMILIES,
    ) -> None:
        """Start the locator as *me*, and as *also* for the other family, with these and all known peers. Advertise and
        look up all again. *families* are the sizes of node addresses to which there is a route."""
        if self._locator is not None:
            before = self.known()
            known = KnownPeers((*before.historic, *known.historic), (*before.recent, *known.recent))
        self._me, self._young_since_us, self._met = me, now_us, 0
        self._families = families
        self._begun_us = now_us
        self._before = tuple(dict.fromkeys(known.recent))[: locator_limits.RECENT_MAX]
        # A node that cannot be reached gets no reports of newer versions.
        self.seeking.repeat_after(limits.LOOKUP_AGAIN_US if me.node else limits.LOOKUP_RETRY_MAX_US)
        self._locator = Locator(
            LocatorSettings(group=self.group),
            me,
            self._chance,
            token_bytes(32),  # the key of cookies
            now_us,
            historic=tuple(dict.fromkeys(known.historic)),
            recent=self._before,
            also=also,
        )
        self._locator.relayed(self._relayed, now_us)
        self._offered.clear()
        self._advertise(now_us)
        for feed in self.seeking.feeds:
            self.seeking.ended(feed, now_us)
        self.seeking.hurry(now_us)
        for feed in self._watches:
            self._seek(feed, now_us)

    def known(self) -> KnownPeers:
        """Return the peers for stable storage: while none answers, those that did before."""
        locator = self._locator
        if locator is None:
            return KnownPeers()
        return KnownPeers(locator.historic(), locator.recent() or self._before)

    def counts(self) -> LocatorCounters | None:
        """Return the locator's counters; None: it has not begun."""
        return None if self._locator is None else self._locator.counts()

    @property
    def address(self) -> bytes:
        """Our node address; empty if others cannot reach us, or that is not known yet."""
        return self._me.node

    def needs_relays(self, now_us: int) -> bool:
        """Return True if others cannot reach us, or nobody has shown for a while that they can: behind a firewall, an
        address of IPv6 looks like any other. So does a node without an address of IPv4 for others: many have no IPv6,
        and a router in front of IPv4 mostly keeps callers from IPv6, too."""
        if self._locator is None:
            return False
        doubted = now_us - self._begun_us >= limits.REACHED_WAIT_US and not self._locator.counts().reached
        addresses = self._locator.context.addresses
        return doubted or not any(len(one.node) == locator_limits.IPV4_SIZE for one in addresses)

    def reachable_peers(self) -> tuple[ContactAddress, ...]:
        """Return where peers that answer accept connections."""
        return () if self._locator is None else self._locator.reachable_peers()

    def address_like(self, node: bytes) -> bytes:
        """Return our address of the family of *node*; our main one if we have none."""
        return self.address if self._locator is None else self._locator.context.me_to(node).node

    def is_ours(self, node: bytes) -> bool:
        """Return True if that node address is one of ours."""
        return self._locator is not None and self._locator.context.is_own(node)

    def has_route(self, node: bytes) -> bool:
        """Return True if there is a route to node addresses of that family."""
        return len(node) in self._families

    def relayed(self, places: tuple[ContactAddress, ...], now_us: int) -> None:
        """Be found at these locations, which are at relays."""
        self._relayed = places
        if self._locator is not None:
            self._locator.relayed(places, now_us)

    def held(self, feed: FeedId) -> int:
        """Return the number of stored entries of *feed*, if it is wanted."""
        return self.seeking.held(feed)

    @property
    def offers(self) -> Mapping[FeedId, ResourceParameters]:
        """The advertised feeds."""
        return self._offered

    def take_learnt(self) -> bool:
        """Return True if locations were learnt since the last call."""
        learnt, self._learnt = self._learnt, False
        return learnt

    # --- input

    def receive(self, datagram: bytes, source: Peer, now_us: int) -> None:
        """Handle a datagram."""
        if self._locator is None:
            return
        before = self._locator.counts().confirmed
        self._perform(self._locator.receive(datagram, source, now_us), now_us)
        confirmed = self._locator.counts().confirmed
        if confirmed and not before:
            # The first peer is confirmed: earlier negative results mean nothing.
            self._young_since_us, self._met = now_us, 0
            self.seeking.hurry(now_us)
        if now_us - self._young_since_us < _YOUNG_US:
            self._ask_again(self._locator, confirmed, now_us)

    def wake(self, now_us: int) -> None:
        """Run what is due."""
        if self._locator is not None and self._locator.next_wake_us() <= now_us:
            self._perform(self._locator.wake(now_us), now_us)

    def next_wake_us(self) -> int | None:
        """Return when ``wake`` is due; None: never, so far."""
        return None if self._locator is None else self._locator.next_wake_us()

    def look(self, linked: Collection[ContactAddress], now_us: int) -> HoldingChanges | None:
        """Read the stored feeds, advertise them, and look up wanted ones. Return the changes; None if there are none.

        Raises StoreDamagedError, StoreFailedError.
        """
        if self._locator is not None:
            self._locator.state(NodeParameters(free_bytes=self._free_bytes()))
        changes = None
        back = [feed for feed, until_us in self._refrained.items() if until_us <= now_us]
        for feed in back:
            del self._refrained[feed]
        if self.holdings.look() or back or self._stale:
            self._stale = False
            before, wanted = self._known, set(self.seeking.feeds)
            self._known = {one.feed: one for one in self.holdings.feeds}
            held = wanted_feeds(self.holdings.feeds, self._config.seek, self._config.carried)
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
        """Return up to *room* locations to connect to, none of those *resting*."""
        return self.seeking.calls(now_us, linked, room, resting=resting)

    def failed(self, place: ContactAddress, now_us: int) -> None:
        """Note that a connection to *place* failed, or it did not have what was promised."""
        if self.seeking.failed(place, now_us) and self._locator is not None:
            self._locator.failed(place, now_us)

    def refrain(self, feed: FeedId, now_us: int) -> None:
        """Do not fetch *feed* for a while: the daemon refuses it, or had to evict it."""
        self._refrained[feed] = now_us + limits.REFRAIN_US
        self._stale = True

    # --- watches

    def watch(self, feed: FeedId, watch: Watch, now_us: int) -> None:
        """Look up *feed*, whatever the policy, and pass each report to *watch*. Raises LocalError."""
        self._watches.setdefault(feed, []).append(watch)
        self._seek(feed, now_us)

    def unwatch(self, feed: FeedId, watch: Watch) -> None:
        """End a watch."""
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
        """Restart lookups that found nothing, for each new peer while we know few: it may know more."""
        if confirmed > self._met:
            for feed in self.seeking.lacking():
                locator.stop_seeking(label_of_feed(feed))
                self._perform(locator.seek(label_of_feed(feed), now_us), now_us)
        self._met = confirmed

    def _stop(self, feed: FeedId) -> None:
        """End the lookup of *feed*, unless it is watched."""
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
            if now_us - self._young_since_us >= _YOUNG_US:
                self.seeking.denied(feed)
        else:
            self.seeking.ended(feed, now_us)
        for watch in tuple(self._watches.get(feed, ())):
            watch(locations, isinstance(effect, LookupEnded))

    def _told_newer(self, effect: NewerVersionReported, now_us: int) -> None:
        """Handle a report of newer versions."""
        self.newer += 1
        self._learnt = True
        for feed in self.seeking.feeds:
            if label_of_feed(feed) == effect.label:
                self.seeking.location_hinted(feed, effect.locations, now_us)
                return
