"""Acknowledgements, the signed statements of a node on what it stores of others: when they are written, and their
cost."""

from dataclasses import replace
from itertools import pairwise

import pytest

from tests.gossip.test_receipts import signed
from tests.nodes import AIR_PACKET_US, Bench, key_of, radio_profile, written
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.events import EntryAppended
from tinyssb_node.codec.packets import parse_entry
from tinyssb_node.content import limits
from tinyssb_node.content.acks import ACK_TYPE, ack_of, parse_acks
from tinyssb_node.feeds.layout import FIXED_TYPE
from tinyssb_node.ids import Dialect, Origin, PacketKind
from tinyssb_node.scheduling.link import Allowance
from tinyssb_node.sim.medium import MediumOptions, SimulatedMedium
from tinyssb_node.sim.world import World

ANA, BEN, CYD = (key_of(name) for name in ("ana", "ben", "cyd"))
MINUTE_US = 60_000_000
HOUR_US = 60 * MINUTE_US
EVERY_US, SPREAD_US = limits.ACK_EVERY_US, limits.ACK_SPREAD_US


def bench(**options) -> Bench:
    """Ana's node on a wire; it acknowledges, follows Ben, and was silent for hours."""
    made = Bench(key=ANA, **({"acknowledge_permille": limits.ACK_AIR_PERMILLE} | options))
    made.follow(BEN.feed_id)
    made.pass_time(3 * HOUR_US)
    return made


def said(made: Bench):
    """Return the acknowledgements so far: (time of commit, items)."""
    return [
        (entry.committed_us, parse_acks(parse_entry(entry.packet).content))
        for entry in made.store.entries(ANA.feed_id, 1, 10_000)
        if parse_entry(entry.packet).type == ACK_TYPE
    ]


def last_of(made: Bench, key: SigningKey):
    """The acknowledgement of the last entry held of *key*."""
    seq = made.seq_of(key.feed_id)
    entry = made.store.entry(key.feed_id, seq)
    assert entry is not None
    return ack_of(seq, entry.id)


def hear(made: Bench, *packets: bytes) -> None:
    for packet in packets:
        made.hear(packet)


def texts(key: SigningKey, count: int) -> list[bytes]:
    return [entry.packet for entry in written(key, [bytes((number,)) for number in range(count)])]


def test_what_came_is_acknowledged_soon_and_together():
    made = bench()
    hear(made, *texts(BEN, 3))
    began_us = made.now_us
    made.pass_time(SPREAD_US)
    ((when_us, acks),) = said(made)
    assert acks == (last_of(made, BEN),)
    assert acks[0].seq == 3
    assert SPREAD_US // 4 <= when_us - began_us <= SPREAD_US
    made.pass_time(3 * HOUR_US)
    assert len(said(made)) == 1


def test_an_acknowledgement_is_published_at_once_and_recorded_as_what_it_is():
    made = bench()
    hear(made, *texts(BEN, 1))
    made.take()
    made.pass_time(SPREAD_US)
    (event,) = [event for event in made.seen(EntryAppended) if event.origin is Origin.OWN]
    assert (event.type, event.size, event.chunks) == (ACK_TYPE, 48, 0)
    assert made.take(PacketKind.ENTRY)


def test_a_node_that_was_not_told_to_never_acknowledges():
    made = bench(acknowledge_permille=0)
    hear(made, *texts(BEN, 1))
    made.pass_time(3 * HOUR_US)
    assert said(made) == []


def test_acknowledgements_are_not_acknowledged():
    made = bench()
    other = signed(BEN, (FIXED_TYPE, b"x"), *[(ACK_TYPE, b"\x01\x01abcd")] * 3)
    hear(made, other[0])
    made.pass_time(HOUR_US)
    hear(made, *other[1:])
    made.pass_time(3 * HOUR_US)
    ((_, acks),) = said(made)
    assert [ack.seq for ack in acks] == [1]


def test_two_nodes_that_acknowledge_each_other_end():
    made = bench()
    hear(made, *signed(BEN, *[(ACK_TYPE, b"\x01\x01abcd")] * 5))
    made.pass_time(3 * HOUR_US)
    assert said(made) == []


def test_between_two_acknowledgements_there_is_time():
    made = bench()
    for packet in texts(BEN, 60):
        made.hear(packet)
        made.pass_time(3 * MINUTE_US)
    times_us = [when_us for when_us, _ in said(made)]
    assert len(times_us) == 6
    assert all(b - a >= EVERY_US for a, b in pairwise(times_us))


def test_what_finds_no_room_comes_next_and_what_waits_longest_goes_first():
    made = bench()
    keys = [key_of(f"friend {number}") for number in range(12)]
    made.follow(*(key.feed_id for key in keys))
    for key in keys:
        hear(made, *texts(key, 1))
    hear(made, texts(keys[0], 2)[1])
    made.pass_time(SPREAD_US)
    assert said(made)[0][1] == tuple(last_of(made, key) for key in keys[:9])
    made.pass_time(EVERY_US)
    assert said(made)[1][1] == tuple(last_of(made, key) for key in keys[9:])
    assert len(said(made)) == 2


def test_who_is_not_followed_and_who_forked_is_not_acknowledged():
    made = bench()
    made.follow(CYD.feed_id)
    hear(made, *texts(BEN, 1), *texts(CYD, 1))
    made.perform(made.node.unfollow(BEN.feed_id, made.now_us))
    hear(made, written(CYD, [b"another first entry"])[0].packet)
    made.pass_time(3 * HOUR_US)
    assert said(made) == []


# Side chains


@pytest.mark.parametrize(("size", "waits"), [(100, True), (1_600, True), (1_700, False)])
def test_a_text_is_acknowledged_when_all_of_it_is_there_and_a_file_does_not_hold_up_what_follows(size, waits):
    made = bench()
    first, long, after = written(BEN, [b"first", b"l" * size, b"after"])
    hear(made, first.packet, long.packet, *long.chunks[:-1], after.packet)
    made.pass_time(2 * HOUR_US)
    assert [ack.seq for ack in said(made)[-1][1]] == [1 if waits else 3]
    hear(made, long.chunks[-1])
    made.pass_time(2 * HOUR_US)
    assert [ack.seq for ack in said(made)[-1][1]] == [3]
    assert len(said(made)) == (2 if waits else 1)


# Starting anew


def test_after_a_restart_nothing_is_said_twice_and_nothing_at_once():
    made = bench()
    hear(made, *texts(BEN, 2))
    made.pass_time(HOUR_US)
    again = bench(store=made.store)
    assert len(said(again)) == 1
    hear(again, texts(BEN, 3)[2])
    for _ in range(5):
        again = Bench(key=ANA, store=made.store, acknowledge_permille=limits.ACK_AIR_PERMILLE)
        again.pass_time(SPREAD_US - 1)
    assert len(said(again)) == 1
    again.pass_time(SPREAD_US)
    assert [ack.seq for _, acks in said(again) for ack in acks] == [2, 3]
    assert len(again.store.receipts()) == 1


def test_what_was_held_before_acknowledging_began_is_acknowledged():
    made = bench(acknowledge_permille=0)
    hear(made, *texts(BEN, 2))
    assert [ack.seq for _, acks in said(bench(store=made.store)) for ack in acks] == [2]


# When nothing may be written


def test_a_feed_that_phones_read_never_has_one():
    made = bench(dialect=Dialect.DEPLOYED)
    hear(made, *texts(BEN, 1))
    made.pass_time(3 * HOUR_US)
    assert said(made) == []


def test_a_node_that_cannot_write_waits_for_nothing():
    made = bench(acknowledge_permille=0)
    hear(made, *texts(BEN, 1))
    full = Bench(key=ANA, store=made.store, read_only=True, acknowledge_permille=limits.ACK_AIR_PERMILLE)
    full.pass_time(HOUR_US)
    assert said(full) == []
    due_us = full.node.next_wake_us()
    assert due_us is not None
    assert due_us > full.now_us


# Airtime


def on_radio(limit_us: int | None, others: int = 0) -> Bench:
    """Ana's node on a radio; so many others than Ben wrote something too. Packets take 0.2 s."""
    law = None if limit_us is None else Allowance(band="band", limit_us=limit_us, window_us=HOUR_US)
    made = Bench(
        key=ANA,
        profile=replace(radio_profile(), allowance=law),
        acknowledge_permille=limits.ACK_AIR_PERMILLE,
    )
    made.follow(BEN.feed_id)
    for number in range(others):
        key = key_of(f"other {number}")
        made.follow(key.feed_id)
        hear(made, *texts(key, 1))
    made.pass_time(3 * HOUR_US)
    return made


@pytest.mark.parametrize(
    ("limit_us", "others", "least_us"),
    [
        (None, 8, EVERY_US),
        (HOUR_US // 10, 8, EVERY_US),
        (HOUR_US // 100, 8, 10 * AIR_PACKET_US * 100 * 10),
        (HOUR_US // 100, 48, 50 * AIR_PACKET_US * 100 * 10),
    ],
)
def test_all_together_take_a_small_share_of_what_the_law_allows(limit_us, others, least_us):
    made = on_radio(limit_us, others)
    before = len(said(made))
    began_us = made.now_us
    for packet in texts(BEN, 12):
        made.hear(packet)
        made.pass_time(HOUR_US)
    acks = said(made)[before:]
    times_us = [when_us for when_us, _ in acks]
    assert all(b - a >= least_us for a, b in pairwise(times_us))
    assert 12 * HOUR_US // max(least_us, HOUR_US) - 2 <= len(acks)
    assert times_us[0] - began_us <= max(SPREAD_US, least_us)


def test_people_come_first_where_airtime_is_short():
    made = on_radio(HOUR_US // 100)
    # Our own news take 24 of the 32 seconds that entries may have in an hour.
    for number in range(120):
        made.publish(bytes((number,)))
    made.pass_time(2 * MINUTE_US)
    hear(made, *texts(BEN, 1))
    made.pass_time(50 * MINUTE_US)
    assert said(made) == []
    made.pass_time(HOUR_US)
    assert len(said(made)) == 1


# A mesh


def mesh(count: int, permille: int, percent: int = 10, seed: int = 1) -> World:
    """Nodes that hear each other and lose a tenth of packets, know each other, and have a law."""
    law = Allowance(band="band", limit_us=HOUR_US * percent // 100, window_us=HOUR_US)
    world = World(
        seed,
        lambda chance: SimulatedMedium(MediumOptions(default_loss=0.1), chance),
        allowance=law,
        acknowledge_permille=permille,
    )
    for number in range(count):
        world.add(f"n{number}")
    world.acquaint()
    world.run_for(20 * MINUTE_US)
    return world


def acknowledgements(world: World) -> int:
    return sum(
        event.type == ACK_TYPE and event.origin is Origin.OWN
        for each in world.inhabitants.values()
        for event in each.events
        if isinstance(event, EntryAppended)
    )


def holders(world: World, name: str, seq: int) -> set[object]:
    own = world.inhabitants[name]
    return {
        receipt.holder
        for receipt in own.store.receipts()
        if receipt.feed == own.feed and receipt.seq >= seq and receipt.holder is not None
    }


@pytest.mark.parametrize("seed", [1, 2])
def test_ten_nodes_prove_to_each_other_what_they_hold_and_fall_silent(seed):
    world = mesh(10, limits.ACK_AIR_PERMILLE, seed=seed)
    before = world.airtime_us
    world.inject("n0", b"who has this?")
    assert world.run(lambda: len(holders(world, "n0", 1)) == 9, HOUR_US)
    # Nine acknowledgements, each given a few times: far from what the law allows ten nodes.
    assert acknowledgements(world) == 9
    world.run_for(2 * HOUR_US)
    assert acknowledgements(world) == 9
    assert world.agreed()
    silent = mesh(10, 0, seed=seed)
    start = silent.airtime_us
    silent.inject("n0", b"who has this?")
    silent.run_for(world.now_us - silent.now_us)
    # Measured: 12 to 14 s of 10,800 for ten nodes.
    assert (world.airtime_us - before) - (silent.airtime_us - start) <= 20_000_000


def test_a_busy_mesh_spends_less_than_it_may_on_acknowledgements():
    world = mesh(10, limits.ACK_AIR_PERMILLE, percent=1)
    for number in range(20):
        world.inject(f"n{number % 10}", f"message {number}".encode())
        world.run_for(6 * MINUTE_US)
    # Two hours: each may every half hour, and 34 minutes by the law.
    assert acknowledgements(world) <= 10 * 4
    assert len(holders(world, "n0", 1)) == 9
