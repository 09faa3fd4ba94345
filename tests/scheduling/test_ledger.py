"""No window ever holds more than the limit, and nothing is refused that the law allows."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traced import peak_bytes
from tinyssb_node import limits
from tinyssb_node.scheduling.ledger import Ledger

HOUR_US = 3_600_000_000

Sent = list[tuple[int, int]]
"""Transmissions: when each began and ended."""


def most_in_a_window(sent: Sent, window_us: int) -> int:
    """The most time on the air in any window: it begins where a transmission begins, or ends where one ends."""
    ends = [end for _, end in sent] + [begin + window_us for begin, _ in sent]
    return max((on_air(sent, end - window_us, end) for end in ends), default=0)


def on_air(sent: Sent, begin_us: int, end_us: int) -> int:
    return sum(max(0, min(end, end_us) - max(begin, begin_us)) for begin, end in sent)


def first_allowed(sent: Sent, airtime_us: int, now_us: int, limit_us: int, window_us: int) -> int:
    """By trying one microsecond after the other, and for each all windows that reach into the transmission."""
    at_us = now_us
    while any(
        on_air([*sent, (at_us, at_us + airtime_us)], end_us - window_us, end_us) > limit_us
        for end_us in range(at_us + 1, at_us + airtime_us + 1)
    ):
        at_us += 1
    return at_us


@settings(max_examples=60, deadline=None)
@given(
    limit_us=st.integers(5, 15),
    window_us=st.integers(15, 40),
    wishes=st.lists(st.tuples(st.integers(0, 12), st.integers(1, 5)), max_size=10),
)
def test_it_allows_what_the_law_allows_at_the_same_microsecond(
    limit_us: int, window_us: int, wishes: list[tuple[int, int]]
) -> None:
    ledger, sent, now_us = Ledger(limit_us, window_us), Sent(), 0
    for pause_us, airtime_us in wishes:
        now_us += pause_us
        at_us = ledger.earliest_send_us(airtime_us, now_us)
        assert at_us == first_allowed(sent, airtime_us, now_us, limit_us, window_us)
        assert at_us is not None
        ledger.charge(airtime_us, at_us)
        now_us = at_us + airtime_us
        sent.append((at_us, now_us))
        assert ledger.used_us(now_us) == on_air(sent, now_us - window_us, now_us)
        assert ledger.left_us(now_us) == limit_us - ledger.used_us(now_us)


@st.composite
def hours(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Wishes to send: pause before, and airtime, in microseconds."""
    return draw(st.lists(st.tuples(st.integers(0, 600_000_000), st.integers(10_000, 5_000_000)), max_size=50))


@settings(max_examples=40, deadline=None)
@given(wishes=hours(), permille=st.sampled_from([2, 10, 100]))
def test_no_hour_ever_holds_more_than_its_share(wishes: list[tuple[int, int]], permille: int) -> None:
    limit_us = HOUR_US * permille // 1_000
    ledger, sent, now_us = Ledger(limit_us, HOUR_US), Sent(), 0
    for pause_us, airtime_us in wishes:
        now_us += pause_us
        at_us = ledger.earliest_send_us(airtime_us, now_us)
        assert at_us is not None
        if at_us == now_us:
            ledger.charge(airtime_us, now_us)
            now_us += airtime_us
            sent.append((now_us - airtime_us, now_us))
    assert most_in_a_window(sent, HOUR_US) <= limit_us


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_radio_that_sends_when_it_sees_fit_keeps_the_law_too(data: st.DataObject) -> None:
    """Two radios share the account; each sends what it holds some time later, and tells some time after that."""
    limit_us, window_us = 12, 30
    ledger, sent, now_us = Ledger(limit_us, window_us), Sent(), 0
    held: dict[int, tuple[int, int]] = {}
    for _ in range(data.draw(st.integers(0, 25))):
        now_us += data.draw(st.integers(0, 6))
        radio, airtime_us = data.draw(st.integers(0, 1)), data.draw(st.integers(1, 4))
        if radio in held:
            since_us, owed_us = held[radio]
            if now_us - owed_us >= since_us:
                begin_us = data.draw(st.integers(since_us, now_us - owed_us))
                sent.append((begin_us, begin_us + owed_us))
                held[radio] = (now_us, 0)
                ledger.settle(owed_us, now_us)
                del held[radio]
        elif ledger.earliest_send_us(airtime_us, now_us) == now_us:
            ledger.hold(airtime_us)
            held[radio] = (now_us, airtime_us)
        assert on_air(sent, now_us - window_us, now_us) <= ledger.used_us(now_us)
    assert most_in_a_window(sent, window_us) <= limit_us


@settings(max_examples=40, deadline=None)
@given(wishes=hours(), most=st.integers(2, 20))
def test_putting_neighbours_together_errs_on_the_safe_side(wishes: list[tuple[int, int]], most: int) -> None:
    limit_us = HOUR_US // 100
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "LEDGER_RECORDS_MAX", most)
        coarse, exact, now_us = Ledger(limit_us, HOUR_US), Ledger(limit_us, HOUR_US), 0
        for pause_us, airtime_us in wishes:
            now_us += pause_us
            coarse_us = coarse.earliest_send_us(airtime_us, now_us)
            exact_us = exact.earliest_send_us(airtime_us, now_us)
            assert coarse_us is not None
            assert exact_us is not None
            assert coarse_us >= exact_us
            if coarse_us == now_us:
                coarse.charge(airtime_us, now_us)
                exact.charge(airtime_us, now_us)
                now_us += airtime_us
            assert len(coarse) <= most
            assert coarse.used_us(now_us) >= exact.used_us(now_us)


def test_memory_is_bounded_however_short_the_packets() -> None:
    def charge(packets: int) -> None:
        ledger, now_us = Ledger(HOUR_US // 10, HOUR_US), 0
        for _ in range(packets):
            now_us += 100_000
            ledger.charge(10_000, now_us)
            assert len(ledger) <= limits.LEDGER_RECORDS_MAX
        assert ledger.used_us(now_us) == packets * 10_000

    few = peak_bytes(lambda: charge(2 * limits.LEDGER_RECORDS_MAX))
    assert peak_bytes(lambda: charge(6 * limits.LEDGER_RECORDS_MAX)) < 1.2 * few


def test_what_is_past_is_let_go() -> None:
    def charge(packets: int) -> None:
        ledger = Ledger(10, 100)
        for hour in range(packets):
            ledger.charge(10, hour * 200)
        assert len(ledger) == 1
        assert ledger.used_us(packets * 200) == 0

    few = peak_bytes(lambda: charge(limits.LEDGER_RECORDS_MAX))
    assert peak_bytes(lambda: charge(6 * limits.LEDGER_RECORDS_MAX)) < 1.2 * few


def test_a_burst_is_followed_by_an_hour_of_silence_and_no_more() -> None:
    ledger = Ledger(36_000_000, HOUR_US)
    ledger.charge(36_000_000, 0)
    assert ledger.left_us(36_000_000) == 0
    # The window that ends with the next packet may hold what of the burst is not yet an hour ago.
    assert ledger.earliest_send_us(1_000_000, 36_000_000) == HOUR_US
    assert ledger.earliest_send_us(36_000_000, 36_000_000) == HOUR_US
    assert ledger.used_us(HOUR_US + 18_000_000) == 18_000_000
    assert ledger.used_us(HOUR_US + 36_000_000) == 0


def test_what_is_longer_than_the_allowance_is_never_sent() -> None:
    ledger = Ledger(10, 100)
    assert ledger.earliest_send_us(11, 0) is None
    assert ledger.earliest_send_us(10, 5) == 5


def test_a_held_packet_counts_until_an_hour_after_it_has_left() -> None:
    ledger = Ledger(10, 100)
    ledger.hold(8)
    assert ledger.used_us(1_000) == 8
    assert ledger.earliest_send_us(5, 1_000) == 1_000 + 3 + 100 - 5
    assert ledger.earliest_send_us(2, 1_000) == 1_000
    ledger.settle(8, 1_050)
    assert ledger.used_us(1_100) == 8
    assert ledger.used_us(1_150) == 0


def test_transmissions_that_would_overlap_are_laid_one_behind_the_other() -> None:
    ledger = Ledger(10, 100)
    ledger.charge(4, 0)
    ledger.charge(4, 2)
    assert [ledger.used_us(at) for at in (101, 102, 104, 106, 108)] == [7, 6, 4, 2, 0]


def test_air_is_freed_evenly() -> None:
    ledger = Ledger(HOUR_US // 100, HOUR_US)
    starts = []
    now_us: int | None = 0
    for _ in range(400):
        assert now_us is not None
        now_us = ledger.earliest_send_us(205_056, now_us)
        assert now_us is not None
        ledger.charge(205_056, now_us)
        starts.append(now_us)
        now_us += 205_056
    assert sum(start < HOUR_US for start in starts) == 175 + 1
    assert all(later - earlier >= 205_056 for earlier, later in pairwise(starts))
