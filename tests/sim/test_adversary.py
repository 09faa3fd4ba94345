"""The searched adversary: what it does is replayed, judged, and bounded."""

import statistics
from dataclasses import replace

import pytest

from tinyssb_node.errors import SimulationOptionError
from tinyssb_node.sim.adversary import (
    SCENARIOS,
    Attack,
    alone,
    attacks,
    ground_of,
    judge,
    median_run,
    plan_of,
    play,
)
from tinyssb_node.sim.hostile_station import Plan

MOST = SCENARIOS["domain10"].most


def test_a_seed_is_played_again_exactly() -> None:
    assert play("domain10", 7) == play("domain10", 7)
    assert play("domain10", 7, climb=True).badness(MOST) >= play("domain10", 7).badness(MOST)


def test_a_station_that_does_nothing_slows_nobody() -> None:
    """Of 200 single runs one is 1.6 times as slow, by chance."""
    runs = [judge("domain10", seed, Plan()) for seed in (1, 2, 3)]
    assert 0.75 < statistics.median(run.slower for run in runs) < 1.3
    assert all(run.slower > 0.6 and run.delay_s < run.allowed_s for run in runs)


def test_without_the_station_it_is_a_median_of_several_runs() -> None:
    assert 20e6 < alone("domain10", 1).agreed_us < 60e6
    assert {ground_of(seed) for seed in range(100)} == set(range(1, 9))


def test_a_plan_is_judged_by_its_median_run_and_by_any_broken_rule() -> None:
    """A message is late in 2 of 100 runs without a station: what counts is whether a plan makes it late."""
    runs = [
        Attack(seed=1, chance=number, plan=Plan(), slower=slower, delay_s=delay_s, allowed_s=60.0)
        for number, (slower, delay_s) in enumerate(
            [(1.0, 90.0), (3.3, 20.0), (1.2, 10.0), (1.1, 50.0), (2.9, 30.0)]
        )
    ]
    assert median_run(runs, MOST) == replace(runs[4], runs=5)
    failed = replace(runs[2], broken="law: too long on the air")
    assert median_run([*runs[:2], failed, *runs[3:]], MOST) == replace(failed, runs=5)


def test_processes_find_the_same() -> None:
    seeds = range(1, 4)
    assert [*attacks("domain10", seeds, jobs=2)] == [*attacks("domain10", seeds)]


def test_only_what_is_judged_can_be_attacked() -> None:
    with pytest.raises(SimulationOptionError, match="domain10, field30"):
        next(attacks("mobile", range(1)))


@pytest.mark.parametrize("seed", range(1, 6))
def test_no_station_makes_a_node_break_a_rule(seed: int) -> None:
    assert judge("domain10", seed, plan_of("domain10", seed)).broken == ""


WORST = {
    8: "ASKs for all ids, after each packet about the set",
    10: "truncated ZAPs, three a second",
    82: "ZAPs, two a second",
    52: "false rows of chunks, and ASKs under made-up salts",
    62: "WANTs under a made-up name that asks itself",
    64: "false rows of chunks, one in 0.8 s",
    67: "two ASKs under a made-up salt, and false rows",
    79: "claims with made-up ids, and ASKs for all",
    121: "DIFFs of feeds of its own",
    136: "ASKs for ids that nobody has",
    142: "named WANTs under neighbours' names to made-up ones, and ASKs under made-up salts",
    162: "random DIFFs, one a second",
    177: "named WANTs under neighbours' names, with flipped bits",
    184: "random DIFFs, without listening first",
    264: "true WANTs, which stand for adverts of the set",
    349: "copies of what it heard",
    351: "copies of what it heard",
    422: "copies of what it heard",
    436: "a row of a generation 19 ms after each request, which hits the reply",
    873: "WANTs for one feed under neighbours' names, four a second",
    987: "copies with flipped bits, one in 2 s",
}
"""Seeds that made honest nodes 3 to 10 times as slow as without the station, or delayed a message by more than a
minute, and what they send."""


@pytest.mark.parametrize("seed", WORST)
def test_packets_that_tell_nothing_new_keep_nobody_from_requesting(seed: int) -> None:
    assert play("domain10", seed).badness(MOST) <= 1
