"""Times in minutes: small, and exact to the minute."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.codec import bipf
from tinyssb_node.content.limits import CLAIM_MIN_US, SAID_S_MAX
from tinyssb_node.content.minutes import nearest_seconds, read_minutes, to_low_minutes, to_minutes


@given(st.integers(CLAIM_MIN_US // 1_000_000 + 60, SAID_S_MAX))
def test_a_time_is_read_to_the_minute(wall_s: int) -> None:
    assert read_minutes(to_minutes(wall_s)) == wall_s - wall_s % 60


def test_a_time_of_these_years_has_four_bytes() -> None:
    assert len(bipf.encode(to_minutes(1_764_000_000))) == 4


@pytest.mark.parametrize("value", [None, True, "5", -1, 0, 2**40, 1.5])
def test_anything_else_is_no_time(value: bipf.Value) -> None:
    assert read_minutes(value) is None


@pytest.mark.parametrize(
    ("wall_s", "minutes"), [(-5, 0), (0, 0), (10**12, (SAID_S_MAX - 1_577_836_800) // 60)]
)
def test_clocks_that_were_never_set_or_are_absurd_can_be_written(wall_s: int, minutes: int) -> None:
    assert to_minutes(wall_s) == minutes


@given(st.integers(CLAIM_MIN_US // 1_000_000 + 60, 2**32), st.integers(-(2**15), 2**15 - 1))
def test_the_lower_bits_are_enough_near_a_known_time(wall_s: int, minutes: int) -> None:
    whole_s = wall_s - wall_s % 60
    assert nearest_seconds(to_low_minutes(wall_s), whole_s - minutes * 60) in {
        whole_s,
        whole_s + 2**16 * 60,
        None,
    }
    if abs(minutes) < 2**15:
        assert nearest_seconds(to_low_minutes(wall_s), whole_s - minutes * 60) == whole_s


def test_lower_bits_near_an_absurd_time_state_none() -> None:
    for reference_s in (-(10**12), 0, 10**15):
        assert nearest_seconds(5, reference_s) is None
