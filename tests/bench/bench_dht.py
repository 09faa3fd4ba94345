"""Locators in a network of a thousand, simulated: lookups with dead nodes and loss, and what idling says."""

from math import log2

from tests.bench.figure import Figure
from tinyssb_node.islands.sim.dht import DhtWorld
from tinyssb_node.islands.sim.dht_report import DhtOptions

NODES = 1_000
LIARS = 0.1
"""In the second run, the share of nodes that lie."""


def run(nodes: int = NODES) -> list[Figure]:
    """Two networks, which takes five minutes."""
    report = DhtWorld(DhtOptions(nodes=nodes)).run()
    lied = DhtWorld(DhtOptions(nodes=nodes, attackers=LIARS)).run()
    hops_max = 1.5 * log2(nodes)
    name = f"{nodes:,} locators, a fifth of them dead, 5 % loss: "
    return [
        Figure(f"{name}lookups that found somebody", 100 * report.success, "%", "at least 99 %",
               report.success >= 0.99),
        Figure("hops, median", report.hops(0.5), "", f"at most {hops_max:.1f}", report.hops(0.5) <= hops_max),
        Figure("hops, 95 %", report.hops(0.95), ""),
        Figure("time until somebody was found, median", report.took_us(0.5) / 1e6, "s"),
        Figure("the same, 95 %", report.took_us(0.95) / 1e6, "s"),
        Figure("messages a lookup, of all nodes", report.lookup_messages, ""),
        Figure("bytes a lookup, of all nodes", report.lookup_bytes, "bytes"),
        Figure("idle, with 10 feeds each: sent by a node and hour", report.idle_bytes_per_node_h, "bytes",
               "at most 2,000 bytes", report.idle_bytes_per_node_h <= 2_000),
        Figure("with a tenth of liars: lookups that found somebody", 100 * lied.success, "%"),
        Figure("with a tenth of liars: connections in vain a lookup", lied.tried, ""),
    ]  # fmt: skip
