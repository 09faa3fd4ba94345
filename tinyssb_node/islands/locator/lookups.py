"""Queries and reports: where something is (text, "Hash table lookups", "Reports")."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tinyssb_node.errors import LocalError
from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.addresses import Peer, split_relayed
from tinyssb_node.islands.locator.context import CookiePurpose, LocatorContext
from tinyssb_node.islands.locator.discovery import PeerDiscovery
from tinyssb_node.islands.locator.packets import (
    LocatorQuery,
    LocatorReport,
    RoutingHint,
    size_of,
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
    """A query that we forwarded, whose reports go back to where it came from."""

    source: Peer
    cookie: bytes
    """The cookie of the query."""
    label: Label


class QueryRelay:
    """Replies to queries, and forwarding of queries and of the reports that come back."""

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
        self.relays: ExpiringMap[bytes, RelayedQuery] = ExpiringMap(
            most=limits.RELAYS_MAX, age_us=limits.QUERY_WAIT_US
        )
        """By our cookie."""
        self.told: ExpiringMap[Label, None] = ExpiringMap(
            most=limits.RESOURCES_MAX, age_us=limits.NEWER_GAP_US
        )

    # --- queries

    def ask(self, label: Label, hint: RoutingHint, now_us: int) -> None:
        """Query ourselves: report what we know, and send the query to a peer."""
        context = self._context
        cookie = context.cookies.make(CookiePurpose.REPORT, label, now_us)
        peer = self._first_hop(label, hint)
        known = self._known(label)
        if known or peer is None:
            self._arrived(LocatorReport(None, cookie, label, known, label == context.label), now_us)
        if peer is not None:
            self._send_query(peer, label, cookie, hint, now_us)

    def _send_query(
        self, to: ConfirmedPeer, label: Label, cookie: bytes, hint: RoutingHint, now_us: int
    ) -> None:
        context = self._context
        context.send(to.peer, LocatorQuery(Peer(b"", context.me.message), label, cookie, hint))
        self._discovery.check(to, now_us)

    def _known(self, label: Label) -> tuple[Location, ...]:
        """Return the locations in the map, and our own as it is now, since its advert may be minutes off."""
        known = self._context.map.known(label)
        ours, addresses = self._resources.get(label), self._context.addresses
        if ours is None or not addresses:
            return known
        mine = {one.peer for one in addresses}
        others = tuple(location for location in known if location.place.peer not in mine)
        old = any(location.parameters.timestamp > ours.timestamp for location in others)
        return (*others, *(Location(one, replace(ours, old=ours.old or old)) for one in addresses))

    def _first_hop(self, label: Label, hint: RoutingHint) -> ConfirmedPeer | None:
        context = self._context
        if hint is RoutingHint.BEST:
            closer = context.confirmed.peers(position(context.label, label))
            return weighed(context.chance, closer, label, hint)
        return context.confirmed.choose_relay(hint)

    def on_query(self, query: LocatorQuery, source: Peer, size: int, now_us: int) -> None:
        """Report if we know locations or no peer is closer; forward the query unless we know enough.

        Reports go back the way of the query, each node to the one before it: to no address but the one that it came
        from, so that nobody is sent what another one requested (reflection).
        """
        context = self._context
        label = query.label
        if query.requestor.node and query.requestor != source:
            context.drop("address")
            return
        if size < limits.QUERY_SIZE:
            context.drop("short")
            return
        closer = [
            one
            for one in context.confirmed.peers(position(context.label, label))
            if one.place.node != source.node
        ]
        known = self._known(label)
        if known or not closer:
            self._report(
                source, LocatorReport(None, query.cookie, label, known, label == context.label), now_us
            )
        if closer and context.map.count(label, _counts) < context.settings.enough:
            chosen = weighed(context.chance, closer, label, query.hint)
            assert chosen is not None
            cookie = context.cookies.make(
                CookiePurpose.RELAY, context.peer_bytes(source) + label + query.cookie, now_us
            )
            self.relays.put(cookie, RelayedQuery(source, query.cookie, label), now_us)
            self._send_query(chosen, label, cookie, query.hint, now_us)

    # --- reports

    def report(self, to: Peer, label: Label, newer: Sequence[Location], now_us: int) -> None:
        """Report to *to* unasked that it has an old version, if it sent us enough bytes lately. A node behind a relay
        gets no datagrams from there."""
        if split_relayed(to.node)[1]:
            return
        report = LocatorReport(None, None, label, tuple(newer), label == self._context.label)
        if to in [one.peer for one in self._context.addresses]:
            self._arrived(report, now_us)
        else:
            self._report(to, report, now_us)

    def _report(self, to: Peer, report: LocatorReport, now_us: int) -> None:
        """Send a report, in as many parts as it takes and *to* may get; the best locations first."""
        context = self._context
        left = sorted(report.locations, key=_goodness, reverse=True)
        around = len(context.bytes_of(replace(report, locations=())))
        while True:
            room = min(limits.DATAGRAM_MAX, context.credit_of(to, now_us)) - around
            taken: list[Location] = []
            for location in left:
                room -= size_of(location)
                if room < 0:
                    break
                taken.append(location)
            if left and not taken:
                context.drop("amplified")
                return
            left = left[len(taken) :]
            if not context.answer(to, replace(report, locations=tuple(taken)), now_us) or not left:
                return

    def on_report(self, report: LocatorReport, now_us: int) -> None:
        """Handle a report. One for another node is dropped: nobody makes us send to an address that they name."""
        if report.destination is None:
            self._arrived(report, now_us)
        else:
            self._context.drop("indirect")

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
            self._report(relayed.source, replace(report, cookie=relayed.cookie), now_us)
            return
        elapsed_us = context.cookies.age_us(
            report.cookie, CookiePurpose.REPORT, report.label, now_us, limits.QUERY_WAIT_US
        )
        if elapsed_us is None:
            context.drop("cookie")
            return
        others = tuple(one for one in usable if not context.is_ours(one.place))
        if not others and not all(context.is_ours(one.place) for one in report.locations):
            context.drop("useless")
        elif not self._active.reported(report.label, others, elapsed_us, exact=report.exact):
            context.drop("unsought")

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
