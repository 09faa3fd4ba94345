"""`sim dht`: networks of locators in virtual time."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tinyssb_node.screens.options import Subparsers, hours, positive, whole
from tinyssb_node.screens.progress import ProgressBar, draw

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tinyssb_node.islands.sim.dht_report import DhtReport


def add(actions: Subparsers) -> None:
    """Describe the action."""
    dht = actions.add_parser("dht", help="simulate networks of locators, which find where feeds are stored")
    # The defaults are those of DhtOptions; a test compares them, since help does not load the simulator.
    for name, type_, metavar, text in (
        ("nodes", positive, "N", "number of nodes (default: 1000)"),
        ("seed", whole, "S", "the seed of all random numbers (default: 1)"),
        ("hours", hours, "H", "simulated hours before the lookups (default: 8)"),
        ("lookups", positive, "N", "number of feeds to look up (default: 300)"),
        ("dead", _share, "SHARE", "share of nodes that fail before the lookups (default: 0.2)"),
        ("loss", _share, "SHARE", "share of datagrams that are lost (default: 0.05)"),
        ("hidden", _share, "SHARE", "share of nodes behind a NAT (default: 0.1)"),
        ("relays", _relays, "SHARE", "share of the other nodes that are relays (default: 1)"),
        ("attackers", _share, "SHARE", "share of nodes that send false locations (default: 0)"),
        ("churn", hours, "SHARE", "share of nodes that are replaced in an hour (default: 0)"),
        (
            "apart",
            hours,
            "H",
            "hours before the lookups in which the network is split into two halves (default: 0)",
        ),
    ):
        dht.add_argument(f"--{name}", type=type_, metavar=metavar, help=text, default=argparse.SUPPRESS)
    dht.add_argument("--sizes", action="store_true", help="simulate networks of 10, 30, 100 … up to --nodes")
    dht.add_argument(
        "--json", action="store_true", help="print JSON, one object a run", default=argparse.SUPPRESS
    )
    dht.add_argument(
        "--plot",
        metavar="FILE",
        help="with --sizes: draw the results into this file",
        default=argparse.SUPPRESS,
    )
    dht.set_defaults(run=play)


def play(arguments: argparse.Namespace) -> int:
    """Play the networks. Raises SimulationOptionError, ProblemError."""
    from dataclasses import replace
    from pathlib import Path

    from tinyssb_node.islands.sim.dht import DhtWorld
    from tinyssb_node.islands.sim.dht_report import (
        NAMES,
        DhtOptions,
        as_json,
        as_text,
        sizes_table,
        sizes_up_to,
    )

    given = {field: getattr(arguments, name, None) for name, field in NAMES.items()}
    options = replace(DhtOptions(), **{field: value for field, value in given.items() if value is not None})
    sizes = sizes_up_to(options.nodes) if arguments.sizes else [options.nodes]
    bar, reports = ProgressBar(), []
    for nodes in sizes:
        try:
            reports.append(DhtWorld(replace(options, nodes=nodes), bar.show).run())
        finally:
            bar.end()
        if arguments.json:
            print(as_json(reports[-1]), flush=True)
    if arguments.plot is not None:
        path = Path(arguments.plot)
        draw(path, lambda: _plot(reports, path))
    if not arguments.json:
        print(sizes_table(reports) if arguments.sizes else as_text(reports[0]))
    return 0


def _plot(reports: Sequence[DhtReport], path: Path) -> None:
    from tinyssb_node.islands.sim.dht_plot import plot_sizes

    plot_sizes(reports, path)


def _relays(text: str) -> float:
    return 1.0 if hours(text) == 1 else _share(text)


def _share(text: str) -> float:
    share = hours(text)
    if not 0 <= share < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a share from 0 to below 1")
    return share
