"""Where figures depend on hours of logs."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_sink.derive.facts import HOUR_US
from spark_sink.derive.mesh_time import corrections
from spark_sink.facts_loader import affected_hours, hours_between
from tests.spark_sink.derive.test_mesh_time import BOOTS, MESH, START_US, clock, hours, table

YEARS = 80 * 365 * 24
"""In hours."""


def test_hours_that_clocks_years_apart_may_have_shown_reach_over_nothing_between() -> None:
    ahead = clock(1, 1, base_us=START_US + YEARS * HOUR_US, offset_us=YEARS * HOUR_US)
    clocks = corrections(table(ahead, clock(1, 1, 1, from_mono_us=9 * HOUR_US)))
    asked = START_US + (YEARS + np.arange(9)) * HOUR_US
    found = affected_hours(clocks, np.full(9, 1), np.full(9, 1), asked)
    assert hours_between(found.low_us, found.high_us).tolist() == [
        START_US + hour * HOUR_US for first in (-1, YEARS - 1) for hour in range(first, first + 12)
    ]
    for place in range(9):
        own = sorted(set(found.low_us[found.asked == place].tolist()))
        assert own == [START_US + (hour + place - 1) * HOUR_US for hour in (0, YEARS)]


@settings(max_examples=60, deadline=None)
@given(
    BOOTS,
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), st.integers(-99, 99)), min_size=1, max_size=6),
)
def test_stretches_are_those_of_the_hours_that_a_record_may_lie_in(
    boots: list[list[dict[str, float]]], keys: list[tuple[int, int, int]]
) -> None:
    clocks = corrections(table(*(one for eras in boots for one in eras)))
    node_no, boot, hour = np.array(keys, np.int64).T
    hour_us = START_US + hour * HOUR_US
    found = affected_hours(clocks, node_no, boot, hour_us)
    assert set(found.asked.tolist()) == set(range(len(keys)))
    for place, key in enumerate(zip(node_no.tolist(), boot.tolist(), hour_us.tolist(), strict=True)):
        own = found.asked == place
        assert {
            *zip(
                *(column[own].tolist() for column in (found.node_no, found.boot, found.hour_us)), strict=True
            )
        } == {key}
        reached = hours_between(found.low_us[own], found.high_us[own]).tolist()
        assert {*hours(clocks, *key)} <= {*reached}
        assert (found.high_us - found.low_us).max() <= 4 * HOUR_US


def test_an_hour_of_no_known_clock_is_its_own() -> None:
    found = affected_hours(corrections(table()), np.array([MESH]), np.array([1]), np.array([START_US]))
    assert hours_between(found.low_us, found.high_us).tolist() == [
        START_US + hour * HOUR_US for hour in (-1, 0, 1, 2)
    ]
