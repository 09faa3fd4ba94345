"""Whole runs: they end, they report, they replay."""

from dataclasses import replace

import pytest

from tinyssb_node.errors import SimulationFailedError
from tinyssb_node.ids import PacketKind
from tinyssb_node.sim.options import Options
from tinyssb_node.sim.runner import run_scenario
from tinyssb_node.sim.scenarios import build
from tinyssb_node.sim.traffic import Backlog


def test_a_domain_agrees_and_the_report_adds_up() -> None:
    report = run_scenario(build("domain10", nodes=4))
    assert report.converged
    assert report.messages == 40
    assert report.delivered == 40 * 3
    assert report.packets[PacketKind.ENTRY] >= 40
    assert report.bound_us == 40 * 205_056
    assert report.ratio == sum(report.airtime_us.values()) / report.bound_us
    assert 0 < report.delays_us[0] <= report.delays_us[-1] <= report.time_us
    assert sum(report.duty.values()) * report.ended_us == pytest.approx(
        sum(report.airtime_us.values()), rel=0.2
    )
    assert report.curve[-1] == (report.time_us, 1.0)


def test_the_same_options_give_the_same_history_and_another_seed_another() -> None:
    options = build("lossy10", nodes=4)
    assert run_scenario(options) == run_scenario(options)
    assert run_scenario(options).history != run_scenario(replace(options, seed=2)).history


def test_a_run_ends_by_itself() -> None:
    options = Options(nodes=2, hours=0.01, stop=False)
    assert run_scenario(options).ended_us == 36_000_000
    many = replace(options, hours=1_000, happenings=50)
    assert run_scenario(many).happenings == 50


def test_a_run_that_must_agree_in_time_and_does_not_fails_with_the_line_that_replays_it() -> None:
    options = replace(build("domain10", seed=3, nodes=3), converge_s=1.0)
    with pytest.raises(SimulationFailedError) as failed:
        run_scenario(options)
    assert failed.value.rule == "all agree once the network is whole"
    assert failed.value.replay == "tinyssb sim --scenario domain10 --seed 3 --nodes 3 --hours 1"
    assert failed.value.replay in str(failed.value)
    assert failed.value.seed == 3


def test_idle_nodes_are_measured_after_they_agreed() -> None:
    options = Options(nodes=3, hours=2, stop=False, traffic=(Backlog(nodes=("n0",), entries=1),))
    report = run_scenario(options)
    assert report.converged
    assert report.time_us < 600_000_000
    assert 0 < max(report.idle_duty.values()) < max(report.duty.values())
