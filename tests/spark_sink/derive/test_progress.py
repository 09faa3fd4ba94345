"""Progress by the minute, against counting copy by copy."""

from hypothesis import given, settings

from spark_sink.derive.facts import Facts
from spark_sink.derive.progress import progress
from spark_sink.serving.tables import TABLES
from tests.spark_sink.derive import oracle_b
from tests.spark_sink.derive.facts_of import copies_of
from tests.spark_sink.derive.handmade import MINUTE_US, SINCE_US, copied_facts, facts
from tests.spark_sink.derive.worlds import WORLDS, by_the_hour, world


@WORLDS
def test_it_is_what_counting_finds(name: str) -> None:
    whole = world(name).facts
    assert oracle_b.rows(progress(whole), "minute_us") == oracle_b.progress(whole)


@WORLDS
def test_hours_may_be_asked_for_one_by_one(name: str) -> None:
    assert by_the_hour(progress, world(name).hours) == progress(world(name).facts)


@settings(deadline=None)
@given(copied_facts())
def test_any_copies(some: Facts) -> None:
    assert oracle_b.rows(progress(some), "minute_us") == oracle_b.progress(some)


def test_it_fits_its_table() -> None:
    table = progress(world("line8").facts)
    assert set(table.column_names) == {column.name for column in TABLES["progress"].columns}
    assert table["published"].to_pylist() == [1]
    assert table["copied"].to_pylist() == [9]


def test_a_phones_entry_is_published_when_its_first_copy_comes() -> None:
    copies = [
        {"feed_no": 1, "seq": 1, "node_no": node, "mesh_us": SINCE_US + minute * MINUTE_US}
        for node, minute in ((1, 5), (2, 3))
    ]
    assert progress(facts(copies=copies_of(copies))).to_pylist() == [
        {"minute_us": SINCE_US + 3 * MINUTE_US, "hour_us": SINCE_US, "published": 1, "copied": 1},
        {"minute_us": SINCE_US + 5 * MINUTE_US, "hour_us": SINCE_US, "published": 0, "copied": 1},
    ]
