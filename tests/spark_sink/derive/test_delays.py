"""Delays end to end, against copy by copy."""

from hypothesis import given, settings

from spark_sink.derive.delays import delays
from spark_sink.derive.facts import Facts
from spark_sink.serving.tables import TABLES
from tests.spark_sink.derive import oracle_b
from tests.spark_sink.derive.facts_of import MESH, copies_of
from tests.spark_sink.derive.handmade import SINCE_US, copied_facts, facts
from tests.spark_sink.derive.worlds import WORLDS, by_the_hour, world

KEY = TABLES["delays"].key


@WORLDS
def test_it_is_what_counting_finds(name: str) -> None:
    whole = world(name).facts
    assert oracle_b.rows(delays(whole), *KEY) == oracle_b.delays(whole)


@WORLDS
def test_hours_may_be_asked_for_one_by_one(name: str) -> None:
    parts = by_the_hour(delays, world(name).hours)
    assert oracle_b.rows(parts, *KEY) == oracle_b.rows(delays(world(name).facts), *KEY)


@settings(deadline=None)
@given(copied_facts())
def test_any_copies(some: Facts) -> None:
    assert oracle_b.rows(delays(some), *KEY) == oracle_b.delays(some)


def test_it_fits_its_table() -> None:
    table = delays(world("line8").facts)
    assert set(table.column_names) == {column.name for column in TABLES["delays"].columns}
    assert sum(table["n"].to_pylist()) == 2 * 8


def test_clocks_that_are_not_related_are_not_compared() -> None:
    def found(mesh: int, others_mesh: int) -> int:
        own = {"feed_no": 1, "seq": 1, "node_no": 2, "own": 1, "mesh_us": SINCE_US, "mesh": mesh}
        other = {**own, "node_no": 3, "own": 0, "mesh_us": SINCE_US + 1_000_000, "mesh": others_mesh}
        return len(delays(facts(copies=copies_of([own, other]))))

    assert [found(MESH, MESH), found(2, 3)] == [2, 2]
    assert [found(MESH, MESH + 1), found(MESH, 3), found(2, MESH)] == [0, 0, 0]
