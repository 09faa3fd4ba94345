"""Every rule: when it speaks up, when it is silent again, and when it never says a word."""

import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_sink.derive.alert_inputs import SCHEMAS, AlertInputs
from spark_sink.derive.alert_rules import RULES
from spark_sink.derive.alerts import alerts
from spark_sink.derive.facts import HOUR_US
from spark_sink.serving.tables import TABLES

T0 = 490_896 * HOUR_US
"""2026-01-01."""
SLOT_US = HOUR_US // 6
Alert = tuple[str, str, float, float | None, float, float]


def inputs(now: float, **tables: list[tuple[Any, ...]]) -> AlertInputs:
    """Hour *now* after `T0`, and rows in the order of the columns."""
    made = {
        name: pa.Table.from_pylist(
            [dict(zip(schema.names, row, strict=True)) for row in tables.get(name, [])], schema
        )
        for name, schema in SCHEMAS.items()
    }
    return AlertInputs(T0 + round(now * HOUR_US), made)


def found(some: AlertInputs, *rules: str) -> list[Alert]:
    """Rule, subject, begin and end (hours after `T0`, None: still so), value, peak."""
    rows = alerts(some).to_pylist()
    return [
        (
            row["rule"],
            row["subject"],
            (row["since_us"] - T0) / HOUR_US,
            None if row["until_us"] is None else (row["until_us"] - T0) / HOUR_US,
            round(row["value"], 6),
            round(row["peak"], 6),
        )
        for row in rows
        if not rules or row["rule"] in rules
    ]


def at(hour: float) -> int:
    return T0 + round(hour * HOUR_US)


def up(node: int, *hours: int) -> list[tuple[int, int]]:
    return [(node, at(hour)) for hour in hours]


def test_nothing_is_nothing() -> None:
    table = alerts(inputs(0))
    assert table.num_rows == 0
    assert {*table.column_names} == {column.name for column in TABLES["alerts"].columns}


def test_a_lonely_node_until_it_is_back_or_off() -> None:
    alone = [(at(node), "isolated", f"node {node}", "{}") for node in (1, 2, 3)]
    back = (at(4), "back", "node 1", "{}")
    ups = [*up(1, *range(9)), *up(2, *range(5)), *up(3, *range(9))]
    assert found(inputs(9, changes=[*alone, back], ups=ups)) == [
        ("isolated", "node 1", 1, 4, 3, 3),
        ("isolated", "node 2", 2, 5, 3, 3),
        ("isolated", "node 3", 3, None, 6, 6),
    ]


def test_a_split_until_two_parts_meet_or_go() -> None:
    parts = '{"parts":[[1,2],[3,4],[5,6]]}'
    ups = [*up(1, *range(9)), *up(3, *range(9)), *up(5, *range(3))]
    split = (at(2), "split", "group 1", parts)
    assert found(inputs(9, changes=[split], ups=ups)) == [("split", "mesh", 2, None, 3, 3)]
    join = (at(5), "join", "group 1", '{"parts":[[2,7],[3,4]]}')
    assert found(inputs(9, changes=[split, join], ups=ups)) == [("split", "mesh", 2, 5, 3, 3)]
    other = (at(5), "join", "group 1", '{"parts":[[1,2],[7,8]]}')
    assert found(inputs(9, changes=[split, other], ups=ups)) == [("split", "mesh", 2, None, 3, 3)]
    gone = [*up(1, *range(9)), *up(3, *range(6)), *up(4, *range(4)), *up(5, *range(3))]
    assert found(inputs(9, changes=[split], ups=gone)) == [("split", "mesh", 2, 6, 3, 3)]
    again = (at(3), "split", "group 1", '{"parts":[[1,9],[2,8]]}')
    assert found(inputs(9, changes=[split, again], ups=[*ups, *up(2, 8)])) == [
        ("split", "mesh", 2, None, 4, 4)
    ]


def test_a_log_that_ended_without_a_stop() -> None:
    def boot(node: int, number: int, first: float, last: float, stop: float | None = None) -> tuple[Any, ...]:
        stopped_us = None if stop is None else at(stop)
        return (node, number, None, stopped_us, at(first), 0, at(last), at(last) - at(first))

    rows = [boot(1, 1, 0, 2), boot(1, 2, 9, 20), boot(2, 1, 0, 3, 3), boot(3, 1, 0, 14), boot(3, 2, 19.5, 20)]
    assert found(inputs(20, boots=rows)) == [("silent", "node 1", 2, 9, 7, 7)]
    assert found(inputs(26, boots=rows))[1:] == [
        ("silent", "node 1", 20, None, 6, 6),
        ("silent", "node 3", 20, None, 6, 6),
    ]


def test_a_log_that_began_with_a_clock_of_long_ago() -> None:
    """The machine was off from 2 to 9, took its last time for now, and was told better before its first packet."""
    rows = [
        (1, 1, None, None, at(0), 0, at(2), 2 * HOUR_US),
        (1, 2, None, None, at(2), 0, at(10), HOUR_US),
    ]
    clocks = [(1, boot, 0, at(hour), at(hour), 0, 0.0, 0, 2**40) for boot, hour in ((1, 0), (2, 9))]
    assert found(inputs(10, boots=rows)) == [("silent", "node 1", 2, 9, 7, 7)]
    assert found(inputs(10, boots=rows, clocks=clocks)) == [("silent", "node 1", 2, 9, 7, 7)]
    missing = found(inputs(10, boots=rows, clocks=clocks, gaps=[(1, 2, 1, 3)]), "log_missing")
    assert missing == [("log_missing", "boot 1 2", 9, None, 2, 2)]


def test_a_node_that_gets_nothing_of_what_others_have() -> None:
    grow = [(1, 7, at(hour), 4 * (hour + 1)) for hour in range(8)]
    boots = [(node, 1, feed, None, T0, 0, at(10), 0) for node, feed in ((1, 7), (2, 8), (3, 9))]
    lags = [(2, 7, at(0), 4), (2, 8, at(4), 1), (2, 8, at(5), 2)]
    late = [(3, 7, at(7), 30)]
    ups = [*up(1, *range(10)), *up(2, *range(9)), *up(3, *range(10))]
    some = inputs(10, steps=[*grow, *lags, *late], ups=ups, boots=boots)
    # Node 2 got nothing after hour 0; at hour 6 it lacks 12 of the 16 of hour 3. Its own entries do not count.
    # Node 3 never had anything, until hour 7.
    assert found(some, "stuck") == [("stuck", "node 2", 6, 9, 20, 20), ("stuck", "node 3", 5, 7, 16, 16)]


def test_time_on_the_air() -> None:
    def slots(*used_s: float) -> list[tuple[Any, ...]]:
        return [
            (1, T0 + number * SLOT_US, "air", 10, round(used * 1e6))
            for number, used in enumerate(used_s)
            if used
        ]

    faces = [(1, "air", 10_000, HOUR_US)]
    assert found(inputs(9, faces=faces, transmitted=slots(10, 10, 0, 8))) == []
    near = ("duty", "face 1 air", 0.5, 1.0, 81.944444, 81.944444)
    assert found(inputs(9, faces=faces, transmitted=slots(10, 10, 0, 9.5, 0, 0, 0, 3))) == [near]
    assert found(inputs(9, faces=faces, transmitted=slots(10, 10, 10, 7.2))) == [
        ("duty", "face 1 air", 1 / 3, 7 / 6, 75.555556, 103.333333),
        ("duty_over", "face 1 air", 0.5, 1.0, 100.555556, 100.555556),
    ]
    assert found(inputs(0.9, faces=faces, transmitted=slots(10, 10, 10)))[0][2:4] == (1 / 3, None)
    just = found(inputs(9, faces=faces, transmitted=slots(10, 10, 10, 6.5)))
    assert [one[0] for one in just] == ["duty"], "one of the packets may have begun before the window"
    assert found(inputs(9, transmitted=slots(100))) == [], "no law, no limit"


def test_clocks_that_are_wrong_until_they_are_not() -> None:
    rows = [
        (1, 1, 0, at(0), at(1), 0, 0.0),
        (1, 1, HOUR_US, at(1) + 11 * 60_000_000, at(2), 660_000_000, 0.0),
        (1, 1, 3 * HOUR_US, at(1), at(3), -360_000_000, 0.0),
        (1, 2, 0, at(8), at(9), 30_000_000, 0.0),
        (2, 1, 0, at(0), at(1), 599_000_000, 0.0),
    ]
    begins = [(at(2) + 11 * 60_000_000 - 660_000_000 - T0) / HOUR_US, (at(8) - 30_000_000 - T0) / HOUR_US]
    clocks = [(*row, era, 2**40) for era, row in enumerate(rows)]
    assert found(inputs(9, clocks=clocks)) == [("clock_wrong", "node 1", *begins, 6, 11)]


def test_jumps_count_for_an_hour() -> None:
    def jump(hour: float, seconds: float) -> tuple[Any, ...]:
        return (1, 1, at(hour), 0, "clock", None, round(seconds * 1e6))

    rows = [jump(1, 59), jump(2, -61), jump(2.5, 300), jump(7.5, 60)]
    (first, second) = found(inputs(8, incidents=rows))
    assert first[:3] == ("clock_jump", "node 1", 2)
    assert first[3] is not None
    assert 3.5 <= first[3] < 3.501
    assert first[4:] == (300, 300)
    assert second == ("clock_jump", "node 1", 7.5, None, 60, 60)


def test_three_unclean_ends_in_six_hours() -> None:
    rows = [(1, boot, at(hour), 0, "start", None, None) for boot, hour in enumerate((0, 5, 7, 9, 20, 23))]
    # Of the starts at 5, 7 and 9 one is left from hour 13 on.
    assert found(inputs(30, incidents=rows)) == [("restarts", "node 1", 9, 13, 2, 3)]
    assert found(inputs(10, incidents=rows[:4])) == [("restarts", "node 1", 9, None, 3, 3)]


def test_a_face_is_down_until_it_is_up_again_or_the_boot_is_over() -> None:
    def turns(node: int, boot: int, *hours: float, face: str = "lora") -> list[tuple[Any, ...]]:
        return [
            (node, boot, at(hour), round(hour * HOUR_US), ("face_down", "face_up")[place % 2], face)
            for place, hour in enumerate(hours)
        ]

    def boot(node: int, number: int, first: float, last: float, stopped: float | None) -> tuple[Any, ...]:
        stopped_us = None if stopped is None else at(stopped)
        moments = (at(first), round(first * HOUR_US), at(last), round(last * HOUR_US))
        return (node, number, None, stopped_us, *moments)

    boots = [boot(1, 1, 0, 9, None), boot(2, 1, 0, 5, None), boot(2, 2, 6, 9, None), boot(3, 1, 0, 8, 8)]
    rows = [
        *turns(1, 1, 2, 2.5, 3, 3.001, 8),
        *turns(1, 1, 8.9, 8.95, face="usb 1"),
        *turns(2, 1, 4),
        *turns(3, 1, 7),
    ]
    assert found(inputs(9, boots=boots, turns=rows), "down") == [
        ("down", "face 1 lora", 2, 2.5, 30, 30),
        ("down", "face 1 lora", 8, None, 60, 60),
        ("down", "face 1 usb 1", 8.9, 8.95, 3, 3),
        ("down", "face 2 lora", 4, 5, 60, 60),
        ("down", "face 3 lora", 7, 8, 60, 60),
    ]


def test_faces_that_flap() -> None:
    def hours(face: str, *downs: int) -> list[tuple[Any, ...]]:
        return [(1, at(hour), "face_down", face, count, 0) for hour, count in enumerate(downs) if count]

    rows = [*hours("air", 5, 6, 3, 9, 2, 8), *hours("wire", 5, 5, 5)]
    assert found(inputs(6, counts=rows)) == [
        ("flapping", "face 1 air", 1, 4, 9, 9),
        ("flapping", "face 1 air", 5, None, 8, 8),
    ]
    assert found(inputs(6.5, counts=rows))[1][3] is None, "the hour is not over"
    assert found(inputs(7, counts=rows))[1][3] == 6


def test_forks_are_for_ever() -> None:
    rows = [(node, 1, at(hour), 0, "fork", 7, None) for node, hour in ((1, 5), (2, 3), (2, 9))]
    assert found(inputs(99, incidents=rows)) == [("fork", "feed 7", 3, None, 2, 2)]
    assert alerts(inputs(99, incidents=rows))["level"].to_pylist() == ["alarm"]


def test_hourly_counts() -> None:
    invalid = [(1, at(1), 6), (1, at(1), 4), (1, at(2), 3), (1, at(3), 2)]
    assert found(inputs(9, invalid=invalid)) == [("invalid", "node 1", 1, 3, 3, 10)]
    waits = [(1, at(1), "refused", "budget", 2, 100), (1, at(2), "refused", "queue", 2, 900)]
    assert found(inputs(9, counts=waits)) == [("budget", "node 1", 1, 2, 100, 100)]
    disk = [(1, at(1), "refused", "read_only", 1, 1), (2, at(8), "refused", "event_log", 1, 3)]
    assert found(inputs(10, counts=disk)) == [("disk", "node 1", 1, 2, 1, 1), ("disk", "node 2", 8, 9, 3, 3)]


def test_links_that_fade() -> None:
    def link(*shares: float, sent: int = 10, since: int = 0) -> list[tuple[Any, ...]]:
        return [
            (at(since + hour), 3, 5, round(share * sent), sent)
            for hour, share in enumerate(shares)
            if share >= 0
        ]

    good, bad = (1.0, 0.9, 0.8), (0.2, 0.1, 0.0)
    fell = found(inputs(6, links=link(*good, *bad)))
    assert fell == [("faded", "link 3 5", 5, None, 90, 90)]
    assert found(inputs(5.9, links=link(*good, *bad))) == [], "the hour is not over"
    assert found(inputs(9, links=link(*good, *bad, sent=6))) == [], "too few packets"
    assert found(inputs(9, links=link(0.4, 0.4, 0.4, *bad))) == [], "it never was good"
    assert found(inputs(9, links=link(*good, *bad, 0.3, 0.3, 0.3)))[0][3] == 8
    assert found(inputs(40, links=link(*good, *bad, *[0.0] * 30)))[0][2:4] == (5, 29)


def test_logs_that_have_holes() -> None:
    boots = [(3, 2, None, None, at(4), 0, at(5), HOUR_US)]
    assert found(inputs(6, boots=boots, gaps=[(3, 2, 10, 15), (3, 2, 20, 21)]), "log_missing") == [
        ("log_missing", "boot 3 2", 4, None, 6, 6)
    ]


def test_times_are_those_of_the_mesh() -> None:
    """A node whose clock is two hours ahead heard junk at three by its clock."""
    clock = (1, 1, 0, at(2), at(2), 2 * HOUR_US, 0.0, 0, 2**40)
    some = inputs(9, clocks=[clock], invalid=[(1, at(3), 10)])
    assert found(some, "invalid") == [("invalid", "node 1", 1, 2, 10, 10)]


ROWS = {
    "invalid": st.tuples(st.integers(1, 2), st.integers(0, 6).map(at), st.integers(0, 12)),
    "counts": st.tuples(
        st.integers(1, 2),
        st.integers(0, 6).map(at),
        st.sampled_from(["refused", "face_down"]),
        st.sampled_from(["budget", "read_only", "air"]),
        st.integers(0, 8),
        st.integers(0, 120),
    ),
    "incidents": st.tuples(
        st.integers(1, 2),
        st.integers(1, 2),
        st.integers(0, 6).map(at),
        st.integers(0, HOUR_US),
        st.sampled_from(["clock", "start", "fork"]),
        st.integers(1, 2),
        st.integers(-(10**9), 10**9),
    ),
    "ups": st.tuples(st.integers(1, 2), st.integers(0, 6).map(at)),
    "steps": st.tuples(st.integers(1, 2), st.integers(1, 2), st.integers(0, 6).map(at), st.integers(1, 30)),
}


@settings(deadline=None, max_examples=40)
@given(
    st.fixed_dictionaries({name: st.lists(row, max_size=8, unique=True) for name, row in ROWS.items()}),
    st.randoms(),
)
def test_the_order_of_rows_does_not_matter_and_alerts_have_keys(
    tables: dict[str, list[tuple[Any, ...]]], chance: random.Random
) -> None:
    before = alerts(inputs(7, **tables))
    for rows in tables.values():
        chance.shuffle(rows)
    assert alerts(inputs(7, **tables)) == before
    keys = list(zip(*(before[name].to_pylist() for name in TABLES["alerts"].key), strict=True))
    assert len({*keys}) == len(keys)
    assert {*before["rule"].to_pylist()} <= {*RULES}


def test_the_table_of_rules_is_the_rules() -> None:
    text = (Path(__file__).parents[3] / "docs/reference/analytics.md").read_text()
    rows = [
        line.strip("| ").split(" | ") for line in text.split("\n## Alerts\n")[1].splitlines() if "| `" in line
    ]
    assert [row[:5] for row in rows] == [
        [f"`{rule.name}`", rule.level, rule.unit, f"{rule.raise_at:g}", f"{rule.clear_at:g}"]
        for rule in RULES.values()
    ]


def test_a_thousand_nodes_for_a_week() -> None:
    """In a second or two; ten times that would be a loop over rows."""
    node_no, hour = np.repeat(np.arange(1_000), 168), np.tile(np.arange(168), 1_000)
    hour_us = hour * HOUR_US + T0
    count = node_no * 7 % 40 + hour % 5
    links = pa.table([hour_us, node_no, (node_no + 1) % 1_000, count, count + hour % 11], SCHEMAS["links"])
    steps = pa.table([node_no, hour % 50, hour_us, hour // 50 + 1], SCHEMAS["steps"])
    some = inputs(168, faces=[(node, "air", 10_000, HOUR_US) for node in range(1_000)])
    tables = {
        "ups": pa.table([node_no, hour_us], SCHEMAS["ups"]),
        "links": links,
        "steps": steps,
        "invalid": pa.table([node_no, hour_us, count], SCHEMAS["invalid"]),
        "transmitted": pa.table(
            [node_no, hour_us, ["air"] * len(hour), count + 1, count * 700_000], SCHEMAS["transmitted"]
        ),
    }
    some = AlertInputs(some.now_us, {**some.tables, **tables})
    began = time.process_time()
    assert alerts(some).num_rows > 0
    assert time.process_time() - began < 15
