"""Derived rows of some hours are replaced, and only those."""

import pyarrow as pa
import pytest

from spark_sink import limits
from spark_sink.derive.progress import steps as progress_steps
from spark_sink.serving import derived, meta, staging, standing
from spark_sink.serving.connect import open_for_writing
from spark_sink.serving.database import Database, rows_of
from tests.spark_sink.derive.worlds import world
from tests.spark_sink.serving.server import PostgresServer

HOUR_US = 3_600_000_000


def progress(*hours: int, copied: int = 1) -> pa.Table:
    """A row for the first minute of each hour."""
    begins = pa.array([hour * HOUR_US for hour in hours], pa.int64())
    numbers = pa.array([copied] * len(hours), pa.int64())
    return pa.table({"minute_us": begins, "hour_us": begins, "published": numbers, "copied": numbers})


def clock(node_no: int) -> pa.Table:
    names = ("boot", "era", "from_mono_us", "base_us", "mesh", "at_us", "offset_us", "matches")
    reals = ("drift_ppm", "offset_error_us", "drift_error_ppm", "covariance_us_ppm")
    return pa.table(
        {"node_no": [node_no], **{name: [1] for name in names}, **{name: [1.5] for name in reals}}
    )


def steps(*rows: tuple[int, int]) -> pa.Table:
    """Hours and frontiers of one node and feed."""
    hours, seqs = zip(*rows, strict=True)
    one = [1] * len(rows)
    return pa.table(
        {"node_no": one, "feed_no": one, "hour_us": [hour * HOUR_US for hour in hours], "seq": seqs}
    )


def replace(database: Database, hours: list[int], tables: dict[str, pa.Table]) -> None:
    with database.transaction():
        derived.replace(database, [hour * HOUR_US for hour in hours], tables)


def test_hours_are_replaced_and_others_kept(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "KEYS_AT_A_TIME", 2)
    replace(database, [1, 2, 3, 4], {"progress": progress(1, 2, 3, 4)})
    replace(database, [1, 2, 4], {"progress": progress(2, 4, copied=9)})
    found = database.rows("SELECT hour_us, copied FROM progress ORDER BY hour_us")
    assert found == [(2 * HOUR_US, 9), (3 * HOUR_US, 1), (4 * HOUR_US, 9)]
    replace(database, [2, 3], {})
    assert database.rows("SELECT hour_us FROM progress") == [(4 * HOUR_US,)]


def test_clocks_are_replaced_as_a_whole(database: Database) -> None:
    replace(database, [], {"clocks": clock(1)})
    replace(database, [1], {"progress": progress(1)})
    assert database.rows("SELECT node_no, drift_ppm FROM clocks") == [(1, 1.5)]
    replace(database, [], {"clocks": clock(2)})
    assert database.rows("SELECT node_no FROM clocks") == [(2,)]
    replace(database, [], {"clocks": clock(2).slice(1)})
    assert database.rows("SELECT node_no FROM clocks") == []
    assert database.rows("SELECT count(*) FROM progress") == [(1,)]


def test_the_last_frontier_is_always_the_highest(database: Database) -> None:
    replace(database, [5, 6, 7], {"steps": steps((5, 10), (6, 12), (7, 13))})
    replace(database, [3], {"steps": steps((3, 12))})
    assert database.rows("SELECT hour_us, seq FROM steps ORDER BY hour_us") == [
        (3 * HOUR_US, 12),
        (7 * HOUR_US, 13),
    ]


def test_what_a_node_held_before_is_no_growth(database: Database) -> None:
    replace(database, [1], {"steps": steps((1, 10))})
    replace(database, [3, 4, 5], {"steps": steps((3, 4), (4, 10), (5, 11))})
    kept = [(HOUR_US, 10), (5 * HOUR_US, 11)]
    assert database.rows("SELECT hour_us, seq FROM steps ORDER BY hour_us") == kept
    assert database.rows("SELECT hour_us, seq FROM feed_steps ORDER BY hour_us") == kept


def test_a_feed_is_where_its_first_copy_is(database: Database) -> None:
    rows = [(1, 7, 0, 3), (2, 7, 0, 5), (2, 8, 0, 1), (1, 7, HOUR_US, 4)]
    columns = zip(("node_no", "feed_no", "hour_us", "seq"), zip(*rows, strict=True), strict=True)
    replace(database, [0, 1], {"steps": pa.table({name: list(values) for name, values in columns})})
    found = database.rows("SELECT feed_no, hour_us, seq FROM feed_steps ORDER BY feed_no, hour_us")
    assert found == [(7, 0, 5), (7, HOUR_US, 4), (8, 0, 1)]


@pytest.mark.parametrize("name_of_world", ["partition", "islands"])
def test_hours_that_come_one_by_one_have_the_steps_of_all_at_once(
    database: Database, name_of_world: str
) -> None:
    told = world(name_of_world)
    for facts in told.hours:
        replace(database, [facts.since_us // HOUR_US], {"steps": progress_steps(facts)})
    found = database.rows("SELECT node_no, feed_no, hour_us, seq FROM steps")
    assert sorted(found) == sorted(rows_of(progress_steps(told.facts)))


@pytest.mark.postgres
def test_what_tasks_delivered_is_taken_once_and_only_as_told(server: PostgresServer) -> None:
    url = server.url("delivered")
    with open_for_writing(url) as database:
        replace(database, [1, 2, 5], {"progress": progress(1, 2), "steps": steps((2, 9), (5, 11))})
        with database.transaction():
            meta.write(database, meta.SIGHTS_SINCE, 2 * HOUR_US)
        staging.prepare(database)
        lost = staging.deliver(url, {"progress": progress(7)})
        tables = {"progress": progress(1, 3, copied=9), "steps": steps((1, 1), (3, 9), (4, 11))}
        number = staging.deliver(url, tables)
        with database.transaction():
            derived.take(database, [hour * HOUR_US for hour in range(1, 5)], number)
        found = database.rows("SELECT hour_us, copied FROM progress ORDER BY hour_us")
        assert found == [(HOUR_US, 1), (3 * HOUR_US, 9)], "the packets of the first hour are gone"
        kept = [(3 * HOUR_US, 9), (4 * HOUR_US, 11)]
        for table in ("steps", "feed_steps"):
            assert (
                database.rows(
                    f"SELECT hour_us, seq FROM {table} WHERE hour_us < 5 * 3600000000 ORDER BY hour_us"
                )
                == kept
            )
        assert database.rows("SELECT delivery FROM staged_progress") == [(lost,)]
        staging.prepare(database)
        assert database.rows("SELECT delivery FROM staged_progress") == []


def test_states_of_the_mesh_that_had_a_replaced_hour_are_deleted(database: Database) -> None:
    with database.transaction():
        standing.keep(database, [(hour * HOUR_US, b"") for hour in range(5)], 5 * HOUR_US)
    replace(database, [3, 2, 4], {})
    assert database.rows("SELECT at_us FROM standing ORDER BY at_us") == [
        (hour * HOUR_US,) for hour in range(3)
    ]
    replace(database, [], {"clocks": clock(1)})
    assert database.rows("SELECT count(*) FROM standing") == [(3,)]
