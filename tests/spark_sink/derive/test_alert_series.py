"""Spans, hours, windows and clocks put right, against doing it value by value."""

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_sink.derive.alert_inputs import SCHEMAS
from spark_sink.derive.alert_series import OPEN, Series, boot_mesh_us, hourly, mesh_us, rolling, spans
from spark_sink.derive.facts import HOUR_US

Points = dict[tuple[int, int], float]

points = st.dictionaries(
    st.tuples(st.integers(0, 2), st.integers(0, 12)), st.sampled_from([0.0, 1.0, 2.0, 3.0, 5.0]), max_size=20
)


def column(values: Any, dtype: Any = np.int64) -> Any:
    return np.array(list(values), dtype)


def series(found: Points) -> Series:
    return Series(
        column(subject for subject, _ in found),
        column(t for _, t in found),
        column(found.values(), np.float64),
    )


def spelled(found: Points, may: dict[tuple[int, int], bool]) -> list[tuple[int, int, int, float, float]]:
    """Subject, begin, end, last value and peak: raised at 3, cleared at 1."""
    rows: list[tuple[int, int, int, float, float]] = []
    for subject in sorted({one for one, _ in found}):
        high: list[float] = []
        begin = 0
        for t in sorted(t for one, t in found if one == subject):
            value = found[subject, t]
            if high and value <= 1:
                rows.append((subject, begin, t, high[-1], max(high)))
                high = []
            elif high or (value >= 3 and may[subject, t]):
                begin = begin if high else t
                high.append(value)
        if high:
            rows.append((subject, begin, OPEN, high[-1], max(high)))
    return rows


@settings(deadline=None)
@given(points, st.data())
def test_spans_are_what_going_through_them_finds(found: Points, data: st.DataObject) -> None:
    may = {place: data.draw(st.booleans()) for place in found}
    some = spans(series(found), 3, 1, column((may[place] for place in found), np.bool_))
    columns = some.subject, some.since_us, some.until_us, some.value, some.peak
    assert list(zip(*(one.tolist() for one in columns), strict=True)) == spelled(found, may)


@settings(deadline=None)
@given(points)
def test_subjects_that_stay_below_are_left_out(found: Points) -> None:
    always = dict.fromkeys(found, True)
    some = spans(series(found).reaching(3), 3, 1)
    assert some.subject.tolist() == [row[0] for row in spelled(found, always)]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 6), st.integers(0, 5)), max_size=20))
def test_hours_without_a_row_count_nothing(rows: list[tuple[int, int, int]]) -> None:
    found: Points = {}
    for subject, hour, value in rows:
        found[subject, hour] = found.get((subject, hour), 0) + value
    for subject, hour in list(found):
        found.setdefault((subject, hour + 1), 0)
    some = hourly(*(column(part) for part in zip(*rows, strict=True)) if rows else [column([])] * 3)
    if rows:
        subject, hour_us, value = (column(part) for part in zip(*rows, strict=True))
        some = hourly(subject, hour_us * HOUR_US, value)
    places = zip(some.subject.tolist(), (some.t_us // HOUR_US).tolist(), strict=True)
    assert dict(zip(places, some.value.tolist(), strict=True)) == found
    assert len(some.value) == len(found)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12), st.integers(0, 5)), max_size=20))
def test_windows_are_sums(rows: list[tuple[int, int, int]]) -> None:
    subject, tick, value = (column(row[part] for row in rows) for part in range(3))
    window = subject + 2
    some = rolling(subject, tick, value, window)
    assert {*zip(some.subject.tolist(), some.t_us.tolist(), strict=True)} == {
        (one, t + left) for one, t, _ in rows for left in (0, one + 2)
    }
    for one, t, total in zip(some.subject.tolist(), some.t_us.tolist(), some.value.tolist(), strict=True):
        assert total == sum(worth for who, when, worth in rows if who == one and when <= t < when + one + 2)


def clocks(*rows: dict[str, int]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), SCHEMAS["clocks"])


ROW = st.fixed_dictionaries(
    {
        "node_no": st.integers(1, 2),
        "boot": st.integers(1, 2),
        "from_mono_us": st.integers(0, 50),
        "base_us": st.integers(0, 50),
        "at_us": st.integers(0, 50),
        "offset_us": st.integers(-50, 50),
        "drift_ppm": st.sampled_from([0.0, 100_000.0]),
    }
)


@settings(deadline=None)
@given(
    st.lists(ROW, max_size=6, unique_by=lambda row: (row["node_no"], row["from_mono_us"], row["base_us"])),
    st.lists(
        st.tuples(st.integers(1, 3), st.integers(1, 2), st.integers(0, 99), st.integers(0, 99)), max_size=6
    ),
)
def test_times_are_put_right_by_the_clock_of_then(
    rows: list[dict[str, Any]], asked: list[tuple[int, int, int, int]]
) -> None:
    node_no, boot, mono_us, t_us = (column(row[part] for row in asked) for part in range(4))
    by_boot, by_wall = (
        boot_mesh_us(clocks(*rows), node_no, boot, mono_us, t_us),
        mesh_us(clocks(*rows), node_no, t_us),
    )
    for place, (node, number, mono, t) in enumerate(asked):
        own = [
            (row["from_mono_us"], row["base_us"], row)
            for row in rows
            if (row["node_no"], row["boot"]) == (node, number)
        ]
        walls = [
            (row["from_mono_us"] + row["base_us"], row["base_us"], row)
            for row in rows
            if row["node_no"] == node
        ]
        assert by_boot[place] == right(own, mono, t)
        assert by_wall[place] == right(walls, t, t)


def right(some: list[tuple[int, int, dict[str, Any]]], moment: int, t_us: int) -> int:
    some = sorted(some, key=lambda one: one[:2])
    if not some:
        return t_us
    clock = ([row for start, _, row in some if start <= moment] or [some[0][2]])[-1]
    drift = clock["drift_ppm"] / 1e6
    offset_us: int = clock["offset_us"]
    return t_us - offset_us - int(np.rint(drift / (1 + drift) * (t_us - clock["at_us"])))
