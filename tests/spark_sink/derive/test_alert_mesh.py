"""Alerts on nodes that receive nothing and on links that fade, against going hour by hour."""

from itertools import pairwise
from typing import Any

import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spark_sink.derive.alert_inputs import SCHEMAS, AlertInputs
from spark_sink.derive.alert_series import OPEN
from spark_sink.derive.alert_windows import END_US, AlertStanding, Window, faded, stuck
from spark_sink.derive.facts import HOUR_US

HOURS = 14
Rows = list[tuple[Any, ...]]
Spelled = list[tuple[Any, int, int, float, float]]


def window(**tables: Rows) -> Window:
    """By the end of the hours, from the beginning on."""
    made = {
        name: pa.Table.from_pylist(
            [dict(zip(schema.names, row, strict=True)) for row in tables.get(name, [])], schema
        )
        for name, schema in SCHEMAS.items()
    }
    return Window(AlertInputs(HOURS * HOUR_US, made), AlertStanding(), END_US)


def spelled(
    subject: Any,
    hours: dict[int, float],
    raise_at: float,
    clear_at: float,
    may: dict[int, bool] | None = None,
) -> Spelled:
    """Spans of one subject, going through its hours."""
    rows: Spelled = []
    high: list[float] = []
    begin = 0
    for hour in sorted(hours):
        value = hours[hour]
        if high and value <= clear_at:
            rows.append((subject, begin, hour * HOUR_US, high[-1], max(high)))
            high = []
        elif high or (value >= raise_at and (may is None or may[hour])):
            begin = begin if high else hour * HOUR_US
            high.append(value)
    if high:
        rows.append((subject, begin, OPEN, high[-1], max(high)))
    return rows


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(0, HOURS - 1), st.integers(1, 30)),
        max_size=12,
        unique_by=lambda row: row[:3],
    ),
    st.sets(st.tuples(st.integers(1, 3), st.integers(0, HOURS - 1)), max_size=40),
    st.booleans(),
)
@example([(2, 1, 0, 10)], {(1, 0), (1, 3)}, False)
def test_who_gets_nothing(steps: Rows, downs: set[tuple[int, int]], owned: bool) -> None:
    own = {(2, 3)} if owned else set()
    ups = [
        (node, hour) for node in (1, 2, 3) for hour in range(HOURS) if (node, hour) not in downs or hour % 3
    ]

    def held(node: int, feed: int, hour: int) -> int:
        return max(
            [seq for who, what, when, seq in steps if (who, what) == (node, feed) and when <= hour], default=0
        )

    def lacking(node: int, hour: int) -> int:
        before = hour - 3
        others = [feed for feed in range(1, 5) if (node, feed) not in own]
        got = any(held(node, feed, hour) > held(node, feed, before) for feed in others)
        if got or any((node, when) not in ups for when in range(before, hour)):
            return 0
        newest = (max(held(who, feed, before) for who in (1, 2, 3)) for feed in range(1, 5))
        return sum(newest) - sum(held(node, feed, before) for feed in range(1, 5))

    expected: Spelled = []
    for node in (1, 2, 3):
        hours = {hour: float(lacking(node, hour)) for who, hour in ups if who == node}
        gaps = {hour + 1: 0.0 for hour in hours if hour + 1 not in hours and hour + 1 < HOURS}
        expected += spelled(node, {**hours, **gaps}, 10, 5)
    some = stuck(
        window(
            steps=[(node, feed, hour * HOUR_US, seq) for node, feed, hour, seq in steps],
            ups=[(node, hour * HOUR_US) for node, hour in ups],
            boots=[(node, 1, feed, None, 0, 0, 0, 0) for node, feed in own],
        )
    )
    columns = some.subject, some.since_us, some.until_us, some.value, some.peak
    assert list(zip(*(one.tolist() for one in columns), strict=True)) == expected


@settings(deadline=None)
@given(
    st.dictionaries(
        st.tuples(st.sampled_from([(1, 2), (2, 1)]), st.integers(0, HOURS - 1)),
        st.tuples(st.sampled_from([0, 4, 5, 20, 40]), st.sampled_from([0, 0, 5, 35, 50, 100])),
        max_size=28,
    )
)
def test_which_links_fade(found: dict[tuple[tuple[int, int], int], tuple[int, int]]) -> None:
    def share(link: tuple[int, int], hours: range) -> tuple[float, int]:
        rows = [found[link, hour] for hour in hours if (link, hour) in found]
        sent = sum(sent for sent, _ in rows)
        return (sum(sent * percent // 100 for sent, percent in rows) / sent if sent else 0.0), sent

    expected: Spelled = []
    for link in ((1, 2), (2, 1)):
        lost, may = {}, {}
        for hour in sorted(hour for which, hour in found if which == link):
            now, sent = share(link, range(hour - 2, hour + 1))
            then, before = share(link, range(hour - 5, hour - 2))
            if sent >= 20:
                lost[hour], may[hour] = 100 * (1 - now), before >= 20 and then >= 0.5
        expected += spelled(link, lost, 90, 70, may)
    result = faded(
        window(
            links=[
                (hour * HOUR_US, *link, sent * percent // 100, sent)
                for (link, hour), (sent, percent) in found.items()
            ]
        )
    )
    some = result.spans
    columns = some.since_us, some.until_us, some.value, some.peak
    names = {place: result.name(place) for place in some.subject.tolist()}
    pairs = [tuple(int(word) for word in names[place].split()[1:]) for place in some.subject.tolist()]
    assert list(zip(pairs, *(one.tolist() for one in columns), strict=True)) == expected
    assert all(one < other for one, other in pairwise(sorted(names.items())))
    assert all(name.startswith("link ") for name in names.values())
