"""The transmit queue of one face."""

import random

import pytest

from tests.nodes import AIR_PACKET_US, FACE, feed_of, radio_profile
from tests.scheduling.chances import Chance
from tinyssb_node import limits
from tinyssb_node.codec.events import WantSeen
from tinyssb_node.ids import Direction, PacketKind
from tinyssb_node.scheduling.budget import AirUse
from tinyssb_node.scheduling.link import LinkProfile, lan_profile, stream_profile
from tinyssb_node.scheduling.transmit_queue import GossipPacket, HandedPacket, TransmitQueue

FEED = feed_of(1)
PACKET = b"p" * limits.PACKET_SIZE
WANT = b"want"
SAID = WantSeen(direction=Direction.TX, face=FACE, state=bytes(32), offset_index=0, seqs=(1,))
SILENCE_US = 40 * AIR_PACKET_US
"""Longer than anybody waits to speak."""
ANSWERS_US = limits.ANSWERS_PACKETS * AIR_PACKET_US


def queue_of(profile: LinkProfile) -> TransmitQueue:
    return TransmitQueue(FACE, profile, "bench", random.Random(1), 0)


@pytest.fixture
def air() -> TransmitQueue:
    return queue_of(radio_profile())


@pytest.fixture
def stream() -> TransmitQueue:
    return queue_of(stream_profile())


def test_what_is_heard_is_not_said_too(air: TransmitQueue) -> None:
    air.put(PACKET, PacketKind.ENTRY, 0)
    air.heard(PACKET, 7)
    assert len(air.waiting) == 0
    assert air.pop(100 * AIR_PACKET_US) is None
    assert (air.counters.received, air.counters.last_heard_us) == (1, 7)


def test_who_was_answered_for_leaves_the_air_to_the_answerer(air: TransmitQueue) -> None:
    air.put(PACKET, PacketKind.ENTRY, 0)
    air.put(b"the rest of the answer", PacketKind.ENTRY, 0)
    air.heard(PACKET, 7)
    assert air.pop(7 + AIR_PACKET_US // 4 - 1) is None
    assert air.pop(7 + SILENCE_US) == (b"the rest of the answer", PacketKind.ENTRY)


def test_a_face_reports_packets_in_the_order_they_were_handed(stream: TransmitQueue) -> None:
    for number in range(3):
        stream.put(b"%d" % number, PacketKind.ENTRY, 0)
        stream.pop(0)
    assert stream.outstanding == 3
    assert stream.sent(2, 0) == [
        HandedPacket(b"0", PacketKind.ENTRY, AirUse.REPLY),
        HandedPacket(b"1", PacketKind.ENTRY, AirUse.REPLY),
    ]
    assert stream.counters.airtime_us == 0
    assert (stream.outstanding, stream.counters.sent) == (1, 2)


def test_airtime_is_counted_when_a_packet_has_left(air: TransmitQueue) -> None:
    air.put(PACKET, PacketKind.CHUNK, 0)
    air.pop(SILENCE_US)
    assert (air.outstanding, air.counters.airtime_us) == (1, 0)
    assert air.sent(1, SILENCE_US) == [HandedPacket(PACKET, PacketKind.CHUNK, AirUse.REPLY)]
    assert air.counters.airtime_us == AIR_PACKET_US
    assert air.counters.airtime_us == AIR_PACKET_US


def test_on_the_air_one_packet_goes_at_a_time(air: TransmitQueue) -> None:
    air.put(b"first", PacketKind.ENTRY, 0)
    air.put(b"second", PacketKind.ENTRY, 0)
    assert air.pop(0) is None
    assert air.pop(SILENCE_US) is not None
    assert air.pop(2 * SILENCE_US) is None
    air.sent(1, 2 * SILENCE_US)
    assert air.pop(2 * SILENCE_US + limits.BATCH_GAP_US - 1) is None
    assert air.pop(2 * SILENCE_US + limits.BATCH_GAP_US) == (b"second", PacketKind.ENTRY)


def test_what_finds_the_queue_full_is_counted(stream: TransmitQueue) -> None:
    for number in range(limits.QUEUE_MAX + 3):
        stream.put(b"%d" % number, PacketKind.ENTRY, 0)
    assert stream.counters.refused == 3
    assert stream.room(512) == 0


def test_an_answer_has_no_more_room_than_credit_and_what_waits_leave(stream: TransmitQueue) -> None:
    assert stream.room(5) == 5
    for number in range(3):
        stream.put(b"%d" % number, PacketKind.ENTRY, 0)
    assert (stream.room(5), stream.room(2)) == (2, 0)


def test_an_answer_to_a_claim_is_given_once_a_hold(air: TransmitQueue) -> None:
    hold_us = air.profile.hold_us
    assert air.put_once(b"claim", PacketKind.CLAIM, 0, 0)
    assert not air.put_once(b"claim", PacketKind.CLAIM, 0, hold_us - 1)
    assert air.put_once(b"another", PacketKind.CLAIM, 0, 0)
    assert air.put_once(b"claim", PacketKind.CLAIM, 0, hold_us)


def test_answers_wait_at_random_where_others_may_give_them(air: TransmitQueue, stream: TransmitQueue) -> None:
    lan = queue_of(lan_profile())
    delays_us = [lan.reply_due_us(1_000) - 1_000 for _ in range(200)]
    assert min(delays_us) >= 0
    assert lan.profile.answer_delay_us * 0.9 < max(delays_us) < lan.profile.answer_delay_us
    assert stream.reply_due_us(1_000) == 1_000
    # On the air everything contends.
    assert air.reply_due_us(1_000) == 1_000


def settle(queue: TransmitQueue) -> int:
    """Let all three timers reach their longest interval beside neighbours, and return the time."""
    now_us = 0
    while now_us < 20 * queue.profile.advert_max_us:
        queue.heard(b"what a neighbour says", now_us)
        now_us = queue.next_us
        for timer in (queue.claim_timer, queue.want_timer, queue.chnk_timer):
            timer.wake(now_us)
    return now_us


def test_it_is_due_when_its_first_packet_may_go(air: TransmitQueue) -> None:
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


def test_while_all_have_the_same_set_its_advert_waits_for_others_to_send_it() -> None:
    air = TransmitQueue(FACE, radio_profile(), "bench", Chance(0.5), 0)

    def wait_us(now_us: int) -> int:
        air.heard(PACKET, now_us)
        air.advertise(PacketKind.CLAIM, now_us)
        least_us = next(at for at in range(now_us, now_us + 10**9, 10_000) if air.pop_advert(at))
        return least_us - now_us

    fresh_us = wait_us(0)
    now_us = settle(air)
    assert air.claim_timer.is_calm
    assert wait_us(now_us) > 2 * fresh_us


def test_the_first_packet_after_a_long_silence_is_answered_by_adverts(
    air: TransmitQueue, stream: TransmitQueue
) -> None:
    alone_us = limits.ALONE_ADVERTS * air.profile.advert_max_us
    air.heard(PACKET, alone_us)
    air.heard(PACKET, 2 * alone_us)
    assert not air.adverts
    air.heard(PACKET, 3 * alone_us + 1)
    assert list(air.adverts) == [PacketKind.CLAIM, PacketKind.WANT]
    stream.heard(PACKET, 10 * alone_us)
    assert not stream.adverts


def test_a_packet_with_a_time_of_its_own_is_due_then(stream: TransmitQueue) -> None:
    now_us = settle(stream)
    stream.put(PACKET, PacketKind.ENTRY, now_us + 3)
    assert stream.next_us == now_us + 3


@pytest.mark.parametrize("waiting", ["adverts", "relayed"])
def test_it_is_due_when_it_may_ask_or_carry_on(air: TransmitQueue, waiting: str) -> None:
    now_us = settle(air)
    if waiting == "adverts":
        air.advertise(PacketKind.WANT, now_us)
    else:
        air.heard(PACKET, now_us)
        air.relay.take(PACKET)
    due_us = air.next_us
    assert now_us + 2 * AIR_PACKET_US < due_us < now_us + SILENCE_US
    assert pop_anything(air, due_us - 1) is None
    assert pop_anything(air, due_us) is not None


def pop_anything(queue: TransmitQueue, now_us: int) -> object:
    return queue.pop(now_us) or queue.pop_relayed(now_us) or queue.pop_advert(now_us)


# --- asking


def test_what_is_to_be_asked_waits_longer_than_answers(air: TransmitQueue) -> None:
    air.heard(PACKET, 7)
    air.advertise(PacketKind.WANT, 7)
    air.put(b"answer", PacketKind.ENTRY, 7)
    assert air.pop_advert(7 + 6 * AIR_PACKET_US) is None
    assert air.pop(7 + 5 * AIR_PACKET_US) == (b"answer", PacketKind.ENTRY)
    assert air.pop_advert(7 + SILENCE_US) is None
    air.sent(1, 7 + SILENCE_US)
    assert air.pop_advert(7 + 2 * SILENCE_US) is PacketKind.WANT


def test_what_is_asked_twice_is_asked_once_first_come_first(stream: TransmitQueue) -> None:
    for kind in (PacketKind.CHNK, PacketKind.WANT, PacketKind.CHNK):
        stream.advertise(kind, 0)
    assert [stream.pop_advert(0) for _ in range(3)] == [PacketKind.CHNK, PacketKind.WANT, None]


def test_what_somebody_else_asked_is_not_asked(air: TransmitQueue) -> None:
    air.advertise(PacketKind.WANT, 0)
    air.suppress(PacketKind.WANT)
    assert air.pop_advert(SILENCE_US) is None
    air.wake(air.profile.advert_min_us)
    assert PacketKind.WANT not in air.adverts
    assert PacketKind.CLAIM in air.adverts


@pytest.mark.parametrize("waiting", ["replies", "adverts", "relayed"])
def test_only_the_first_thought_out_of_silence_draws(waiting: str) -> None:
    air = TransmitQueue(FACE, radio_profile(), "bench", Chance(), 0)
    if waiting == "replies":
        air.put(b"first", PacketKind.ENTRY, SILENCE_US)
    elif waiting == "adverts":
        air.advertise(PacketKind.CLAIM, SILENCE_US)
    else:
        air.relay.take(b"first")
    air.put(b"second", PacketKind.ENTRY, 2 * SILENCE_US)
    assert air.pop(2 * SILENCE_US) is not None


# --- given back


def hand(queue: TransmitQueue, kind: PacketKind, *, addressed: bool = False) -> None:
    """Something built goes to the face."""
    queue.hand_advert(GossipPacket(WANT, kind, SAID, addressed))


def test_a_data_packet_given_back_waits_for_another_turn(air: TransmitQueue) -> None:
    air.put(PACKET, PacketKind.ENTRY, 0)
    assert air.pop(SILENCE_US) is not None
    air.give_back(SILENCE_US)
    assert (air.outstanding, air.counters.sent) == (0, 0)
    assert air.pop(SILENCE_US) is None
    assert air.pop(2 * SILENCE_US) == (PACKET, PacketKind.ENTRY)


def test_a_data_packet_given_back_to_a_full_queue_is_counted(
    air: TransmitQueue, monkeypatch: pytest.MonkeyPatch
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
    air: TransmitQueue, handed: PacketKind, asked: PacketKind
) -> None:
    hand(air, handed)
    air.give_back(SILENCE_US)
    assert len(air.waiting) == 0
    assert air.pop_advert(SILENCE_US) is None
    assert air.pop_advert(2 * SILENCE_US) is asked


def test_an_answer_to_a_claim_given_back_waits_as_it_is(air: TransmitQueue) -> None:
    air.put_once(b"claim", PacketKind.CLAIM, 0, 0)
    air.pop(SILENCE_US)
    air.give_back(SILENCE_US)
    assert air.pop(2 * SILENCE_US) == (b"claim", PacketKind.CLAIM)


def test_news_given_back_are_still_news_of_others() -> None:
    air = TransmitQueue(FACE, radio_profile(), "bench", Chance(0.9), 0)
    air.relay.take(PACKET)
    assert air.pop_relayed(SILENCE_US) == PACKET
    air.give_back(SILENCE_US)
    assert air.pop_relayed(SILENCE_US + AIR_PACKET_US) is None
    assert air.pop_relayed(2 * SILENCE_US) == PACKET
    air.sent(1, 2 * SILENCE_US)
    air.relay.take(b"other")
    # Said once, without an echo: only now is there doubt.
    assert air.pop_relayed(3 * SILENCE_US) is None


def test_what_is_given_as_an_answer_is_not_carried_on_too(air: TransmitQueue) -> None:
    air.relay.take(PACKET)
    air.hand_reply(PACKET, PacketKind.ENTRY, SILENCE_US)
    air.sent(1, SILENCE_US + AIR_PACKET_US)
    assert air.pop_relayed(3 * SILENCE_US) is None


def test_a_copy_of_news_waiting_to_be_carried_stops_them(air: TransmitQueue) -> None:
    air.relay.take(PACKET)
    air.heard(PACKET, AIR_PACKET_US)
    assert air.pop_relayed(SILENCE_US) is None
