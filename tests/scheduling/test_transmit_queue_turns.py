"""One face on the air: which requests it leaves to others, and how patient it is."""

import pytest

from tests.nodes import AIR_PACKET_US, FACE, radio_profile
from tests.scheduling.chances import Chance
from tests.scheduling.test_transmit_queue import PACKET, SILENCE_US, hand, queue_of, settle
from tinyssb_node import limits
from tinyssb_node.ids import PacketKind
from tinyssb_node.scheduling.budget import AirUse
from tinyssb_node.scheduling.link import stream_profile
from tinyssb_node.scheduling.transmit_queue import HandedPacket, TransmitQueue


@pytest.fixture
def air() -> TransmitQueue:
    return queue_of(radio_profile())


# --- requests left to others


def is_dropped(queue: TransmitQueue, kind: PacketKind, *, same: bool = False) -> bool:
    """Return True if a request that waits is dropped, because a peer requests as much or more."""
    queue.advertise(kind, 0)
    queue.suppress_served(kind, same=same)
    return kind not in queue.adverts


@pytest.mark.parametrize("kind", [PacketKind.WANT, PacketKind.CHNK])
def test_requests_that_wait_are_left_to_others_only_so_often_in_a_row(
    air: TransmitQueue, kind: PacketKind
) -> None:
    for turn in (1, 2):
        dropped = [is_dropped(air, kind) for _ in range(limits.YIELDS_MAX + 2)]
        assert dropped == [True] * limits.YIELDS_MAX + [False, False]
        assert air.pop_advert(turn * SILENCE_US) is kind
        hand(air, kind)
        air.sent(1, turn * SILENCE_US)


def test_requests_left_to_others_before_they_wait_count_too(air: TransmitQueue) -> None:
    timer = air.chnk_timer
    fired = 0
    while PacketKind.CHNK not in air.adverts:
        air.suppress_served(PacketKind.CHNK, same=False)
        air.wake(timer.next_us)
        fired += 1
        air.wake(timer.next_us)
    assert fired == limits.YIELDS_MAX + 1


def test_who_says_the_same_is_always_left_the_word(air: TransmitQueue) -> None:
    assert all(is_dropped(air, PacketKind.WANT, same=True) for _ in range(3 * limits.YIELDS_MAX))


def is_claim_dropped(queue: TransmitQueue) -> bool:
    """Return True if an advert of the set that waits is dropped, because a WANT of the same set was heard."""
    queue.advertise(PacketKind.CLAIM, 0)
    queue.suppress_claim()
    return PacketKind.CLAIM not in queue.adverts


def test_adverts_of_the_set_are_left_to_wants_only_so_often_in_a_row(air: TransmitQueue) -> None:
    for turn in (1, 2):
        dropped = [is_claim_dropped(air) for _ in range(limits.CLAIM_YIELDS_MAX + 2)]
        assert dropped == [True] * limits.CLAIM_YIELDS_MAX + [False, False]
        assert air.pop_advert(turn * SILENCE_US) is PacketKind.CLAIM
        hand(air, PacketKind.SKETCH)
        air.sent(1, turn * SILENCE_US)


def test_a_want_always_stands_for_an_advert_of_the_set_where_all_agree_or_nothing_is_lost(
    air: TransmitQueue,
) -> None:
    while not air.claim_timer.is_calm:
        air.wake(air.claim_timer.next_us)
    for queue in (air, queue_of(stream_profile())):
        assert all(is_claim_dropped(queue) for _ in range(3 * limits.CLAIM_YIELDS_MAX))


# --- taking turns


def test_an_answer_that_is_chosen_when_it_goes_is_due_with_the_patience_it_was_given(
    air: TransmitQueue,
) -> None:
    now_us = settle(air)
    quiet_us = air.next_us
    assert not air.may_reply(quiet_us)
    air.heard(PACKET, now_us)
    due_us = []
    for giving in (1.0, 4.0):
        air.set_patience(reply=giving, want=1.0)
        due_us.append(air.next_us)
        assert air.may_reply(air.next_us)
        assert not air.may_reply(air.next_us - 1)
    between_us = AIR_PACKET_US // 4
    assert due_us[1] - now_us - between_us == pytest.approx(4 * (due_us[0] - now_us - between_us), abs=4)


def test_a_reply_that_was_chosen_is_with_the_face_like_what_waited(air: TransmitQueue) -> None:
    air.hand_reply(PACKET, PacketKind.ENTRY, 0)
    assert air.outstanding == 1
    assert air.sent(1, SILENCE_US) == [HandedPacket(PACKET, PacketKind.ENTRY, AirUse.REPLY, chosen=True)]
    assert air.counters.airtime_us == AIR_PACKET_US


def test_a_reply_that_was_chosen_is_chosen_anew_after_the_channel_was_busy(air: TransmitQueue) -> None:
    air.hand_reply(PACKET, PacketKind.ENTRY, 0)
    air.give_back(0)
    assert air.outstanding == 0
    assert air.pop(SILENCE_US) is None


def test_requests_are_due_with_the_patience_of_the_turn(air: TransmitQueue) -> None:
    now_us = settle(air)
    air.heard(PACKET, now_us)
    air.advertise(PacketKind.WANT, now_us)
    soon_us = air.next_us
    air.set_patience(reply=None, want=limits.ASK_PATIENCE_MAX)
    assert air.pop_advert(soon_us) is None
    assert air.next_us > soon_us
    air.set_patience(reply=None, want=1.0)
    assert air.pop_advert(soon_us) is PacketKind.WANT


@pytest.mark.parametrize(
    ("kind", "addressed", "silent"),
    [(PacketKind.WANT, True, True), (PacketKind.WANT, False, False), (PacketKind.CHNK, False, False)],
)
def test_who_asked_by_name_leaves_the_floor(kind: PacketKind, addressed: bool, silent: bool) -> None:
    air = TransmitQueue(FACE, radio_profile(), "bench", Chance(0.0), 0)
    air.put(PACKET, PacketKind.ENTRY, 0)
    hand(air, kind, addressed=addressed)
    air.sent(1, SILENCE_US)
    assert (air.pop(SILENCE_US + AIR_PACKET_US) is None) is silent
    if silent:
        # It is in reach: its silence shows that it did not hear the request.
        floor_us = limits.VOID_TURN_PACKETS * AIR_PACKET_US
        assert air.pop(SILENCE_US + floor_us) is None
        assert air.pop(SILENCE_US + floor_us + AIR_PACKET_US // 4) is not None
