"""Derived rows of some hours are replaced, and only those."""

import pyarrow as pa
import pytest

from spark_sink import limits
from spark_sink.serving import derived
from spark_sink.serving.database import Database

HOUR_US = 3_600_000_000


def progress(*hours: int, copied: int = 1) -> pa.Table:
    """A row for the first minute of each hour."""
    begins = pa.array([hour * HOUR_US for hour in hours], pa.int64())
    numbers = pa.array([copied] * len(hours), pa.int64())
    return pa.table({"minute_us": begins, "hour_us": begins, "published": numbers, "copied": numbers})


def alert(rule: str) -> pa.Table:
    row = {"subject": ["n"], "since_us": [0], "until_us": pa.array([None], pa.int64()), "level": ["alarm"]}
    return pa.table({"rule": [rule], **row, "value": [1.0], "peak": [2.5]})


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


def test_what_is_of_no_hour_is_replaced_as_a_whole(database: Database) -> None:
    replace(database, [], {"alerts": alert("fork")})
    replace(database, [1], {"progress": progress(1)})
    assert database.rows("SELECT rule, until_us, peak FROM alerts") == [("fork", None, 2.5)]
    replace(database, [], {"alerts": alert("behind")})
    assert database.rows("SELECT rule FROM alerts") == [("behind",)]
    replace(database, [], {"alerts": alert("behind").slice(1)})
    assert database.rows("SELECT rule FROM alerts") == []
    assert database.rows("SELECT count(*) FROM progress") == [(1,)]
