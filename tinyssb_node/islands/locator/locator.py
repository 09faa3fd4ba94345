"""The locator: bytes and time in, effects out (docs/formats/locator.md)."""

from collections import Counter
from collections.abc import Sequence

from tinyssb_node.errors import PeerError
from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.active_lookups import ActiveLookups
from tinyssb_node.islands.locator.addresses import ContactAddress, Peer
from tinyssb_node.islands.locator.context import LocatorContext
from tinyssb_node.islands.locator.counts import LocatorCounters
from tinyssb_node.islands.locator.discovery import HISTORIC, PING, PeerDiscovery
from tinyssb_node.islands.locator.effects import Effect
from tinyssb_node.islands.locator.labels import Label
from tinyssb_node.islands.locator.lookups import QueryRelay
from tinyssb_node.islands.locator.maintenance import TableMaintenance
from tinyssb_node.islands.locator.packets import (
    LocatorPing,
    LocatorPong,
    LocatorPost,
    LocatorQuery,
    LocatorReport,
    RoutingHint,
    parse,
    type_of,
)
from tinyssb_node.islands.locator.randomness import LocatorRandomSource
from tinyssb_node.islands.locator.resources import LocalResources
from tinyssb_node.islands.locator.settings import LocatorSettings
from tinyssb_node.islands.locator.values import ResourceParameters


class Locator:
    """One node of the distributed hash table."""

    def __init__(
        self,
        settings: LocatorSettings,
        me: ContactAddress,
        chance: LocatorRandomSource,
        secret: bytes,
        now_us: int,
        *,
        historic: Sequence[Peer] = (),
        recent: Sequence[Peer] = (),
    ) -> None:
        """Begin as *me*: its node address is empty if nobody outside can reach us.

        *secret* is SECRET_SIZE bytes that nobody knows; a new one after each start is good. *historic*, the newest
        first, and *recent* are what was kept of the time before, or what a person configured.
        """
        self._desk = desk = LocatorContext(settings, me, chance, secret, historic)
        self._discovery = PeerDiscovery(desk, now_us)
        self._resources = LocalResources()
        self._seeks = ActiveLookups(desk)
        self._lookups = QueryRelay(desk, self._discovery, self._resources, self._seeks)
        self._upkeep = TableMaintenance(desk, self._resources, self._lookups)
        self._tidied_us = now_us
        self._received: Counter[str] = Counter()
        self._received_bytes = 0
        for peer in recent:
            if desk.may_send(peer):
                desk.unconfirmed.add(peer)

    # --- what happens

    def receive(self, datagram: bytes, source: Peer, now_us: int) -> list[Effect]:
        """Take any bytes that came from *source*. Raises nothing; what is dropped is counted by reason."""
        desk = self._desk
        self._tidy(now_us)
        size = len(datagram)
        self._received_bytes += size
        if not desk.is_source(source):
            desk.drop("source")
            return []
        try:
            message = parse(datagram, desk.settings.group)
        except PeerError as error:
            desk.drop(type(error).__name__.removesuffix("Error"))
            return []
        self._received[type_of(message).name.lower()] += 1
        match message:
            case LocatorPing():
                self._discovery.ping_came(message, source, size, now_us)
            case LocatorPong():
                self._discovery.pong_came(message, source, size, now_us)
            case LocatorReport():
                self._lookups.report_came(message, datagram, now_us)
            case LocatorPost():
                self._upkeep.post_came(message, source, size, now_us)
            case LocatorQuery():
                self._lookups.query_came(message, source, size, now_us)
        return self._effects()

    def wake(self, now_us: int) -> list[Effect]:
        """Do what is due."""
        self._tidy(now_us)
        for key in self._desk.timers.pop(now_us):
            if key == PING:
                self._discovery.ping(now_us)
            elif key == HISTORIC:
                self._discovery.remember(now_us)
            elif isinstance(key, int):
                self._upkeep.flush(key)
            elif isinstance(key, bytes):
                self._upkeep.advertise(Label(key), now_us)
            elif isinstance(key, Peer):
                self._discovery.check_on(key, now_us)
            elif isinstance(key, tuple):
                self._ask(key[1], now_us)
        return self._effects()

    def next_wake_us(self) -> int:
        """When ``wake`` is due next."""
        return self._desk.timers.next_us()

    # --- what the layer above wants

    def offer(self, label: Label, parameters: ResourceParameters, now_us: int) -> None:
        """We have this resource; or have it otherwise than before. Raises TooManyResourcesError."""
        self._upkeep.offer(label, parameters, now_us)

    def withdraw(self, label: Label) -> None:
        """We do not have it any more; others forget after the age limit of locations."""
        self._upkeep.withdraw(label)

    def seek(self, label: Label, now_us: int, hint: RoutingHint = RoutingHint.TIME) -> list[Effect]:
        """Begin a lookup, which goes on until ``stop_seeking`` or ``Ended``. Raises TooManyLookupsError."""
        self._tidy(now_us)
        if self._seeks.begin(label, hint):
            self._ask(label, now_us)
        return self._effects()

    def stop_seeking(self, label: Label) -> None:
        """Enough was found."""
        self._seeks.end(label)

    def failed(self, place: ContactAddress, now_us: int) -> None:
        """A connection to it failed, or it did not have what was promised: it is not handed up for PLACE_SHUN_US."""
        self._desk.shunned.put(place, None, now_us)
        self._desk.map.forget(place)

    def historic(self) -> tuple[Peer, ...]:
        """For stable storage: peers of all ages, the newest first."""
        return self._desk.historic.peers

    def recent(self) -> tuple[Peer, ...]:
        """For stable storage: the peers confirmed last, RECENT_MAX at most."""
        latest = sorted(self._desk.confirmed.all(), key=lambda one: one.added_us, reverse=True)
        return tuple(one.peer for one in latest[: limits.RECENT_MAX])

    def counts(self) -> LocatorCounters:
        """What it did and holds."""
        desk = self._desk
        return LocatorCounters(
            historic=len(desk.historic),
            unconfirmed=len(desk.unconfirmed),
            confirmed=len(desk.confirmed),
            labels=desk.map.labels(),
            locations=len(desk.map),
            resources=len(self._resources),
            seeks=len(self._seeks),
            reached=desk.reached,
            received=dict(self._received),
            sent=dict(desk.sent),
            received_bytes=self._received_bytes,
            sent_bytes=desk.sent_bytes,
            drops=dict(desk.drops),
        )

    # --- within

    def _ask(self, label: Label, now_us: int) -> None:
        seek = self._seeks.due(label, now_us)
        if seek is not None:
            # That we were reached once may have been chance: every second query does without.
            direct = self._desk.reached and seek.asked % 2 == 1
            self._lookups.ask(label, seek.hint, now_us, direct=direct)

    def _effects(self) -> list[Effect]:
        effects, self._desk.effects = self._desk.effects, []
        return effects

    def _tidy(self, now_us: int) -> None:
        """Remove what is too old, now and then."""
        if now_us - self._tidied_us < limits.TIDY_US:
            return
        self._tidied_us = now_us
        desk = self._desk
        desk.confirmed.expire(now_us - desk.confirmed_age_us())
        desk.map.expire(now_us)
        for table in (
            desk.proved, desk.shunned, self._lookups.relays, self._lookups.forwarded, self._lookups.told,
        ):  # fmt: skip
            table.expire(now_us)
