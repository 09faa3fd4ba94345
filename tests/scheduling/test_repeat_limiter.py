"""Rate limit of repeats: a packet given again and again is given ever more rarely."""

from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.scheduling.repeat_limiter import RepeatLimiter

WAIT_US = 1_000_000
MOST_US = 60 * WAIT_US
HOUR_US = 3_600_000_000
LENGTH = 16


def limiter(most: int = 8) -> RepeatLimiter[str]:
    return RepeatLimiter(wait_us=WAIT_US, wait_max_us=MOST_US, most=most)


def given_in(
    limits: RepeatLimiter[str], key: str, begin_us: int, end_us: int, *, taking: bool = False
) -> int:
    """Request without end. Return how many packets were given."""
    count = 0
    for now_us in range(begin_us, end_us, WAIT_US // 10):
        if limits.allows(key, LENGTH, now_us, taking=taking):
            limits.gave(key, LENGTH, now_us)
            count += 1
    return count


def test_a_fair_number_is_given_at_once_and_then_ever_less() -> None:
    limits = limiter()
    minutes = [given_in(limits, "a", at, at + MOST_US) for at in range(0, 5 * MOST_US, MOST_US)]
    assert LENGTH + 4 <= minutes[0] <= LENGTH + 4 + 6
    assert minutes[1:] == sorted(minutes[1:], reverse=True)
    assert minutes[-1] <= 1


def test_a_peer_that_takes_what_it_gets_is_given_three_times_as_much() -> None:
    assert given_in(limiter(), "a", 0, WAIT_US * 6, taking=True) >= 3 * (LENGTH + 4)


def test_while_airtime_is_left_no_wait_is_longer_than_eight_of_the_first() -> None:
    limits = limiter()
    for _ in range(100):
        limits.gave("a", LENGTH, 0)
    assert not limits.allows("a", LENGTH, 8 * WAIT_US - 1, spare=True)
    assert limits.allows("a", LENGTH, 8 * WAIT_US, spare=True)
    assert not limits.allows("a", LENGTH, MOST_US - 1)


def test_one_thing_has_no_part_in_the_limit_of_another() -> None:
    limits = limiter()
    given_in(limits, "a", 0, MOST_US)
    assert limits.allows("b", LENGTH, MOST_US)


def test_after_an_hour_as_much_is_given_again() -> None:
    limits = limiter()
    given_in(limits, "a", 0, MOST_US)
    later_us = MOST_US + 2 * HOUR_US
    assert given_in(limits, "a", later_us, later_us + 6 * WAIT_US) >= LENGTH + 4


@given(st.lists(st.text(min_size=1, max_size=2), max_size=40))
def test_it_is_bounded(keys: list[str]) -> None:
    limits = limiter(most=3)
    for key in keys:
        limits.gave(key, -2, 0, 9)
    assert sum(not limits.allows(key, -2, 0) for key in set(keys)) == min(3, len(set(keys)))
