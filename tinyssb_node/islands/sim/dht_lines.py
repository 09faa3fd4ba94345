"""Simulated networks of locators, for people and for programs."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from math import log2

from tinyssb_node.islands.sim.dht_report import DhtReport
from tinyssb_node.screens.render import fields, table


def as_json(report: DhtReport) -> str:
    """One JSON object: the options, the figures, and every lookup."""
    figures = {
        "success": report.success,
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
            ("found", f"{report.success:.2%} of {len(report.lookups):,} lookups"),
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
