"""Single packets are forgotten, derived rows stay, and what comes too late is told."""

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spark_sink.serving import derived
from spark_sink.serving.merge import merge
from spark_sink.serving.meta import read_sights_since
from spark_sink.serving.names import Names
from spark_sink.serving.port import Database
from spark_sink.serving.retention import PATH, forget
from tests.spark_sink.serving.batches import NODES, batch
from tests.spark_sink.serving.content import empty, rows_of
from tests.spark_sink.serving.test_derived import progress
from tests.spark_sink.serving.test_marks import HOUR_US, marked, sights


def deliver(database: Database, batch_id: int, *hours: tuple[str, int]) -> None:
    merge(
        database, Names(database), batch(batch_id, {"sights": [sights(node, hour) for node, hour in hours]})
    )


def held(database: Database) -> set[tuple[object, ...]]:
    """(node, hour) of all sights."""
    query = "SELECT n.node, s.hour_us / 3600000000 FROM sights s JOIN nodes n ON n.node_no = s.node_no"
    return set(database.rows(query))


def clock(database: Database, node: str, offset_hours: int, era: int = 0) -> None:
    """Node *node*'s clock is so many hours ahead of the mesh."""
    ((node_no,),) = database.rows("SELECT node_no FROM nodes WHERE node = ?", (node,))
    row = {"node_no": node_no, "boot": 1, "era": era, "offset_us": offset_hours * HOUR_US}
    whole = ("from_mono_us", "base_us", "mesh", "at_us", "matches")
    real = ("drift_ppm", "offset_error_us", "drift_error_ppm", "covariance_us_ppm")
    row |= dict.fromkeys(whole, 0) | dict.fromkeys(real, 0.0)
    with database.transaction():
        database.insert("clocks", pa.Table.from_pylist([row]))


def test_hours_before_are_forgotten_with_their_marks_but_for_two(database: Database) -> None:
    assert read_sights_since(database) is None
    deliver(database, 0, *((node, hour) for node in NODES[:2] for hour in range(10)))
    assert forget(database, 6 * HOUR_US) == 8
    kept = {(node, hour) for node in NODES[:2] for hour in range(4, 10)}
    assert held(database) == marked(database) == kept
    assert read_sights_since(database) == 6 * HOUR_US
    assert forget(database, 5 * HOUR_US) == 0
    assert read_sights_since(database) == 6 * HOUR_US


def test_a_wrong_clock_makes_nothing_older_than_it_is(database: Database) -> None:
    deliver(database, 0, (NODES[0], 1), (NODES[1], 1), (NODES[2], 1), (NODES[2], 50))
    clock(database, NODES[0], -40)
    clock(database, NODES[1], 0)
    clock(database, NODES[2], 0)
    clock(database, NODES[2], 45, era=1)
    assert forget(database, 20 * HOUR_US) == 2
    assert held(database) == {(NODES[0], 1), (NODES[2], 50)}


def test_derived_rows_of_forgotten_hours_stay_as_they_are(database: Database) -> None:
    def replace(hours: list[int], copied: int) -> None:
        with database.transaction():
            hours_us = [hour * HOUR_US for hour in hours]
            derived.replace(database, hours_us, {"progress": progress(*hours, copied=copied)})

    replace([3, 4, 5, 6], 1)
    forget(database, 5 * HOUR_US)
    replace([3, 4, 5], 2)
    replace([4], 3)
    found = database.rows("SELECT hour_us, copied FROM progress ORDER BY hour_us")
    assert found == [(3 * HOUR_US, 1), (4 * HOUR_US, 1), (5 * HOUR_US, 2), (6 * HOUR_US, 1)]


def test_what_comes_too_late_is_told_and_forgotten_again(database: Database) -> None:
    deliver(database, 0, (NODES[0], 1), (NODES[0], 9))
    forget(database, 9 * HOUR_US)
    assert rows_of(database, "oddities") == []
    deliver(database, 1, (NODES[1], 2), (NODES[0], 8))
    forget(database, 10 * HOUR_US)
    ((node, path, reason),) = rows_of(database, "oddities")
    assert (node, path) == (NODES[1], PATH)
    assert "1970-01-01 09:00 UTC" in str(reason)
    assert held(database) == {(NODES[0], 8), (NODES[0], 9)}
    nothing = pa.table({name: pa.array([], pa.string()) for name in ("node", "path", "reason")})
    merge(database, Names(database), batch(2, {}, oddities=nothing))
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
        database.execute("DELETE FROM meta WHERE name = 'sights_since_us'")
    deliver(database, 0, *hours)
    for limit_h in limits_h:
        forget(database, limit_h * HOUR_US)
    assert held(database) == {(node, hour) for node, hour in hours if hour >= max(limits_h) - 2}


@pytest.mark.parametrize("before_us", [-(10**18), 0])
def test_nothing_to_forget_is_no_trouble(database: Database, before_us: int) -> None:
    assert forget(database, before_us) == 0
