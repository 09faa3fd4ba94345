"""Blocked feeds: asked for with 0, not stored whoever brings them, whatever is followed; and back again."""

from tests.nodes import FACE, OTHER, Bench, feed_of, key_of, packets_of, written
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.packets import Novelty, parse_chnk, parse_want, serialize_novelty
from tinyssb_node.ids import FeedId, PacketKind, blocked_short
from tinyssb_node.scheduling.link import stream_profile

ANA, BEN, EVE = key_of("ana"), key_of("ben"), key_of("eve")
SECOND_US = 1_000_000
FEED = written(EVE, [b"1", b"2", b"t" * 300, b"4"])


def block(bench: Bench, *feeds: FeedId) -> None:
    bench.perform(bench.node.block({blocked_short(feed) for feed in feeds}, bench.now_us))


def wanted(bench: Bench) -> dict[FeedId, int]:
    """Return the entries that the node's latest WANT requests."""
    bench.outgoing.clear()
    bench.pass_time(120 * SECOND_US)
    (*_, packet) = (send.packet for send in bench.outgoing if send.kind is PacketKind.WANT)
    feeds = sorted(record.feed for record in bench.node.feeds() if not record.retired)
    want = parse_want(packet)
    return {feeds[(want.offset + number) % len(feeds)]: seq for number, seq in enumerate(want.seqs)}


def chunks_wanted(bench: Bench) -> int:
    """How many side chains the node asked for."""
    bench.outgoing.clear()
    bench.pass_time(120 * SECOND_US)
    return sum(len(parse_chnk(send.packet).wanted) for send in bench.outgoing if send.kind is PacketKind.CHNK)


def held(bench: Bench) -> int:
    return max((entry.seq for entry in bench.store.entries(EVE.feed_id, 1, 10)), default=0)


def test_it_asks_with_0_and_takes_nothing_more_and_keeps_what_it_has() -> None:
    bench = Bench(key=ANA)
    bench.up(OTHER, stream_profile())
    bench.follow(EVE.feed_id, BEN.feed_id)
    bench.hear(FEED[0].packet)
    assert wanted(bench) == {ANA.feed_id: 1, BEN.feed_id: 1, EVE.feed_id: 2}
    block(bench, EVE.feed_id)
    assert wanted(bench) == {ANA.feed_id: 1, BEN.feed_id: 1, EVE.feed_id: 0}, "and of no other"
    for face in (FACE, OTHER):
        bench.hear(FEED[1].packet, face)
    bench.perform(bench.node.import_packet(FEED[1].packet, bench.now_us)[1])
    assert held(bench) == 1
    assert bench.node.is_blocked(EVE.feed_id)


def test_one_that_is_not_known_yet_is_blocked_when_it_comes() -> None:
    bench = Bench(key=ANA)
    block(bench, EVE.feed_id)
    bench.hear(FEED[0].packet)
    bench.hear(serialize_novelty(Network().goset_dmx, Novelty(EVE.feed_id)))
    assert EVE.feed_id in {record.feed for record in bench.node.feeds()}, "neighbours must have the same set"
    bench.hear(FEED[0].packet)
    assert held(bench) == 0, "not even what came before"
    assert wanted(bench)[EVE.feed_id] == 0


def test_to_follow_it_does_not_help() -> None:
    bench = Bench(key=ANA)
    block(bench, EVE.feed_id)
    bench.follow(EVE.feed_id)
    bench.hear(FEED[0].packet)
    assert (held(bench), wanted(bench)[EVE.feed_id]) == (0, 0)


def test_its_side_chains_are_not_asked_for() -> None:
    bench = Bench(key=ANA)
    bench.follow(EVE.feed_id)
    for entry in FEED[:3]:
        bench.hear(entry.packet)
    assert chunks_wanted(bench) > 0
    block(bench, EVE.feed_id)
    assert chunks_wanted(bench) == 0
    bench.hear(FEED[2].chunks[0])
    assert bench.store.chunks(EVE.feed_id, 3, 0, 9) == []
    block(bench)
    assert chunks_wanted(bench) > 0


def test_once_it_is_not_blocked_any_more_all_of_it_comes() -> None:
    bench = Bench(key=ANA)
    bench.follow(EVE.feed_id)
    block(bench, EVE.feed_id, feed_of(1))
    for packet in packets_of(FEED):
        bench.hear(packet)
    block(bench, feed_of(1))
    assert wanted(bench)[EVE.feed_id] == 1
    for packet in packets_of(FEED):
        bench.hear(packet)
    assert held(bench) == 4


def test_what_a_gateway_brings_of_it_is_not_put_aside_either() -> None:
    bench = Bench(key=ANA)
    block(bench, EVE.feed_id)
    brought, effects = bench.node.bring(EVE.feed_id, packets_of(FEED), bench.now_us)
    bench.perform(effects)
    assert (brought.shelved, brought.refused) == (False, (0, "not wanted"))


def test_our_own_feed_is_never_blocked() -> None:
    bench = Bench(key=ANA)
    block(bench, ANA.feed_id)
    bench.publish(b"one")
    assert not bench.node.is_blocked(ANA.feed_id)
    assert bench.store.entry(ANA.feed_id, 1) is not None


def test_what_is_held_of_it_is_given_to_others() -> None:
    bench = Bench(key=ANA)
    bench.follow(EVE.feed_id)
    bench.hear(FEED[0].packet)
    block(bench, EVE.feed_id)
    other = Bench(key=BEN)
    other.follow(ANA.feed_id, EVE.feed_id)
    bench.follow(BEN.feed_id)
    other.pass_time(60 * SECOND_US)
    bench.outgoing.clear()
    for send in other.outgoing:
        bench.hear(send.packet)
    bench.pass_time(SECOND_US)
    assert FEED[0].packet in [send.packet for send in bench.outgoing]


def test_nothing_changes_and_nothing_is_said_when_it_was_so_before() -> None:
    bench = Bench(key=ANA)
    bench.follow(EVE.feed_id)
    shorts = {blocked_short(EVE.feed_id)}
    bench.perform(bench.node.block(shorts, bench.now_us))
    assert bench.node.block(shorts, bench.now_us) == []
