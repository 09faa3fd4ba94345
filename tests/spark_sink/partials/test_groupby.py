"""Grouping whole columns against doing it row by row."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_sink import limits
from spark_sink.partials.groupby import (
    LAST,
    RowGroups,
    chosen,
    codes,
    first_text,
    greatest,
    group,
    least,
    numbers_of,
    texts,
)

NUMBERS = st.one_of(st.integers(0, 3), st.sampled_from([-(2**62), 2**31, 2**40, 2**62]))
NAMES = st.sampled_from(["", "a", "b", "é", "\U0001f600", "￿", None])


def columns(rows: list[tuple[int, str | None, int]]) -> list[pa.Array]:
    return [
        pa.array([row[0] for row in rows], pa.int64()),
        pa.array([row[1] for row in rows], pa.string()),
        pa.array([row[2] for row in rows], pa.int64()),
    ]


@given(st.lists(st.tuples(NUMBERS, NAMES, NUMBERS), max_size=30))
def test_rows_are_of_one_group_if_they_are_equal(rows: list[tuple[int, str | None, int]]) -> None:
    groups = group(columns(rows), len(rows))
    assert groups.count == len(set(rows))
    assert len({*zip(rows, groups.of.tolist(), strict=True)}) == groups.count
    assert set(groups.of.tolist()) == set(range(groups.count))
    firsts = [rows.index(rows[row]) for row in groups.some().tolist()]
    assert firsts == groups.some().tolist()


@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=30))
def test_groups_of_rows_in_order_of_the_first_column_are_in_order_of_it(rows: list[tuple[int, int]]) -> None:
    rows = sorted(rows, key=lambda row: row[0])
    groups = group([pa.array([row[at] for row in rows], pa.int64()) for at in (0, 1)], len(rows))
    firsts = [rows[row][0] for row in groups.some()]
    assert firsts == sorted(firsts)


@given(
    st.lists(st.tuples(st.integers(0, 3), NAMES, NAMES, st.integers(0, 2), st.integers(0, 2)), max_size=30)
)
def test_the_best_row_is_the_least_by_one_criterion_after_the_other(rows: list[tuple[Any, ...]]) -> None:
    kinds = pa.int64(), pa.string(), pa.string(), pa.int64(), pa.int64()
    keys, first, second, third, fourth = (
        pa.array([row[at] for row in rows], kind) for at, kind in enumerate(kinds)
    )
    groups = group([keys], len(rows))
    best = groups.best([first_text(first), first_text(second), greatest(third), least(fourth)])
    found = {rows[row][0]: rows[row] for row in best}

    def rank(row: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*((text is not None, (text or "").encode()) for text in row[1:3]), -row[3], row[4])

    assert {key: rank(row) for key, row in found.items()} == {
        key: min(rank(row) for row in rows if row[0] == key) for key in {row[0] for row in rows}
    }


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from([0, 1, 2**31 - 1, 2**53 + 2**30, 2**61 - 1, 2**62])),
        max_size=30,
    )
)
def test_sums_stop_where_the_database_ends(rows: list[tuple[int, int]]) -> None:
    groups = group([pa.array([row[0] for row in rows], pa.int64())], len(rows))
    sums = groups.sums(np.array([row[1] for row in rows], np.int64)).tolist()
    expected = [
        min(sum(value for key, value in rows if key == rows[row][0]), limits.SUM_MAX) for row in groups.some()
    ]
    assert sums == expected


def test_least_and_most() -> None:
    groups = RowGroups(np.array([1, 0, 1]), 2)
    values = np.array([5, LAST, 2])
    assert groups.least(values).tolist() == [LAST, 2]
    assert groups.most(np.array([5, 0, 2])).tolist() == [0, 5]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", None, "b", "a"]),
        pa.array(["a", None, "b", "a"]).dictionary_encode(),
        pa.chunked_array([["a", None], ["b", "a"]]),
        pa.chunked_array(
            [pa.array(["a", None]).dictionary_encode(), pa.array(["b", "a"]).dictionary_encode()]
        ),
    ],
    ids=["plain", "encoded", "chunks", "unlike"],
)
def test_texts_of_any_make_are_numbered(column: Any) -> None:
    numbers, names = codes(column)
    assert numbers.tolist() == [0, -1, 1, 0]
    assert texts(numbers, names).to_pylist() == ["a", None, "b", "a"]


def test_no_texts_are_no_numbers() -> None:
    empty = pa.chunked_array([], pa.dictionary(pa.int32(), pa.string()))
    numbers, names = codes(empty)
    assert (numbers.tolist(), names.to_pylist()) == ([], [])


def test_the_last_choice_that_holds_is_taken() -> None:
    column = pa.array(["a", None, "b", "sent"])
    found = chosen(
        4, "sent", (np.array([True, True, False, True]), column), (np.array([True] + [False] * 3), None)
    )
    assert found.to_pylist() == [None, None, "sent", "sent"]
    assert len(found.dictionary) == len(set(found.dictionary.to_pylist()))


def test_null_becomes_what_it_is_told_to() -> None:
    assert numbers_of(pa.array([None, None], pa.int64()), 7).tolist() == [7, 7]
    assert numbers_of(pa.array([1, None]), 7).tolist() == [1, 7]
    assert numbers_of(pa.array([True, None])).tolist() == [1, 0]
