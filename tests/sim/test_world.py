"""Meshes of real nodes in virtual time: they agree, within a bound of packets and time."""

import random
import statistics

import pytest

from tinyssb_node import limits
from tinyssb_node.codec.events import PacketSent
from tinyssb_node.ids import Dialect, FeedId, PacketKind
from tinyssb_node.sim.bound import expected_sends
from tinyssb_node.sim.links import LinkQuality
from tinyssb_node.sim.medium import MediumOptions, SimulatedMedium
from tinyssb_node.sim.world import World

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
SET_KINDS = {
    PacketKind.CLAIM,
    PacketKind.NOVELTY,
    PacketKind.SKETCH,
    PacketKind.ASK,
    PacketKind.FEEDS,
}


def channel(loss: float = 0.0):
    return lambda chance: SimulatedMedium(MediumOptions(default_loss=loss), chance)


def mesh(count: int, seed: int, loss: float = 0.0) -> World:
    world = World(seed, channel(loss))
    for number in range(count):
        world.add(f"n{number}")
    return world


def follow(world: World, name: str, feed: FeedId) -> None:
    world.act(name, lambda node, now_us: node.follow(feed, now_us))


def all_hold(world: World, feeds: int):
    return lambda: (
        world.agreed() and all(len(each.node.feeds()) == feeds for each in world.inhabitants.values())
    )


def packets_of_airtime(world: World) -> float:
    """All airtime spent, in full packets."""
    medium = world.medium
    assert medium is not None
    return world.airtime_us / medium.airtime_us(limits.PACKET_SIZE + limits.CRC_SIZE)


# How much more than nodes need that knew what each other lacks: ids, requests, collisions, what was said in vain.
# All publish in the same instant, before they know each other's feeds. Measured over 24 seeds: 1.42 on average, 1.10 to
# 1.94, as two nodes begin together or not; with loss 1.37 over 12, 1.25 to 1.47.
@pytest.mark.parametrize(("loss", "most"), [(0.0, 1.75), (0.2, 1.6)])
def test_ten_nodes_with_ten_entries_each_agree_near_the_bound(loss: float, most: float) -> None:
    spent = 0.0
    seeds = range(1, 5)
    for seed in seeds:
        world = mesh(10, seed, loss)
        for number in range(10):
            for post in range(10):
                world.inject(f"n{number}", f"post {post} of {number}".encode())
        assert world.run(all_hold(world, 10), 20 * MINUTE_US)
        spent += packets_of_airtime(world)
    assert spent <= len(seeds) * most * 100 * expected_sends(9, loss)


def chain(count: int, seed: int) -> World:
    """Nodes of which each hears its two neighbours."""
    world = World(seed, lambda chance: SimulatedMedium(MediumOptions(default_rssi_dbm=None), chance))
    for number in range(count):
        world.add(f"n{number}")
    medium = world.medium
    assert medium is not None
    for number in range(count - 1):
        medium.set_link(f"n{number}", f"n{number + 1}", LinkQuality(rssi_dbm=-80.0, loss=0.0))
    return world


def travel_time_us(hops: int, seed: int) -> int:
    """How long one new entry takes to the end of a chain of nodes that know each other's feeds."""
    world = chain(hops + 1, seed)
    feeds = [inhabitant.feed for inhabitant in world.inhabitants.values()]
    for name in world.inhabitants:
        for feed in feeds:
            follow(world, name, feed)
    world.run_for(MINUTE_US)
    begin_us = world.now_us
    world.inject("n0", b"to whom it may concern")
    last = world.inhabitants[f"n{hops}"].store
    assert world.run(lambda: last.entry(feeds[0], 1) is not None, 10 * MINUTE_US)
    return world.now_us - begin_us


def test_news_cross_eight_hops_in_two_seconds_each() -> None:
    hops = 8
    medium = chain(1, 0).medium
    assert medium is not None
    airtime_us = medium.airtime_us(limits.PACKET_SIZE + limits.CRC_SIZE)
    times_us = [travel_time_us(hops, seed) for seed in range(1, 6)]
    assert statistics.median(times_us) <= hops * (airtime_us + 2 * SECOND_US)


def test_ten_nodes_agree_though_every_fifth_packet_is_lost() -> None:
    world = mesh(10, 4, loss=0.2)
    for number in range(10):
        world.inject(f"n{number}", b"x" * 300)
    assert world.run(all_hold(world, 10), 5 * MINUTE_US)


def test_a_line_of_nodes_carries_news_from_end_to_end() -> None:
    world = chain(5, 5)
    assert world.run(all_hold(world, 5), 10 * MINUTE_US)
    world.inject("n0", b"to whom it may concern")
    assert world.run(all_hold(world, 5), 3 * MINUTE_US)
    assert world.inhabitants["n4"].store.entry(world.inhabitants["n0"].feed, 1) is not None


def test_two_halves_that_fell_apart_agree_when_they_meet_again() -> None:
    world = mesh(6, 6)
    assert world.run(all_hold(world, 6), 3 * MINUTE_US)
    medium = world.medium
    assert medium is not None
    left, right = ["n0", "n1", "n2"], ["n3", "n4", "n5"]
    medium.cut(left, right)
    world.inject("n0", b"on this side")
    world.inject("n5", b"on the other side" * 30)
    world.run_for(2 * MINUTE_US)
    assert not world.agreed()
    assert world.inhabitants["n2"].store.entry(world.inhabitants["n0"].feed, 1) is not None
    assert world.inhabitants["n1"].store.entry(world.inhabitants["n5"].feed, 1) is None
    medium.heal()
    assert world.run(all_hold(world, 6), 5 * MINUTE_US)


def test_a_gateway_joins_a_stream_and_the_air() -> None:
    world = mesh(2, 7)
    inland = world.add("inland", dialect=Dialect.DEPLOYED)
    medium = world.medium
    assert medium is not None
    medium.cut(["inland"], ["n0", "n1"])
    world.connect("n0", "inland")
    world.inject("n1", b"from the island")
    world.inject("inland", b"from the mainland" * 20)
    assert world.run(all_hold(world, 3), 3 * MINUTE_US)
    assert world.inhabitants["n1"].store.entry(inland.feed, 1) is not None


def test_a_newcomer_fetches_a_long_history_over_a_stream_in_seconds() -> None:
    world = World(8)
    world.add("old")
    world.add("new")
    for post in range(2_000):
        world.inject("old", post.to_bytes(4, "big"))
    world.connect("old", "new")
    assert world.run(all_hold(world, 2), 10 * SECOND_US)
    # Pipelined, and nothing given twice.
    assert world.sent[PacketKind.ENTRY] == 2_000
    assert world.sent[PacketKind.WANT] < 60


def test_large_sets_that_overlap_in_part_grow_together() -> None:
    world = World(9)
    world.add("a")
    world.add("b")
    chance = random.Random(9)
    ids = [chance.randbytes(32) for _ in range(150)]
    for number, id_ in enumerate(ids):
        for name, mine in (("a", number < 100), ("b", number >= 50)):
            if mine:
                follow(world, name, FeedId(id_))
    world.connect("a", "b")
    assert world.run(all_hold(world, 152), 2 * MINUTE_US)


def test_one_seed_gives_one_history() -> None:
    def history(seed: int) -> tuple[int, list[str]]:
        world = mesh(4, seed, loss=0.1)
        world.inject("n0", b"y" * 200)
        assert world.run(all_hold(world, 4), 5 * MINUTE_US)
        return world.now_us, [repr(event) for each in world.inhabitants.values() for event in each.events]

    assert history(10) == history(10)
    assert history(10) != history(11)


def sets_that_differ(seed: int, loss: float, halves: bool) -> World:
    """Ten nodes of a set of 100, of which one lacks ten, or one half five and the other five others."""
    world = World(seed, channel(loss))
    names = [f"n{number}" for number in range(10)]
    for name in names:
        world.add(name, on_air=False)
    own = [inhabitant.feed for inhabitant in world.inhabitants.values()]
    chance = random.Random(seed)
    common = [FeedId(chance.randbytes(32)) for _ in range(80)]
    rare = [FeedId(chance.randbytes(32)) for _ in range(10)]
    for number, name in enumerate(names):
        left = rare[:5] if number < 5 else rare[5:]
        for feed in [*own, *common, *(left if halves else rare if number else ())]:
            follow(world, name, feed)
    for name in names:
        world.switch_on_air(name)
    return world


# The ten ids alone are 320 bytes. Measured over seven seeds: 524 and 504 in the median, with loss 888 and 1,636.
@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize(("loss", "most"), [(0.0, 1_000), pytest.param(0.2, 2_500, marks=pytest.mark.slow)])
def test_sets_of_a_hundred_that_differ_in_ten_agree_for_few_bytes(
    loss: float, most: int, halves: bool
) -> None:
    sizes = []
    for seed in range(1, 6):
        world = sets_that_differ(seed, loss, halves)
        assert world.run(all_hold(world, 100), 5 * MINUTE_US)
        said = [event for each in world.inhabitants.values() for event in each.events]
        sizes.append(
            sum(event.length for event in said if isinstance(event, PacketSent) and event.packet in SET_KINDS)
        )
    assert statistics.median(sizes) <= most
