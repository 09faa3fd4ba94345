"""`sim`: meshes of modelled nodes in virtual time."""

from __future__ import annotations

import argparse
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from tinyssb_node.cli import sim_adversary
from tinyssb_node.daemon import subjects
from tinyssb_node.errors import ExitCode, ProblemError, SimulationFailedError, SimulationOptionError
from tinyssb_node.screens.options import CommandParsers, hours, positive, whole
from tinyssb_node.screens.progress import ProgressBar, draw
from tinyssb_node.screens.render import table

if TYPE_CHECKING:
    from tinyssb_node.sim.options import SimulationOptions
    from tinyssb_node.sim.report import SimulationReport

_DEFAULT = "domain10"
_SEARCHED = "random"
_FAILURES = 10
"""Enough to see a pattern."""


def add(commands: CommandParsers) -> None:
    """Describe the command."""
    parser = commands.add("sim", sim, more="The same options and seed give the same history, on any machine.")
    parser.add_argument("--scenario", metavar="NAME|FILE", help=f"by name, or a file (default: {_DEFAULT})")
    parser.add_argument("--nodes", type=positive, metavar="N", help="how many nodes")
    parser.add_argument("--hours", type=hours, metavar="H", help="virtual hours after which it ends")
    parser.add_argument("--seed", type=whole, metavar="S", help="all chance comes from it (default: 1)")
    parser.add_argument(
        "--boards", type=_names, metavar="NAMES", help="nodes that play by deployed rules, such as n0-n4,n7"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument(
        "--plot", metavar="FILE", help="draw map, convergence and airtime into a .svg or .png"
    )
    parser.add_argument("--events", metavar="FOLDER", help="write the nodes' event logs into a new folder")
    parser.add_argument("--list", action="store_true", help="list the scenarios there are")
    actions = parser.add_subparsers(title="actions", metavar="ACTION", dest="action")
    search = actions.add_parser("search", help="play one scenario with many seeds and tell which fail")
    search.add_argument("--seeds", type=positive, default=1_000, metavar="N", help="how many (default: 1000)")
    search.add_argument("--first", type=whole, default=1, metavar="S", help="the first of them (default: 1)")
    search.add_argument(
        "--of", default=_SEARCHED, metavar="NAME", help=f"which scenario (default: {_SEARCHED})"
    )
    search.add_argument(
        "--failures",
        type=positive,
        default=_FAILURES,
        metavar="N",
        help=f"end after so many failures (default: {_FAILURES})",
    )
    bulk = actions.add_parser("bulk", help="write logs of a large mesh, drawn by chance, for analytics")
    bulk.add_argument("folder", metavar="FOLDER", help="a new folder, one in it for each node")
    for name, type_, text in (
        ("nodes", positive, "how many nodes (default: 1000)"),
        ("hours", hours, "how many hours (default: 168)"),
        ("seed", whole, "all chance comes from it (default: 1)"),
    ):
        # What stands before `bulk` has the same name, and must not be forgotten.
        bulk.add_argument(
            f"--{name}", type=type_, metavar=name[0].upper(), help=text, default=argparse.SUPPRESS
        )
    sim_adversary.add(actions)
    for subject in subjects.present():
        if subject.simulation is not None:
            subject.load(subject.simulation).add(actions)


def sim(arguments: argparse.Namespace) -> int:
    """Play one scenario, or many."""
    if arguments.list:
        return _list()
    if arguments.action == "bulk":
        return _bulk(arguments)
    return _search(arguments) if arguments.action == "search" else _play(arguments)


def _play(arguments: argparse.Namespace) -> int:

    from tinyssb_node.cli.sim_report import as_json, as_text
    from tinyssb_node.sim.runner import Simulation

    simulation = Simulation(_options(arguments), events=arguments.events and Path(arguments.events))
    bar = ProgressBar()
    try:
        report = simulation.run(lambda gone, held: bar.show(gone, f"of the time, {held:6.1%} held"))
    finally:
        bar.end()
    try:
        if arguments.plot is not None:
            path = Path(arguments.plot)
            draw(path, lambda: _plot(report, path))
    finally:
        print(as_json(report) if arguments.json else as_text(report))
    return 0


def _plot(report: SimulationReport, path: Path) -> None:
    from tinyssb_node.sim.plot import plot

    plot(report, path)


def _options(arguments: argparse.Namespace) -> SimulationOptions:

    from tinyssb_node.sim.scenario_file import read_scenario
    from tinyssb_node.sim.scenarios import SCENARIOS, build

    name = arguments.scenario or _DEFAULT
    if name in SCENARIOS:
        seed = 1 if arguments.seed is None else arguments.seed
        options = build(name, seed=seed, nodes=arguments.nodes)
    else:
        path = Path(name)
        if not path.suffix and not path.exists():
            near = get_close_matches(name, SCENARIOS, 1)
            raise ProblemError(
                f"There is no scenario '{name}', and no file of this name. Nothing was simulated.",
                (f"Did you mean {near[0]}? " if near else "")
                + "Type `tinyssb sim --list` for all scenarios.",
                exit_code=ExitCode.MISSING,
            )
        options = read_scenario(path)
    given = {key: getattr(arguments, key) for key in ("seed", "nodes", "hours", "boards")}
    return replace(options, **{key: value for key, value in given.items() if value is not None})


def _search(arguments: argparse.Namespace) -> int:
    """Exit code 1 if a seed failed."""
    from tinyssb_node.sim.search import search

    seeds = range(arguments.first, arguments.first + arguments.seeds)
    bar = ProgressBar()
    played = failed = left_out = 0
    try:
        for outcome in search(arguments.of, seeds, nodes=arguments.nodes, hours=arguments.hours):
            played += 1
            if isinstance(outcome, SimulationFailedError):
                failed += 1
                bar.end()
                print(f"{outcome.replay}\n    {outcome.rule}: {outcome.what}", flush=True)
            left_out += isinstance(outcome, SimulationOptionError)
            bar.show(played / len(seeds), f"of {len(seeds)} seeds, {failed} failed")
            if failed >= arguments.failures:
                break
    finally:
        bar.end()
    without = f", {left_out} made no mesh" if left_out else ""
    print(f"{played} seeds played, {failed} failed{without}.")
    return 1 if failed else 0


def _bulk(arguments: argparse.Namespace) -> int:
    """Raises OptionError, OSError."""

    from tinyssb_node.sim.bulk import BulkOptions, BulkWriter

    if arguments.hours is not None and not arguments.hours.is_integer():
        raise SimulationOptionError("hours", "bulk logs take whole hours")
    given = {key: getattr(arguments, key) for key in ("nodes", "hours", "seed")}
    chosen = {key: int(value) for key, value in given.items() if value is not None}
    options = replace(BulkOptions(), **chosen)
    bulk = BulkWriter(options, Path(arguments.folder))
    bar = ProgressBar()
    try:
        records = bulk.run(lambda gone, so_far: bar.show(gone / options.hours, f"{so_far:,} records"))
    finally:
        bar.end()
    print(
        f"{records:,} records of {options.nodes} nodes and {options.hours} hours are in {arguments.folder}."
    )
    return 0


def _list() -> int:
    from tinyssb_node.sim.scenarios import SCENARIOS

    rows = [(name, scenario.nodes, scenario.about) for name, scenario in SCENARIOS.items()]
    print(table(("SCENARIO", "NODES", "WHAT IT SHOWS"), rows))
    return 0


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))
