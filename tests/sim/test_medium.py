"""The channel in virtual time: who gets what, by each rule of the model."""

import gc
import math
import random
import statistics
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmware_bridge.lora import LoraSettings, preamble_us
from tinyssb_node.sim.links import LinkQuality
from tinyssb_node.sim.medium import (
    Delivery,
    LossReason,
    MediumOptions,
    SimulatedMedium,
    TransmissionOutcome,
)

AIR_US = 205_056
"""124 bytes at SF7/125 kHz."""
PREAMBLE_US = preamble_us(LoraSettings())


def medium(*names: str, options: MediumOptions | None = None) -> SimulatedMedium:
    made = SimulatedMedium(options or MediumOptions(), random.Random(1))
    for name in names:
        made.add_node(name)
    return made


def line(*names: str) -> SimulatedMedium:
    """Each hears only its neighbours."""
    made = medium(*names, options=MediumOptions(default_rssi_dbm=None))
    for left, right in pairwise(names):
        made.set_link(left, right, LinkQuality(-80.0, 0.0))
    return made


def got(channel: SimulatedMedium, sender: str) -> list[str]:
    return [delivery.receiver for delivery in channel.end_send(sender).deliveries]


def test_everybody_in_reach_gets_a_packet_after_its_airtime() -> None:
    channel = medium("ana", "bob", "cyn")
    assert channel.begin_send("ana", 124, 1_000) == 1_000 + AIR_US
    outcome = channel.end_send("ana")
    assert outcome.deliveries == (Delivery("bob", -80, 37.0), Delivery("cyn", -80, 37.0))
    assert outcome.misses == ()


def test_nobody_beyond_the_neighbours_in_a_line() -> None:
    channel = line("ana", "bob", "cyn")
    channel.begin_send("ana", 124, 0)
    assert got(channel, "ana") == ["bob"]


def test_two_at_once_collide_where_both_are_heard() -> None:
    channel = medium("ana", "bob", "cyn")
    channel.begin_send("ana", 124, 0)
    channel.begin_send("bob", 124, 10)
    assert channel.end_send("ana").misses == (("bob", LossReason.DEAF), ("cyn", LossReason.COLLISION))
    assert channel.end_send("bob").misses == (("ana", LossReason.DEAF), ("cyn", LossReason.COLLISION))


def test_hidden_terminals_collide_in_the_middle_though_they_listened() -> None:
    channel = line("ana", "bob", "cyn")
    channel.begin_send("ana", 124, 0)
    assert channel.is_busy("bob", 100_000)
    assert not channel.is_busy("cyn", 100_000)
    channel.begin_send("cyn", 124, 100_000)
    assert channel.end_send("ana").misses == (("bob", LossReason.COLLISION),)
    assert channel.end_send("cyn").misses == (("bob", LossReason.COLLISION),)


def test_exposed_neighbours_of_different_receivers_do_not_disturb_each_other() -> None:
    channel = line("ana", "bob", "cyn", "dov")
    channel.begin_send("bob", 124, 0)
    channel.begin_send("cyn", 124, 10)
    assert got(channel, "bob") == ["ana"]
    assert got(channel, "cyn") == ["dov"]


@pytest.mark.parametrize(
    ("margin_db", "second_us", "received"),
    [
        (6.5, 10, ["near"]),  # stronger, in the preamble: taken over
        (5.5, 10, []),  # not strong enough
        (6.5, PREAMBLE_US, []),  # too late to be taken over, still strong enough to destroy
        (-6.5, 10, ["far"]),  # the first is the stronger one
    ],
)
def test_capture(margin_db: float, second_us: int, received: list[str]) -> None:
    channel = medium("ear", options=MediumOptions(default_rssi_dbm=None))
    for name, rssi_dbm in (("far", -100.0), ("near", -100.0 + margin_db)):
        channel.add_node(name)
        channel.set_link(name, "ear", LinkQuality(rssi_dbm, 0.0))
    channel.begin_send("far", 124, 0)
    channel.begin_send("near", 124, second_us)
    assert [name for name in ("far", "near") if got(channel, name) == ["ear"]] == received


def test_several_weak_ones_add_up() -> None:
    channel = medium("ear", options=MediumOptions(default_rssi_dbm=None))
    for name, rssi_dbm in (("main", -90.0), ("one", -97.0), ("two", -97.0)):
        channel.add_node(name)
        channel.set_link(name, "ear", LinkQuality(rssi_dbm, 0.0))
    channel.begin_send("main", 124, 0)
    channel.begin_send("one", 124, 0)
    channel.begin_send("two", 124, 0)
    assert channel.end_send("main").misses == (("ear", LossReason.COLLISION),)


def test_a_short_overlap_disturbs_less() -> None:
    channel = medium("ear", options=MediumOptions(default_rssi_dbm=None))
    for name in ("main", "other"):
        channel.add_node(name)
        channel.set_link(name, "ear", LinkQuality(-90.0, 0.0))
    channel.begin_send("main", 124, 0)
    channel.begin_send("other", 124, AIR_US * 4 // 5)  # a fifth of the power: 7 dB below
    assert got(channel, "main") == ["ear"]
    assert channel.end_send("other").misses == (
        ("ear", LossReason.COLLISION),
    )  # the ear was busy with the first


def test_one_after_the_other_is_no_collision_even_if_the_end_is_told_late() -> None:
    channel = medium("ana", "bob", "cyn")
    end_us = channel.begin_send("ana", 124, 0)
    channel.begin_send("bob", 124, end_us + 5_000)
    assert got(channel, "ana") == ["bob", "cyn"]
    assert got(channel, "bob") == ["ana", "cyn"]


def test_whoever_has_just_sent_is_deaf_for_a_moment() -> None:
    channel = medium("ana", "bob", "cyn")
    end_us = channel.begin_send("ana", 124, 0)
    channel.end_send("ana")
    channel.begin_send("bob", 124, end_us + 999)
    assert channel.end_send("bob").misses == (("ana", LossReason.DEAF),)
    channel.begin_send("cyn", 124, end_us + 1_000_000)
    assert got(channel, "cyn") == ["ana", "bob"]


def test_whoever_begins_to_send_drops_what_it_was_receiving() -> None:
    channel = medium("ana", "bob", options=MediumOptions())
    channel.begin_send("ana", 124, 0)
    channel.begin_send("bob", 8, 200_000)
    assert channel.end_send("bob").misses == (("ana", LossReason.DEAF),)
    assert channel.end_send("ana").misses == (("bob", LossReason.DEAF),)


def test_carrier_sense_is_blind_for_two_symbols_and_deaf_to_the_far() -> None:
    channel = medium("ana", "bob")
    channel.set_link("ana", "cyn", LinkQuality(-127.4, 0.0))
    channel.add_node("cyn")
    channel.set_link("ana", "dov", LinkQuality(-127.6, 0.0))
    channel.add_node("dov")
    channel.begin_send("ana", 124, 0)
    assert [channel.is_busy("bob", now_us) for now_us in (0, 2_047, 2_048, AIR_US - 1, AIR_US)] == [
        False,
        False,
        True,
        True,
        False,
    ]
    assert channel.is_busy("cyn", 50_000)  # 3 dB below what could be received
    assert not channel.is_busy("dov", 50_000)


def test_too_weak_to_be_received() -> None:
    channel = medium("ana", "bob")
    channel.set_link("ana", "bob", LinkQuality(-124.6, 0.0))
    channel.begin_send("ana", 124, 0)
    assert channel.end_send("ana").misses == (("bob", LossReason.WEAK),)
    channel.set_link("ana", "bob", LinkQuality(-124.5, 0.0))
    channel.begin_send("ana", 124, AIR_US)
    assert channel.end_send("ana").deliveries == (Delivery("bob", -124, -7.5),)


def test_loss_by_link_and_by_default() -> None:
    channel = medium("ana", "bob", "cyn")
    channel.set_link("ana", "bob", LinkQuality(-80.0, 1.0))
    channel.begin_send("ana", 124, 0)
    outcome = channel.end_send("ana")
    assert outcome.misses == (("bob", LossReason.LOSS),)
    channel.set_default_loss(0.3)
    lost = 0
    for number in range(1, 1_001):
        channel.begin_send("ana", 124, number * 1_000_000)
        lost += ("cyn", LossReason.LOSS) in channel.end_send("ana").misses
    assert 250 < lost < 350


def test_cuts_and_healing() -> None:
    channel = medium("ana", "bob", "cyn", "dov")
    channel.cut(["ana", "bob"], ["cyn", "dov"])
    channel.cut(["bob", "ana"], ["dov", "cyn"])  # the same again
    channel.begin_send("ana", 124, 0)
    channel.begin_send("cyn", 124, 0)
    assert channel.link("bob", "dov") is None
    assert (got(channel, "ana"), got(channel, "cyn")) == (["bob"], ["dov"])
    assert channel.cuts == ((frozenset({"ana", "bob"}), frozenset({"cyn", "dov"})),)
    channel.heal()
    channel.begin_send("ana", 124, 1_000_000)
    assert got(channel, "ana") == ["bob", "cyn", "dov"]


def test_a_cut_spares_what_is_already_on_the_air() -> None:
    channel = medium("ana", "bob")
    channel.begin_send("ana", 124, 0)
    channel.cut(["ana"], ["bob"])
    assert got(channel, "ana") == ["bob"]


def test_nobody_is_on_both_sides_of_a_cut_or_of_a_link() -> None:
    channel = medium("ana", "bob")
    with pytest.raises(ValueError, match="bob cannot be on both sides"):
        channel.cut(["ana", "bob"], ["bob"])
    with pytest.raises(ValueError, match="two ends"):
        channel.set_link("ana", "ana", LinkQuality(-80.0, 0.0))


def test_distance_weakens_and_positions_may_change() -> None:
    channel = SimulatedMedium(MediumOptions(), random.Random(1))
    channel.add_node("ana", (0.0, 0.0))
    channel.add_node("bob", (40.0, 0.0))
    channel.add_node("cyn", (0.0, 400.0))
    near, far = channel.link("ana", "bob"), channel.link("ana", "cyn")
    assert near is not None
    assert far is not None
    assert round(near.rssi_dbm, 2) == round(14.0 - 127.41, 2)
    assert round(near.rssi_dbm - far.rssi_dbm, 1) == 20.8
    channel.add_node("bob", (0.0, 400.0))
    assert channel.link("ana", "bob") == far


def test_shadowing_is_drawn_once_per_pair_and_the_same_both_ways() -> None:
    channel = SimulatedMedium(MediumOptions(shadowing_db=3.57), random.Random(1))
    channel.add_node("ana", (0.0, 0.0))
    channel.add_node("bob", (40.0, 0.0))
    link = channel.link("ana", "bob")
    assert link is not None
    assert link.rssi_dbm != 14.0 - 127.41
    assert channel.link("bob", "ana") == link == channel.link("ana", "bob")


def test_a_node_that_goes_is_neither_heard_nor_reached() -> None:
    channel = medium("ana", "bob", "cyn")
    channel.begin_send("ana", 124, 0)
    channel.begin_send("bob", 8, 1_000_000)
    channel.remove_node("bob")
    channel.remove_node("bob")
    assert got(channel, "ana") == ["cyn"]
    assert channel.nodes == ("ana", "cyn")
    channel.add_node("bob")
    channel.begin_send("bob", 8, 2_000_000)
    assert got(channel, "bob") == ["ana", "cyn"]


def test_nobody_sends_twice_at_once() -> None:
    channel = medium("ana")
    channel.begin_send("ana", 8, 0)
    with pytest.raises(AssertionError):
        channel.begin_send("ana", 8, 1)


def test_everything_is_bounded() -> None:
    channel = medium(*(f"n{number}" for number in range(200)))
    with pytest.raises(ValueError, match="200 nodes"):
        channel.add_node("one too many")
    channel.add_node("n0", (1.0, 1.0))
    for number in range(100):
        channel.cut([f"n{number}"], ["n199"])
    with pytest.raises(ValueError, match="100 cuts"):
        channel.cut(["n150"], ["n199"])
    for number in range(20_000):
        channel.set_link(f"n{number // 200}", f"m{number % 200}", LinkQuality(-80.0, 0.0))
    with pytest.raises(ValueError, match="20000 links"):
        channel.set_link("a", "b", LinkQuality(-80.0, 0.0))
    channel.set_link("n0", "m0", LinkQuality(-90.0, 0.0))


def test_a_busy_channel_does_not_pile_up_in_memory() -> None:
    channel = medium("ana", "bob", "cyn")
    channel.begin_send("ana", 124, 0)
    for number in range(1, 100):  # each overlaps the one before: a chain without end
        sender, before = ("bob", "ana") if number % 2 else ("ana", "bob")
        channel.begin_send(sender, 124, number * 200_000)
        channel.end_send(before)
    gc.collect()
    assert sum(type(each).__name__ == "_Transmission" for each in gc.get_objects()) <= 2


sends = st.lists(
    st.tuples(st.sampled_from(("ana", "bob", "cyn", "dov")), st.integers(8, 124), st.integers(0, 300_000)),
    max_size=30,
)


@given(sends, st.integers(0, 2**32))
@settings(max_examples=60)
def test_same_calls_same_chance_same_results_and_everybody_is_accounted_for(
    script: list[tuple[str, int, int]], seed: int
) -> None:
    def play() -> list[object]:
        channel = SimulatedMedium(MediumOptions(default_loss=0.2), random.Random(seed))
        for name in ("ana", "bob", "cyn", "dov"):
            channel.add_node(name)
        now_us, ends, log = 0, dict[str, int](), list[object]()
        for sender, length, wait_us in script:
            now_us += wait_us
            for name in [name for name, end_us in sorted(ends.items()) if end_us <= now_us]:
                del ends[name]
                outcome = channel.end_send(name)
                reached = [delivery.receiver for delivery in outcome.deliveries] + [
                    name for name, _ in outcome.misses
                ]
                assert sorted([*reached, name]) == ["ana", "bob", "cyn", "dov"]
                log.append(outcome)
            if sender not in ends:
                ends[sender] = channel.begin_send(sender, length, now_us)
        return log

    assert play() == play()


def test_near_the_threshold_it_is_luck_and_far_from_it_is_not() -> None:
    sensitivity_dbm = -124.5
    arrived = {}
    for above_db in (-7.0, -1.0, 0.0, 1.0, 7.0):
        channel = medium("ana", "bob", options=MediumOptions(soft_edge=True))
        channel.set_link("ana", "bob", LinkQuality(sensitivity_dbm + above_db, 0.0))
        arrived[above_db] = 0
        for number in range(2_000):
            channel.begin_send("ana", 8, number * 1_000_000)
            arrived[above_db] += len(channel.end_send("ana").deliveries)
    assert arrived[-7.0] == 0
    assert arrived[7.0] == 2_000
    for above_db, share in ((-1.0, 0.119), (0.0, 0.5), (1.0, 0.881)):
        assert arrived[above_db] / 2_000 == pytest.approx(share, abs=0.04)


def test_fading_moves_packets_one_by_one() -> None:
    channel = medium("ana", "bob", options=MediumOptions(fading_db=2.0))
    powers = []
    for number in range(500):
        channel.begin_send("ana", 8, number * 1_000_000)
        (delivery,) = channel.end_send("ana").deliveries
        powers.append(delivery.rssi_dbm)
    assert statistics.mean(powers) == pytest.approx(-80.0, abs=0.5)
    assert statistics.stdev(powers) == pytest.approx(2.0, abs=0.3)


@pytest.mark.parametrize("length", [8, 124])
def test_bursts_strike_longer_packets_more_often(length: int) -> None:
    options = MediumOptions(bursts=0.05, burst_us=100_000)
    channel = medium("ana", "bob", options=options)
    struck = 0
    for number in range(4_000):
        channel.begin_send("ana", length, number * 1_000_000)
        struck += ("bob", LossReason.BURST) in channel.end_send("ana").misses
    airtime_us = channel.airtime_us(length)
    expected = 1 - math.exp(-0.05 * (airtime_us + 100_000) / 100_000)
    assert struck / 4_000 == pytest.approx(expected, abs=0.015)


def test_carrier_sense_is_wrong_now_and_then() -> None:
    channel = medium("ana", options=MediumOptions(false_alarm=0.01))
    assert sum(channel.is_busy("ana", now_us) for now_us in range(10_000)) == pytest.approx(100, abs=35)
    assert not any(medium("ana").is_busy("ana", now_us) for now_us in range(1_000))


def test_hills_are_made_of_a_chance_of_their_own() -> None:
    def hill(loss: float) -> LinkQuality | None:
        options = MediumOptions(shadowing_db=3.57, default_loss=loss)
        channel = SimulatedMedium(options, random.Random(1), random.Random(2))
        for name, east_m in (("ana", 0.0), ("bob", 10.0), ("cyn", 20.0)):
            channel.add_node(name, (east_m, 0.0))
        channel.begin_send("ana", 8, 0)
        channel.end_send("ana")
        channel.set_default_loss(0.0)
        return channel.link("bob", "cyn")

    assert hill(0.0) == hill(0.5)


def test_a_node_that_is_switched_off_neither_hears_nor_is_in_the_way() -> None:
    channel = medium("ana", "bob", "cyn")
    channel.begin_send("bob", 124, 0)
    channel.switch_off("bob")
    assert not channel.is_busy("ana", 100_000)
    channel.begin_send("ana", 124, 300_000)
    channel.switch_off("cyn")
    assert channel.end_send("ana") == TransmissionOutcome((), ())
    channel.add_node("bob")
    channel.begin_send("ana", 124, 1_000_000)
    assert got(channel, "ana") == ["bob"]


def test_who_reaches_whom() -> None:
    channel = medium("ana", "bob", "cyn", options=MediumOptions(default_rssi_dbm=None))
    channel.set_link("ana", "bob", LinkQuality(-124.5, 0.9))
    channel.set_link("ana", "cyn", LinkQuality(-124.6, 0.0))
    assert channel.reaches("ana", "bob")
    assert not channel.reaches("ana", "cyn")
    assert not channel.reaches("bob", "cyn")


@pytest.mark.parametrize("load", [0.1, 0.5, 1.0])
def test_who_just_talks_gets_through_as_often_as_theory_says(load: float) -> None:
    """Pure ALOHA: without capture, of a load G of packets begun at random G exp(-2 G) get through."""
    chance = random.Random(3)
    senders = [f"n{number}" for number in range(150)]
    channel = medium("hub", options=MediumOptions(default_rssi_dbm=None, capture_db=300.0))
    for name in senders:
        channel.add_node(name)
        channel.set_link(name, "hub", LinkQuality(-80.0, 0.0))
    airtime_us = channel.airtime_us(50)
    now_us, on_air, received = 0, list[tuple[int, str]](), 0
    for _ in range(6_000):
        now_us += round(chance.expovariate(load / airtime_us))
        while on_air and on_air[0][0] <= now_us:
            received += len(channel.end_send(on_air.pop(0)[1]).deliveries)
        busy = {name for _, name in on_air}
        name = chance.choice([name for name in senders if name not in busy])
        on_air.append((channel.begin_send(name, 50, now_us), name))
    throughput = received * airtime_us / now_us
    assert throughput == pytest.approx(load * math.exp(-2 * load), rel=0.07)
