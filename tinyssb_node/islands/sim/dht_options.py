"""What a simulated network of locators is like."""

from dataclasses import dataclass
from typing import Final

from tinyssb_node.errors import SimulationOptionError
from tinyssb_node.islands.sim import limits

NAMES: Final = {
    "nodes": "nodes",
    "seed": "seed",
    "hours": "warm_h",
    "lookups": "lookups",
    "dead": "dead",
    "loss": "loss",
    "hidden": "hidden",
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
    """Nodes behind a NAT, whom nobody reaches whom they did not send to in the last half minute."""
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
        if not limits.NODES_MIN <= self.nodes <= limits.NODES_MAX:
            raise SimulationOptionError(
                "nodes", f"from {limits.NODES_MIN} to {limits.NODES_MAX:,} are possible"
            )
        if self.warm_h < limits.IDLE_H + self.join_min / 60:
            raise SimulationOptionError(
                "hours", f"at least {limits.IDLE_H + self.join_min / 60:g} pass before the lookups"
            )
        if not 0 <= self.apart_h <= self.warm_h:
            raise SimulationOptionError(
                "apart", "a network is apart for at most the hours before the lookups"
            )
        if not 0 <= self.churn_per_h <= limits.CHURN_MAX:
            raise SimulationOptionError(
                "churn", f"at most {limits.CHURN_MAX:g} of all nodes are replaced in an hour"
            )


def sizes_up_to(nodes: int) -> list[int]:
    """10, 30, 100 and so on, and *nodes* at the end."""
    steps = [size for power in range(1, 6) for size in (10**power, 3 * 10**power)]
    return [*(size for size in steps if size < nodes), nodes]
