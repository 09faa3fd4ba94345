"""Every scenario that has a name can be played, with other numbers of nodes too."""

from dataclasses import replace
from typing import get_args

import pytest

from firmware_bridge.regions import Region
from tests.docs.pages import read
from tinyssb_node.errors import SimulationFailedError, SimulationOptionError
from tinyssb_node.sim.faults import Fault
from tinyssb_node.sim.options import RadioOptions
from tinyssb_node.sim.report import SimulationReport
from tinyssb_node.sim.runner import run_scenario
from tinyssb_node.sim.scenarios import SCENARIOS, build
from tinyssb_node.sim.search import search


@pytest.mark.parametrize("name", SCENARIOS)
def test_it_is_what_it_says(name: str) -> None:
    options = build(name, seed=5)
    assert options.scenario == name
    assert options.seed == 5
    assert options.nodes == SCENARIOS[name].nodes
    assert build(name, nodes=12, hours=0.5).nodes == 12
    assert build(name, hours=0.5).hours == 0.5


@pytest.mark.parametrize("name", SCENARIOS)
def test_it_can_be_played(name: str) -> None:
    report = run_scenario(replace(build(name, nodes=6, hours=0.1), converge_s=None))
    assert report.packets
    assert report.ended_us <= 360_000_000


@pytest.mark.parametrize("name", ["domain10", "lossy10", "newcomers", "goset", "partition", "mixed"])
def test_small_ones_agree(name: str) -> None:
    assert run_scenario(build(name, nodes=6)).converged


@pytest.mark.parametrize("seed", [1, 2])
def test_where_the_law_takes_hours_nodes_take_hardly_longer(seed: int) -> None:
    lawful = replace(build("newcomers", seed=seed, hours=6), radio=RadioOptions(region=Region.EU868))
    report = run_scenario(lawful)
    assert report.converged
    # One node has all the packets, each of which it must send once: 36 s in any hour.
    hours, rest_us = divmod(report.bound_us, 36_000_000)
    assert hours == 2
    assert report.time_us <= 1.2 * (hours * 3_600_000_000 + rest_us)


def test_a_name_that_is_none() -> None:
    with pytest.raises(SimulationOptionError, match="there are domain10, lossy10"):
        build("nowhere")


def test_the_seed_draws_a_random_scenario() -> None:
    drawn = [build("random", seed=seed) for seed in range(40)]
    assert drawn == [build("random", seed=seed) for seed in range(40)]
    assert len({type(options.topology) for options in drawn}) >= 6
    assert len({type(fault) for options in drawn for fault in options.faults}) == len(get_args(Fault))
    assert {options.radio.duty for options in drawn} == {None, 0.05, 0.01}


def test_searching_tells_of_each_seed_and_goes_on_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def hopeless(name: str, *, seed: int, nodes: int | None, hours: float | None):
        options = build(name, seed=seed, nodes=3)
        return replace(options, converge_s=1) if seed == 2 else options

    monkeypatch.setattr("tinyssb_node.sim.search.build", hopeless)
    outcomes = list(search("domain10", range(1, 4)))
    assert [type(outcome) for outcome in outcomes] == [
        SimulationReport,
        SimulationFailedError,
        SimulationReport,
    ]
    failure = outcomes[1]
    assert isinstance(failure, SimulationFailedError)
    assert failure.replay == "tinyssb sim --scenario domain10 --seed 2 --nodes 3 --hours 1"


@pytest.mark.parametrize("seed", range(1, 13))
def test_random_meshes_keep_every_rule_and_agree_in_time(seed: int) -> None:
    options = build("random", seed=seed)
    assert options.converge_s is not None
    report = run_scenario(options)
    assert report.converged
    assert report.delivered >= report.messages * (options.nodes - 1)


def test_rules_are_on_the_page() -> None:
    page = read("docs/reference/sim.md")
    for rule in (
        "no unverified entry is accepted",
        "frontiers never shrink",
        "prefixes agree",
        "nothing acknowledged is lost",
        "queues are bounded",
        "nobody exceeds the legal duty",
        "all agree once the network is whole",
        "no fault of a node's own",
    ):
        assert f"| {rule}" in page
