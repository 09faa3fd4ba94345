"""Networks of locators in virtual time: the ``Locator`` class of the gateway on a modelled internet.

Modelled are delay, loss, routers with NATs of all four kinds, relays, nodes that die, nodes that lie, and a network in
two halves. Datagrams are the bytes that would be sent.
"""

import heapq
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import Final

from tinyssb_node.errors import PeerError
from tinyssb_node.islands.locator.addresses import ContactAddress, Peer, port_of, split_relayed
from tinyssb_node.islands.locator.limits import LABEL_SIZE
from tinyssb_node.islands.locator.locator import Locator
from tinyssb_node.islands.locator.packets import (
    LocatorPost,
    LocatorQuery,
    LocatorReport,
    parse,
    serialize,
)
from tinyssb_node.islands.locator.values import (
    Advert,
    Effect,
    Label,
    Location,
    LocatorSettings,
    ResourceFound,
    ResourceParameters,
    SendDatagram,
)
from tinyssb_node.islands.relay.limits import SECRET_SIZE
from tinyssb_node.islands.relay.registrations import RelayRegistrations
from tinyssb_node.islands.sim.dht_relays import SimulatedRelays
from tinyssb_node.islands.sim.dht_report import IDLE_H, DhtOptions, DhtReport, SimulatedLookup
from tinyssb_node.islands.sim.nat import Nat, NatKind
from tinyssb_node.sim.world import stream

_LOOKUP_GAP_US: Final = 1_000_000  # some lookups go on at the same time


class LyingLocator:
    """A locator that is well-behaved to be known by many, and answers every query by places where nobody is.

    It passes no query on, and advertises its lies for what it was asked, so that others repeat them.
    """

    def __init__(self, locator: Locator, me: ContactAddress, group: bytes, chance: random.Random) -> None:
        self._locator: Final = locator
        self._me: Final = me
        self._group: Final = group
        self._chance: Final = chance

    def receive(self, datagram: bytes, source: Peer, now_us: int) -> list[Effect]:
        """Take what came."""
        try:
            message = parse(datagram, self._group)
        except PeerError:
            return []
        if not isinstance(message, LocatorQuery):
            return self._locator.receive(datagram, source, now_us)
        lies = tuple(self._lie() for _ in range(4))  # as many as are enough for the asking node
        to = message.requestor if message.requestor.node else source
        report = LocatorReport(None, message.cookie, message.label, lies)
        post = LocatorPost(tuple(Advert(message.label, lie) for lie in lies))
        victims = self._chance.sample(recent, 1) if (recent := self._locator.recent()) else []
        return [
            SendDatagram(to, serialize(report, self._group)),
            *(SendDatagram(victim, serialize(post, self._group)) for victim in victims),
        ]

    def _lie(self) -> Location:
        """A place where nobody is, which is said to have all and the newest."""
        node = bytes((45,)) + self._chance.randbytes(3)  # public addresses, and nobody's here
        return Location(
            ContactAddress(node, self._me.message, port_of(1 + self._chance.randrange(60_000))),
            ResourceParameters(10**9),
        )

    def wake(self, now_us: int) -> list[Effect]:
        """Do what is due."""
        return self._locator.wake(now_us)

    def next_wake_us(self) -> int:
        """When that is."""
        return self._locator.next_wake_us()


HOUR_US: Final = 3_600_000_000
GROUP: Final = b"simulate"
_RELAY_LOOK_US: Final = 30_000_000  # a connection that died is noticed within two pings of WebSocket
_UDP: Final = port_of(4_242)
_TCP: Final = port_of(8_008)
_SETTINGS: Final = LocatorSettings(group=GROUP)


class _Inhabitant:
    """A node with its place on the internet."""

    __slots__ = (
        "half",
        "locator",
        "nat",
        "number",
        "peer",
        "registered",
        "registrations",
        "secret",
        "version",
    )

    def __init__(
        self,
        number: int,
        locator: Locator | LyingLocator,
        peer: Peer,
        *,
        nat: Nat | None,
        chance: random.Random,
    ) -> None:
        self.number = number
        self.locator = locator
        self.peer = peer
        """Its address, of which a router knows a part only."""
        self.nat = nat
        self.half = number % 2
        self.registrations = RelayRegistrations(chance.random)
        self.registered: dict[ContactAddress, int] = {}
        """Its connections to relays."""
        self.secret = chance.randbytes(SECRET_SIZE)
        self.version = 0
        """Counts its wake-ups: an older one in the schedule is void."""


class _Sought:
    """A lookup that goes on."""

    def __init__(self, by: _Inhabitant, begun_us: int) -> None:
        self.by = by
        self.begun_us = begun_us
        self.found = False
        self.tried: set[ContactAddress] = set()


class DhtWorld:
    """One run."""

    def __init__(self, options: DhtOptions, progress: Callable[[float, str], None] | None = None) -> None:
        """*progress* is told what share is done, and what is going on."""
        self._options = options
        self._progress = progress or (lambda _share, _what: None)
        self._chance = stream(options.seed, "dht")
        self._alive: dict[Peer, _Inhabitant] = {}
        self._numbers = 0
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0
        self.now_us = 0
        self._apart = False
        self._offers: dict[Label, list[Peer]] = defaultdict(list)
        self._nats: dict[bytes, Nat] = {}
        """Routers by their public address."""
        self._relays = SimulatedRelays(GROUP, stream(options.seed, "relays"), self._is_relay)
        self._sought: dict[Label, _Sought] = {}
        self._done: list[SimulatedLookup] = []
        self._sent: Counter[str] = Counter()
        self._sent_bytes: Counter[str] = Counter()
        self._depth: dict[tuple[bytes, int], int] = {}
        """How many nodes a query came by, by its cookie and the node it is at."""
        self._answered: dict[bytes, int] = {}
        """That of the node that answered it by a location first, by cookie."""
        self._watching = False
        self._roomy: Nat | None = None
        """The last router, if it has one node yet."""

    # --- a run

    def run(self) -> DhtReport:
        """Play it to its end."""
        options = self._options
        for number in range(options.nodes):
            begin_us = int(self._chance.random() * options.join_min * 60e6) if number else 0
            self._at(begin_us, lambda: self._join(offers=options.feeds))
        if options.churn_per_h:
            self._at(int(options.join_min * 60e6), self._churn)
        end_us = int(options.warm_h * HOUR_US)
        quiet_us = end_us - int(IDLE_H * HOUR_US)
        if options.apart_h:
            self._at(end_us - int(options.apart_h * HOUR_US), lambda: self._part(apart=True))
            self._at(end_us, lambda: self._part(apart=False))
        self._run_until(quiet_us, "warming up", 0.0, 0.6)
        before, before_bytes = self._sent.copy(), self._sent_bytes.total()
        self._run_until(end_us, "idle", 0.6, 0.8)
        node_hours = len(self._alive) * (end_us - quiet_us) / HOUR_US
        idle = {kind: (count - before[kind]) / node_hours for kind, count in sorted(self._sent.items())}
        idle_bytes = (self._sent_bytes.total() - before_bytes) / node_hours
        counts = [one.locator.counts() for one in self._alive.values() if isinstance(one.locator, Locator)]
        confirmed = sum(each.confirmed for each in counts) / len(counts)
        self._die(options.dead)
        self._watching = True
        messages, size = self._seek_all()
        return DhtReport(
            options=options,
            lookups=tuple(self._done),
            lookup_messages=messages,
            lookup_bytes=size,
            idle_bytes_per_node_h=idle_bytes,
            idle_messages_per_node_h=idle,
            confirmed=confirmed,
            tables=self._tables(),
            registered=self._relays.most(),
        )

    def _seek_all(self) -> tuple[float, float]:
        """Seek as many resources as told, one a second; messages and bytes for each."""
        chance, options = self._chance, self._options
        living = [
            label for label, peers in self._offers.items() if any(peer in self._alive for peer in peers)
        ]
        chosen = chance.sample(sorted(living), min(options.lookups, len(living)))
        asking = ("query", "report", "report_cookie")
        before = sum(self._sent[kind] for kind in asking), sum(self._sent_bytes[kind] for kind in asking)
        for number, label in enumerate(chosen):
            self._at(self.now_us + number * _LOOKUP_GAP_US, partial(self._seek, label))
        self._run_until(
            self.now_us + len(chosen) * _LOOKUP_GAP_US + 120_000_000,  # queries end within two minutes
            "seeking",
            0.8,
            1.0,
        )
        for label in list(self._sought):
            self._end_seek(label)
        after = sum(self._sent[kind] for kind in asking), sum(self._sent_bytes[kind] for kind in asking)
        return (after[0] - before[0]) / len(chosen), (after[1] - before[1]) / len(chosen)

    # --- time

    def _at(self, at_us: int, what: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._events, (at_us, self._count, what))

    def _run_until(self, end_us: int, what: str, done: float, done_then: float) -> None:
        begun_us, count = self.now_us, 0
        while self._events and self._events[0][0] < end_us:
            self.now_us, _, happen = heapq.heappop(self._events)
            happen()
            count += 1
            if count % 5_000 == 0:
                gone = (self.now_us - begun_us) / max(1, end_us - begun_us)
                self._progress(done + gone * (done_then - done), what)
        self.now_us = max(self.now_us, end_us)

    # --- who is there

    def _join(self, *, offers: int) -> None:
        """A node starts that knows a few who are there."""
        chance, options = self._chance, self._options
        number = self._numbers
        self._numbers += 1
        # From 20.0.0.0, a public address; with this step 10,000 nodes stay below 25.0.0.0.
        node = (0x14_00_00_00 + 7_919 * number).to_bytes(4, "big")
        peer = Peer(node, _UDP)
        # The first one is who others are told of by people: it can be reached, and is honest.
        hidden = number > 0 and chance.random() < options.hidden
        lies = number > 0 and not hidden and chance.random() < options.attackers
        me = ContactAddress(b"" if hidden else node, _UDP, _TCP)
        known = [one.peer for one in self._alive.values() if one.nat is None]
        historic = chance.sample(known, min(3, len(known)))  # nodes that people named to the new one
        locator = Locator(
            _SETTINGS,
            me,
            stream(options.seed, f"locator {number}"),
            chance.randbytes(32),
            self.now_us,
            historic=historic,
        )
        liar = LyingLocator(locator, me, GROUP, stream(options.seed, f"liar {number}")) if lies else None
        nat = self._router(number) if hidden else None
        own = stream(options.seed, f"inhabitant {number}")
        one = _Inhabitant(number, liar or locator, peer, nat=nat, chance=own)
        self._alive[peer] = one
        if hidden and options.relays:
            self._at(self.now_us + int(own.random() * _RELAY_LOOK_US), partial(self._look_for_relays, one))
        if not lies:
            for copy in range(offers):
                self._offer(one, copy)
        self._wake_later(one)

    def _offer(self, one: _Inhabitant, copy: int) -> None:
        """Each resource is offered by so many nodes whose numbers follow each other."""
        holders = self._options.holders
        name = b"feed %d of %d" % (copy, one.number // holders)
        label = Label(sha256(name).digest()[:LABEL_SIZE])
        assert isinstance(one.locator, Locator)
        one.locator.offer(label, ResourceParameters(100), self.now_us)
        self._offers[label].append(one.peer)

    def _router(self, number: int) -> Nat:
        """The router of a node: one for two of them, of each kind as many."""
        if self._roomy is not None:
            nat, self._roomy = self._roomy, None
            return nat
        kinds = list(NatKind)
        # From 60.0.0.0, which are nobody's else here.
        node = (0x3C_00_00_00 + 7_919 * number).to_bytes(4, "big")
        nat = self._nats[node] = self._roomy = Nat(kinds[len(self._nats) % len(kinds)], node)
        return nat

    def _is_relay(self, peer: Peer) -> bool:
        one = self._alive.get(peer)
        if one is None or one.nat is not None or not isinstance(one.locator, Locator):
            return False
        # A share of them, the same at all times.
        return one.number % 100 < 100 * self._options.relays

    def _look_for_relays(self, one: _Inhabitant) -> None:
        """Do what a gateway behind a router does once a second."""
        if self._alive.get(one.peer) is not one:
            for relay, connection in one.registered.items():
                self._relays.gone(relay.peer, connection)
            return
        assert isinstance(one.locator, Locator)
        before = one.registrations.places
        for relay in list(one.registered):
            if not self._relays.keeps(relay):
                del one.registered[relay]
                one.registrations.lost(relay, self.now_us)
        for relay in one.registrations.choose(one.locator.reachable_peers(), self.now_us):
            answer = self._relays.register(relay, one.peer, one.secret, self.now_us)
            if answer is None:
                one.registrations.lost(relay, self.now_us)
            else:
                handle, one.registered[relay] = answer
                one.registrations.registered(relay, handle)
        if before != one.registrations.places:
            one.locator.relayed(one.registrations.places, self.now_us)
            self._wake_later(one)
        self._at(self.now_us + _RELAY_LOOK_US, partial(self._look_for_relays, one))

    def _die(self, share: float) -> None:
        doomed = [peer for peer, one in self._alive.items() if one.number > 0]
        for peer in self._chance.sample(doomed, int(share * len(doomed))):
            self._alive.pop(peer).version = -1

    def _churn(self) -> None:
        """One ends, and another one starts; and so on."""
        options = self._options
        rate = options.churn_per_h * options.nodes
        doomed = [peer for peer, one in self._alive.items() if one.number > 0]
        if doomed:
            self._alive.pop(self._chance.choice(doomed)).version = -1
            self._join(offers=options.feeds)
        if not self._watching:
            self._at(self.now_us + int(self._chance.expovariate(rate) * HOUR_US), self._churn)

    def _part(self, *, apart: bool) -> None:
        self._apart = apart

    # --- what happens

    def _wake_later(self, one: _Inhabitant) -> None:
        one.version += 1
        version = one.version
        self._at(max(self.now_us, one.locator.next_wake_us()), lambda: self._wake(one, version))

    def _wake(self, one: _Inhabitant, version: int) -> None:
        if one.version == version:
            self._perform(one, one.locator.wake(self.now_us), 0, None)
            self._wake_later(one)

    def _perform(self, one: _Inhabitant, effects: list[Effect], depth: int, answered: int | None) -> None:
        """Do what *one* wants. If a query came that went *depth* hops, or a report that answers one which did."""
        for effect in effects:
            if isinstance(effect, SendDatagram):
                self._send(one, effect, depth, answered)
            elif isinstance(effect, ResourceFound):
                self._found(one, effect, answered or 0)

    def _send(self, one: _Inhabitant, send: SendDatagram, depth: int, answered: int | None) -> None:
        datagram, to = send.datagram, send.to
        kind = _kind(datagram)
        self._sent[kind] += 1
        self._sent_bytes[kind] += len(datagram) + 28  # of UDP and IPv4
        source = one.peer if one.nat is None else one.nat.outwards(one.peer, to, self.now_us)
        if self._watching:
            self._note(one, datagram, depth, answered)
        if source is None or self._chance.random() < self._options.loss:
            return
        # At least 10 ms, within a country; half of all paths take less than 45 ms, one in a hundred 240 ms.
        delay_us = 10_000 + int(self._chance.expovariate(1 / 50_000))
        self._at(self.now_us + delay_us, partial(self._arrive, one, source, to, datagram))

    def _arrive(self, sender: _Inhabitant, source: Peer, to: Peer, datagram: bytes) -> None:
        nat = self._nats.get(to.node)
        inside = to if nat is None else nat.inwards(source, to.message, self.now_us)
        one = self._alive.get(inside) if isinstance(inside, Peer) else None
        if one is None or (one.nat is not nat) or (self._apart and one.half != sender.half):
            return
        depth, answered = self._noted(sender, datagram) if self._watching else (0, None)
        effects = one.locator.receive(datagram, source, self.now_us)
        self._perform(one, effects, depth, answered)
        self._wake_later(one)

    # --- lookups

    def _seek(self, label: Label) -> None:
        """Somebody who does not have it seeks it."""
        seekers = [
            one
            for one in self._alive.values()
            if isinstance(one.locator, Locator) and one.peer not in self._offers[label]
        ]
        by = self._chance.choice(seekers)
        self._sought[label] = _Sought(by, self.now_us)
        assert isinstance(by.locator, Locator)
        self._perform(by, by.locator.seek(label, self.now_us), 0, None)
        self._wake_later(by)

    def _found(self, one: _Inhabitant, found: ResourceFound, hops: int) -> None:
        """Connect as a gateway does, and tell the locator where that failed."""
        sought = self._sought.get(found.label)
        if sought is None or sought.by is not one:
            return
        assert isinstance(one.locator, Locator)
        holders = self._offers[found.label]
        for location in found.locations:
            place = location.place
            if place in sought.tried:
                continue
            _, handle = split_relayed(place.node)
            holder = self._relays.call(place, one.peer, self.now_us) if handle else place.peer
            if holder in self._alive and holder in holders:
                self._end_seek(found.label, hops=hops, relayed=bool(handle))
                return
            sought.found |= any(
                peer in self._alive and place in self._alive[peer].registrations.places for peer in holders
            )
            sought.tried.add(place)
            one.locator.failed(place, self.now_us)

    def _end_seek(self, label: Label, *, hops: int | None = None, relayed: bool = False) -> None:
        sought = self._sought.pop(label)
        assert isinstance(sought.by.locator, Locator)
        sought.by.locator.stop_seeking(label)
        self._done.append(
            SimulatedLookup(
                hops=hops,
                took_us=None if hops is None else self.now_us - sought.begun_us,
                tried=len(sought.tried),
                found=sought.found or hops is not None,
                relayed=relayed,
            )
        )

    # --- watching

    def _note(self, one: _Inhabitant, datagram: bytes, depth: int, answered: int | None) -> None:
        """Follow a query by its cookie, also where a node puts its own in its place."""
        try:
            message = parse(datagram, GROUP)
        except PeerError:
            return
        if isinstance(message, LocatorQuery):
            self._depth.setdefault((message.cookie, one.number), depth)
        elif isinstance(message, LocatorReport) and message.cookie is not None and message.locations:
            hops = depth if answered is None else answered
            self._answered[message.cookie] = min(hops, self._answered.get(message.cookie, hops))

    def _noted(self, source: _Inhabitant, datagram: bytes) -> tuple[int, int | None]:
        """How far a query has come that arrives, or the one that a report answers."""
        try:
            message = parse(datagram, GROUP)
        except PeerError:
            return 0, None
        if isinstance(message, LocatorQuery):
            return self._depth.get((message.cookie, source.number), 0) + 1, None
        if isinstance(message, LocatorReport) and message.cookie is not None:
            return 0, self._answered.get(message.cookie)
        return 0, None

    def _tables(self) -> dict[str, int]:
        counts = [one.locator.counts() for one in self._alive.values() if isinstance(one.locator, Locator)]
        names = ("historic", "unconfirmed", "confirmed", "labels", "locations")
        return {name: max(getattr(each, name) for each in counts) for name in names}


def _kind(datagram: bytes) -> str:
    """The type of a message that a locator sent."""
    return _KINDS[datagram[-len(GROUP) - 2]]


_KINDS: Final = ("", "ping", "pong_one", "pong_two", "report", "report_cookie", "post", "query")
