"""Splits, joins and lonely nodes, against sets of pairs."""

import json
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_sink.derive.changes import changes
from spark_sink.derive.groups import groups
from spark_sink.serving.tables import TABLES
from tests.spark_sink.derive import oracle_b
from tests.spark_sink.derive.handmade import grouped
from tests.spark_sink.derive.worlds import BEGIN_US, MINUTE_US, WORLDS, world

SCHEMA = pa.schema([(column.name, column.type.value) for column in TABLES["groups"].columns])
SLOT_US = 10 * MINUTE_US


def table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, SCHEMA)


def told(some: pa.Table) -> list[tuple[int, str, str, Any]]:
    """Minute since the simulation began, kind, subject, detail."""
    rows = changes(some)[0].to_pylist()
    minute = [(row["t_us"] - BEGIN_US) / MINUTE_US for row in rows]
    return [
        (round(when), row["kind"], row["subject"], json.loads(row["detail"]))
        for when, row in zip(minute, rows, strict=True)
    ]


def of(some: pa.Table) -> list[dict[str, Any]]:
    """The rows, without the slot that showed each."""
    rows: list[dict[str, Any]] = changes(some)[0].drop_columns("slot_us").to_pylist()
    return rows


@WORLDS
def test_it_is_what_sets_of_pairs_tell(name: str) -> None:
    some = groups(world(name).facts)
    assert of(some) == oracle_b.changes(some.to_pylist())


@settings(deadline=None)
@given(grouped())
def test_any_groups(rows: list[dict[str, Any]]) -> None:
    assert of(table(rows)) == oracle_b.changes(rows)


@settings(deadline=None)
@given(grouped(), st.randoms(use_true_random=False))
def test_any_order_of_rows_gives_the_same(rows: list[dict[str, Any]], chance: Any) -> None:
    shuffled = list(rows)
    chance.shuffle(shuffled)
    assert changes(table(shuffled))[0] == changes(table(rows))[0]


@settings(deadline=None)
@given(grouped(), st.data())
def test_it_goes_on_from_the_state_at_any_slot(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    slots = sorted({row["slot_us"] for row in rows})
    cut_us = data.draw(st.sampled_from(slots)) if slots else 0
    early, state = changes(table([row for row in rows if row["slot_us"] < cut_us]))
    late, _ = changes(table([row for row in rows if row["slot_us"] >= cut_us]), state)
    whole, _ = changes(table(rows))
    assert sorted([*early.to_pylist(), *late.to_pylist()], key=repr) == sorted(whole.to_pylist(), key=repr)


def test_a_cut_is_a_split_and_its_end_a_join() -> None:
    """Cut from minute 10 to minute 60; contacts count for half an hour after their own slot."""
    parts = {"parts": [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]}
    assert told(groups(world("partition").facts)) == [
        (40, "split", "group 1", parts),
        (60, "join", "group 1", parts),
    ]


def test_a_mesh_that_holds_together_has_no_news() -> None:
    assert told(groups(world("islands").facts)) == []


def test_a_radio_that_hangs_leaves_its_node_alone_from_the_last_contact_on() -> None:
    """n8 holds the second and the third island together; it hangs from minute 5 to minute 88. n2 is off for a while."""
    found = told(groups(world("faults").facts))
    assert [one[:3] for one in found] == [
        (5, "isolated", "node 9"),
        (40, "split", "group 1"),
        (80, "back", "node 9"),
        (80, "join", "group 1"),
    ]


def test_one_slot_is_not_enough() -> None:
    def slot(number: int, *groups: tuple[int, ...]) -> list[dict[str, Any]]:
        return [
            {
                "slot_us": BEGIN_US + number * SLOT_US,
                "node_no": node,
                "hour_us": 0,
                "group_no": group[0],
                "contacts": 0,
                "last_us": None if len(group) == 1 else BEGIN_US + number * SLOT_US,
            }
            for group in groups
            for node in group
        ]

    whole, parts = ((1, 2, 3, 4, 5),), ((1, 2), (3, 4), (5,))
    shapes = [whole, whole, parts, whole, parts, whole, whole, parts, parts, whole, parts, whole, whole]
    rows = [row for number, shape in enumerate(shapes) for row in slot(number, *shape)]
    assert [one[:3] for one in told(table(rows))] == [
        (60, "isolated", "node 5"),
        (70, "split", "group 1"),
        (110, "back", "node 5"),
        (110, "join", "group 1"),
    ]


def test_a_node_that_comes_up_has_time_to_find_others() -> None:
    def silent(slots: int) -> list[dict[str, Any]]:
        return [
            {
                "slot_us": BEGIN_US + number * SLOT_US,
                "node_no": 7,
                "hour_us": 0,
                "group_no": 7,
                "contacts": 0,
                "last_us": None,
            }
            for number in range(slots)
        ]

    assert told(table(silent(7))) == []
    assert told(table(silent(8))) == [(0, "isolated", "node 7", {"nodes": [7]})]


def test_it_fits_its_table() -> None:
    assert changes(groups(world("line8").facts))[0].column_names == [
        c.name for c in TABLES["changes"].columns
    ]
