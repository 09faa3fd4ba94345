"""Whole runs: they end, they report, they replay."""

from dataclasses import replace

import pytest

from tinyssb_node.codec.events import Effect
from tinyssb_node.errors import SimulationFailedError
from tinyssb_node.ids import FeedId, PacketKind
from tinyssb_node.node.node import Node
from tinyssb_node.scheduling.ledger import Ledger
from tinyssb_node.sim import limits
from tinyssb_node.sim.options import OtherRadioOptions, RadioOptions, SimulationOptions
from tinyssb_node.sim.runner import Simulation, run_scenario
from tinyssb_node.sim.scenarios import build
from tinyssb_node.sim.traffic import BacklogTraffic
from tinyssb_node.sim.verification_cache import cached_verifier


def test_a_domain_agrees_and_the_report_adds_up() -> None:
    report = run_scenario(build("domain10", nodes=4))
    assert report.converged
    assert report.messages == 40
    assert report.delivered == 40 * 3
    assert report.packets[PacketKind.CODED] >= 40
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
    options = SimulationOptions(nodes=2, hours=0.01, stop=False)
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
    options = SimulationOptions(
        nodes=3, hours=2, stop=False, traffic=(BacklogTraffic(nodes=("n0",), entries=1),)
    )
    report = run_scenario(options)
    assert report.converged
    assert report.time_us < 600_000_000
    assert 0 < max(report.idle_duty.values()) < max(report.duty.values())


def test_nodes_that_are_acquainted_know_all_feeds_before_they_say_a_word() -> None:
    simulation = Simulation(SimulationOptions(nodes=5, hours=0.01, acquainted=True))
    simulation.run()
    for inhabitant in simulation.world.inhabitants.values():
        assert len(inhabitant.node.feeds()) == 5
    assert simulation.progress.changed_us == 0


def test_an_exception_out_of_a_node_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def receive(*_: object) -> list[Effect]:
        raise KeyError("lost")

    monkeypatch.setattr(Node, "receive", receive)
    with pytest.raises(SimulationFailedError, match="KeyError: 'lost'") as failed:
        run_scenario(build("domain10", nodes=2, hours=0.5))
    assert failed.value.rule == "no fault of a node's own"
    assert "--hours 0.5" in failed.value.replay


def test_more_on_the_air_than_the_law_allows_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ledger, "earliest_send_us", lambda _ledger, _airtime_us, now_us: now_us)
    options = replace(build("newcomers", nodes=2), radio=RadioOptions(duty=0.001))
    with pytest.raises(SimulationFailedError, match="nobody exceeds the legal duty"):
        run_scenario(options)


@pytest.mark.parametrize("duty", [0.001, 0.01])
def test_nodes_keep_to_the_law_however_much_there_is_to_say(duty: float) -> None:
    options = replace(build("newcomers", nodes=4, hours=3.0), radio=RadioOptions(duty=duty))
    report = run_scenario(options)
    assert duty / 2 < max(report.peak_duty.values()) <= duty


def test_a_question_is_asked_once() -> None:
    asked: list[tuple[FeedId, bytes]] = []

    def verify(feed: FeedId, signed: bytes) -> bool:
        asked.append((feed, signed))
        return signed == b"yes"

    answer = cached_verifier(verify)
    feed = FeedId(bytes(32))
    assert [answer(feed, b"yes"), answer(feed, b"no"), answer(feed, b"yes"), answer(feed, b"no")] == [
        True,
        False,
        True,
        False,
    ]
    assert len(asked) == 2


def test_answers_remembered_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SIGNATURES_MAX", 2)
    asked: list[bytes] = []

    def verify(feed: FeedId, signed: bytes) -> bool:
        asked.append(signed)
        return bool(feed)

    answer = cached_verifier(verify)
    for signed in (b"a", b"b", b"c", b"a"):
        answer(FeedId(bytes(32)), signed)
    assert asked == [b"a", b"b", b"c", b"a"]


def test_two_hundred_nodes_can_be_played() -> None:
    report = run_scenario(build("town", nodes=200, hours=0.005))
    assert report.nodes == 200
    assert report.packets


def test_each_radio_is_under_its_own_law(monkeypatch: pytest.MonkeyPatch) -> None:
    strict = OtherRadioOptions(nodes=("n0",), radio=RadioOptions(duty=0.001))
    backlog = BacklogTraffic(nodes=("n0-n2",), entries=50)
    options = SimulationOptions(nodes=3, hours=0.5, radios=(strict,), traffic=(backlog,))
    report = run_scenario(options)
    assert 0 < report.peak_duty["n0"] <= 0.001
    monkeypatch.setattr(Ledger, "earliest_send_us", lambda _ledger, _airtime_us, now_us: now_us)
    with pytest.raises(SimulationFailedError, match="n0 was on the air"):
        run_scenario(options)


def test_two_groups_that_cannot_hear_each_other_meet_over_a_cable() -> None:
    report = run_scenario(build("bridge", nodes=6))
    assert report.converged
    assert len(report.neighbours) == 2 * 3


def test_a_storm_of_packets_that_must_bring_agreement_fails_at_the_end_of_its_happenings() -> None:
    options = replace(build("domain10", nodes=3), converge_s=3_600.0, happenings=200)
    with pytest.raises(SimulationFailedError, match="200 packets and timers brought no more than"):
        run_scenario(options)


def test_a_file_s_name_is_quoted_where_it_must_be() -> None:
    simulation = Simulation(replace(build("idle", nodes=1), scenario="my mesh.toml"))
    assert "--scenario 'my mesh.toml' --seed" in simulation.replay
