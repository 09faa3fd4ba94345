"""A queue asks its account before it hands anything over."""

import random
from dataclasses import replace

import pytest

from tests.nodes import AIR_PACKET_US, radio_profile
from tinyssb_node.codec.events import NoveltySeen
from tinyssb_node.ids import Direction, FaceName, FeedId, PacketKind
from tinyssb_node.scheduling.budget import AirBudget, AirBudgets, AirUse, BootReference
from tinyssb_node.scheduling.link import Allowance
from tinyssb_node.scheduling.transmit_queue import GossipPacket, TransmitQueue
from tinyssb_node.store.memory import MemoryStore

HOUR_US = 3_600_000_000
QUIET_US = 60_000_000
"""Long enough for every draw of the contention to be over."""
SAID = NoveltySeen(direction=Direction.TX, face=FaceName("air"), feed=FeedId(bytes(32)))


@pytest.fixture
def budget() -> AirBudget:
    """Room for ten packets an hour, five of them adverts, nine content, seven replies."""
    allowance = Allowance(band="x", limit_us=10 * AIR_PACKET_US, window_us=HOUR_US)
    return AirBudgets(MemoryStore(), BootReference("a", 0)).open(allowance, AIR_PACKET_US, 0)


@pytest.fixture
def queue(budget: AirBudget) -> TransmitQueue:
    profile = replace(radio_profile(), allowance=budget.allowance)
    return TransmitQueue(FaceName("air"), profile, "bench", random.Random(1), 0, budget)


def publish(queue: TransmitQueue, packets: int, now_us: int) -> int:
    """The same with new entries of ours."""
    given = 0
    for number in range(packets):
        queue.put_own(b"ours" + number.to_bytes(8, "big"), PacketKind.ENTRY, now_us)
        now_us += QUIET_US
        if queue.pop(now_us) is not None:
            queue.sent(1, now_us)
            given += 1
    return given


def give(queue: TransmitQueue, packets: int, now_us: int) -> int:
    """Hand over up to so many entries, a minute apart. Returns how many went."""
    given = 0
    for number in range(packets):
        queue.put(number.to_bytes(8, "big"), PacketKind.ENTRY, now_us)
        now_us += QUIET_US
        if queue.pop(now_us) is not None:
            queue.sent(1, now_us)
            given += 1
    return given


def ask(queue: TransmitQueue, times: int, now_us: int) -> int:
    """Ask so many times, a minute apart. Returns how often it was allowed."""
    asked = 0
    for _ in range(times):
        queue.advertise(PacketKind.WANT, now_us)
        now_us += QUIET_US
        if queue.pop_advert(now_us) is not None:
            queue.hand_advert(GossipPacket(bytes(120), PacketKind.WANT, SAID))
            queue.sent(1, now_us)
            asked += 1
    return asked


def test_content_and_requests_have_shares(queue: TransmitQueue) -> None:
    assert ask(queue, 8, 0) == 5
    assert give(queue, 8, 10 * QUIET_US) == 3
    assert publish(queue, 8, 20 * QUIET_US) == 2


def test_replies_that_wait_for_airtime_hold_up_no_entry_of_ours(queue: TransmitQueue) -> None:
    assert give(queue, 10, 0) == 7
    assert publish(queue, 4, 20 * QUIET_US) == 2
    assert queue.status().queued == 5


def test_an_entry_of_ours_that_is_given_back_is_still_ours(queue: TransmitQueue) -> None:
    give(queue, 10, 0)
    queue.put_own(b"ours", PacketKind.ENTRY, 20 * QUIET_US)
    assert queue.pop(21 * QUIET_US) == (b"ours", PacketKind.ENTRY)
    queue.give_back(21 * QUIET_US)
    assert queue.next_us < 23 * QUIET_US
    assert queue.pop(23 * QUIET_US) == (b"ours", PacketKind.ENTRY)


def test_who_waits_is_due_when_the_account_says_so(queue: TransmitQueue, budget: AirBudget) -> None:
    assert give(queue, 10, 0) == 7
    assert queue.counters.held_back == 1
    free_us = budget.next_us(use=AirUse.REPLY)
    assert free_us is not None
    assert free_us > 50 * QUIET_US
    # Timers may be due before, but no packet is.
    assert queue.pop(free_us - 1) is None
    assert queue.pop(free_us) is not None
    assert queue.counters.held_back == 1


def test_a_line_with_nothing_but_a_packet_that_waits_wakes_for_it(
    queue: TransmitQueue, budget: AirBudget
) -> None:
    give(queue, 10, 0)
    while (due_us := queue.next_us) < HOUR_US // 2:
        queue.wake(due_us)
        for kind in list(queue.adverts):
            queue.suppress(kind)
    free_us = budget.next_us(use=AirUse.REPLY)
    assert free_us is not None
    assert queue.next_us <= free_us


def test_only_what_waits_is_counted_as_held_back(queue: TransmitQueue) -> None:
    give(queue, 7, 0)
    queue.pop(20 * QUIET_US)
    assert queue.counters.held_back == 0
    queue.put(b"more", PacketKind.ENTRY, 20 * QUIET_US)
    for minute in range(20, 30):
        queue.pop(minute * QUIET_US)
    assert queue.counters.held_back == 1


def test_a_packet_given_back_is_charged_when_it_goes(queue: TransmitQueue, budget: AirBudget) -> None:
    queue.put(b"again", PacketKind.ENTRY, 0)
    assert queue.pop(QUIET_US) is not None
    queue.give_back(QUIET_US)
    assert budget.status(QUIET_US).used_us == 0
    assert queue.pop(2 * QUIET_US) is not None
    assert budget.status(2 * QUIET_US).used_us == AIR_PACKET_US


def test_what_a_face_held_when_it_went_down_is_settled(queue: TransmitQueue, budget: AirBudget) -> None:
    queue.put(b"gone", PacketKind.ENTRY, 0)
    assert queue.pop(QUIET_US) is not None
    queue.close(QUIET_US)
    assert budget.status(QUIET_US).used_us == AIR_PACKET_US
    assert budget.status(QUIET_US + HOUR_US + 2 * AIR_PACKET_US).used_us == 0


def test_airtime_is_spare_until_half_of_that_for_entries_is_spent(queue: TransmitQueue) -> None:
    assert give(queue, 4, 0) == 4
    assert queue.has_air_for_repeats(4 * QUIET_US)
    assert give(queue, 1, 4 * QUIET_US) == 1
    assert not queue.has_air_for_repeats(5 * QUIET_US)


def test_without_a_limit_by_law_no_airtime_is_spare() -> None:
    assert not TransmitQueue(
        FaceName("air"), radio_profile(), "bench", random.Random(1), 0
    ).has_air_for_repeats(0)
