"""The sending side of one face."""

import random

import pytest

from tests.nodes import AIR_PACKET_US, FACE, feed_of, radio_profile
from tests.scheduling.chances import Chance
from tinyssb_node import limits
from tinyssb_node.events import WantSeen
from tinyssb_node.ids import Direction, PacketKind
from tinyssb_node.scheduling.line import Line, Sent
from tinyssb_node.scheduling.link import LinkProfile, lan_profile, stream_profile

FEED = feed_of(1)
PACKET = b"p" * limits.PACKET_SIZE
WANT = b"want"
SAID = WantSeen(direction=Direction.TX, face=FACE, state=bytes(32), offset_index=0, seqs=(1,))
SILENCE_US = 40 * AIR_PACKET_US
"""Longer than anybody waits to speak."""
ANSWERS_US = limits.ANSWERS_PACKETS * AIR_PACKET_US


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
    air.heard(PACKET, 7)
    assert air.pop(7 + AIR_PACKET_US // 4 - 1) is None
    assert air.pop(7 + SILENCE_US) == (b"the rest of the answer", PacketKind.ENTRY)


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
    assert stream.sent(2, 0) == [Sent(b"0", PacketKind.ENTRY, 0, None), Sent(b"1", PacketKind.ENTRY, 0, None)]
    assert (stream.outstanding, stream.counters.sent) == (1, 2)


def test_airtime_is_counted_when_a_packet_has_left(air: Line) -> None:
    air.put(PACKET, PacketKind.CHUNK, 0)
    air.pop(SILENCE_US)
    assert (air.outstanding, air.counters.airtime_us) == (1, 0)
    assert air.sent(1, SILENCE_US) == [Sent(PACKET, PacketKind.CHUNK, AIR_PACKET_US, None)]
    assert air.counters.airtime_us == AIR_PACKET_US


def test_on_the_air_one_packet_goes_at_a_time(air: Line) -> None:
    air.put(b"first", PacketKind.ENTRY, 0)
    air.put(b"second", PacketKind.ENTRY, 0)
    assert air.pop(0) is None
    assert air.pop(SILENCE_US) is not None
    assert air.pop(2 * SILENCE_US) is None
    air.sent(1, 2 * SILENCE_US)
    assert air.pop(2 * SILENCE_US + limits.BATCH_GAP_US - 1) is None
    assert air.pop(2 * SILENCE_US + limits.BATCH_GAP_US) == (b"second", PacketKind.ENTRY)


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
    lan = line_of(lan_profile())
    delays_us = [lan.answer_due_us(1_000) - 1_000 for _ in range(200)]
    assert min(delays_us) >= 0
    assert lan.profile.answer_delay_us * 0.9 < max(delays_us) < lan.profile.answer_delay_us
    assert stream.answer_due_us(1_000) == 1_000
    # On the air everything contends.
    assert air.answer_due_us(1_000) == 1_000


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
    stream.wake(stream.profile.advert_min_us)
    assert list(stream.asks) == [PacketKind.CLAIM, PacketKind.WANT, PacketKind.CHNK]
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
    air.put(PACKET, PacketKind.ENTRY, now_us)
    due_us = air.next_us
    assert now_us < due_us < now_us + SILENCE_US
    assert air.pop(due_us - 1) is None
    assert air.pop(due_us) == (PACKET, PacketKind.ENTRY)
    air.put(b"another", PacketKind.ENTRY, due_us)
    assert air.next_us == quiet_us
    air.sent(1, due_us + AIR_PACKET_US)
    assert air.next_us == due_us + AIR_PACKET_US + limits.BATCH_GAP_US


def test_a_packet_with_a_time_of_its_own_is_due_then(stream: Line) -> None:
    now_us = settle(stream)
    stream.put(PACKET, PacketKind.ENTRY, now_us + 3)
    assert stream.next_us == now_us + 3


@pytest.mark.parametrize("waiting", ["asks", "news"])
def test_it_is_due_when_it_may_ask_or_carry_on(air: Line, waiting: str) -> None:
    now_us = settle(air)
    if waiting == "asks":
        air.ask(PacketKind.WANT, now_us)
    else:
        air.heard(PACKET, now_us)
        air.heard_news(PACKET, now_us, new=True)
    due_us = air.next_us
    assert now_us + 2 * AIR_PACKET_US < due_us < now_us + SILENCE_US
    assert pop_anything(air, due_us - 1) is None
    assert pop_anything(air, due_us) is not None


def pop_anything(line: Line, now_us: int) -> object:
    return line.pop(now_us) or line.pop_news(now_us) or line.pop_ask(now_us)


# --- asking


def test_what_is_to_be_asked_waits_longer_than_answers(air: Line) -> None:
    air.heard(PACKET, 7)
    air.ask(PacketKind.WANT, 7)
    air.put(b"answer", PacketKind.ENTRY, 7)
    assert air.pop_ask(7 + 16 * AIR_PACKET_US) is None
    assert air.pop(7 + 9 * AIR_PACKET_US) == (b"answer", PacketKind.ENTRY)
    assert air.pop_ask(7 + SILENCE_US) is None
    air.sent(1, 7 + SILENCE_US)
    assert air.pop_ask(7 + 2 * SILENCE_US) is PacketKind.WANT


def test_what_is_asked_twice_is_asked_once_first_come_first(stream: Line) -> None:
    for kind in (PacketKind.CHNK, PacketKind.WANT, PacketKind.CHNK):
        stream.ask(kind, 0)
    assert [stream.pop_ask(0) for _ in range(3)] == [PacketKind.CHNK, PacketKind.WANT, None]


def test_what_somebody_else_asked_is_not_asked(air: Line) -> None:
    air.ask(PacketKind.WANT, 0)
    air.agreed(PacketKind.WANT)
    assert air.pop_ask(SILENCE_US) is None
    air.wake(air.profile.advert_min_us)
    assert PacketKind.WANT not in air.asks
    assert PacketKind.CLAIM in air.asks


def test_a_new_entry_on_the_air_is_told_by_a_want(air: Line, stream: Line) -> None:
    for line in (air, stream):
        line.took_entry(FEED, 1, 0, chained=False)
    assert (list(air.asks), list(stream.asks)) == ([PacketKind.WANT], [])


@pytest.mark.parametrize("waiting", ["outbox", "asks", "news"])
def test_only_the_first_thought_out_of_silence_draws(waiting: str) -> None:
    air = Line(FACE, radio_profile(), "bench", Chance(), 0)
    if waiting == "outbox":
        air.put(b"first", PacketKind.ENTRY, SILENCE_US)
    elif waiting == "asks":
        air.ask(PacketKind.CLAIM, SILENCE_US)
    else:
        air.heard_news(b"first", SILENCE_US, new=True)
    air.put(b"second", PacketKind.ENTRY, 2 * SILENCE_US)
    assert air.pop(2 * SILENCE_US) is not None


# --- given back


def hand(line: Line, kind: PacketKind) -> None:
    """Something built goes to the face."""
    line.hand(WANT, kind, SAID)


def test_a_data_packet_given_back_waits_for_another_turn(air: Line) -> None:
    air.put(PACKET, PacketKind.ENTRY, 0)
    assert air.pop(SILENCE_US) is not None
    air.give_back(SILENCE_US)
    assert (air.outstanding, air.counters.sent) == (0, 0)
    assert air.pop(SILENCE_US) is None
    assert air.pop(2 * SILENCE_US) == (PACKET, PacketKind.ENTRY)


def test_a_data_packet_given_back_to_a_full_queue_is_counted(
    air: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "QUEUE_MAX", 1)
    air.put(PACKET, PacketKind.ENTRY, 0)
    air.pop(SILENCE_US)
    air.put(b"another", PacketKind.ENTRY, SILENCE_US)
    air.give_back(SILENCE_US)
    assert air.counters.refused == 1


@pytest.mark.parametrize(
    ("handed", "asked"),
    [
        (PacketKind.WANT, PacketKind.WANT),
        (PacketKind.CHNK, PacketKind.CHNK),
        (PacketKind.CLAIM, PacketKind.CLAIM),
        (PacketKind.NOVELTY, PacketKind.CLAIM),
    ],
)
def test_what_was_built_is_built_anew_when_given_back(
    air: Line, handed: PacketKind, asked: PacketKind
) -> None:
    hand(air, handed)
    air.give_back(SILENCE_US)
    assert len(air.outbox) == 0
    assert air.pop_ask(SILENCE_US) is None
    assert air.pop_ask(2 * SILENCE_US) is asked


def test_an_answer_to_a_claim_given_back_waits_as_it_is(air: Line) -> None:
    air.put_once(b"claim", PacketKind.CLAIM, 0, 0)
    air.pop(SILENCE_US)
    air.give_back(SILENCE_US)
    assert air.pop(2 * SILENCE_US) == (b"claim", PacketKind.CLAIM)


def test_news_given_back_are_still_news_of_others() -> None:
    air = Line(FACE, radio_profile(), "bench", Chance(0.9), 0)
    air.heard_news(PACKET, 0, new=True)
    assert air.pop_news(SILENCE_US) == PACKET
    air.give_back(SILENCE_US)
    assert air.pop_news(SILENCE_US + 4 * AIR_PACKET_US) is None
    assert air.pop_news(2 * SILENCE_US) == PACKET
    air.sent(1, 2 * SILENCE_US)
    air.heard_news(b"other", 2 * SILENCE_US, new=True)
    # Said once, without an echo: only now is there doubt.
    assert air.pop_news(3 * SILENCE_US) is None


# --- news and answers


def test_isolated_news_are_carried_on(air: Line) -> None:
    air.heard_news(PACKET, 0, new=True)
    assert air.pop(SILENCE_US) is None
    assert air.pop_news(SILENCE_US) == PACKET


def test_what_is_known_is_no_news(air: Line) -> None:
    air.heard_news(PACKET, 0, new=False)
    assert len(air.carrier) == 0


def test_answers_are_not_carried_on_for_as_long_as_they_come(air: Line) -> None:
    air.expect_answers(0)
    for now_us, new in ((ANSWERS_US - 1, True), (2 * ANSWERS_US - 3, False), (3 * ANSWERS_US - 5, True)):
        air.heard_news(PACKET, now_us, new=new)
        assert len(air.carrier) == 0
    air.heard_news(PACKET, 4 * ANSWERS_US - 5, new=True)
    assert len(air.carrier) == 1


@pytest.mark.parametrize(
    ("kind", "addressed", "expects"),
    [
        (PacketKind.WANT, True, True),
        (PacketKind.WANT, False, False),
        (PacketKind.CHNK, True, False),
        (PacketKind.CLAIM, True, False),
    ],
)
def test_answers_are_expected_once_somebody_was_asked_by_name(
    air: Line, kind: PacketKind, addressed: bool, expects: bool
) -> None:
    air.turn.addressed = addressed
    hand(air, kind)
    air.give_back(0)
    air.heard_news(b"while somebody else spoke", 1, new=True)
    assert len(air.carrier) == 1
    hand(air, kind)
    assert air.sent(1, ANSWERS_US) == [Sent(WANT, kind, AIR_PACKET_US, SAID)]
    air.heard_news(b"then", ANSWERS_US + 1, new=True)
    assert len(air.carrier) == (1 if expects else 2)


def test_of_what_comes_in_a_row_only_the_first_is_news(air: Line) -> None:
    for number in range(3 * limits.CARRY_MAX):
        air.heard_news(b"%d" % number, number * AIR_PACKET_US, new=True)
    assert len(air.carrier) == 1
    assert air.pop_news(2 * SILENCE_US) == b"0"


def test_what_is_given_as_an_answer_is_not_carried_on_too(air: Line) -> None:
    air.heard_news(PACKET, 0, new=True)
    air.give(PACKET, SILENCE_US)
    air.sent(1, SILENCE_US + AIR_PACKET_US)
    assert air.pop_news(3 * SILENCE_US) is None


def test_a_copy_of_news_waiting_to_be_carried_stops_them(air: Line) -> None:
    air.heard_news(PACKET, 0, new=True)
    air.heard(PACKET, AIR_PACKET_US)
    assert air.pop_news(SILENCE_US) is None
