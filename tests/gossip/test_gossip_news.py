"""The conversation of a node: adverts of sets, what it asks for, what it passes on from face to face."""

import pytest

from tests.nodes import (
    AIR_PACKET_US,
    FACE,
    OTHER,
    Bench,
    feed_of,
    key_of,
    packets_of,
    radio_profile,
    written,
)
from tests.words import ANA, chnk, claim, feeds_packet, holding, novelty, want
from tinyssb_node import limits
from tinyssb_node.codec.events import ClaimSeen, EntryAppended, FeedsSeen, NoveltySeen, SetChanged, WantSeen
from tinyssb_node.codec.packets import parse_chnk, parse_claim, parse_sketch, parse_want
from tinyssb_node.ids import Direction, FaceName, PacketKind
from tinyssb_node.replication.claim import claim_of
from tinyssb_node.scheduling.link import LinkProfile, lan_profile, stream_profile

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
BEN = key_of("ben")
FEED = written(ANA, [b"entry %d" % number for number in range(1, 41)])


def test_a_claim_teaches_its_bounds_and_asks_for_the_rest() -> None:
    bench = Bench()
    feeds = sorted(feed_of(number) for number in range(10))
    bench.hear(claim(claim_of(feeds)))
    assert [record.feed for record in bench.node.feeds()] == [feeds[0], feeds[9]]
    assert parse_claim(bench.take(PacketKind.CLAIM)[0]) == claim_of([feeds[0], feeds[9]])
    assert [event.direction for event in bench.seen(ClaimSeen)] == [Direction.RX, Direction.TX]


def test_a_claim_is_answered_once_a_hold() -> None:
    bench = Bench()
    feeds = sorted(feed_of(number) for number in range(10))
    for _ in range(5):
        bench.hear(claim(claim_of(feeds)))
    assert len(bench.take(PacketKind.CLAIM)) == 1


@pytest.mark.parametrize("profile", [stream_profile(), radio_profile()])
def test_who_claims_and_lacks_one_id_is_told_it_once(profile: LinkProfile) -> None:
    feeds = sorted(feed_of(number) for number in range(3))
    bench = Bench(profile=profile)
    bench.follow(*feeds)
    bench.pass_time(MINUTE_US)
    bench.take()
    for _ in range(3):
        bench.hear(claim(claim_of([feeds[0], feeds[2]])))
    bench.pass_time(profile.advert_min_us)
    assert bench.take().count(claim(claim_of([feeds[1]]))) == 1


def test_a_new_id_is_told_on_the_other_faces() -> None:
    bench = Bench()
    bench.up(OTHER, stream_profile())
    bench.pass_time(0)
    # A face begins with a DIFF.
    assert [(send.face, send.kind) for send in bench.outgoing] == [
        (FACE, PacketKind.DIFF),
        (OTHER, PacketKind.DIFF),
    ]
    bench.take()
    bench.hear(novelty(feed_of(1)))
    bench.up(FaceName("air"), radio_profile())
    bench.hear(claim(claim_of([feed_of(2)])))
    bench.pass_time(10 * AIR_PACKET_US)
    told = [(send.face, send.packet) for send in bench.outgoing]
    assert bench.outgoing[0].packet == claim(claim_of([feed_of(1)]))
    assert (OTHER, claim(claim_of([feed_of(2)]))) in told
    assert (FaceName("air"), feeds_packet(feed_of(2))) in told
    assert {send.face for send in bench.outgoing if send.kind is PacketKind.FEEDS} == {FaceName("air")}
    assert [event.face for event in bench.seen(SetChanged)] == [FACE, FACE]
    assert [event.feed for event in bench.seen(NoveltySeen)] == [feed_of(1)]
    assert [(event.direction, event.count) for event in bench.seen(FeedsSeen)] == [(Direction.TX, 1)]


def test_while_all_agree_adverts_become_rare() -> None:
    bench = Bench()
    feeds = sorted(feed_of(number) for number in range(4))
    bench.follow(*feeds)
    bench.pass_time(5 * MINUTE_US)
    bench.take()
    bench.pass_time(5 * MINUTE_US)
    alone = len(bench.take(PacketKind.CLAIM))
    assert alone <= 5 * MINUTE_US // stream_profile().advert_max_us + 1

    def agree() -> None:
        bench.hear(claim(claim_of(feeds)))

    bench.pass_time(5 * MINUTE_US, agree)
    assert len(bench.take(PacketKind.CLAIM)) < alone / 2


def test_two_full_sets_that_differ_leave_each_other_alone() -> None:
    bench = Bench()
    for number in range(limits.SET_MAX):
        bench.hear(novelty(feed_of(number)))
    theirs = claim_of(sorted(feed_of(number) for number in range(1_000, 1_000 + limits.SET_MAX)))
    bench.pass_time(5 * MINUTE_US)
    bench.take()
    bench.pass_time(5 * MINUTE_US, lambda: bench.hear(claim(theirs)))
    assert len(bench.take(PacketKind.CLAIM)) <= 5 * MINUTE_US // stream_profile().advert_max_us + 1


# --- asking


def test_on_the_air_nobody_begins_with_a_claim() -> None:
    bench = Bench(key=ANA, profile=radio_profile())
    bench.pass_time(MINUTE_US)
    bench.follow(feed_of(1))
    bench.pass_time(MINUTE_US)
    kinds = {send.kind for send in bench.outgoing}
    assert PacketKind.SKETCH in kinds
    assert not kinds & {PacketKind.CLAIM, PacketKind.NOVELTY}
    sketches = [parse_sketch(packet) for packet in bench.take(PacketKind.SKETCH)]
    assert {sketch.count for sketch in sketches} == {1, 2}


def test_elsewhere_a_set_of_one_is_told_by_claim() -> None:
    bench = Bench(key=ANA)
    bench.pass_time(MINUTE_US)
    assert {parse_claim(packet) for packet in bench.take(PacketKind.CLAIM)} == {claim_of([ANA.feed_id])}
    assert bench.seen(NoveltySeen) == []


def test_unfollowed_feeds_are_asked_for_with_zero() -> None:
    bench = holding(FEED)
    bench.follow(BEN.feed_id)
    bench.perform(bench.node.unfollow(ANA.feed_id, 0))
    bench.take()
    bench.pass_time(MINUTE_US)
    asked = parse_want(bench.take(PacketKind.WANT)[-1])
    feeds = [record.feed for record in bench.node.feeds()]
    said = {feeds[(asked.offset + number) % 2]: seq for number, seq in enumerate(asked.seqs)}
    assert said == {ANA.feed_id: 0, BEN.feed_id: 1}


def test_open_side_chains_are_asked_for() -> None:
    feed = written(ANA, [b"l" * 300])
    bench = holding(())
    bench.hear(feed[0].packet)
    bench.hear(feed[0].chunks[0])
    assert bench.node.side_chains_open() == 1
    bench.pass_time(MINUTE_US)
    assert parse_chnk(bench.take(PacketKind.CHNK)[-1]).wanted == ((0, 1, 1),)
    for packet in feed[0].chunks[1:]:
        bench.hear(packet)
    bench.take()
    bench.pass_time(MINUTE_US)
    assert bench.take(PacketKind.CHNK) == []


def test_on_a_stream_more_is_asked_for_before_the_timer_does() -> None:
    bench = holding(())
    for entry in FEED[:3]:
        bench.hear(entry.packet)
    asked = parse_want(bench.take(PacketKind.WANT)[0])
    assert asked.seqs == (4,)
    feed = written(BEN, [bytes(range(256)) * 4])
    bench.follow(BEN.feed_id)
    for packet in packets_of(feed)[:4]:
        bench.hear(packet)
    index = [record.feed for record in bench.node.feeds()].index(BEN.feed_id)
    assert parse_chnk(bench.take(PacketKind.CHNK)[0]).wanted == ((index, 1, 3),)


def test_who_knows_more_makes_us_ask_soon() -> None:
    bench = holding(FEED[:3])
    bench.pass_time(5 * MINUTE_US)
    bench.take()
    bench.hear(want(bench, ana=20))
    bench.pass_time(stream_profile().advert_min_us)
    assert parse_want(bench.take(PacketKind.WANT)[0]).seqs == (4,)


def test_who_says_what_we_would_say_spares_us_saying_it() -> None:
    bench = holding(FEED[:3])
    bench.pass_time(5 * MINUTE_US)
    bench.take()
    bench.pass_time(5 * MINUTE_US)
    alone = len(bench.take(PacketKind.WANT))
    bench.pass_time(5 * MINUTE_US, lambda: bench.hear(want(bench, ana=4)))
    assert len(bench.take(PacketKind.WANT)) < alone / 2


# --- from face to face


def test_a_peer_that_waits_for_just_that_entry_is_given_it_at_once() -> None:
    bench = holding(FEED[:3])
    bench.up(OTHER, stream_profile())
    bench.hear(want(bench, ana=4), OTHER)
    bench.take()
    bench.hear(FEED[3].packet)
    bench.hear(FEED[4].packet)
    assert bench.take(face=OTHER) == [FEED[3].packet, FEED[4].packet]


def test_chunks_follow_to_a_peer_that_waits_for_them() -> None:
    feed = written(ANA, [b"l" * 300])
    bench = holding(())
    bench.up(OTHER, stream_profile())
    bench.hear(want(bench, ana=1), OTHER)
    bench.hear(feed[0].packet)
    bench.hear(chnk(bench, (ANA.feed_id, 1, 0)), OTHER)
    bench.take()
    for packet in feed[0].chunks:
        bench.hear(packet)
    assert bench.take(PacketKind.CHUNK, OTHER) == list(feed[0].chunks)


def test_a_peer_that_did_not_ask_hears_of_it_by_advert() -> None:
    bench = holding(FEED[:3])
    bench.up(OTHER, stream_profile())
    bench.pass_time(5 * MINUTE_US)
    bench.take()
    bench.hear(FEED[3].packet)
    assert bench.take(face=OTHER) == []
    bench.pass_time(stream_profile().advert_min_us)
    assert parse_want(bench.take(PacketKind.WANT, OTHER)[0]).seqs == (5,)


def test_on_the_air_news_are_told_by_advert() -> None:
    bench = holding(FEED[:3])
    bench.up(OTHER, radio_profile())
    bench.hear(want(bench, ana=4), OTHER)
    bench.pass_time(20 * MINUTE_US)
    bench.take()
    bench.hear(FEED[3].packet)
    # Nobody in reach is known to have more: the advert waits for long.
    bench.pass_time(160 * AIR_PACKET_US)
    assert bench.take(PacketKind.ENTRY, OTHER) == []
    assert [event.seqs for event in bench.seen(WantSeen) if event.face == OTHER][-1] == (5,)


def test_what_was_published_goes_out_at_once_on_every_face() -> None:
    bench = Bench(key=ANA)
    bench.up(OTHER, lan_profile())
    bench.pass_time(0)
    bench.take()
    bench.publish(b"l" * 250)
    entry = bench.store.entry(ANA.feed_id, 1)
    assert entry is not None
    packets = [entry.packet, *bench.store.chunks(ANA.feed_id, 1, 0, 10)]
    bench.pass_time(SECOND_US // 100)
    sent = {face: [send.packet for send in bench.outgoing if send.face == face] for face in (FACE, OTHER)}
    assert sent == {FACE: packets, OTHER: packets}


def test_a_long_side_chain_is_pushed_in_part() -> None:
    bench = Bench(key=ANA)
    bench.take()
    bench.publish(bytes(5_000))
    assert len(bench.take(PacketKind.CHUNK)) <= limits.PUSH_CHUNKS_MAX
    first = bench.seen(EntryAppended)[0]
    assert first.chunks > limits.PUSH_CHUNKS_MAX


def test_on_the_air_one_packet_goes_at_a_time() -> None:
    bench = Bench(key=ANA, profile=radio_profile())
    bench.reports_sent = False
    bench.publish(b"l" * 250)
    bench.pass_time(5 * AIR_PACKET_US)
    assert len(bench.take()) == 1
    bench.pass_time(MINUTE_US)
    assert bench.take() == []
    bench.perform(bench.node.sent(FACE, 1, bench.now_us))
    bench.pass_time(2 * AIR_PACKET_US)
    assert len(bench.take()) == 1


def test_a_face_that_went_is_spoken_to_no_more() -> None:
    bench = holding(FEED, radio_profile())
    bench.hear(want(bench, ana=1))
    bench.perform(bench.node.face_down(FACE, "unplugged", bench.now_us))
    assert bench.node.next_wake_us() is None
    assert bench.hear(FEED[0].packet) == []
    assert bench.node.wake(MINUTE_US) == []
    assert bench.node.sent(FACE, 1, MINUTE_US) == []
    assert bench.node.face_down(FaceName("never there"), "?", 0) == []
    bench.up(FACE, radio_profile())
    assert bench.node.faces()[0].queued == 0
