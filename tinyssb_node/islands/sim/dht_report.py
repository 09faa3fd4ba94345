"""What came of a run of simulated locators."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tinyssb_node.islands.sim.dht_options import DhtOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedLookup:
    """One resource that was sought."""

    hops: int | None
    """Nodes that the query came to that was answered by a true location first; None if none was found."""
    took_us: int | None
    """From the beginning until that."""
    tried: int
    """Locations handed up that did not have it, or were dead: connections in vain."""


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

    @property
    def success(self) -> float:
        """The share of lookups that found somebody who has it."""
        return sum(one.hops is not None for one in self.lookups) / len(self.lookups)

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
