"""The sending side of one face."""

import random

import pytest

from tests.nodes import AIR_PACKET_US, FACE, feed_of, radio_profile
from tinyssb_node import limits
from tinyssb_node.ids import PacketKind
from tinyssb_node.scheduling.line import Line
from tinyssb_node.scheduling.link import LinkProfile, lan_profile, stream_profile

FEED = feed_of(1)
PACKET = b"p" * limits.PACKET_SIZE


def line_of(profile: LinkProfile) -> Line:
    return Line(FACE, profile, "bench", random.Random(1), 0)


@pytest.fixture
def air() -> Line:
    return line_of(radio_profile())


@pytest.fixture
def stream() -> Line:
    return line_of(stream_profile())


def test_what_is_heard_is_not_said_too(air: Line) -> None:
    air.put(PACKET, PacketKind.ENTRY, 0)
    air.heard(PACKET, 7)
    assert len(air.outbox) == 0
    assert air.pop(100 * AIR_PACKET_US) is None
    assert (air.counters.received, air.counters.last_heard_us) == (1, 7)


def test_who_was_answered_for_leaves_the_air_to_the_answerer(air: Line) -> None:
    air.put(PACKET, PacketKind.ENTRY, 0)
    air.put(b"the rest of the answer", PacketKind.ENTRY, 0)
    air.heard(PACKET, 0)
    assert air.pop(2 * AIR_PACKET_US - 1) is None
    assert air.pop(3 * AIR_PACKET_US) == (b"the rest of the answer", PacketKind.ENTRY)


def test_the_same_vector_is_the_same_for_a_hold(air: Line) -> None:
    hold_us = air.profile.hold_us
    assert not air.heard_vector(b"hash", 0)
    assert air.heard_vector(b"hash", hold_us - 1)
    assert not air.heard_vector(b"hash", 2 * hold_us)
    assert not air.heard_vector(b"another", 2 * hold_us)


def test_a_face_reports_packets_in_the_order_they_were_handed(stream: Line) -> None:
    for number in range(3):
        stream.put(b"%d" % number, PacketKind.ENTRY, 0)
        stream.pop(0)
    assert stream.outstanding == 3
    assert stream.sent(2, 0) == [(b"0", PacketKind.ENTRY, 0), (b"1", PacketKind.ENTRY, 0)]
    assert (stream.outstanding, stream.counters.sent) == (1, 2)


def test_airtime_is_counted_when_a_packet_has_left(air: Line) -> None:
    air.put(PACKET, PacketKind.CHUNK, 0)
    air.pop(0)
    assert air.counters.airtime_us == 0
    assert air.sent(1, AIR_PACKET_US) == [(PACKET, PacketKind.CHUNK, AIR_PACKET_US)]
    assert air.counters.airtime_us == AIR_PACKET_US


def test_on_the_air_one_packet_goes_at_a_time(air: Line) -> None:
    air.put(b"first", PacketKind.ENTRY, 0)
    air.put(b"second", PacketKind.ENTRY, 0)
    assert air.pop(0) is not None
    assert air.pop(0) is None
    air.sent(1, AIR_PACKET_US)
    assert air.pop(AIR_PACKET_US) is None
    assert air.pop(3 * AIR_PACKET_US) == (b"second", PacketKind.ENTRY)


def test_what_finds_the_queue_full_is_counted(stream: Line) -> None:
    for number in range(limits.QUEUE_MAX + 3):
        stream.put(b"%d" % number, PacketKind.ENTRY, 0)
    assert stream.counters.refused == 3
    assert stream.room(512) == 0


def test_an_answer_has_no_more_room_than_credit_and_what_waits_leave(stream: Line) -> None:
    assert stream.room(5) == 5
    for number in range(3):
        stream.put(b"%d" % number, PacketKind.ENTRY, 0)
    assert (stream.room(5), stream.room(2)) == (2, 0)


def test_an_answer_to_a_claim_is_given_once_a_hold(air: Line) -> None:
    hold_us = air.profile.hold_us
    assert air.put_once(b"claim", PacketKind.CLAIM, 0, 0)
    assert not air.put_once(b"claim", PacketKind.CLAIM, 0, hold_us - 1)
    assert air.put_once(b"another", PacketKind.CLAIM, 0, 0)
    assert air.put_once(b"claim", PacketKind.CLAIM, 0, hold_us)


def test_answers_wait_at_random_where_others_may_give_them(air: Line, stream: Line) -> None:
    delays_us = [air.answer_due_us(1_000) - 1_000 for _ in range(200)]
    assert min(delays_us) >= 0
    assert air.profile.answer_delay_us * 0.9 < max(delays_us) < air.profile.answer_delay_us
    assert stream.answer_due_us(1_000) == 1_000


@pytest.mark.parametrize("profile", [radio_profile(), lan_profile()])
def test_what_was_heard_on_a_shared_medium_is_given(profile: LinkProfile) -> None:
    line = line_of(profile)
    line.took_entry(FEED, 5, 0, chained=False)
    line.took_chunk(FEED, 5, 2, 0)
    assert line.given_entries.first_to_give(FEED, 5, 1) == 6
    assert line.given_chunks.first_to_give((FEED, 5), 2, 1) == 3


def test_a_stream_tells_nobody_else_what_its_peer_gave(stream: Line) -> None:
    stream.took_entry(FEED, 5, 0, chained=False)
    stream.took_chunk(FEED, 5, 2, 0)
    assert stream.given_entries.first_to_give(FEED, 5, 1) == 5
    assert stream.given_chunks.first_to_give((FEED, 5), 2, 1) == 2
    assert stream.peer_next[FEED] == 6


def test_off_the_air_more_is_asked_for_when_half_an_answer_came(air: Line, stream: Line) -> None:
    assert [stream.took_entry(FEED, seq, 0, chained=False) for seq in (1, 2, 3)] == [False, False, True]
    assert [stream.took_chunk(FEED, 1, chunk, 0) for chunk in (0, 1, 2)] == [False, False, True]
    assert not any(air.took_entry(FEED, seq, 0, chained=False) for seq in range(1, 100))
    assert not any(air.took_chunk(FEED, 1, chunk, 0) for chunk in range(100))


def test_the_timers_requests_count_as_requests(stream: Line) -> None:
    for seq in (1, 2):
        stream.took_entry(FEED, seq, 0, chained=False)
        stream.took_chunk(FEED, 1, seq, 0)
    stream.timer_asked_entries()
    stream.timer_asked_chunks()
    assert not stream.took_entry(FEED, 3, 0, chained=False)
    assert not stream.took_chunk(FEED, 1, 3, 0)


def test_the_silence_behind_an_answer_makes_a_stream_ask_for_the_next(stream: Line) -> None:
    quiet_us = stream.profile.quiet_us
    assert quiet_us is not None
    for now_us in (0, quiet_us // 2):
        stream.took_entry(FEED, 1, now_us, chained=False)
        stream.took_chunk(FEED, 1, 1, now_us)
    due_us = quiet_us // 2 + quiet_us
    assert not stream.want_timer.wake(due_us - 1)
    assert not stream.chnk_timer.wake(due_us - 1)
    assert stream.want_timer.wake(due_us)
    assert stream.chnk_timer.wake(due_us)


def settle(line: Line) -> int:
    """Let all three timers reach their longest interval, and return the time."""
    now_us = 0
    while now_us < 20 * line.profile.advert_max_us:
        now_us = line.next_us
        for timer in (line.claim_timer, line.want_timer, line.chnk_timer):
            timer.wake(now_us)
    return now_us


def test_what_comes_makes_us_ask_soon(stream: Line) -> None:
    now_us = settle(stream)
    soon_us = now_us + stream.profile.advert_min_us
    assert stream.next_us > soon_us
    stream.took_entry(FEED, 1, now_us, chained=False)
    assert stream.want_timer.next_us <= soon_us
    assert stream.chnk_timer.next_us > soon_us
    stream.took_entry(FEED, 2, now_us, chained=True)
    assert stream.chnk_timer.next_us <= soon_us


def test_a_chunk_makes_us_ask_for_chunks_soon(stream: Line) -> None:
    now_us = settle(stream)
    stream.took_chunk(FEED, 1, 0, now_us)
    assert stream.chnk_timer.next_us <= now_us + stream.profile.advert_min_us
    assert stream.want_timer.next_us > now_us + stream.profile.advert_min_us


def test_it_is_due_when_its_first_packet_may_go(air: Line) -> None:
    now_us = settle(air)
    quiet_us = air.next_us
    air.put(PACKET, PacketKind.ENTRY, now_us + 3)
    assert air.next_us == now_us + 3
    air.pop(now_us + 3)
    air.put(b"another", PacketKind.ENTRY, now_us)
    assert air.next_us == quiet_us
    air.sent(1, now_us + AIR_PACKET_US)
    assert now_us + 2 * AIR_PACKET_US <= air.next_us <= now_us + 3 * AIR_PACKET_US
