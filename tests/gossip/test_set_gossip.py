"""Gossip about sets, on the air and on wires: the packets that a node sends, and its replies to those of others."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.nodes import AIR_PACKET_US, FACE, Bench, feed_of, radio_profile
from tests.words import NETWORK, ask, claim, feeds_packet, novelty, sketch_of, want
from tinyssb_node import limits
from tinyssb_node.codec.events import (
    AskSeen,
    FeedsSeen,
    NoveltySeen,
    PacketReceived,
    SetChanged,
    SketchSeen,
)
from tinyssb_node.codec.packets import (
    ASK_KIND,
    FEEDS_KIND,
    SKETCH_KIND,
    Claim,
    Ping,
    parse_ask,
    parse_claim,
    parse_feeds,
    parse_sketch,
    serialize_diff,
    serialize_ping,
)
from tinyssb_node.errors import PeerError
from tinyssb_node.ids import Direction, FeedId, PacketKind, Verdict
from tinyssb_node.replication import limits as set_limits
from tinyssb_node.replication.claim import claim_of
from tinyssb_node.replication.frontiers import Frontiers
from tinyssb_node.replication.salted import short_id
from tinyssb_node.scheduling.link import LinkProfile, lan_profile, stream_profile

AIR = radio_profile()
SALT = b"salt"
CAPACITY = limits.SKETCH_CAPACITY
IDS = sorted(feed_of(number) for number in range(40))
SILENCE_US = 20 * AIR_PACKET_US
"""Longer than anybody waits to speak."""
LONG_US = 20 * AIR.advert_max_us
SET_KINDS = {PacketKind.SKETCH, PacketKind.ASK, PacketKind.FEEDS}


def knowing(*feeds: FeedId, profile: LinkProfile = AIR) -> Bench:
    """A node that has had these ids for long, and has nothing to say for a while."""
    bench = Bench(profile=profile)
    bench.follow(*feeds)
    bench.pass_time(LONG_US)
    bench.take()
    return bench


def set_of(bench: Bench) -> list[FeedId]:
    return [record.feed for record in bench.node.feeds()]


def sums(packet: bytes) -> int:
    """The capacity of a SKETCH."""
    return len(parse_sketch(packet).sums) // limits.SHORT_ID_SIZE


# --- adverts


def test_the_set_is_shown_in_full_until_all_agree_then_by_its_checksum() -> None:
    bench = Bench(profile=AIR)
    bench.follow(*IDS)
    bench.pass_time(AIR.advert_max_us // 2)
    assert {sums(packet) for packet in bench.take(PacketKind.SKETCH)} == {CAPACITY}
    bench.pass_time(LONG_US)
    bench.take()
    bench.pass_time(LONG_US)
    calm = bench.take(PacketKind.SKETCH)
    assert {(sums(packet), len(packet)) for packet in calm} == {(0, 16)}
    assert len({parse_sketch(packet).salt for packet in calm}) == len(calm)


def test_an_empty_set_is_not_shown() -> None:
    bench = Bench(profile=AIR)
    bench.pass_time(LONG_US)
    assert bench.take() == []


@pytest.mark.parametrize(
    "said",
    [
        sketch_of(SALT, 0, *IDS),
        sketch_of(SALT, CAPACITY, *IDS),
        claim(claim_of(IDS)),
        want(knowing(*IDS)),
    ],
)
def test_who_shows_our_set_spares_us_showing_it(said: bytes) -> None:
    bench = knowing(*IDS)
    bench.pass_time(LONG_US)
    alone = len(bench.take(PacketKind.SKETCH))
    bench.pass_time(LONG_US, lambda: bench.hear(said))
    assert alone >= 15
    assert len(bench.take(PacketKind.SKETCH)) < alone / 2


def test_a_ping_is_answered_by_a_claim_for_boards_that_know_no_feed_ever_more_rarely() -> None:
    bench = knowing(*IDS)
    ping = serialize_ping(Ping("3fa2", ()))
    times_us: list[int] = []
    for _ in range(140):
        bench.hear(ping)
        bench.pass_time(26_000_000)
        times_us += [
            bench.now_us for packet in bench.take(PacketKind.CLAIM) if parse_claim(packet).count == 40
        ]
    first, last = times_us[1] - times_us[0], times_us[-1] - times_us[-2]
    assert first == 26_000_000
    assert last >= 10 * first


def test_a_ping_is_not_answered_on_wires_nor_with_an_empty_set() -> None:
    for bench in (Bench(profile=AIR), knowing(*IDS, profile=stream_profile())):
        bench.hear(serialize_ping(Ping("3fa2", ())))
        bench.pass_time(SILENCE_US)
        assert bench.take(PacketKind.CLAIM) == []


# --- differences


def test_who_lacks_ids_is_given_them() -> None:
    bench = knowing(*IDS)
    bench.hear(sketch_of(SALT, CAPACITY, *IDS[5:]))
    bench.pass_time(SILENCE_US)
    given_ids = [feed for packet in bench.take(PacketKind.FEEDS) for feed in parse_feeds(packet).feeds]
    assert sorted(given_ids) == IDS[:5]
    heard = SketchSeen(direction=Direction.RX, face=FACE, salt=SALT, count=35, capacity=CAPACITY)
    assert heard in bench.events
    assert [event.count for event in bench.seen(FeedsSeen) if event.direction is Direction.TX][-2:] == [3, 2]


def test_what_another_gives_is_not_given_again() -> None:
    bench = knowing(*IDS)
    bench.hear(sketch_of(SALT, CAPACITY, *IDS[9:]))
    bench.hear(feeds_packet(*IDS[3:6]))
    bench.pass_time(SILENCE_US)
    # One packet may have been waiting already.
    assert len(bench.take(PacketKind.FEEDS)) <= 1


def test_what_we_lack_is_asked_for_and_taken() -> None:
    bench = knowing(*IDS[2:])
    bench.hear(sketch_of(SALT, CAPACITY, *IDS))
    bench.pass_time(SILENCE_US // 2)
    asked = parse_ask(bench.take(PacketKind.ASK)[0])
    assert (asked.salt, set(asked.shorts)) == (SALT, {short_id(SALT, feed) for feed in IDS[:2]})
    assert bench.verdict_of(feeds_packet(*IDS[:2])).verdict is Verdict.NEW
    assert set_of(bench) == IDS
    assert [event.feed for event in bench.seen(SetChanged)][-2:] == IDS[:2]
    bench.take()
    bench.pass_time(LONG_US)
    assert bench.take(PacketKind.ASK) == []


def test_an_ask_is_answered_as_far_as_we_can_and_not_repeated() -> None:
    bench = knowing(*IDS[:20])
    bench.hear(ask(SALT, IDS[3], IDS[30]))
    bench.pass_time(SILENCE_US)
    assert bench.take(PacketKind.FEEDS) == [feeds_packet(IDS[3])]
    assert bench.seen(AskSeen)[-1] == AskSeen(direction=Direction.RX, face=FACE, salt=SALT, count=2)


def test_on_the_air_ids_asked_for_without_end_are_named_ever_more_rarely() -> None:
    bench = knowing(*IDS[:3])
    asked = 120
    for number in range(asked):
        bench.hear(ask(number.to_bytes(4), *IDS[:3]))
        bench.pass_time(5 * AIR_PACKET_US)
    assert 6 <= len(bench.take(PacketKind.FEEDS)) < asked / 8
    bench.pass_time(set_limits.NAME_WAIT_MAX_PACKETS * AIR_PACKET_US)
    bench.take()
    bench.hear(ask(SALT, *IDS[:3]))
    bench.pass_time(SILENCE_US)
    assert bench.take(PacketKind.FEEDS) == [feeds_packet(*IDS[:3])]


@pytest.mark.parametrize("named", [1, 2, 3])
def test_a_packet_of_ids_that_waits_is_dropped_once_others_named_all_of_them(named: int) -> None:
    bench = knowing(*IDS[:3])
    bench.hear(ask(SALT, *IDS[:3]))
    for feed in IDS[:named]:
        bench.hear(feeds_packet(feed))
    bench.pass_time(SILENCE_US)
    assert bench.take(PacketKind.FEEDS) == ([] if named == 3 else [feeds_packet(*IDS[:3])])


def test_what_does_not_come_is_asked_for_a_few_times_and_given_up() -> None:
    bench = knowing(*IDS[2:])
    bench.hear(sketch_of(SALT, CAPACITY, *IDS))
    bench.pass_time(LONG_US)
    sent = [send.kind for send in bench.outgoing if send.kind in SET_KINDS]
    asks = 1 + limits.ASK_AGAIN_MAX
    assert sent[:asks] == [PacketKind.ASK] * asks
    assert set(sent[asks:]) == {PacketKind.SKETCH}
    # Whoever shows them again is asked again.
    bench.take()
    bench.hear(sketch_of(b"more", CAPACITY, *IDS))
    bench.pass_time(SILENCE_US)
    assert parse_ask(bench.take(PacketKind.ASK)[0]).salt == b"more"


def test_a_sketch_too_far_from_ours_is_answered_by_ours_under_its_salt() -> None:
    bench = knowing(*IDS)
    strangers = [feed_of(number) for number in range(100, 140)]
    bench.hear(sketch_of(SALT, CAPACITY, *strangers))
    bench.pass_time(SILENCE_US // 2)
    answer = parse_sketch(bench.take(PacketKind.SKETCH)[0])
    assert (answer.salt, answer.count) == (SALT, len(IDS))


@pytest.mark.parametrize("read_only", [True, False])
def test_who_cannot_learn_does_not_ask(read_only: bool) -> None:
    bench = Bench(profile=AIR, read_only=read_only)
    if not read_only:
        bench.follow(*(feed_of(number) for number in range(limits.SET_MAX)))
    bench.pass_time(LONG_US)
    bench.take()
    held = set_of(bench)
    bench.hear(sketch_of(SALT, CAPACITY, *held[1:], feed_of(1_000)))
    bench.pass_time(LONG_US)
    kinds = {send.kind for send in bench.outgoing}
    assert PacketKind.ASK not in kinds
    assert (PacketKind.SKETCH in kinds) is not read_only
    assert set_of(bench) == held


# --- given back, gone


@pytest.mark.parametrize("lacking", ["ours", "theirs"])
def test_what_a_busy_face_gives_back_is_not_lost(lacking: str) -> None:
    ours, theirs = (IDS[1:], IDS) if lacking == "ours" else (IDS, IDS[1:])
    bench = knowing(*ours)
    bench.reports_sent = False
    bench.hear(sketch_of(SALT, CAPACITY, *theirs))
    bench.pass_time(SILENCE_US)
    kind = PacketKind.ASK if lacking == "ours" else PacketKind.FEEDS
    first = bench.take(kind)
    assert len(first) == 1
    bench.perform(bench.node.busy(FACE, bench.now_us))
    bench.pass_time(SILENCE_US)
    assert bench.take(kind) == first


def test_a_repeated_ask_given_back_comes_again_before_its_time() -> None:
    bench = knowing(*IDS[1:])
    bench.hear(sketch_of(SALT, CAPACITY, *IDS))
    asked: list[bytes] = []
    while len(asked) < limits.ASK_AGAIN_MAX:
        bench.reports_sent = len(asked) < limits.ASK_AGAIN_MAX - 1
        bench.pass_time(AIR_PACKET_US)
        asked += bench.take(PacketKind.ASK)
    bench.perform(bench.node.busy(FACE, bench.now_us))
    bench.reports_sent = True
    # Long enough for a turn on the channel; the timer's next one is farther.
    bench.pass_time(34 * AIR_PACKET_US)
    assert bench.take(PacketKind.ASK) == asked[-1:]


@pytest.mark.parametrize(
    ("profile", "says"),
    [(AIR, {PacketKind.SKETCH}), (stream_profile(), {PacketKind.CLAIM, PacketKind.DIFF})],
)
def test_a_face_that_comes_back_begins_anew(profile: LinkProfile, says: set[PacketKind]) -> None:
    bench = knowing(*IDS[1:])
    bench.reports_sent = False
    bench.hear(sketch_of(SALT, CAPACITY, *IDS))
    bench.hear(sketch_of(SALT, CAPACITY, *IDS[9:]))
    bench.perform(bench.node.face_down(FACE, "unplugged", bench.now_us))
    bench.take()
    bench.reports_sent = True
    bench.up(FACE, profile)
    bench.pass_time(LONG_US)
    if profile is not AIR:
        assert bench.outgoing[0].kind is PacketKind.DIFF
    assert {send.kind for send in bench.outgoing} - {PacketKind.WANT} == says


# --- deployed peers, wires


def test_on_the_air_a_claim_is_answered_by_claims() -> None:
    bench = knowing(*IDS)
    bench.hear(claim(claim_of(IDS[:10])))
    bench.pass_time(SILENCE_US)
    said = [parse_claim(packet) for packet in bench.take(PacketKind.CLAIM)]
    assert said[0] == claim_of(IDS)


def test_on_the_air_false_claims_without_end_are_answered_at_a_bounded_rate() -> None:
    bench = knowing(*IDS)
    seconds = 200
    for number in range(seconds):
        first = number % 20
        xor = feed_of(1_000 + number)
        bench.hear(claim(Claim(low=IDS[first], high=IDS[first + 10 + number % 7], xor=xor, count=9)))
        bench.pass_time(1_000_000)
    refilled = seconds * 1_000_000 // (set_limits.ANSWER_PACKETS * AIR_PACKET_US)
    assert 8 <= len(bench.take(PacketKind.CLAIM)) <= set_limits.ANSWERS_AT_ONCE + refilled + 1


def test_on_the_air_the_same_claim_is_sent_ever_more_rarely_whoever_sends_it() -> None:
    bench = knowing(*IDS)
    for _ in range(8):
        bench.hear(claim(claim_of(IDS)))
    bench.hear(claim(claim_of(IDS[:10])))
    bench.pass_time(SILENCE_US)
    assert claim(claim_of(IDS)) not in bench.take(PacketKind.CLAIM)


def test_on_the_air_a_novelty_is_answered_once_by_a_claim_of_our_set() -> None:
    bench = knowing(*IDS[1:])
    bench.hear(novelty(IDS[0]))
    bench.hear(novelty(IDS[0]))
    bench.pass_time(SILENCE_US)
    assert bench.take(PacketKind.CLAIM) == [claim(claim_of(IDS))]
    assert [event.feed for event in bench.seen(NoveltySeen)] == [IDS[0], IDS[0]]


@pytest.mark.parametrize("profile", [stream_profile(), lan_profile()])
def test_on_wires_sketches_are_answered_and_our_set_is_shown_by_claims(profile: LinkProfile) -> None:
    bench = knowing(*IDS[5:], profile=profile)
    packets = [sketch_of(SALT, CAPACITY, *IDS[:30]), ask(SALT, IDS[7]), feeds_packet(IDS[0])]
    assert [bench.verdict_of(packet).verdict for packet in packets] == [Verdict.NEW] * 3
    bench.pass_time(10 * profile.advert_max_us)
    kinds = {send.kind for send in bench.outgoing}
    assert PacketKind.CLAIM in kinds
    # No DIFF was heard: peers may know nothing but claims.
    assert PacketKind.SKETCH not in kinds
    assert IDS[0] in set_of(bench)
    given_ids = [
        feed
        for send in bench.outgoing
        if send.kind is PacketKind.FEEDS
        for feed in parse_feeds(send.packet).feeds
    ]
    assert sorted(given_ids) == [IDS[7], *IDS[30:]]
    (asked,) = (parse_ask(send.packet) for send in bench.outgoing if send.kind is PacketKind.ASK)
    assert (asked.salt, set(asked.shorts)) == (SALT, {short_id(SALT, feed) for feed in IDS[:5]})
    for kind in (SketchSeen, AskSeen, FeedsSeen):
        heard = [event for event in bench.events if isinstance(event, kind)]
        assert [event.direction for event in heard].count(Direction.RX) == 1


@pytest.mark.parametrize("profile", [stream_profile(), lan_profile()])
def test_on_wires_among_nodes_of_ours_sets_are_shown_by_sketches(profile: LinkProfile) -> None:
    bench = knowing(*IDS, profile=profile)
    bench.hear(serialize_diff(NETWORK.goset_dmx, Frontiers().under(SALT).diff(0, 0)))
    bench.pass_time(LONG_US)
    kinds = [send.kind for send in bench.outgoing]
    assert PacketKind.CLAIM not in kinds
    assert PacketKind.SKETCH in kinds
    assert abs(kinds.count(PacketKind.SKETCH) - kinds.count(PacketKind.DIFF)) <= 1, "in turn"
    assert all(parse_sketch(packet).count == len(IDS) for packet in bench.take(PacketKind.SKETCH))


# --- any bytes


FUZZED = {profile.medium: knowing(*IDS[:10], profile=profile) for profile in (AIR, stream_profile())}


def named_by(packet: bytes) -> set[FeedId] | None:
    """The ids that a FEEDS gives, but for the one that names nobody; None if it is invalid."""
    try:
        return {feed for feed in parse_feeds(packet).feeds if any(feed)}
    except PeerError:
        return None


@pytest.mark.parametrize("profile", [AIR, stream_profile()])
@settings(max_examples=60, deadline=None)
@given(kind=st.sampled_from([SKETCH_KIND, ASK_KIND, FEEDS_KIND]), rest=st.binary(max_size=112))
@example(kind=SKETCH_KIND, rest=bytes(8))
@example(kind=ASK_KIND, rest=bytes(8))
@example(kind=FEEDS_KIND, rest=bytes(32))
@example(kind=FEEDS_KIND, rest=b"a" * 96)
@example(kind=FEEDS_KIND, rest=bytes(range(1, 97)))
def test_any_bytes_have_an_outcome_and_only_valid_feeds_change_the_set(
    profile: LinkProfile, kind: bytes, rest: bytes
) -> None:
    bench = FUZZED[profile.medium]
    packet = NETWORK.goset_dmx + kind + rest
    before = set(set_of(bench))
    effects = bench.hear(packet)
    named = named_by(packet) if kind == FEEDS_KIND else set()
    assert set(set_of(bench)) - before == (named or set()) - before
    if named is None:
        # Not every invalid packet is recorded when many come.
        assert {event.verdict for event in effects if isinstance(event, PacketReceived)} <= {Verdict.INVALID}
    bench.pass_time(AIR_PACKET_US)
