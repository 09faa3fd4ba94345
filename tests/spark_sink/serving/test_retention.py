"""Single packets are forgotten, derived rows stay, and what comes too late is told."""

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spark_sink.derive.packet_ages import NONE_US
from spark_sink.serving import derived
from spark_sink.serving.database import Database
from spark_sink.serving.merge import merge
from spark_sink.serving.meta import SIGHTS_SINCE, SIGHTS_UNTIL, read_number
from spark_sink.serving.names import NameNumbers
from spark_sink.serving.retention import PATH, forget, kept
from tests.spark_sink.serving.batches import NODES, batch
from tests.spark_sink.serving.content import empty, rows_of
from tests.spark_sink.serving.test_derived import progress
from tests.spark_sink.serving.test_dirty_hours import HOUR_US, marked, sights


def deliver(database: Database, batch_id: int, *hours: tuple[str, int]) -> None:
    merge(
        database,
        NameNumbers(database),
        batch(batch_id, {"sights": [sights(node, hour) for node, hour in hours]}),
    )


def held(database: Database) -> set[tuple[object, ...]]:
    """(node, hour) of all sights."""
    query = "SELECT n.node, s.hour_us / 3600000000 FROM sights s JOIN nodes n ON n.node_no = s.node_no"
    return set(database.rows(query))


STEADY = 77
"""An hour of a clock that tells its age well enough."""


def forget_before(database: Database, hour: int, now_us: int = 1_000, keep_us: int = 999) -> int:
    """Forget what is older than two hours before *hour*, all clocks being right."""
    keys = np.array(database.rows("SELECT DISTINCT node_no, boot, hour_us FROM sights"), np.int64).reshape(
        -1, 3
    )
    hour_us = keys[:, 2]
    columns = {"node_no": keys[:, 0], "boot": keys[:, 1], "hour_us": hour_us, "low_us": hour_us}
    columns |= {
        "old": (hour_us < (hour - 2) * HOUR_US) * 1,
        "by_reading": (hour_us != STEADY * HOUR_US) * 1,
        "high_us": hour_us + HOUR_US - 1,
    }
    return forget(database, pa.table(columns), now_us, keep_us)


def test_hours_before_are_forgotten_with_their_marks_but_for_two(database: Database) -> None:
    assert read_number(database, SIGHTS_SINCE) is None
    deliver(database, 0, *((node, hour) for node in NODES[:2] for hour in range(10)))
    assert forget_before(database, 6) == 8
    kept = {(node, hour) for node in NODES[:2] for hour in range(4, 10)}
    assert held(database) == marked(database) == kept
    assert read_number(database, SIGHTS_SINCE) == 6 * HOUR_US
    assert forget_before(database, 5) == 0
    assert read_number(database, SIGHTS_SINCE) == 6 * HOUR_US


def test_what_was_read_long_ago_goes_whatever_its_clock_says(database: Database) -> None:
    deliver(database, 0, (NODES[0], 900), (NODES[1], 5))
    assert forget_before(database, 0, now_us=10, keep_us=100) == 0
    deliver(database, 1, (NODES[0], 900), (NODES[0], 901))
    assert forget_before(database, 0, now_us=50, keep_us=100) == 0
    assert forget_before(database, 0, now_us=109, keep_us=100) == 0
    assert (read_number(database, SIGHTS_SINCE), read_number(database, SIGHTS_UNTIL)) == (None, None)
    assert forget_before(database, 0, now_us=110, keep_us=100) == 2
    assert held(database) == {(NODES[0], 900), (NODES[0], 901)}
    assert marked(database) == {(NODES[0], 900), (NODES[0], 901)}
    assert forget_before(database, 0, now_us=149, keep_us=100) == 0
    assert forget_before(database, 0, now_us=150, keep_us=100) == 2
    assert held(database) == marked(database) == set()


def test_what_tells_its_age_stays_however_long_ago_it_was_read(database: Database) -> None:
    deliver(database, 0, (NODES[0], STEADY), (NODES[0], STEADY + 1))
    assert [forget_before(database, 0, now_us, keep_us=100) for now_us in (1, 200, 400)] == [0, 1, 0]
    assert held(database) == {(NODES[0], STEADY)}


def test_a_job_whose_clock_goes_back_begins_to_count_anew(database: Database) -> None:
    deliver(database, 0, (NODES[0], 5))
    for now_us in (10**15, 10, 60, 109):
        assert forget_before(database, 0, now_us, keep_us=100) == 0
    assert forget_before(database, 0, now_us=110, keep_us=100) == 1
    assert count(database, "forgets") == 4


def count(database: Database, table: str) -> int:
    ((found,),) = database.rows(f"SELECT count(*) FROM {table}")
    assert isinstance(found, int)
    return found


def test_hours_before_all_that_was_forgotten_can_still_be_made(database: Database) -> None:
    deliver(database, 0, (NODES[0], 500), (NODES[0], 510), (NODES[1], 3))
    keys = database.rows("SELECT node_no, boot, hour_us FROM sights ORDER BY node_no, hour_us")
    columns = dict(zip(("node_no", "boot", "hour_us"), np.array(keys, np.int64).T, strict=True))
    hour_us = columns["hour_us"]
    told = {
        **columns,
        "old": np.array([1, 0, 0]),
        "by_reading": np.zeros(3, np.int64),
        "low_us": hour_us,
        "high_us": hour_us + HOUR_US - 1,
    }
    assert forget(database, pa.table(told), 1, 1) == 1
    assert (read_number(database, SIGHTS_UNTIL), read_number(database, SIGHTS_SINCE)) == (
        499 * HOUR_US,
        503 * HOUR_US,
    )
    hours = [3, 498, 499, 502, 503]
    some, tables = kept(
        database, [hour * HOUR_US for hour in hours], {"progress": progress(*hours, copied=1)}
    )
    assert some == tables["progress"]["hour_us"].to_pylist() == [hour * HOUR_US for hour in (3, 498, 503)]


def test_what_is_ahead_of_now_freezes_nothing(database: Database) -> None:
    deliver(database, 0, (NODES[0], 500), (NODES[1], 9_000))
    keys = database.rows("SELECT node_no, boot, hour_us FROM sights ORDER BY node_no, hour_us")
    columns = dict(zip(("node_no", "boot", "hour_us"), np.array(keys, np.int64).T, strict=True))
    low_us, high_us = np.array([500 * HOUR_US, -NONE_US]), np.array([501 * HOUR_US - 1, NONE_US])
    told = {
        **columns,
        "old": np.array([1, 1]),
        "by_reading": np.zeros(2, np.int64),
        "low_us": low_us,
        "high_us": high_us,
    }
    assert forget(database, pa.table(told), 1, 1) == 2
    assert (read_number(database, SIGHTS_UNTIL), read_number(database, SIGHTS_SINCE)) == (
        499 * HOUR_US,
        503 * HOUR_US,
    )


def test_derived_rows_of_forgotten_hours_stay_as_they_are(database: Database) -> None:
    def replace(hours: list[int], copied: int) -> None:
        with database.transaction():
            hours_us = [hour * HOUR_US for hour in hours]
            derived.replace(database, hours_us, {"progress": progress(*hours, copied=copied)})

    replace([3, 4, 5, 6], 1)
    deliver(database, 0, (NODES[0], 2))
    forget_before(database, 5)
    replace([3, 4, 5], 2)
    replace([4], 3)
    found = database.rows("SELECT hour_us, copied FROM progress ORDER BY hour_us")
    assert found == [(3 * HOUR_US, 1), (4 * HOUR_US, 1), (5 * HOUR_US, 2), (6 * HOUR_US, 1)]


def test_what_comes_too_late_is_told_and_forgotten_again(database: Database) -> None:
    deliver(database, 0, (NODES[0], 1), (NODES[0], 9))
    forget_before(database, 9)
    assert rows_of(database, "oddities") == []
    deliver(database, 1, (NODES[1], 2), (NODES[0], 8), (NODES[2], 5))
    forget_before(database, 10)
    ((node, path, reason),) = rows_of(database, "oddities")
    assert (node, path) == (NODES[1], PATH)
    assert "1970-01-01 04:00 UTC" in str(reason)
    assert held(database) == {(NODES[0], 8), (NODES[0], 9)}
    nothing = pa.table({name: pa.array([], pa.string()) for name in ("node", "path", "reason")})
    merge(database, NameNumbers(database), batch(2, {}, oddities=nothing))
    assert len(rows_of(database, "oddities")) == 1


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.sampled_from(NODES), st.integers(0, 30)), min_size=1, max_size=20, unique=True),
    st.lists(st.integers(0, 40), min_size=1, max_size=4),
)
def test_what_is_left_is_what_is_new_enough(
    database: Database, hours: list[tuple[str, int]], limits_h: list[int]
) -> None:
    empty(database)
    with database.transaction():
        database.execute("DELETE FROM meta WHERE name LIKE 'sights_%'")
    deliver(database, 0, *hours)
    for limit_h in limits_h:
        forget_before(database, limit_h)
    assert held(database) == {(node, hour) for node, hour in hours if hour >= max(limits_h) - 2}


def test_nothing_to_forget_is_no_trouble(database: Database) -> None:
    assert forget_before(database, 0) == 0
    assert forget_before(database, 9) == 0
    assert read_number(database, SIGHTS_SINCE) is None
