"""Managed flooding, to measure against: it relays, keeps still, repeats, and forgets."""

import math
from dataclasses import replace

import pytest

from firmware_bridge import lora
from tests.bench.managed_flooding import RETRIES, Flooding, flood, window_for
from tinyssb_node.sim.options import ChannelOptions, SimulationOptions
from tinyssb_node.sim.scenarios import all_of, build
from tinyssb_node.sim.topology import DomainTopology, ExplicitTopology, LineTopology, Topology
from tinyssb_node.sim.traffic import FeedIdTraffic, PeriodicPostTraffic, PostTraffic

STILL = ChannelOptions(false_alarm=0.0, soft_edge=False)


def post(
    nodes: int, topology: Topology, *, at_s: float = 1.0, author: str = "n0", loss: float = 0.0
) -> SimulationOptions:
    return SimulationOptions(
        nodes=nodes,
        topology=topology,
        channel=replace(STILL, loss=loss),
        traffic=(PostTraffic(nodes=(author,), at_s=at_s),),
    )


def test_a_message_goes_four_hops_and_no_further() -> None:
    outcome = flood(post(9, LineTopology()))
    assert outcome.delivered == 4
    assert outcome.reach == 0.5
    # Its author and three relays: each heard the next one say it.
    assert outcome.packets == 4


def test_what_a_packet_costs_follows_from_the_formula() -> None:
    options = post(2, DomainTopology())
    outcome = flood(options)
    long = replace(options.radio.lora, preamble_symbols=16)
    assert outcome.airtime_us == outcome.packets * lora.airtime_us(long, 16 + 40)
    assert outcome.airtime_each_us == outcome.airtime_us
    assert outcome.delays_us[0] >= lora.airtime_us(long, 56)


def test_who_hears_it_again_keeps_still() -> None:
    outcome = flood(post(20, DomainTopology()))
    assert outcome.delivered == 19
    assert 2 <= outcome.packets <= 6


def test_an_author_whom_nobody_relays_says_it_three_times_more() -> None:
    apart = ExplicitTopology(positions_m=(("n0", 0, 0), ("n1", 90_000, 0)))
    outcome = flood(post(2, apart))
    assert outcome.packets == 1 + RETRIES
    assert (outcome.delivered, outcome.reach) == (0, 0.0)
    assert math.isinf(outcome.airtime_each_us)


def test_repeating_helps_where_packets_get_lost() -> None:
    reached = [
        flood(replace(post(2, DomainTopology(), loss=0.5), seed=seed)).delivered for seed in range(1, 41)
    ]
    # One try of two gets through; of four, fifteen in sixteen.
    assert sum(reached) >= 33


def test_far_ones_go_first() -> None:
    assert window_for(-25.0) == window_for(-20.0) == 3
    assert window_for(10.0) == window_for(30.0) == 8
    windows = [window_for(snr_db) for snr_db in range(-20, 11)]
    assert windows == sorted(windows)


def test_a_full_queue_drops() -> None:
    options = SimulationOptions(
        nodes=2,
        topology=DomainTopology(),
        channel=STILL,
        traffic=(PeriodicPostTraffic(nodes=("n0",), every_s=0.01, until_s=2),),
    )
    outcome = flood(options)
    assert outcome.messages > 150
    assert 16 <= outcome.delivered < outcome.messages / 2


def test_ids_mean_nothing_here() -> None:
    assert (
        flood(replace(post(3, DomainTopology()), traffic=(FeedIdTraffic(nodes=("n0",), count=3),))).messages
        == 0
    )


def test_the_same_seed_gives_the_same_flood_at_the_times_of_our_own_mesh() -> None:
    options = replace(build("field60", seed=3, nodes=12), hours=0.5)
    assert flood(options) == flood(options)
    assert flood(options) != flood(replace(options, seed=4))


def test_it_ends_where_the_options_say() -> None:
    options = replace(build("field60", nodes=10), hours=0.1)
    assert flood(options).messages < flood(replace(options, hours=1.0)).messages
    assert flood(replace(options, happenings=20)).packets <= 20
    assert flood(replace(options, hours=0.001)).messages == 0


@pytest.mark.parametrize("seed", [1, 2])
def test_it_does_at_meshtastics_load_about_what_its_own_simulator_says(seed: int) -> None:
    # 60 nodes, 40 bytes every 100 s each, half an hour: 31 % of nodes reached, 5.6 % of the time on the air. Our path
    # loss is another one, so this holds the order of magnitude only.
    options = replace(
        build("field60", seed=seed, hours=0.5),
        traffic=(PeriodicPostTraffic(nodes=all_of(60), every_s=100, until_s=1_800),),
    )
    outcome = flood(options)
    assert 0.25 < outcome.reach < 0.5
    assert 0.04 < outcome.airtime_us / (60 * 1_800_000_000) < 0.09


def test_options_it_has_no_use_for_change_nothing() -> None:
    options = post(5, LineTopology())
    assert flood(replace(options, boards=("n0",), acquainted=True)) == Flooding(options).run()
