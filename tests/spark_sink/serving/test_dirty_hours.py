"""Which hours are derived anew: those of new sights, and those of copies that something new is known of."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spark_sink import limits
from spark_sink.serving import dirty_hours, facts
from spark_sink.serving.database import Database
from spark_sink.serving.merge import merge
from spark_sink.serving.names import NameNumbers
from tests.spark_sink.serving.batches import FEEDS, NODES, batch
from tests.spark_sink.serving.content import empty, rows_of
from tests.spark_sink.serving.merge_oracle import Fact

HOUR_US = 3_600_000_000


def copy(node: str, hour: int, *, seq: int = 1, origin: str = "peer") -> Fact:
    t_us = hour * HOUR_US + 5
    fact = {
        "feed": FEEDS[0],
        "seq": seq,
        "node": node,
        "boot": 1,
        "offset": seq,
        "t_us": t_us,
        "mono_us": t_us,
    }
    return fact | {"origin": origin, "face": None}


def sights(node: str, hour: int) -> Fact:
    hour_us = hour * HOUR_US
    return {"node": node, "boot": 1, "hour_us": hour_us, "n": 1, "low_us": 0, "high_us": 1, "rows": b""}


def marked(database: Database) -> set[tuple[object, object]]:
    """(node, hour) of all marks."""
    return {(node, hour_us // HOUR_US) for node, _, hour_us, _ in rows_of(database, "dirty")}  # type: ignore[operator] # an int


def spread(database: Database, now_us: int = 9, *, timed: bool = False) -> None:
    with database.transaction():
        dirty_hours.spread(database, now_us, (lambda copies: copies["t_us"].to_numpy()) if timed else None)


def clean(database: Database) -> None:
    with database.transaction():
        dirty_hours.clear(database, facts.dirty(database, 1000))


def test_hours_of_new_sights_are_marked(database: Database) -> None:
    hours = [sights(NODES[0], 3), sights(NODES[0], 3), sights(NODES[1], -2)]
    merge(database, NameNumbers(database), batch(0, {"sights": hours}))
    assert marked(database) == {(NODES[0], 3), (NODES[1], -2)}
    assert facts.dirty(database, 1)["hour_us"].to_pylist() == [-2 * HOUR_US]
    assert facts.dirty(database, 9)["marked_us"].to_pylist() == [1, 1]


def test_a_mark_that_was_made_again_stays(database: Database) -> None:
    names = NameNumbers(database)
    merge(database, names, batch(0, {"sights": [sights(NODES[0], 1), sights(NODES[0], 2)]}))
    taken = facts.dirty(database, 10)
    merge(database, names, batch(1, {"sights": [sights(NODES[0], 2)]}))
    with database.transaction():
        dirty_hours.clear(database, taken)
    assert marked(database) == {(NODES[0], 2)}
    clean(database)
    assert marked(database) == set()


def test_a_new_copy_matters_to_all_others_while_times_are_unknown(database: Database) -> None:
    names = NameNumbers(database)
    merge(
        database,
        names,
        batch(0, {"copies": [copy(NODES[0], 1), copy(NODES[1], 2), copy(NODES[1], 7, seq=2)]}),
    )
    spread(database)
    clean(database)
    merge(database, names, batch(1, {"copies": [copy(NODES[2], 30)]}))
    spread(database)
    assert marked(database) == {(NODES[0], 1), (NODES[1], 2), (NODES[2], 30)}
    assert rows_of(database, "touched") == []
    clean(database)
    spread(database)
    assert marked(database) == set()


def test_a_node_that_comes_back_late_leaves_the_past_alone(database: Database) -> None:
    names = NameNumbers(database)
    merge(database, names, batch(0, {"copies": [copy(NODES[0], 1), copy(NODES[1], 8)]}))
    spread(database, timed=True)
    clean(database)
    merge(database, names, batch(1, {"copies": [copy(NODES[2], 30)]}))
    spread(database, timed=True)
    assert marked(database) == {(NODES[2], 30)}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    before=st.dictionaries(st.tuples(st.sampled_from(NODES), st.integers(1, 3)), st.integers(-9, 9)),
    after=st.dictionaries(
        st.tuples(st.sampled_from(NODES), st.integers(1, 3)), st.tuples(st.integers(-9, 9), st.booleans())
    ),
    at_a_time=st.integers(1, 3),
)
def test_marks_are_those_of_looking_at_every_copy(
    database: Database,
    before: dict[tuple[str, int], int],
    after: dict[tuple[str, int], tuple[int, bool]],
    at_a_time: int,
) -> None:
    empty(database)
    names = NameNumbers(database)
    merge(
        database,
        names,
        batch(0, {"copies": [copy(node, hour, seq=seq) for (node, seq), hour in before.items()]}),
    )
    spread(database)
    clean(database)
    later = [
        copy(node, hour, seq=seq, origin="own" if own else "peer")
        for (node, seq), (hour, own) in after.items()
        if (node, seq) not in before
    ]
    merge(database, names, batch(1, {"copies": later}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "ENTRIES_AT_A_TIME", at_a_time)
        spread(database, timed=True)
    copies = [(node, seq, hour) for (node, seq), hour in before.items()]
    copies += [(fact["node"], fact["seq"], (fact["t_us"] - 5) // HOUR_US) for fact in later]
    expected = {
        (node, hour)
        for node, seq, hour in copies
        for new in later
        if new["seq"] == seq and (new["origin"] == "own" or hour * HOUR_US + 5 >= new["t_us"] - HOUR_US)
    }
    assert marked(database) == expected


def test_hours_before_1970_are_hours_too(database: Database) -> None:
    with database.transaction():
        dirty_hours.mark(database, pa.table({"node_no": [1], "boot": [1], "hour_us": [-HOUR_US]}), 1)
    merge(database, NameNumbers(database), batch(0, {"copies": [copy(NODES[0], -1) | {"t_us": -1}]}))
    spread(database)
    assert np.unique(facts.dirty(database, 9)["hour_us"]).tolist() == [-HOUR_US]
