"""Rows told apart by several columns, as tuples are."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_sink.derive.row_keys import grouped, keys, last_before

ENDS = st.sampled_from([-(2**61), -1, 0, 1, 2**32, 2**61])
ROWS = st.lists(st.tuples(ENDS, ENDS, st.integers(0, 2)), max_size=20)
TIMED = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5)), max_size=12)


def columns(rows: Sequence[tuple[int, ...]], width: int) -> list[np.ndarray]:
    return list(np.array(rows, np.int64).reshape(-1, width).T)


@settings(deadline=None)
@given(ROWS)
def test_rows_are_grouped_and_ordered_as_tuples(rows: list[tuple[int, ...]]) -> None:
    found, place = grouped(*columns(rows, 3))
    kinds = sorted(set(rows))
    assert list(zip(*(column.tolist() for column in found), strict=True)) == kinds
    assert [kinds[number] for number in place.tolist()] == rows
    key = keys(*columns(rows, 3)).tolist()
    assert [rows[number] for number in np.argsort(key, kind="stable")] == sorted(rows)


@settings(deadline=None)
@given(TIMED, TIMED)
def test_the_last_one_before_is_as_by_looking_at_all(
    wanted: list[tuple[int, int]], known: list[tuple[int, int]]
) -> None:
    found = last_before(*columns(wanted, 2), *columns(known, 2)).tolist()
    for (key, time_us), place in zip(wanted, found, strict=True):
        before = [(known_us, number) for number, (other, known_us) in enumerate(known) if other == key]
        assert place == max((one for one in before if one[0] <= time_us), default=(0, -1))[1]
