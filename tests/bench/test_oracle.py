"""The oracle: what it may send, what it collides with, and that no knowledge beats the bound where nothing is lost."""

from dataclasses import replace

import pytest

from tests.bench.oracle import Block, OracleReport, schedule
from tinyssb_node.sim.options import ChannelOptions, RadioOptions, SimulationOptions
from tinyssb_node.sim.scenarios import build
from tinyssb_node.sim.topology import LineTopology
from tinyssb_node.sim.traffic import BacklogTraffic, PostTraffic

STILL = ChannelOptions(soft_edge=False)


def line(nodes: int, *, entries: int = 1, author: str = "n0") -> SimulationOptions:
    return SimulationOptions(
        nodes=nodes,
        topology=LineTopology(),
        channel=STILL,
        traffic=(BacklogTraffic(nodes=(author,), entries=entries),),
    )


def test_as_many_rows_as_entries_give_all_entries_whichever_they_are() -> None:
    block = Block(3)
    for _ in range(2):
        assert block.gains(3)
        block.add(3)
    assert block.frontier == 0
    block.add(3)
    assert block.frontier == 3
    assert not block.gains(3)


def test_rows_over_the_first_entries_give_those_and_no_more() -> None:
    block = Block(3)
    block.add(3)
    block.add(1)
    assert block.frontier == 1
    assert not block.gains(1)
    # The row over three stands for one of two unknown entries, so that one row over two gives both.
    assert block.gains(2)
    block.add(2)
    assert block.frontier == 3


def test_in_one_domain_without_loss_it_takes_the_bound_and_turnarounds() -> None:
    report = schedule(replace(build("domain10"), channel=STILL))
    assert report.agreed
    assert report.packets == 100
    assert report.ratio == pytest.approx(1.0)
    assert report.time_us == report.airtime_us + 99 * 1_000


def test_with_loss_it_codes_below_the_bound_of_repeating_and_not_below_what_each_receiver_loses() -> None:
    report = schedule(build("lossy10"))
    assert report.agreed
    assert report.packets > 100 / 0.8
    assert report.ratio < 0.75


def test_along_a_line_each_hop_takes_a_slot_and_the_last_node_is_silent() -> None:
    report = schedule(line(5))
    assert report.agreed
    assert report.packets == 4
    assert report.time_us == 4 * report.airtime_us // 4 + 3 * 1_000


def test_nodes_whose_receivers_do_not_hear_each_other_send_at_the_same_time() -> None:
    # Three hops apart, so that of twelve entries several are under way at a time.
    report = schedule(line(9, entries=12))
    assert report.agreed
    assert report.packets == 8 * 12
    assert report.time_us < 0.5 * report.airtime_us


def test_by_carrier_sense_hidden_terminals_cost_airtime() -> None:
    hidden = replace(
        line(3),
        traffic=(BacklogTraffic(nodes=("n0", "n2"), entries=30),),
    )
    scheduled, listening = schedule(hidden), schedule(hidden, access=0.5)
    assert scheduled.agreed
    assert listening.agreed
    assert listening.packets > 1.2 * scheduled.packets


def test_no_node_sends_for_longer_than_the_law_allows() -> None:
    tight = replace(line(2, entries=100), radio=RadioOptions(duty=0.001), hours=0.9)
    report = schedule(tight)
    assert not report.agreed
    # 3.6 s of an hour.
    assert report.airtime_us <= 3_600_000 < report.airtime_us + report.airtime_us // report.packets
    assert schedule(replace(tight, hours=24.0)).agreed


def test_the_same_seed_gives_the_same_schedule() -> None:
    def one(seed: int) -> OracleReport:
        return schedule(build("lossy10", seed=seed), access=0.1)

    assert one(1) == one(1)
    assert one(1) != one(2)


def test_traffic_that_it_has_no_model_of_is_refused() -> None:
    with pytest.raises(ValueError, match="chunks"):
        schedule(build("newcomers"))
    with pytest.raises(ValueError, match="backlog"):
        schedule(replace(line(2), traffic=(PostTraffic(nodes=("n0",), at_s=1.0),)))
