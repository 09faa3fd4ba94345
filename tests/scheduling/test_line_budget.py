"""A line asks its account before it hands anything over."""

import random
from dataclasses import replace

import pytest

from tests.nodes import AIR_PACKET_US, radio_profile
from tinyssb_node.events import NoveltySeen
from tinyssb_node.ids import Direction, FaceName, FeedId, PacketKind
from tinyssb_node.scheduling.budget import AirBudget, AirBudgets, BootReference
from tinyssb_node.scheduling.line import Line
from tinyssb_node.scheduling.link import Allowance
from tinyssb_node.store.memory import MemoryStore

HOUR_US = 3_600_000_000
QUIET_US = 60_000_000
"""Long enough for every draw of the contention to be over."""
SAID = NoveltySeen(direction=Direction.TX, face=FaceName("air"), feed=FeedId(bytes(32)))


@pytest.fixture
def budget() -> AirBudget:
    """Room for ten packets an hour, five of them adverts, nine content."""
    allowance = Allowance(band="x", limit_us=10 * AIR_PACKET_US, window_us=HOUR_US)
    return AirBudgets(MemoryStore(), BootReference("a", 0)).open(allowance, AIR_PACKET_US, 0)


@pytest.fixture
def line(budget: AirBudget) -> Line:
    profile = replace(radio_profile(), allowance=budget.allowance)
    return Line(FaceName("air"), profile, "bench", random.Random(1), 0, budget)


def give(line: Line, packets: int, now_us: int) -> int:
    """Hand over up to so many entries, a minute apart. Returns how many went."""
    given = 0
    for number in range(packets):
        line.put(number.to_bytes(8, "big"), PacketKind.ENTRY, now_us)
        now_us += QUIET_US
        if line.pop(now_us) is not None:
            line.sent(1, now_us)
            given += 1
    return given


def ask(line: Line, times: int, now_us: int) -> int:
    """Ask so many times, a minute apart. Returns how often it was allowed."""
    asked = 0
    for _ in range(times):
        line.ask(PacketKind.WANT, now_us)
        now_us += QUIET_US
        if line.pop_ask(now_us) is not None:
            line.hand(bytes(120), PacketKind.WANT, SAID)
            line.sent(1, now_us)
            asked += 1
    return asked


def test_content_and_requests_have_shares(line: Line) -> None:
    assert ask(line, 8, 0) == 5
    assert give(line, 8, 10 * QUIET_US) == 5


def test_who_waits_is_due_when_the_account_says_so(line: Line, budget: AirBudget) -> None:
    assert give(line, 10, 0) == 9
    assert line.counters.held_back == 1
    free_us = budget.next_us(advert=False)
    assert free_us is not None
    assert free_us > 50 * QUIET_US
    # Timers may be due before, but no packet is.
    assert line.pop(free_us - 1) is None
    assert line.pop(free_us) is not None
    assert line.counters.held_back == 1


def test_a_line_with_nothing_but_a_packet_that_waits_wakes_for_it(line: Line, budget: AirBudget) -> None:
    give(line, 10, 0)
    while (due_us := line.next_us) < HOUR_US // 2:
        line.wake(due_us)
        for kind in list(line.asks):
            line.agreed(kind)
    free_us = budget.next_us(advert=False)
    assert free_us is not None
    assert line.next_us <= free_us


def test_only_what_waits_is_counted_as_held_back(line: Line) -> None:
    give(line, 9, 0)
    line.pop(20 * QUIET_US)
    assert line.counters.held_back == 0
    line.put(b"more", PacketKind.ENTRY, 20 * QUIET_US)
    for minute in range(20, 30):
        line.pop(minute * QUIET_US)
    assert line.counters.held_back == 1


def test_a_packet_given_back_is_charged_when_it_goes(line: Line, budget: AirBudget) -> None:
    line.put(b"again", PacketKind.ENTRY, 0)
    assert line.pop(QUIET_US) is not None
    line.give_back(QUIET_US)
    assert budget.status(QUIET_US).used_us == 0
    assert line.pop(2 * QUIET_US) is not None
    assert budget.status(2 * QUIET_US).used_us == AIR_PACKET_US


def test_what_a_face_held_when_it_went_down_is_settled(line: Line, budget: AirBudget) -> None:
    line.put(b"gone", PacketKind.ENTRY, 0)
    assert line.pop(QUIET_US) is not None
    line.close(QUIET_US)
    assert budget.status(QUIET_US).used_us == AIR_PACKET_US
    assert budget.status(QUIET_US + HOUR_US + 2 * AIR_PACKET_US).used_us == 0
