"""Trickle timers, held to RFC 6206 section 4.2."""

import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.scheduling.chances import Chance
from tinyssb_node import limits
from tinyssb_node.scheduling.trickle import Trickle

SHORTEST_US = 1_000
LONGEST_US = 16_000


def timer(value: float = 0.0) -> Trickle:
    return Trickle(shortest_us=SHORTEST_US, longest_us=LONGEST_US, entropy=Chance(value), now_us=0)


def fired_at(trickle: Trickle, until_us: int) -> list[int]:
    fired = []
    while trickle.next_us <= until_us:
        now_us = trickle.next_us
        if trickle.wake(now_us):
            fired.append(now_us)
    return fired


def test_it_fires_once_an_interval_and_intervals_double_to_the_longest() -> None:
    # With no chance, in the middle of intervals of 1, 2, 4, 8, 16, 16 ms.
    assert fired_at(timer(), 60_000) == [500, 2_000, 5_000, 11_000, 23_000, 39_000, 55_000]


@given(st.integers(0, 2**32))
def test_it_fires_in_the_second_half_of_each_interval(seed: int) -> None:
    trickle = Trickle(shortest_us=SHORTEST_US, longest_us=LONGEST_US, entropy=random.Random(seed), now_us=0)
    begin_us, interval_us = 0, SHORTEST_US
    fired_us = fired_at(trickle, 100_000)
    while interval_us < LONGEST_US:
        assert begin_us + interval_us // 2 <= fired_us.pop(0) < begin_us + interval_us
        begin_us += interval_us
        interval_us *= 2
    # The longest ones last a little longer, each by another time.
    gaps_us = [after - before for before, after in pairwise(fired_us)]
    assert all(LONGEST_US // 2 < gap_us < 1.75 * LONGEST_US for gap_us in gaps_us)
    least_us = LONGEST_US * len(gaps_us)
    assert (
        least_us - LONGEST_US // 2
        < sum(gaps_us)
        < (1 + 1 / limits.TRICKLE_DRIFT) * least_us + LONGEST_US // 2
    )


def test_a_timer_may_keep_its_interval_until_it_sent() -> None:
    trickle = Trickle(
        shortest_us=SHORTEST_US, longest_us=LONGEST_US, entropy=Chance(0), now_us=0, grows_unsent=False
    )
    for begin_us in (0, 1_000):
        trickle.hear_consistent()
        assert fired_at(trickle, begin_us + 1_000) == []
    assert fired_at(trickle, 2_999) == [2_500]
    trickle.sent()
    assert fired_at(trickle, 5_000) == [4_000]


def test_agreement_silences_the_interval_it_is_heard_in_only() -> None:
    trickle = timer()
    trickle.hear_consistent()
    assert fired_at(trickle, 3_000) == [2_000]


def test_disagreement_begins_again_with_the_shortest_interval() -> None:
    trickle = timer()
    fired_at(trickle, 7_000)
    trickle.hear_inconsistent(7_100)
    assert trickle.next_us == 7_600
    assert fired_at(trickle, 9_100) == [7_600, 9_100]


def test_disagreement_forgets_the_agreement_before_it() -> None:
    trickle = timer()
    fired_at(trickle, 7_000)
    trickle.hear_consistent()
    trickle.hear_inconsistent(7_100)
    assert fired_at(trickle, 7_600) == [7_600]


def test_disagreement_in_the_shortest_interval_changes_nothing() -> None:
    trickle = timer(0.9)
    before = trickle.next_us
    trickle.hear_inconsistent(400)
    assert trickle.next_us == before


def test_it_may_be_told_when_to_speak_and_told_again() -> None:
    trickle = timer()
    fired_at(trickle, 7_000)
    trickle.hear_consistent()
    trickle.speak_at(7_200, 7_100)
    trickle.speak_at(7_250, 7_150)
    assert fired_at(trickle, 7_300) == [7_250]
    assert trickle.next_us == 8_150


def test_it_does_not_fire_early() -> None:
    trickle = timer()
    assert not trickle.wake(499)
    assert trickle.next_us == 500


def test_a_late_wake_fires_once_and_begins_the_next_interval_now() -> None:
    trickle = timer()
    assert trickle.wake(50_000)
    assert trickle.next_us == 51_000


@given(st.integers(1, 5), st.integers(0, 3))
def test_however_short_the_interval_time_moves_on(shortest_us: int, more_us: int) -> None:
    trickle = Trickle(
        shortest_us=shortest_us, longest_us=shortest_us + more_us, entropy=random.Random(1), now_us=0
    )
    wakes = 0
    while trickle.next_us <= 50:
        trickle.wake(trickle.next_us)
        wakes += 1
        assert wakes <= 2 * 51


def test_it_counts_how_often_others_spoke_instead_until_it_is_told_that_it_spoke() -> None:
    trickle = timer()
    assert fired_at(trickle, 499) == []
    for heard in (1, 2):
        trickle.hear_consistent()
        assert not trickle.wake(trickle.next_us)
        assert trickle.silenced == heard
        trickle.wake(trickle.next_us)
    assert trickle.wake(trickle.next_us)
    assert trickle.silenced == 2
    trickle.suppressed()
    assert trickle.silenced == 3
    trickle.sent()
    assert trickle.silenced == 0
