"""Locators in a network of a thousand, simulated: lookups with dead nodes and loss, and what idling says."""

from math import log2

from tests.bench.figure import Figure
from tinyssb_node.islands.relay.limits import REGISTERED_MAX
from tinyssb_node.islands.sim.dht import DhtWorld
from tinyssb_node.islands.sim.dht_report import DhtOptions

NODES = 1_000
LIARS = 0.1
"""In the second run, the share of nodes that lie."""
HIDDEN = 0.5
"""In the third run, and in the fourth one without relays, the share of nodes behind routers, with NATs of all kinds."""


def run(nodes: int = NODES) -> list[Figure]:
    """Four networks, which takes ten minutes."""
    report = DhtWorld(DhtOptions(nodes=nodes)).run()
    lied = DhtWorld(DhtOptions(nodes=nodes, attackers=LIARS)).run()
    behind = DhtWorld(DhtOptions(nodes=nodes, hidden=HIDDEN)).run()
    alone = DhtWorld(DhtOptions(nodes=nodes, hidden=HIDDEN, relays=0.0)).run()
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
        Figure("half of them behind NATs of four kinds: lookups that found somebody", 100 * behind.found, "%",
               "at least 97 %", behind.found >= 0.97),
        Figure("half behind NATs: lookups that found somebody and connected", 100 * behind.success, "%",
               "at least 97 %", behind.success >= 0.97),
        Figure("half behind NATs: share of these connections that a relay joined", 100 * behind.relayed, "%"),
        Figure("half behind NATs: most nodes registered at one relay", behind.registered, "", "at most 32",
               behind.registered <= REGISTERED_MAX),
        Figure("half behind NATs: sent by an idle node and hour", behind.idle_bytes_per_node_h, "bytes",
               "at most 2,000 bytes", behind.idle_bytes_per_node_h <= 2_000),
        Figure("half behind NATs, without relays: lookups that found somebody and connected",
               100 * alone.success, "%"),
    ]  # fmt: skip
