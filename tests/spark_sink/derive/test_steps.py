"""The frontier over time, against following it entry by entry."""

import pyarrow as pa
from hypothesis import given, settings

from spark_sink.derive.facts import Facts
from spark_sink.derive.progress import feed_steps, steps
from spark_sink.serving.tables import TABLES
from tests.spark_sink.derive import oracle_b
from tests.spark_sink.derive.handmade import committed_facts
from tests.spark_sink.derive.worlds import WORLDS, by_the_hour, shuffled, world

KEY = TABLES["steps"].key


@WORLDS
def test_it_is_what_following_finds(name: str) -> None:
    facts = world(name).facts
    assert oracle_b.rows(steps(facts), *KEY) == oracle_b.steps(facts)


@WORLDS
def test_hours_may_be_asked_for_one_by_one(name: str) -> None:
    parts = by_the_hour(steps, world(name).hours)
    assert oracle_b.rows(parts, *KEY) == oracle_b.rows(steps(world(name).facts), *KEY)


def test_the_order_of_what_ties_does_not_matter() -> None:
    facts = world("partition").facts
    assert steps(shuffled(facts, 1)) == steps(facts)


@settings(deadline=None)
@given(committed_facts())
def test_any_entries(facts: Facts) -> None:
    assert oracle_b.rows(steps(facts), *KEY) == oracle_b.steps(facts)


def test_it_fits_its_table() -> None:
    table = steps(world("line8").facts)
    assert set(table.column_names) == {column.name for column in TABLES["steps"].columns}
    assert table["seq"].to_pylist() == [1] * 9


def test_the_highest_of_all_nodes_in_each_hour() -> None:
    rows = [(1, 7, 0, 3), (2, 7, 0, 5), (2, 8, 0, 1), (1, 7, 9, 4)]
    columns = dict(zip(("node_no", "feed_no", "hour_us", "seq"), zip(*rows, strict=True), strict=True))
    found = feed_steps(pa.table({name: list(values) for name, values in columns.items()}))
    assert sorted(zip(*(column.to_pylist() for column in found.columns), strict=True)) == [
        (7, 0, 5),
        (7, 9, 4),
        (8, 0, 1),
    ]
