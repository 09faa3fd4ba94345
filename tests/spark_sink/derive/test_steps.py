"""The frontier over time, against following it entry by entry; hour by hour, see serving/test_derived.py."""

from hypothesis import given, settings

from spark_sink.derive.facts import Facts
from spark_sink.derive.progress import steps
from spark_sink.serving.tables import TABLES
from tests.spark_sink.derive import oracle_b
from tests.spark_sink.derive.handmade import committed_facts
from tests.spark_sink.derive.worlds import WORLDS, shuffled, world

KEY = TABLES["steps"].key


@WORLDS
def test_it_is_what_following_finds(name: str) -> None:
    facts = world(name).facts
    assert oracle_b.rows(steps(facts), *KEY) == oracle_b.steps(facts)


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
