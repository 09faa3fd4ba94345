"""The conversation of a node: what it answers and when, what it does not say twice, what it passes on."""

import pytest

from tests.nodes import (
    AIR_PACKET_US,
    FACE,
    Bench,
    feed_of,
    key_of,
    packets_of,
    radio_profile,
    written,
)
from tests.words import ANA, NETWORK, chnk, holding, novelty, want
from tinyssb_node import limits
from tinyssb_node.codec.dmx import want_dmx
from tinyssb_node.codec.events import ChnkSeen, WantSeen
from tinyssb_node.codec.packets import Want, serialize_want
from tinyssb_node.ids import Dialect, Direction, PacketKind, Verdict
from tinyssb_node.scheduling.link import LinkProfile, lan_profile, stream_profile
from tinyssb_node.sim.world import World

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
BEN = key_of("ben")
FEED = written(ANA, [b"entry %d" % number for number in range(1, 41)])


# --- WANT


def test_who_asks_gets_the_next_few_entries() -> None:
    bench = holding(FEED)
    bench.hear(want(bench, ana=3))
    assert bench.take() == [entry.packet for entry in FEED[2:7]]
    assert bench.seen(WantSeen)[-1] == WantSeen(
        direction=Direction.RX, face=FACE, state=ANA.feed_id, offset_index=0, seqs=(3,)
    )


def test_answers_grow_while_the_asker_takes_them() -> None:
    bench = holding(FEED)
    given = []
    for seq in (1, 6, 16, 36):
        bench.hear(want(bench, ana=seq))
        given.append(len(bench.take()))
    assert given == [5, 10, 20, 5]


def test_the_same_want_within_the_hold_is_not_answered_twice() -> None:
    bench = holding(FEED[:3])
    packet = want(bench, ana=1)
    assert bench.verdict_of(packet).verdict is Verdict.NEW
    assert len(bench.take()) == 3
    assert bench.verdict_of(packet).verdict is Verdict.DUPLICATE
    assert bench.take() == []
    bench.now_us += stream_profile().hold_us
    assert bench.verdict_of(packet).verdict is Verdict.NEW
    assert len(bench.take()) == 3


def test_nobody_is_given_what_we_lack() -> None:
    bench = holding(FEED[:3])
    bench.hear(want(bench, ana=4))
    bench.hear(want(bench, ana=limits.SEQ_MAX))
    assert [packet for packet in bench.take() if len(packet) == limits.PACKET_SIZE] == []


def test_an_answer_is_spread_over_feeds() -> None:
    bench = holding(FEED)
    others = written(BEN, [b"one", b"two", b"three", b"four"])
    bench.follow(BEN.feed_id)
    for packet in packets_of(others):
        bench.perform(bench.node.import_packet(packet, 0)[1])
    bench.take()
    bench.hear(want(bench, ana=1, ben=3))
    assert sorted(bench.take()) == sorted(entry.packet for entry in (*FEED[:3], *others[2:]))


def test_feeds_that_an_asker_cannot_use_do_not_keep_others_from_it() -> None:
    """Peers that read another dialect only, or hold another branch of a fork, request the same entry for ever."""
    names = [f"author {number}" for number in range(20)]
    bench = Bench()
    bench.follow(*(key_of(name).feed_id for name in names))
    for name in names:
        bench.perform(bench.node.import_packet(written(key_of(name), [b"first"])[0].packet, 0)[1])
    packet = want(bench, **dict.fromkeys(names, 1))
    given = set()
    for _ in range(20):
        bench.hear(packet)
        given.update(bench.take(PacketKind.ENTRY))
        bench.now_us += stream_profile().hold_us
    assert len(given) == len(names)


def test_an_unfollowed_feed_is_still_served() -> None:
    bench = holding(FEED)
    bench.perform(bench.node.unfollow(ANA.feed_id, 0))
    bench.hear(want(bench, ana=1))
    assert len(bench.take(PacketKind.ENTRY)) == 5


def test_a_read_only_node_still_serves() -> None:
    store = holding(FEED).store
    bench = Bench(store=store, read_only=True)
    bench.hear(want(bench, ana=1))
    assert len(bench.take()) == 5
    bench.hear(novelty(feed_of(1)))
    assert len(bench.node.feeds()) == 1


def test_numbers_that_boards_write_in_one_unsigned_byte_are_read() -> None:
    feed = written(ANA, [b"%d" % number for number in range(1, 205)])
    bench = holding(feed)
    as_boards_write = bytes((0x24, 0x0A, 0, 0x0A, 200))
    bench.hear(want_dmx(NETWORK, bench.node.set_state) + as_boards_write)
    assert bench.take() == [entry.packet for entry in feed[199:]]


def test_a_padded_want_is_read() -> None:
    bench = holding(FEED)
    bench.hear(want(bench, ana=1).ljust(limits.PACKET_SIZE, b"\x00"))
    assert len(bench.take()) == 5


def test_a_want_of_another_set_is_not_ours() -> None:
    bench = holding(FEED)
    packet = serialize_want(want_dmx(NETWORK, feed_of(7)), Want(offset=0, seqs=(1,)))
    received = bench.verdict_of(packet)
    assert (received.verdict, received.packet) == (Verdict.NOT_OURS, PacketKind.UNKNOWN)
    assert bench.take() == []


def test_a_want_to_a_node_with_an_empty_set_does_nothing() -> None:
    bench = Bench()
    bench.hear(serialize_want(want_dmx(NETWORK, bytes(32)), Want(offset=0, seqs=(1,))))
    bench.pass_time(MINUTE_US)
    # A face begins with a DIFF.
    assert [send.kind for send in bench.outgoing] == [PacketKind.DIFF]
    assert bench.seen(WantSeen) == []


def test_who_is_far_behind_is_served_while_news_are_pushed_every_second() -> None:
    world = World(8)
    world.add("old")
    world.add("new")
    for post in range(2_000):
        world.inject("old", post.to_bytes(4, "big"))
    feed = world.inhabitants["old"].feed

    def post_on() -> None:
        world.inject("old", b"more")
        world.later(SECOND_US, post_on)

    world.later(0, post_on)
    world.connect("old", "new")

    def caught_up() -> bool:
        return any(
            record.feed == feed and record.seq > 2_000 for record in world.inhabitants["new"].node.feeds()
        )

    assert world.run(caught_up, 10 * SECOND_US)


# --- shared media: waiting, overhearing


@pytest.mark.parametrize("profile", [radio_profile(), lan_profile()])
def test_an_answer_that_somebody_else_gives_is_not_given(profile: LinkProfile) -> None:
    bench = holding(FEED[:2], profile)
    bench.pass_time(MINUTE_US)
    bench.take()
    bench.hear(want(bench, ana=1))
    assert bench.take() == []
    for entry in FEED[:2]:
        assert bench.verdict_of(entry.packet).verdict is Verdict.DUPLICATE
    bench.pass_time(MINUTE_US)
    assert bench.take(PacketKind.ENTRY) == []


def test_an_answer_that_nobody_else_gives_is_given_after_a_while() -> None:
    feed = written(ANA, [b"1", b"2"], Dialect.DEPLOYED)
    bench = holding(feed, radio_profile())
    bench.pass_time(MINUTE_US)
    bench.take()
    bench.hear(want(bench, ana=1))
    bench.pass_time(radio_profile().answer_delay_us + 10 * AIR_PACKET_US)
    assert bench.take(PacketKind.ENTRY) == [entry.packet for entry in feed]


def test_who_names_nobody_and_may_not_read_a_feed_is_given_more_once_it_took_the_first_entry() -> None:
    bench = holding(FEED[:3], radio_profile())
    bench.pass_time(MINUTE_US)
    bench.take()
    for wanted, given in ((1, FEED[:1]), (2, FEED[1:3])):
        bench.hear(want(bench, ana=wanted))
        bench.pass_time(radio_profile().answer_delay_us + 10 * AIR_PACKET_US)
        assert bench.take(PacketKind.ENTRY) == [entry.packet for entry in given]


def test_what_was_overheard_just_now_is_not_given_to_who_asks_late() -> None:
    bench = holding(FEED[:8], lan_profile())
    for entry in FEED[:4]:
        bench.hear(entry.packet)
    bench.hear(want(bench, ana=1))
    bench.pass_time(SECOND_US)
    assert bench.take(PacketKind.ENTRY) == [entry.packet for entry in FEED[4:8]]


def test_chunks_overheard_just_now_are_not_given_either() -> None:
    feed = written(ANA, [b"l" * 28 + b"".join(bytes((65 + part,)) * 100 for part in range(4))])
    bench = holding(feed, lan_profile())
    for packet in feed[0].chunks[:2]:
        assert bench.verdict_of(packet).verdict is Verdict.DUPLICATE
    bench.hear(chnk(bench, (ANA.feed_id, 1, 0)))
    bench.pass_time(SECOND_US)
    assert bench.take(PacketKind.CHUNK) == list(feed[0].chunks[2:])


# --- CHNK


def test_who_asks_for_chunks_gets_the_next_few() -> None:
    feed = written(ANA, [bytes(range(256)) * 20])
    bench = holding(feed)
    bench.hear(chnk(bench, (ANA.feed_id, 1, 10)))
    assert bench.take() == list(feed[0].chunks[10:15])
    assert bench.seen(ChnkSeen)[-1].chunks_wanted == ((0, 1, 10),)
    bench.hear(chnk(bench, (ANA.feed_id, 1, 10)))
    assert bench.take() == list(feed[0].chunks[15:20])


def test_chunks_are_spread_over_side_chains_within_the_credit() -> None:
    feed = written(ANA, [bytes((number,)) * 500 for number in range(10)])
    bench = holding(feed)
    bench.hear(chnk(bench, *((ANA.feed_id, seq, 0) for seq in range(1, 11))))
    assert bench.take() == [entry.chunks[0] for entry in feed[:5]]


def test_chunks_that_nobody_can_have_are_not_given() -> None:
    bench = holding(FEED)
    bench.hear(chnk(bench, (ANA.feed_id, 1, 0), (ANA.feed_id, 99, 3), (ANA.feed_id, limits.SEQ_MAX, 7)))
    assert bench.take() == []
