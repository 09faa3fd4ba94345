"""Queries and reports: where something is (text, "Hash table lookups", "Reports")."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.active_lookups import ActiveLookups
from tinyssb_node.islands.locator.addresses import Peer
from tinyssb_node.islands.locator.confirmed import ConfirmedPeer, weighed
from tinyssb_node.islands.locator.context import LocatorContext
from tinyssb_node.islands.locator.cookies import CookiePurpose
from tinyssb_node.islands.locator.discovery import PeerDiscovery
from tinyssb_node.islands.locator.effects import NewerVersionReported
from tinyssb_node.islands.locator.expiring_map import ExpiringMap
from tinyssb_node.islands.locator.labels import Label, position
from tinyssb_node.islands.locator.packets import (
    LocatorQuery,
    LocatorReport,
    RoutingHint,
    size_of,
    without_indirection,
)
from tinyssb_node.islands.locator.resources import LocalResources
from tinyssb_node.islands.locator.values import Location, ResourceParameters


@dataclass(frozen=True, slots=True)
class RelayedQuery:
    """A query of somebody who cannot be reached, whose answers we pass on."""

    source: Peer
    cookie: bytes
    """The one it gave."""
    label: Label
    left: int | None
    """Bytes that may still be passed on; None: as many as come."""


class QueryRelay:
    """Answers queries, passes them on, and passes reports on."""

    def __init__(
        self, desk: LocatorContext, discovery: PeerDiscovery, resources: LocalResources, seeks: ActiveLookups
    ) -> None:
        self._desk = desk
        self._discovery = discovery
        self._resources = resources
        self._seeks = seeks
        self.relays: ExpiringMap[bytes, RelayedQuery] = ExpiringMap(
            most=limits.RELAYS_MAX, age_us=limits.QUERY_WAIT_US
        )
        self.forwarded: ExpiringMap[Peer, int] = ExpiringMap(
            most=limits.FORWARD_PLACES_MAX, age_us=limits.FORWARD_WINDOW_US
        )
        """Bytes of reports passed on to addresses that never answered."""
        self.told: ExpiringMap[Label, None] = ExpiringMap(
            most=limits.RESOURCES_MAX, age_us=limits.NEWER_GAP_US
        )

    # --- queries

    def ask(self, label: Label, hint: RoutingHint, now_us: int, *, direct: bool) -> None:
        """A query to ourselves: answer what we know, and let it go to any peer.

        *direct*: reports are to come to our address, and not to where the query came from.
        """
        desk = self._desk
        cookie = desk.cookies.make(CookiePurpose.REPORT, label, now_us)
        peer = self._first_hop(label, hint)
        known = self._known(label)
        if known or peer is None:
            self._arrived(LocatorReport(None, cookie, label, known, label == desk.label), now_us)
        if peer is not None:
            requestor = desk.me.peer if direct else Peer(b"", desk.me.message)
            desk.send(peer.peer, LocatorQuery(requestor, label, cookie, hint))
            self._discovery.check(peer, now_us)

    def _known(self, label: Label) -> tuple[Location, ...]:
        """What is in the map; and ours as it is now, since its advert may be minutes off."""
        known = self._desk.map.known(label)
        ours, me = self._resources.get(label), self._desk.me
        if ours is None or not me.node:
            return known
        others = tuple(location for location in known if location.place.peer != me.peer)
        old = any(location.parameters.timestamp > ours.timestamp for location in others)
        return (*others, Location(me, replace(ours, old=ours.old or old)))

    def _first_hop(self, label: Label, hint: RoutingHint) -> ConfirmedPeer | None:
        desk = self._desk
        if hint is RoutingHint.BEST:
            closer = desk.confirmed.peers(position(desk.label, label))
            return weighed(desk.chance, closer, label, hint)
        return desk.confirmed.choose_relay(hint)

    def query_came(self, query: LocatorQuery, source: Peer, size: int, now_us: int) -> None:
        """Answer it if we know, or nobody is closer; pass it on unless we know enough."""
        desk = self._desk
        label, requestor = query.label, query.requestor
        if not requestor.node:
            if not desk.me.node:
                desk.drop("unreachable")
                return
            query, requestor = self._for_another(query, source, size, now_us), desk.me.peer
        elif not desk.may_send(requestor):
            desk.drop("address")
            return
        closer = [
            one
            for one in desk.confirmed.peers(position(desk.label, label))
            if one.place.node not in (requestor.node, source.node)
        ]
        known = self._known(label)
        if known or not closer:
            report = LocatorReport(None, query.cookie, label, known, label == desk.label)
            if requestor == desk.me.peer:
                self._arrived(report, now_us)
            else:
                self._report(requestor, report, desk.budget(requestor, size, now_us), query.hint, now_us)
        if closer and desk.map.count(label, _counts) < desk.settings.enough:
            chosen = weighed(desk.chance, closer, label, query.hint)
            assert chosen is not None
            desk.send(chosen.peer, query)
            self._discovery.check(chosen, now_us)

    def _for_another(self, query: LocatorQuery, source: Peer, size: int, now_us: int) -> LocatorQuery:
        """The query of somebody who cannot be reached, as one of ours; answers go to where it came from."""
        desk = self._desk
        cookie = desk.cookies.make(
            CookiePurpose.RELAY, desk.peer_bytes(source) + query.label + query.cookie, now_us
        )
        left = desk.budget(source, size, now_us)
        self.relays.put(cookie, RelayedQuery(source, query.cookie, query.label, left), now_us)
        return LocatorQuery(desk.me.peer, query.label, cookie, query.hint)

    # --- reports

    def tell(
        self, to: Peer, label: Label, newer: Sequence[Location], left: int | None, now_us: int
    ) -> int | None:
        """Tell *to* that it is behind: a report that no query brought. Returns what is left of *left* bytes."""
        report = LocatorReport(None, None, label, tuple(newer), label == self._desk.label)
        if to == self._desk.me.peer:
            self._arrived(report, now_us)
            return left
        spent = self._report(to, report, left, RoutingHint.UNIFORM, now_us)
        return None if left is None else left - spent

    def _report(
        self, to: Peer, report: LocatorReport, budget: int | None, hint: RoutingHint, now_us: int
    ) -> int:
        """Send it by way of any peer, in as many parts as it takes. Returns bytes that arrive at *to*."""
        desk = self._desk
        relay = desk.confirmed.choose_relay(hint)
        if relay is None:
            desk.drop("alone")
            return 0
        spent = 0
        for part in self._parts(report, budget):
            size = len(desk.bytes_of(part))
            way = LocatorReport(to, part.cookie, part.label, part.locations, part.exact)
            if desk.send(relay.peer, way):
                spent += size
        self._discovery.check(relay, now_us)
        return spent

    def _parts(self, report: LocatorReport, budget: int | None) -> list[LocatorReport]:
        """*report* in parts that fit in datagrams, together no larger than *budget*; the best locations first."""
        desk = self._desk
        left = sorted(report.locations, key=_goodness, reverse=True)
        around = len(desk.bytes_of(LocatorReport(None, report.cookie, report.label, (), report.exact)))
        parts: list[LocatorReport] = []
        while left or not parts:
            room = limits.DATAGRAM_MAX - limits.DESTINATION_SIZE_MAX
            room = (room if budget is None else min(room, budget)) - around
            taken: list[Location] = []
            for location in left:
                room -= size_of(location)
                if room < 0:
                    break
                taken.append(location)
            if room < 0 and not taken:
                desk.drop("amplified")
                break
            left = left[len(taken) :]
            parts.append(LocatorReport(None, report.cookie, report.label, tuple(taken), report.exact))
            if budget is not None:
                budget -= len(desk.bytes_of(parts[-1]))
        return parts

    def report_came(self, report: LocatorReport, datagram: bytes, now_us: int) -> None:
        """Ours, or to be passed on."""
        desk = self._desk
        to = report.destination
        if to is None or to == desk.me.peer:
            self._arrived(report, now_us)
        elif not desk.may_send(to):
            desk.drop("address")
        else:
            onward = without_indirection(datagram, to)
            if not desk.is_proved(to, now_us):
                before = self.forwarded.get(to, now_us)
                if before is not None and before + len(onward) > limits.FORWARD_BYTES:
                    desk.drop("forwarded")
                    return
                if before is None:
                    self.forwarded.put(to, len(onward), now_us)
                else:
                    self.forwarded.change(to, before + len(onward))
            desk.send_bytes(to, onward, "report" if report.cookie is None else "report_cookie")

    def _arrived(self, report: LocatorReport, now_us: int) -> None:
        """A direct report: of a lookup of ours, of one that we pass on, or news of what we have."""
        desk = self._desk
        usable = tuple(
            location
            for location in sorted(report.locations, key=_goodness, reverse=True)
            if desk.is_usable(location.place) and not desk.shunned.has(location.place, now_us)
        )
        if report.cookie is None:
            self._news(report.label, usable, now_us)
            return
        relayed = self.relays.get(report.cookie, now_us)
        if relayed is not None and relayed.label == report.label:
            self._pass_back(report, relayed)
            return
        elapsed_us = desk.cookies.age_us(
            report.cookie, CookiePurpose.REPORT, report.label, now_us, limits.QUERY_WAIT_US
        )
        if elapsed_us is None:
            desk.drop("cookie")
            return
        others = tuple(one for one in usable if one.place.peer != desk.me.peer)
        if not others and any(one.place.peer != desk.me.peer for one in report.locations):
            desk.drop("useless")
        elif not self._seeks.reported(report.label, others, elapsed_us, exact=report.exact):
            desk.drop("unsought")

    def _pass_back(self, report: LocatorReport, relayed: RelayedQuery) -> None:
        desk = self._desk
        assert report.cookie is not None
        left = relayed.left
        answer = LocatorReport(None, relayed.cookie, report.label, report.locations, report.exact)
        for part in self._parts(answer, left):
            spent = desk.send(relayed.source, part)
            left = None if left is None else left - spent
        self.relays.change(report.cookie, RelayedQuery(relayed.source, relayed.cookie, relayed.label, left))

    def _news(self, label: Label, locations: Sequence[Location], now_us: int) -> None:
        ours = self._resources.get(label)
        if ours is None or ours.old:
            return
        newer = tuple(one for one in locations if one.parameters.timestamp > ours.timestamp)
        if not newer:
            return
        if self.told.has(label, now_us):
            self._desk.drop("news")
            return
        self.told.put(label, None, now_us)
        self._desk.effects.append(NewerVersionReported(label, newer))


def _counts(parameters: ResourceParameters) -> bool:
    """True if a location with these counts as one of enough, so that a query need not go on."""
    return parameters.completeness == limits.COMPLETENESS_MAX and not parameters.old


def _goodness(location: Location) -> tuple[bool, int, int]:
    parameters = location.parameters
    return not parameters.old, parameters.timestamp, parameters.completeness
