"""`sim`: meshes of modelled nodes in virtual time."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from tinyssb_node.screens.options import Subparsers, add_command, positive

if TYPE_CHECKING:
    from pathlib import Path

    from tinyssb_node.sim.options import SimulationOptions
    from tinyssb_node.sim.report import SimulationReport

_BAR = 30
_DEFAULT = "domain10"
_SEARCHED = "random"
_FAILURES = 10
"""Enough to see a pattern."""


def add(subparsers: Subparsers, common: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser = add_command(
        subparsers,
        common,
        "sim",
        sim,
        "play a mesh of modelled nodes in virtual time",
        more="The same options and seed give the same history, on any machine.",
    )
    parser.add_argument("--scenario", metavar="NAME|FILE", help=f"by name, or a file (default: {_DEFAULT})")
    parser.add_argument("--nodes", type=positive, metavar="N", help="how many nodes")
    parser.add_argument("--hours", type=_hours, metavar="H", help="virtual hours after which it ends")
    parser.add_argument("--seed", type=_seed, metavar="S", help="all chance comes from it (default: 1)")
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
    search.add_argument("--first", type=_seed, default=1, metavar="S", help="the first of them (default: 1)")
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
        ("hours", _hours, "how many hours (default: 168)"),
        ("seed", _seed, "all chance comes from it (default: 1)"),
    ):
        # What stands before `bulk` has the same name, and must not be forgotten.
        bulk.add_argument(
            f"--{name}", type=type_, metavar=name[0].upper(), help=text, default=argparse.SUPPRESS
        )
    _add_dht(actions)


def _add_dht(actions: Subparsers) -> None:
    dht = actions.add_parser("dht", help="play networks of locators, which find out where feeds are")
    # The defaults are those of DhtOptions, which a test sees to: help is told without loading the simulator.
    for name, type_, metavar, text in (
        ("nodes", positive, "N", "how many nodes (default: 1000)"),
        ("seed", _seed, "S", "all chance comes from it (default: 1)"),
        ("hours", _hours, "H", "hours until the lookups (default: 8)"),
        ("lookups", positive, "N", "feeds that are sought (default: 300)"),
        ("dead", _share, "SHARE", "nodes that die before that (default: 0.2)"),
        ("loss", _share, "SHARE", "datagrams that are lost (default: 0.05)"),
        ("hidden", _share, "SHARE", "nodes behind a NAT (default: 0.1)"),
        ("attackers", _share, "SHARE", "nodes that lie about locations (default: 0)"),
        ("churn", _hours, "SHARE", "nodes that are replaced in an hour (default: 0)"),
        ("apart", _hours, "H", "hours before the lookups in which the network is in two halves (default: 0)"),
    ):
        dht.add_argument(f"--{name}", type=type_, metavar=metavar, help=text, default=argparse.SUPPRESS)
    dht.add_argument("--sizes", action="store_true", help="play networks of 10, 30, 100 … up to --nodes")
    dht.add_argument(
        "--json", action="store_true", help="print JSON, one object a run", default=argparse.SUPPRESS
    )
    dht.add_argument("--plot", metavar="FILE", help="with --sizes: draw them", default=argparse.SUPPRESS)


def sim(arguments: argparse.Namespace) -> int:
    """Play one scenario, or many."""
    if arguments.list:
        return _list()
    if arguments.action == "dht":
        return _dht(arguments)
    if arguments.action == "bulk":
        return _bulk(arguments)
    return _search(arguments) if arguments.action == "search" else _play(arguments)


def _play(arguments: argparse.Namespace) -> int:
    from pathlib import Path

    from tinyssb_node.cli.sim_report import as_json, as_text
    from tinyssb_node.sim.runner import Simulation

    simulation = Simulation(_options(arguments), events=arguments.events and Path(arguments.events))
    bar = _Bar()
    try:
        report = simulation.run(lambda gone, held: bar.show(gone, f"of the time, {held:6.1%} held"))
    finally:
        bar.end()
    try:
        if arguments.plot is not None:
            _draw(report, Path(arguments.plot))
    finally:
        print(as_json(report) if arguments.json else as_text(report))
    return 0


def _draw(report: SimulationReport, path: Path) -> None:
    """Raises PlotError."""
    from tinyssb_node.cli.sim_report import PlotError

    try:
        from tinyssb_node.sim.plot import plot
    except ModuleNotFoundError as error:
        raise PlotError(path, _missing(error)) from error
    try:
        plot(report, path)
    except (OSError, ValueError) as error:
        raise PlotError(path, str(error)) from error


def _options(arguments: argparse.Namespace) -> SimulationOptions:
    from dataclasses import replace
    from pathlib import Path

    from tinyssb_node.sim.scenario_file import read_scenario
    from tinyssb_node.sim.scenarios import SCENARIOS, build

    name = arguments.scenario or _DEFAULT
    if name in SCENARIOS:
        seed = 1 if arguments.seed is None else arguments.seed
        options = build(name, seed=seed, nodes=arguments.nodes)
    else:
        options = read_scenario(Path(name))
    given = {key: getattr(arguments, key) for key in ("seed", "nodes", "hours", "boards")}
    return replace(options, **{key: value for key, value in given.items() if value is not None})


def _search(arguments: argparse.Namespace) -> int:
    """Exit code 1 if a seed failed."""
    from tinyssb_node.errors import SimulationFailedError, SimulationOptionError
    from tinyssb_node.sim.search import search

    seeds = range(arguments.first, arguments.first + arguments.seeds)
    bar = _Bar()
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
    from dataclasses import replace
    from pathlib import Path

    from tinyssb_node.errors import SimulationOptionError
    from tinyssb_node.sim.bulk import BulkOptions, BulkWriter

    if arguments.hours is not None and not arguments.hours.is_integer():
        raise SimulationOptionError("hours", "bulk logs take whole hours")
    given = {key: getattr(arguments, key) for key in ("nodes", "hours", "seed")}
    chosen = {key: int(value) for key, value in given.items() if value is not None}
    options = replace(BulkOptions(), **chosen)
    bulk = BulkWriter(options, Path(arguments.folder))
    bar = _Bar()
    try:
        records = bulk.run(lambda gone, so_far: bar.show(gone / options.hours, f"{so_far:,} records"))
    finally:
        bar.end()
    print(
        f"{records:,} records of {options.nodes} nodes and {options.hours} hours are in {arguments.folder}."
    )
    return 0


def _dht(arguments: argparse.Namespace) -> int:
    """Raises OptionError, PlotError."""
    from dataclasses import replace
    from pathlib import Path

    from tinyssb_node.islands.sim.dht import DhtWorld
    from tinyssb_node.islands.sim.dht_lines import as_json, as_text, sizes_table
    from tinyssb_node.islands.sim.dht_options import NAMES, DhtOptions, sizes_up_to

    given = {field: getattr(arguments, name, None) for name, field in NAMES.items()}
    options = replace(DhtOptions(), **{field: value for field, value in given.items() if value is not None})
    sizes = sizes_up_to(options.nodes) if arguments.sizes else [options.nodes]
    bar, reports = _Bar(), []
    for nodes in sizes:
        try:
            reports.append(DhtWorld(replace(options, nodes=nodes), bar.show).run())
        finally:
            bar.end()
        if arguments.json:
            print(as_json(reports[-1]), flush=True)
    if arguments.plot is not None:
        from tinyssb_node.cli.sim_report import PlotError

        try:
            from tinyssb_node.islands.sim.dht_plot import plot_sizes

            plot_sizes(reports, Path(arguments.plot))
        except ModuleNotFoundError as error:
            raise PlotError(Path(arguments.plot), _missing(error)) from error
        except (OSError, ValueError) as error:
            raise PlotError(Path(arguments.plot), str(error)) from error
    if not arguments.json:
        print(sizes_table(reports) if arguments.sizes else as_text(reports[0]))
    return 0


def _missing(error: ModuleNotFoundError) -> str:
    return f"{error.name} is not installed; pip install 'tinyssb-node[plot]' brings it"


def _list() -> int:
    from tinyssb_node.screens.render import table
    from tinyssb_node.sim.scenarios import SCENARIOS

    rows = [(name, scenario.nodes, scenario.about) for name, scenario in SCENARIOS.items()]
    print(table(("SCENARIO", "NODES", "WHAT IT SHOWS"), rows))
    return 0


class _Bar:
    """A progress bar on standard error, if that is a terminal."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()

    def show(self, share: float, text: str) -> None:
        """Draw it anew."""
        if self._shown:
            done = round(_BAR * share)
            bar = "█" * done + "·" * (_BAR - done)
            print(f"\r{bar} {share:4.0%} {text}\x1b[K", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Wipe it away."""
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _seed(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 2**63):
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number from 0 on")
    return int(text)


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _hours(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of hours") from None


def _share(text: str) -> float:
    share = _hours(text)
    if not 0 <= share < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no share from 0 to below 1")
    return share
