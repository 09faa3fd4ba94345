"""Clocks that are hours wrong and drift, put right by what several nodes heard: within 20 ms of the truth."""

import functools
import random
from collections.abc import Callable
from dataclasses import replace
from statistics import mean

import pytest

from tests.spark_sink.clocks.skewed import HOUR_US, Sighting, Skew, estimated, oracle, play
from tinyssb_node.sim.faults import ClockJump as ClockFault
from tinyssb_node.sim.faults import NodeCrash
from tinyssb_node.sim.options import ChannelOptions, SimulationOptions
from tinyssb_node.sim.topology import DomainTopology, IslandsTopology, LineTopology, Topology
from tinyssb_node.sim.traffic import PeriodicPostTraffic

WITHIN_US = 20_000


def options(topology: Topology, nodes: int = 6, **more: object) -> SimulationOptions:
    base = SimulationOptions(
        seed=3,
        nodes=nodes,
        hours=3.0,
        topology=topology,
        channel=ChannelOptions(loss=0.1),
        traffic=(PeriodicPostTraffic(nodes=(f"n0-n{nodes - 1}",), every_s=300, until_s=9_000),),
    )
    return replace(base, **more)  # type: ignore[arg-type]  # the tests name fields that exist


Played = Callable[[SimulationOptions], list[Sighting]]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Return a function that plays a simulation, once for the same options."""
    return functools.cache(lambda options: play(options, tmp_path_factory.mktemp("simulation") / "logs"))


@pytest.fixture(scope="module")
def line(played: Played) -> list[Sighting]:
    return played(options(LineTopology()))


def moments(right: list[Sighting]) -> list[int]:
    times = [one.t_us for one in right]
    return [min(times), (min(times) + max(times)) // 2, max(times)]


@pytest.mark.parametrize(
    "topology",
    [DomainTopology(), LineTopology(), IslandsTopology(count=2)],
    ids=["domain", "line", "islands"],
)
@pytest.mark.parametrize("jitter_us", [0, 8_000])
def test_hours_and_50_ppm_are_found_within_20_ms(topology: Topology, jitter_us: int, played: Played) -> None:
    right = played(options(topology))
    skew = Skew(jitter_us=jitter_us)
    found = estimated(skew.over(right))
    assert len(found) == 6
    assert len({one.reference for one in found}) == 1
    assert skew.worst_us(found, moments(right)) < WITHIN_US


def test_the_same_as_least_squares_that_knows_what_belongs_together(line: list[Sighting]) -> None:
    skew = Skew(jitter_us=4_000)
    skewed = skew.over(line)
    found = estimated(skewed)
    reference = found[0].reference
    begin_us = skew.shown_us(reference.node, skew.begin_us)
    wanted = oracle(line, skewed, reference, begin_us)
    assert len(wanted) == 5
    for one in found:
        if one.clock != reference:
            offset_us, drift_ppm = wanted[one.clock.node]
            assert abs(one.reference_us(round(begin_us + offset_us)) - begin_us) < 1_000
            assert one.drift_ppm == pytest.approx(drift_ppm, abs=0.2)


@pytest.mark.parametrize("moment", [0, 1, 2])
@pytest.mark.parametrize("topology", [DomainTopology(), LineTopology()], ids=["domain", "line"])
def test_the_error_is_of_the_size_that_is_stated(topology: Topology, moment: int, played: Played) -> None:
    right = played(options(topology, hours=1.0))
    right_us = moments(right)[moment]
    off = []
    for seed in range(32):
        skew = Skew(seed=seed, jitter_us=8_000)
        for one in estimated(skew.over(right)):
            if one.clock != one.reference:
                shown_us = skew.shown_us(one.clock.node, right_us)
                error_us = one.reference_us(shown_us) - skew.shown_us(one.reference.node, right_us)
                off.append(error_us / one.error_us(shown_us))
    assert 0.5 < mean(z * z for z in off) < 2


def test_any_order_and_any_number_of_times_gives_the_same(line: list[Sighting]) -> None:
    skewed = Skew().over(line)
    mixed = skewed + skewed[::3]
    random.Random(5).shuffle(mixed)
    for one, other in zip(estimated(mixed), estimated(skewed), strict=True):
        assert (one.clock, one.reference, one.matches) == (other.clock, other.reference, other.matches)
        assert (one.offset_us, one.drift_ppm) == (other.offset_us, other.drift_ppm)


def test_a_jump_and_a_restart_make_another_clock(played: Played) -> None:
    faults = (ClockFault(nodes=("n1",), at_s=4_000, step_s=None), NodeCrash(nodes=("n2",), at_s=5_000))
    right = played(options(DomainTopology(), 4, faults=faults))
    found = estimated(right)
    clocks: dict[str, list[int]] = {}
    for one in found:
        clocks.setdefault(one.clock.node, []).append(round(one.offset_us))
    assert sorted(map(len, clocks.values())) == [1, 1, 2, 2]
    jumped = max(clocks.values(), key=lambda offsets: max(offsets) - min(offsets))
    assert max(jumped) - min(jumped) > 50 * 365 * 24 * HOUR_US  # the fault sets it to 1970
    others = [offset for offsets in clocks.values() if offsets is not jumped for offset in offsets]
    assert max(others) - min(others) < WITHIN_US


def test_groups_that_never_met_have_a_reference_each(played: Played) -> None:
    right = played(options(IslandsTopology(count=2, joined=False)))
    skew = Skew()
    found = estimated(skew.over(right))
    assert len({one.reference for one in found}) == 2
    assert skew.worst_us(found, moments(right)) < WITHIN_US


def test_outliers_are_left_out(line: list[Sighting]) -> None:
    skew = Skew(jitter_us=2_000)
    chance = random.Random(9)
    skewed = [
        replace(one, t_us=one.t_us + late_us, mono_us=one.mono_us + late_us)
        for one in skew.over(line)
        for late_us in [chance.randrange(500_000) if chance.random() < 0.1 else 0]
    ]
    assert skew.worst_us(estimated(skewed), moments(line)) < WITHIN_US


def test_who_heard_nothing_that_others_heard_is_alone() -> None:
    found = estimated([Sighting("0" * 16, "a" * 16, 1, "tx", 5_000_000, 3_000_000)])
    assert [(one.clock, one.matches, one.reference_us(7)) for one in found] == [(found[0].reference, 0, 7)]
    assert estimated([]) == []
