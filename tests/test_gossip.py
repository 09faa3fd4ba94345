"""The conversation of a node: what it answers and when, what it does not say twice, what it passes on."""

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
from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network, chnk_dmx, want_dmx
from tinyssb_node.codec.packets import (
    Chnk,
    Claim,
    Novelty,
    Want,
    parse_chnk,
    parse_claim,
    parse_want,
    serialize_chnk,
    serialize_claim,
    serialize_novelty,
    serialize_want,
)
from tinyssb_node.events import ChnkSeen, ClaimSeen, EntryAppended, NoveltySeen, SetChanged, WantSeen
from tinyssb_node.feeds.author import Composed
from tinyssb_node.ids import Direction, FaceName, FeedId, PacketKind, Verdict
from tinyssb_node.replication.claim import claim_of
from tinyssb_node.scheduling.link import LinkProfile, lan_profile, stream_profile
from tinyssb_node.sim.world import World

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
NETWORK = Network()
ANA = key_of("ana")
BEN = key_of("ben")
FEED = written(ANA, [b"entry %d" % number for number in range(1, 41)])


def want(bench: Bench, **seqs: int) -> bytes:
    """A WANT that asks for the feeds of these names from these numbers on."""
    wanted = {key_of(name).feed_id: seq for name, seq in seqs.items()}
    numbers = tuple(wanted.get(record.feed, 0) for record in bench.node.feeds())
    return serialize_want(want_dmx(NETWORK, bench.node.set_state), Want(offset=0, seqs=numbers))


def chnk(bench: Bench, *wanted: tuple[FeedId, int, int]) -> bytes:
    feeds = [record.feed for record in bench.node.feeds()]
    triples = tuple((feeds.index(feed), seq, chunk) for feed, seq, chunk in wanted)
    return serialize_chnk(chnk_dmx(NETWORK, bench.node.set_state), Chnk(wanted=triples))


def claim(said: Claim) -> bytes:
    return serialize_claim(NETWORK.goset_dmx, said)


def novelty(feed: FeedId) -> bytes:
    return serialize_novelty(NETWORK.goset_dmx, Novelty(feed=feed))


def holding(feed: tuple[Composed, ...], profile: LinkProfile | None = None) -> Bench:
    """A node that holds a feed of Ana's."""
    bench = Bench(profile=profile)
    bench.follow(ANA.feed_id)
    for packet in packets_of(feed):
        bench.perform(bench.node.import_packet(packet, bench.now_us)[1])
    bench.take()
    return bench


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
    """Who reads another dialect only, or holds another branch of a fork, asks for the same entry for ever."""
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
    assert bench.take() == []
    assert bench.seen(WantSeen) == []


def test_who_is_far_behind_is_served_while_news_are_pushed_every_second() -> None:
    world = World(8)
    world.add("old")
    world.add("new")
    for post in range(2_000):
        world.publish("old", post.to_bytes(4, "big"))
    feed = world.inhabitants["old"].feed

    def post_on() -> None:
        world.publish("old", b"more")
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
    bench = holding(FEED[:2], radio_profile())
    bench.pass_time(MINUTE_US)
    bench.take()
    bench.hear(want(bench, ana=1))
    bench.pass_time(radio_profile().answer_delay_us + 10 * AIR_PACKET_US)
    assert bench.take(PacketKind.ENTRY) == [entry.packet for entry in FEED[:2]]


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


# --- CLAIM and NOVELTY


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


@pytest.mark.parametrize(
    ("profile", "size"), [(stream_profile(), limits.CLAIM_SIZE), (radio_profile(), limits.NOVELTY_SIZE)]
)
def test_who_lacks_one_id_is_told_it_once(profile: LinkProfile, size: int) -> None:
    feeds = sorted(feed_of(number) for number in range(3))
    bench = Bench(profile=profile)
    bench.follow(*feeds)
    bench.pass_time(MINUTE_US)
    bench.take()
    for _ in range(3):
        bench.hear(claim(claim_of([feeds[0], feeds[2]])))
    bench.pass_time(profile.advert_min_us)
    assert [len(packet) for packet in bench.take() if packet[8:40] == feeds[1]] == [size]


def test_a_new_id_is_told_on_the_other_faces() -> None:
    bench = Bench()
    bench.up(OTHER, stream_profile())
    bench.hear(novelty(feed_of(1)))
    bench.up(FaceName("air"), radio_profile())
    bench.hear(claim(claim_of([feed_of(2)])))
    bench.pass_time(radio_profile().answer_delay_us)
    told = [(send.face, send.packet) for send in bench.outgoing]
    assert bench.outgoing[0].packet == claim(claim_of([feed_of(1)]))
    assert (OTHER, claim(claim_of([feed_of(2)]))) in told
    assert (FaceName("air"), novelty(feed_of(2))) in told
    assert FACE not in {send.face for send in bench.outgoing if len(send.packet) == limits.NOVELTY_SIZE}
    assert [event.face for event in bench.seen(SetChanged)] == [FACE, FACE]
    assert [(event.direction, event.feed) for event in bench.seen(NoveltySeen)] == [
        (Direction.RX, feed_of(1)),
        (Direction.TX, feed_of(2)),
    ]


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


def test_on_the_air_a_set_of_one_is_told_by_novelty_a_larger_one_by_claim() -> None:
    bench = Bench(key=ANA, profile=radio_profile())
    bench.pass_time(MINUTE_US)
    sent = bench.take()
    assert novelty(ANA.feed_id) in sent
    assert not [packet for packet in sent if len(packet) == limits.CLAIM_SIZE]
    bench.follow(feed_of(1))
    bench.pass_time(MINUTE_US)
    claims = bench.take(PacketKind.CLAIM)
    assert parse_claim(claims[0]) == claim_of(sorted((ANA.feed_id, feed_of(1))))


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
    bench.pass_time(radio_profile().advert_min_us + 3 * AIR_PACKET_US)
    assert bench.take(PacketKind.ENTRY, OTHER) == []
    assert [event.seqs for event in bench.seen(WantSeen) if event.face == OTHER][-1] == (5,)


def test_what_was_published_goes_out_at_once_on_every_face() -> None:
    bench = Bench(key=ANA)
    bench.up(OTHER, lan_profile())
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
