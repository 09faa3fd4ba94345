"""Simulated networks of locators: options, figures of a run, and their texts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import log2
from typing import Final

from tinyssb_node.errors import SimulationOptionError
from tinyssb_node.screens.render import fields, table

IDLE_H: Final = 2.0
"""Hours over which idle traffic is measured: half the longest period of what nodes repeat."""
_NODES_MIN: Final = 4  # with a fifth of them dead, one seeks and one is found
_NODES_MAX: Final = 30_000  # 1 MB each, and as many as there are addresses
_CHURN_MAX: Final = 10.0  # per hour, of all nodes: one that lives six minutes is of no use
NAMES: Final = {
    "nodes": "nodes",
    "seed": "seed",
    "hours": "warm_h",
    "lookups": "lookups",
    "dead": "dead",
    "loss": "loss",
    "hidden": "hidden",
    "relays": "relays",
    "attackers": "attackers",
    "churn": "churn_per_h",
    "apart": "apart_h",
}
"""Which field an option of the command line is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DhtOptions:
    """One run. Shares are of all nodes, from 0 to 1."""

    nodes: int = 1_000
    seed: int = 1
    """All chance comes from it."""
    feeds: int = 10
    """Resources that each node offers."""
    holders: int = 2
    """Nodes that offer the same resource."""
    loss: float = 0.05
    """Datagrams that never arrive."""
    dead: float = 0.2
    """Nodes that end all at once, before the lookups begin."""
    hidden: float = 0.1
    """Nodes behind routers: two behind each, and as many of each of the four kinds of NAT."""
    relays: float = 1.0
    """Of the nodes that can be reached, those that are relays of others."""
    attackers: float = 0.0
    """Nodes that answer every query by made-up locations, and advertise such for what they were asked."""
    churn_per_h: float = 0.0
    """Nodes that end in an hour; each is replaced at once by one that nobody knows."""
    join_min: float = 30.0
    """Minutes in which the nodes start, one after the other in random order."""
    warm_h: float = 8.0
    """Hours until the lookups. Idle traffic is that of the last two."""
    apart_h: float = 0.0
    """Hours, before the lookups, for which the network is in two halves that do not reach each other."""
    lookups: int = 300
    """Resources sought, by nodes that live, of holders of which one lives."""

    def __post_init__(self) -> None:
        """Raises OptionError."""
        if not _NODES_MIN <= self.nodes <= _NODES_MAX:
            raise SimulationOptionError("nodes", f"from {_NODES_MIN} to {_NODES_MAX:,} are possible")
        if self.warm_h < IDLE_H + self.join_min / 60:
            raise SimulationOptionError(
                "hours", f"at least {IDLE_H + self.join_min / 60:g} pass before the lookups"
            )
        if not 0 <= self.apart_h <= self.warm_h:
            raise SimulationOptionError(
                "apart", "a network is apart for at most the hours before the lookups"
            )
        if not 0 <= self.churn_per_h <= _CHURN_MAX:
            raise SimulationOptionError(
                "churn", f"at most {_CHURN_MAX:g} of all nodes are replaced in an hour"
            )


def sizes_up_to(nodes: int) -> list[int]:
    """10, 30, 100 and so on, and *nodes* at the end."""
    steps = [size for power in range(1, 6) for size in (10**power, 3 * 10**power)]
    return [*(size for size in steps if size < nodes), nodes]


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedLookup:
    """One resource that was sought."""

    hops: int | None
    """Nodes that the query came to that was answered by a true location first; None if none was found."""
    took_us: int | None
    """From the beginning until that."""
    tried: int
    """Locations handed up that did not have it, or were dead: connections in vain."""
    found: bool
    """A location of a living node that has it was handed up."""
    relayed: bool
    """The connection was made by a relay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DhtReport:
    """Figures of one run."""

    options: DhtOptions
    lookups: Sequence[SimulatedLookup]
    lookup_messages: float
    """Queries and reports for each lookup, of all nodes together."""
    lookup_bytes: float
    """Their bytes, with the headers of UDP and IPv4."""
    idle_bytes_per_node_h: float
    """Sent by a node in an hour in which nothing was sought, likewise."""
    idle_messages_per_node_h: Mapping[str, float]
    """By type."""
    confirmed: float
    """Confirmed peers of a node, on average, before nodes died."""
    tables: Mapping[str, int]
    """The largest table of each kind that any node had at the end."""
    registered: int
    """Most nodes that were registered at one relay."""

    @property
    def success(self) -> float:
        """The share of lookups that found somebody who has it, and could connect."""
        return sum(one.hops is not None for one in self.lookups) / len(self.lookups)

    @property
    def found(self) -> float:
        """The share of lookups that found somebody who has it."""
        return sum(one.found for one in self.lookups) / len(self.lookups)

    @property
    def relayed(self) -> float:
        """The share of connections that were made by a relay."""
        return sum(one.relayed for one in self.lookups) / max(
            1, sum(one.hops is not None for one in self.lookups)
        )

    def hops(self, share: float) -> int:
        """Hops below which *share* of the lookups that succeeded were."""
        return _quantile([one.hops for one in self.lookups if one.hops is not None], share)

    def took_us(self, share: float) -> int:
        """Microseconds below which *share* of the lookups that succeeded took."""
        return _quantile([one.took_us for one in self.lookups if one.took_us is not None], share)

    @property
    def tried(self) -> float:
        """Connections in vain for each lookup."""
        return sum(one.tried for one in self.lookups) / len(self.lookups)


def _quantile(values: Sequence[int], share: float) -> int:
    if not values:
        return 0
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def as_json(report: DhtReport) -> str:
    """One JSON object: the options, the figures, and every lookup."""
    figures = {
        "success": report.success,
        "found": report.found,
        "by_relay": report.relayed,
        "hops_median": report.hops(0.5),
        "hops_95": report.hops(0.95),
        "took_median_us": report.took_us(0.5),
        "took_95_us": report.took_us(0.95),
        "tried_in_vain": report.tried,
    }
    return json.dumps({**figures, **asdict(report)})


def as_text(report: DhtReport) -> str:
    """A screen of figures."""
    options = report.options
    idle = ", ".join(
        f"{kind} {count:.1f}" for kind, count in report.idle_messages_per_node_h.items() if count
    )
    return fields(
        (
            ("network", f"{options.nodes:,} nodes, seed {options.seed}"),
            (
                "of them",
                f"{options.dead:.0%} died, {options.hidden:.0%} behind a NAT, {options.attackers:.0%} lie",
            ),
            ("found", f"{report.found:.2%} of {len(report.lookups):,} lookups"),
            ("connected", f"{report.success:.2%} of them all; {report.relayed:.0%} of these by a relay"),
            (
                "hops",
                f"median {report.hops(0.5)}, 95 % {report.hops(0.95)} (log₂ n is {log2(options.nodes):.1f})",
            ),
            ("took", f"median {report.took_us(0.5) / 1e6:.2f} s, 95 % {report.took_us(0.95) / 1e6:.2f} s"),
            ("in vain", f"{report.tried:.2f} connections a lookup"),
            (
                "a lookup",
                f"{report.lookup_messages:.1f} messages, {report.lookup_bytes:,.0f} bytes, of all nodes",
            ),
            ("idle", f"{report.idle_bytes_per_node_h:,.0f} bytes a node and hour"),
            ("messages", f"{idle} a node and hour"),
            ("confirmed", f"{report.confirmed:.1f} peers a node"),
        )
    )


def sizes_table(reports: Sequence[DhtReport]) -> str:
    """A line for each size."""
    head = ("NODES", "FOUND", "HOPS", "95 %", "TOOK", "95 %", "IN VAIN", "MESSAGES", "BYTES", "IDLE B/H")
    return table(
        head,
        [
            (
                f"{report.options.nodes:,}",
                f"{report.success:.1%}",
                report.hops(0.5),
                report.hops(0.95),
                f"{report.took_us(0.5) / 1e6:.2f} s",
                f"{report.took_us(0.95) / 1e6:.2f} s",
                f"{report.tried:.2f}",
                f"{report.lookup_messages:.1f}",
                f"{report.lookup_bytes:,.0f}",
                f"{report.idle_bytes_per_node_h:,.0f}",
            )
            for report in reports
        ],
    )
