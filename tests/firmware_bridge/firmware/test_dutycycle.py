"""The firmware's account of airtime: against a count of every microsecond's window, and against the daemon's ledger."""

from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge.firmware.dutycycle import DutyCycle
from tinyssb_node.scheduling.ledger import Ledger

WINDOW_US = 1_000
RECORDS = 8
STEPS = st.lists(st.tuples(st.integers(0, 300), st.integers(1, 60)), max_size=80)
"""How long to wait, and how long to send."""


def spent(sent: list[tuple[int, int]], begin_us: int) -> int:
    """Microseconds of *sent*, pairs of begin and end, in the window from *begin_us* on."""
    end_us = begin_us + WINDOW_US
    return sum(max(0, min(end, end_us) - max(begin, begin_us)) for begin, end in sent)


@given(steps=STEPS, limit_us=st.integers(60, 400), records=st.sampled_from([RECORDS, 64]))
def test_no_window_ever_holds_more_than_the_limit(
    steps: list[tuple[int, int]], limit_us: int, records: int
) -> None:
    account = DutyCycle(WINDOW_US, records)
    now_us, sent = 5_000, list[tuple[int, int]]()
    for wait_us, airtime_us in steps:
        now_us += wait_us
        if account.allows(airtime_us, now_us, limit_us):
            account.charge(airtime_us, now_us)
            sent.append((now_us, now_us + airtime_us))
            now_us += airtime_us
    edges = {edge for begin, end in sent for edge in (begin, end, begin - WINDOW_US, end - WINDOW_US)}
    assert max((spent(sent, edge) for edge in edges), default=0) <= limit_us


@given(steps=STEPS, limit_us=st.integers(60, 400))
def test_it_allows_what_the_daemon_s_ledger_allows(steps: list[tuple[int, int]], limit_us: int) -> None:
    account, ledger = DutyCycle(WINDOW_US, 128), Ledger(limit_us, WINDOW_US)
    now_us = 5_000
    for wait_us, airtime_us in steps:
        now_us += wait_us
        allowed = account.allows(airtime_us, now_us, limit_us)
        assert allowed == (ledger.earliest_send_us(airtime_us, now_us) == now_us)
        assert account.used_us(now_us) == ledger.used_us(now_us)
        if allowed:
            account.charge(airtime_us, now_us)
            ledger.charge(airtime_us, now_us)
            now_us += airtime_us


def test_use_falls_as_transmissions_leave_the_window() -> None:
    account = DutyCycle(WINDOW_US, RECORDS)
    account.charge(100, 0)
    account.charge(50, 500)
    assert [account.used_us(now) for now in (550, 1_000, 1_040, 1_100, 1_520, 1_550)] == [
        150,
        150,
        110,
        50,
        30,
        0,
    ]


def test_what_begins_too_early_begins_when_the_one_before_is_over() -> None:
    account = DutyCycle(WINDOW_US, RECORDS)
    account.charge(100, 0)
    account.charge(100, 10)
    assert account.used_us(1_100) == 100, "the second was on the air from 100 to 200"
    # A third would begin at 200: its window then holds both.
    assert account.allows(100, 150, 300)
    assert not account.allows(100, 150, 299)
    # One that would begin at 1,100 has the first out of its window, also when it is asked for at 1,000.
    account = DutyCycle(WINDOW_US, RECORDS)
    account.charge(150, 0)
    account.charge(300, 800)
    assert account.allows(100, 1_000, 400)


def test_beyond_its_records_it_counts_a_little_more() -> None:
    exact, rough = DutyCycle(WINDOW_US, 128), DutyCycle(WINDOW_US, 24)
    now_us = 0
    for _ in range(100):
        now_us += 23
        exact.charge(10, now_us)
        rough.charge(10, now_us)
        now_us += 10
        assert exact.used_us(now_us) <= rough.used_us(now_us) <= exact.used_us(now_us) + 40
