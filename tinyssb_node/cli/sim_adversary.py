"""`sim adversary`: the search for the hostile station that slows honest nodes most."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tinyssb_node.screens.options import Subparsers, positive, whole
from tinyssb_node.screens.progress import ProgressBar

if TYPE_CHECKING:
    from tinyssb_node.sim.adversary import Attack

_SHOWN = 10
"""Attacks that are listed: enough to see which mechanism the worst ones have in common."""


def add(actions: Subparsers) -> None:
    """Describe the action."""
    parser = actions.add_parser("adversary", help="search the worst that a hostile station can do")
    parser.add_argument("--seeds", type=positive, default=100, metavar="N", help="how many (default: 100)")
    parser.add_argument("--first", type=whole, default=1, metavar="S", help="the first of them (default: 1)")
    # What stands before `adversary` has the same name, and must not be forgotten.
    parser.add_argument(
        "--seed", type=whole, metavar="S", help="play one, and print the report", default=argparse.SUPPRESS
    )
    parser.add_argument(
        "--scenario",
        metavar="NAME",
        help="domain10 or field30 (default: domain10)",
        default=argparse.SUPPRESS,
    )
    parser.add_argument(
        "--climb", action="store_true", help="change what the station does step by step to what is worse"
    )
    parser.add_argument(
        "--jobs", type=positive, default=1, metavar="N", help="processes that play at the same time"
    )
    parser.set_defaults(run=play)


def play(arguments: argparse.Namespace) -> int:
    """Search, or play one seed. Exit code 1 if a promise was broken. Raises SimulationOptionError,
    SimulationFailedError."""
    from tinyssb_node.sim.adversary import DEFAULT

    name = arguments.scenario or DEFAULT
    return _search(arguments, name) if arguments.seed is None else _replay(arguments, name)


def _search(arguments: argparse.Namespace, name: str) -> int:
    from tinyssb_node.sim.adversary import RUNS, SCENARIOS, attacks

    seeds = range(arguments.first, arguments.first + arguments.seeds)
    found: list[Attack] = []
    bar = ProgressBar()
    try:
        for attack in attacks(name, seeds, climb=arguments.climb, jobs=arguments.jobs):
            found.append(attack)
            worst = max(each.beyond for each in found)
            bar.show(len(found) / len(seeds), f"of {len(seeds)} seeds, worst k {worst:.1f}")
    finally:
        bar.end()
    most = SCENARIOS[name].most
    found.sort(key=lambda attack: attack.badness(most), reverse=True)
    for attack in found[:_SHOWN]:
        print(as_line(attack))
    broken = sum(attack.badness(most) > 1 for attack in found)
    again = sum(attack.runs > 1 for attack in found)
    median = sorted(attack.slower for attack in found)[len(found) // 2]
    print(
        f"{len(found)} seeds played: median k {median:.2f}, worst k {max(attack.slower for attack in found):.2f}, "
        f"{max(attack.beyond for attack in found):.2f} beyond what its airtime costs, "
        f"{broken} above what is promised (k {most:g}, messages twice as late and 30 s); {again} were above in their "
        f"first run, and are judged by the median of {RUNS}."
    )
    return 1 if broken else 0


def _replay(arguments: argparse.Namespace, name: str) -> int:
    from tinyssb_node.cli.sim_report import as_json, as_text
    from tinyssb_node.sim.adversary import SCENARIOS, play, simulation_of

    attack = play(name, arguments.seed, climb=arguments.climb)
    bar = ProgressBar()
    simulation = simulation_of(name, attack.seed, attack.plan, attack.chance)
    try:
        report = simulation.run(lambda gone, held: bar.show(gone, f"of the time, {held:6.1%} held"))
    finally:
        bar.end()
    print(as_json(report) if arguments.json else f"{as_line(attack)}\n\n{as_text(report)}")
    return 1 if attack.badness(SCENARIOS[name].most) > 1 else 0


def as_line(attack: Attack) -> str:
    """Return an attack in one line."""
    late = f"own messages {attack.delay_s:.0f} s ({attack.allowed_s:.0f} s allowed)"
    broken = f", {attack.broken}" if attack.broken else ""
    noise = f" (airtime {attack.jammed:.2f})" if attack.jammed != 1 else ""
    runs = f", median of {attack.runs} runs" if attack.runs > 1 else ""
    return f"k {attack.slower:.2f}{noise}, {late}{broken}{runs}, seed {attack.seed}: {attack.plan}"
