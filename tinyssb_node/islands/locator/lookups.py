"""Queries and reports: where something is (text, "Hash table lookups", "Reports")."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tinyssb_node.errors import LocalError
from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.addresses import Peer
from tinyssb_node.islands.locator.context import CookiePurpose, LocatorContext
from tinyssb_node.islands.locator.discovery import PeerDiscovery
from tinyssb_node.islands.locator.packets import (
    LocatorQuery,
    LocatorReport,
    RoutingHint,
    size_of,
    without_indirection,
)
from tinyssb_node.islands.locator.peers import ConfirmedPeer, quasi_period_us, weighed
from tinyssb_node.islands.locator.table import ExpiringMap, LocalResources
from tinyssb_node.islands.locator.values import (
    Label,
    Location,
    LookupEnded,
    NewerVersionReported,
    ResourceFound,
    ResourceNotFound,
    ResourceParameters,
    position,
)


@dataclass(slots=True)
class ActiveLookup:
    """One running lookup."""

    hint: RoutingHint
    period_us: float
    """Time until the next query."""
    asked: int = 0
    found: bool = False


class ActiveLookups:
    """Running lookups of the layer above: when each is asked again, and its reports."""

    def __init__(self, context: LocatorContext) -> None:
        self._context = context
        self.by_label: dict[Label, ActiveLookup] = {}
        self._response_us: float | None = None
        """Moving average of the time from a query to its report."""

    def __len__(self) -> int:
        return len(self.by_label)

    def begin(self, label: Label, hint: RoutingHint) -> bool:
        """Start a lookup of *label*. Return False if there is one already. Raises LocalError."""
        if label in self.by_label:
            return False
        if len(self.by_label) >= limits.SEEKS_MAX:
            raise LocalError(
                f"{limits.SEEKS_MAX} lookups are running, the most there can be. This one was not begun. "
                "Try again later"
            )
        period_us: float = self._context.settings.query_period_us
        if self._response_us is not None:
            period_us = 2 * self._response_us  # the first wait is two average response times
        period_us = min(max(period_us, limits.QUERY_PERIOD_MIN_US), limits.QUERY_PERIOD_MAX_US)
        self.by_label[label] = ActiveLookup(hint, period_us)
        return True

    def end(self, label: Label) -> None:
        """End the lookup of *label*."""
        self.by_label.pop(label, None)
        self._context.timers.cancel(("seek", label))

    def due(self, label: Label, now_us: int) -> ActiveLookup | None:
        """Count a query that is due. Return None if all queries were sent, and the lookup is over."""
        seek = self.by_label[label]
        if seek.asked >= self._context.settings.seek_queries_max:
            self.end(label)
            self._context.effects.append(LookupEnded(label, seek.found))
            return None
        seek.asked += 1
        self._context.timers.set(
            ("seek", label), now_us + quasi_period_us(self._context.chance, seek.period_us)
        )
        seek.period_us = min(limits.QUERY_GROWTH * seek.period_us, limits.QUERY_PERIOD_MAX_US)
        return seek

    def reported(
        self, label: Label, locations: tuple[Location, ...], elapsed_us: int, *, exact: bool
    ) -> bool:
        """Pass a report to the layer above. Return False if there is no such lookup."""
        seek = self.by_label.get(label)
        if seek is None:
            return False
        if elapsed_us:
            before = self._response_us
            self._response_us = elapsed_us if before is None else before + (elapsed_us - before) / 8
        if locations:
            seek.found = True
            self._context.effects.append(ResourceFound(label, locations, elapsed_us, exact))
        else:
            self._context.effects.append(ResourceNotFound(label, elapsed_us))
        return True


@dataclass(frozen=True, slots=True)
class RelayedQuery:
    """A query of a node that cannot be reached, whose reports we forward."""

    source: Peer
    cookie: bytes
    """The cookie of the query."""
    label: Label
    left: int | None
    """Bytes that may still be forwarded; None: no bound."""


class QueryRelay:
    """Replies to queries, and forwarding of queries and reports."""

    def __init__(
        self,
        context: LocatorContext,
        discovery: PeerDiscovery,
        resources: LocalResources,
        active: ActiveLookups,
    ) -> None:
        self._context = context
        self._discovery = discovery
        self._resources = resources
        self._active = active
        self.relays: ExpiringMap[bytes, RelayedQuery] = ExpiringMap(most=256, age_us=limits.QUERY_WAIT_US)
        self.forwarded: ExpiringMap[Peer, int] = ExpiringMap(most=1_024, age_us=limits.FORWARD_WINDOW_US)
        """Bytes of reports forwarded to addresses that never answered a cookie. Beyond those none are forwarded."""
        self.told: ExpiringMap[Label, None] = ExpiringMap(
            most=limits.RESOURCES_MAX, age_us=limits.NEWER_GAP_US
        )

    # --- queries

    def ask(self, label: Label, hint: RoutingHint, now_us: int, *, direct: bool) -> None:
        """Query ourselves: report what we know, and forward the query to a peer.

        *direct*: reports are to come to our address, and not to where the query came from.
        """
        context = self._context
        cookie = context.cookies.make(CookiePurpose.REPORT, label, now_us)
        peer = self._first_hop(label, hint)
        known = self._known(label)
        if known or peer is None:
            self._arrived(LocatorReport(None, cookie, label, known, label == context.label), now_us)
        if peer is not None:
            requestor = context.me.peer if direct else Peer(b"", context.me.message)
            context.send(peer.peer, LocatorQuery(requestor, label, cookie, hint))
            self._discovery.check(peer, now_us)

    def _known(self, label: Label) -> tuple[Location, ...]:
        """Return the locations in the map, and our own as it is now, since its advert may be minutes off."""
        known = self._context.map.known(label)
        ours, me = self._resources.get(label), self._context.me
        if ours is None or not me.node:
            return known
        others = tuple(location for location in known if location.place.peer != me.peer)
        old = any(location.parameters.timestamp > ours.timestamp for location in others)
        return (*others, Location(me, replace(ours, old=ours.old or old)))

    def _first_hop(self, label: Label, hint: RoutingHint) -> ConfirmedPeer | None:
        context = self._context
        if hint is RoutingHint.BEST:
            closer = context.confirmed.peers(position(context.label, label))
            return weighed(context.chance, closer, label, hint)
        return context.confirmed.choose_relay(hint)

    def on_query(self, query: LocatorQuery, source: Peer, size: int, now_us: int) -> None:
        """Report if we know locations or no peer is closer; forward the query unless we know enough."""
        context = self._context
        label, requestor = query.label, query.requestor
        if not requestor.node:
            if not context.me.node:
                context.drop("unreachable")
                return
            query, requestor = self._for_another(query, source, size, now_us), context.me.peer
        elif not context.may_send(requestor):
            context.drop("address")
            return
        closer = [
            one
            for one in context.confirmed.peers(position(context.label, label))
            if one.place.node not in (requestor.node, source.node)
        ]
        known = self._known(label)
        if known or not closer:
            report = LocatorReport(None, query.cookie, label, known, label == context.label)
            if requestor == context.me.peer:
                self._arrived(report, now_us)
            else:
                self._report(requestor, report, context.budget(requestor, size, now_us), query.hint, now_us)
        if closer and context.map.count(label, _counts) < context.settings.enough:
            chosen = weighed(context.chance, closer, label, query.hint)
            assert chosen is not None
            context.send(chosen.peer, query)
            self._discovery.check(chosen, now_us)

    def _for_another(self, query: LocatorQuery, source: Peer, size: int, now_us: int) -> LocatorQuery:
        """Make a query of a node that cannot be reached one of ours; its reports go to where it came from."""
        context = self._context
        cookie = context.cookies.make(
            CookiePurpose.RELAY, context.peer_bytes(source) + query.label + query.cookie, now_us
        )
        left = context.budget(source, size, now_us)
        self.relays.put(cookie, RelayedQuery(source, query.cookie, query.label, left), now_us)
        return LocatorQuery(context.me.peer, query.label, cookie, query.hint)

    # --- reports

    def report(
        self, to: Peer, label: Label, newer: Sequence[Location], left: int | None, now_us: int
    ) -> int | None:
        """Report to *to* unasked that it has an old version. Return what is left of *left* bytes."""
        report = LocatorReport(None, None, label, tuple(newer), label == self._context.label)
        if to == self._context.me.peer:
            self._arrived(report, now_us)
            return left
        spent = self._report(to, report, left, RoutingHint.UNIFORM, now_us)
        return None if left is None else left - spent

    def _report(
        self, to: Peer, report: LocatorReport, budget: int | None, hint: RoutingHint, now_us: int
    ) -> int:
        """Send a report through a peer, in as many parts as it takes. Return the bytes that arrive at *to*."""
        context = self._context
        relay = context.confirmed.choose_relay(hint)
        if relay is None:
            context.drop("alone")
            return 0
        spent = 0
        for part in self._parts(report, budget):
            size = len(context.bytes_of(part))
            way = LocatorReport(to, part.cookie, part.label, part.locations, part.exact)
            if context.send(relay.peer, way):
                spent += size
        self._discovery.check(relay, now_us)
        return spent

    def _parts(self, report: LocatorReport, budget: int | None) -> list[LocatorReport]:
        """Split *report* into parts that fit in datagrams, within *budget* bytes; the best locations first."""
        context = self._context
        left = sorted(report.locations, key=_goodness, reverse=True)
        around = len(context.bytes_of(LocatorReport(None, report.cookie, report.label, (), report.exact)))
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
                context.drop("amplified")
                break
            left = left[len(taken) :]
            parts.append(LocatorReport(None, report.cookie, report.label, tuple(taken), report.exact))
            if budget is not None:
                budget -= len(context.bytes_of(parts[-1]))
        return parts

    def on_report(self, report: LocatorReport, datagram: bytes, now_us: int) -> None:
        """Handle a report that is for us, or forward it."""
        context = self._context
        to = report.destination
        if to is None or to == context.me.peer:
            self._arrived(report, now_us)
        elif not context.may_send(to):
            context.drop("address")
        else:
            onward = without_indirection(datagram, to)
            if not context.is_proved(to, now_us):
                before = self.forwarded.get(to, now_us)
                if before is not None and before + len(onward) > limits.FORWARD_BYTES:
                    context.drop("forwarded")
                    return
                if before is None:
                    self.forwarded.put(to, len(onward), now_us)
                else:
                    self.forwarded.change(to, before + len(onward))
            context.send_bytes(to, onward, "report" if report.cookie is None else "report_cookie")

    def _arrived(self, report: LocatorReport, now_us: int) -> None:
        """Handle a direct report: of our lookup, of a relayed one, or of a newer version of our resource."""
        context = self._context
        usable = tuple(
            location
            for location in sorted(report.locations, key=_goodness, reverse=True)
            if context.is_usable(location.place) and not context.shunned.has(location.place, now_us)
        )
        if report.cookie is None:
            self._newer_reported(report.label, usable, now_us)
            return
        relayed = self.relays.get(report.cookie, now_us)
        if relayed is not None and relayed.label == report.label:
            self._pass_back(report, relayed)
            return
        elapsed_us = context.cookies.age_us(
            report.cookie, CookiePurpose.REPORT, report.label, now_us, limits.QUERY_WAIT_US
        )
        if elapsed_us is None:
            context.drop("cookie")
            return
        others = tuple(one for one in usable if one.place.peer != context.me.peer)
        if not others and any(one.place.peer != context.me.peer for one in report.locations):
            context.drop("useless")
        elif not self._active.reported(report.label, others, elapsed_us, exact=report.exact):
            context.drop("unsought")

    def _pass_back(self, report: LocatorReport, relayed: RelayedQuery) -> None:
        context = self._context
        assert report.cookie is not None
        left = relayed.left
        answer = LocatorReport(None, relayed.cookie, report.label, report.locations, report.exact)
        for part in self._parts(answer, left):
            spent = context.send(relayed.source, part)
            left = None if left is None else left - spent
        self.relays.change(report.cookie, RelayedQuery(relayed.source, relayed.cookie, relayed.label, left))

    def _newer_reported(self, label: Label, locations: Sequence[Location], now_us: int) -> None:
        ours = self._resources.get(label)
        if ours is None or ours.old:
            return
        newer = tuple(one for one in locations if one.parameters.timestamp > ours.timestamp)
        if not newer:
            return
        if self.told.has(label, now_us):
            self._context.drop("news")
            return
        self.told.put(label, None, now_us)
        self._context.effects.append(NewerVersionReported(label, newer))


def _counts(parameters: ResourceParameters) -> bool:
    """Return True if a location with these counts as one of enough, so that a query need not be forwarded."""
    return parameters.completeness == limits.COMPLETENESS_MAX and not parameters.old


def _goodness(location: Location) -> tuple[bool, int, int]:
    parameters = location.parameters
    return not parameters.old, parameters.timestamp, parameters.completeness
