"""The locator: bytes and time in, effects out (docs/formats/locator.md)."""

from collections import Counter
from collections.abc import Sequence

from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.addresses import ContactAddress, Peer
from tinyssb_node.islands.locator.context import LocatorContext
from tinyssb_node.islands.locator.discovery import HISTORIC, PING, PeerDiscovery
from tinyssb_node.islands.locator.lookups import ActiveLookups, QueryRelay
from tinyssb_node.islands.locator.maintenance import TableMaintenance
from tinyssb_node.islands.locator.packets import (
    LocatorPacketError,
    LocatorPing,
    LocatorPong,
    LocatorPost,
    LocatorQuery,
    LocatorReport,
    RoutingHint,
    parse,
    type_of,
)
from tinyssb_node.islands.locator.peers import LocatorRandomSource
from tinyssb_node.islands.locator.table import LocalResources
from tinyssb_node.islands.locator.values import (
    Effect,
    Label,
    LocatorCounters,
    LocatorSettings,
    NodeParameters,
    ResourceParameters,
)


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
        also: ContactAddress | None = None,
    ) -> None:
        """Start as *me*: its node address is empty if nodes outside cannot reach us. *also* is our address of the other
        family, if we have both IPv4 and IPv6.

        *secret* is SECRET_SIZE random bytes; a new one for each start is fine. *historic*, the newest first, and
        *recent* were saved at an earlier run, or configured by the user.
        """
        self.context = context = LocatorContext(settings, me, chance, secret, historic, also)
        self.discovery = PeerDiscovery(context, now_us)
        self.resources = LocalResources()
        self.active = ActiveLookups(context)
        self.relay = QueryRelay(context, self.discovery, self.resources, self.active)
        self.maintenance = TableMaintenance(context, self.resources, self.relay)
        self._tidied_us = now_us
        self._received: Counter[str] = Counter()
        self._received_bytes = 0
        for peer in recent:
            if context.may_send(peer):
                context.unconfirmed.add(peer)

    def state(self, node: NodeParameters) -> None:
        """State these properties of ours from now on. The uptime in them is not used: we know it."""
        self.context.state(node)

    # --- input

    def receive(self, datagram: bytes, source: Peer, now_us: int) -> list[Effect]:
        """Handle any bytes that came from *source*. Never raises; drops are counted by reason."""
        context = self.context
        self._tidy(now_us)
        size = len(datagram)
        self._received_bytes += size
        if not context.is_source(source):
            context.drop("source")
            return []
        try:
            message = parse(datagram, context.settings.group)
        except LocatorPacketError as error:
            context.drop(error.reason)
            return []
        self._received[type_of(message).name.lower()] += 1
        context.earn(source, size, now_us)
        match message:
            case LocatorPing():
                self.discovery.on_ping(message, source, now_us)
            case LocatorPong():
                self.discovery.on_pong(message, source, now_us)
            case LocatorReport():
                self.relay.on_report(message, now_us)
            case LocatorPost():
                self.maintenance.on_post(message, source, now_us)
            case LocatorQuery():
                self.relay.on_query(message, source, size, now_us)
        return self._effects()

    def wake(self, now_us: int) -> list[Effect]:
        """Run what is due."""
        self._tidy(now_us)
        for key in self.context.timers.pop(now_us):
            if key == PING:
                self.discovery.ping(now_us)
            elif key == HISTORIC:
                self.discovery.remember(now_us)
            elif isinstance(key, int):
                self.maintenance.flush(key)
            elif isinstance(key, bytes):
                self.maintenance.advertise(Label(key), now_us)
            elif isinstance(key, Peer):
                self.discovery.check_on(key, now_us)
            elif isinstance(key, tuple):
                self._ask(key[1], now_us)
        return self._effects()

    def next_wake_us(self) -> int:
        """Return when ``wake`` is due next."""
        return self.context.timers.next_us()

    # --- calls of the layer above

    def offer(self, label: Label, parameters: ResourceParameters, now_us: int) -> None:
        """Offer a resource, or a changed one. Raises LocalError."""
        self.maintenance.offer(label, parameters, now_us)

    def withdraw(self, label: Label) -> None:
        """Stop offering a resource. At other nodes its location expires by age."""
        self.maintenance.withdraw(label)

    def relayed(self, places: Sequence[ContactAddress], now_us: int) -> None:
        """Be found at these locations, which are at relays, while we cannot be reached ourselves; at most
        RELAYS_OF_ONE_MAX of them."""
        self.maintenance.relayed(tuple(places[: limits.RELAYS_OF_ONE_MAX]), now_us)

    def reachable_peers(self) -> tuple[ContactAddress, ...]:
        """Return where confirmed peers accept connections: any of them may be a relay."""
        return tuple(one.place for one in self.context.confirmed.all() if self.context.is_usable(one.place))

    def seek(self, label: Label, now_us: int, hint: RoutingHint = RoutingHint.TIME) -> list[Effect]:
        """Start a lookup, which runs until ``stop_seeking`` or ``LookupEnded``. Raises LocalError."""
        self._tidy(now_us)
        if self.active.begin(label, hint):
            self._ask(label, now_us)
        return self._effects()

    def stop_seeking(self, label: Label) -> None:
        """End a lookup: enough was found."""
        self.active.end(label)

    def failed(self, place: ContactAddress, now_us: int) -> None:
        """Ignore *place* for PLACE_SHUN_US: a connection failed, or it did not have what was promised."""
        self.context.shunned.put(place, None, now_us)
        self.context.map.forget(place)

    def historic(self) -> tuple[Peer, ...]:
        """Return peers of all ages for stable storage, the newest first."""
        return self.context.historic.peers

    def recent(self) -> tuple[Peer, ...]:
        """Return the peers confirmed last, at most RECENT_MAX, for stable storage."""
        latest = sorted(self.context.confirmed.all(), key=lambda one: one.added_us, reverse=True)
        return tuple(one.peer for one in latest[: limits.RECENT_MAX])

    def counts(self) -> LocatorCounters:
        """Return counters and sizes of tables."""
        context = self.context
        return LocatorCounters(
            historic=len(context.historic),
            unconfirmed=len(context.unconfirmed),
            confirmed=len(context.confirmed),
            labels=context.map.labels(),
            locations=len(context.map),
            resources=len(self.resources),
            seeks=len(self.active),
            reached=context.reached,
            received=dict(self._received),
            sent=dict(context.sent),
            received_bytes=self._received_bytes,
            sent_bytes=context.sent_bytes,
            drops=dict(context.drops),
        )

    # --- within

    def _ask(self, label: Label, now_us: int) -> None:
        seek = self.active.due(label, now_us)
        if seek is not None:
            self.relay.ask(label, seek.hint, now_us)

    def _effects(self) -> list[Effect]:
        return self.context.take_effects()

    def _tidy(self, now_us: int) -> None:
        """Remove expired state, at most every TIDY_US."""
        if now_us - self._tidied_us < limits.TIDY_US:
            return
        self._tidied_us = now_us
        context = self.context
        context.confirmed.expire(now_us - context.confirmed_age_us())
        context.map.expire(now_us)
        for table in (context.proved, context.credit, context.shunned, self.relay.relays, self.relay.told):
            table.expire(now_us)
