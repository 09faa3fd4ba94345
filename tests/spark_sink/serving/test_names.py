"""Names have one number each, whenever and however they come."""

import pyarrow as pa
import pytest

from spark_sink import limits
from spark_sink.serving.database import Database
from spark_sink.serving.names import NameNumbers


def test_names_are_numbered_in_the_order_of_reading_and_keep_their_numbers(database: Database) -> None:
    with database.transaction():
        assert NameNumbers(database).numbers("nodes", ["b", "a", "b"]) == [1, 2, 1]
    with database.transaction():
        assert NameNumbers(database).numbers("nodes", ["c", "a", "c", "b"]) == [3, 2, 3, 1]
        assert NameNumbers(database).numbers("feeds", ["a"]) == [1]
        assert NameNumbers(database).numbers("feeds", []) == []


def test_more_names_than_memory_may_hold(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "NAMES_KNOWN_MAX", 2)
    names = NameNumbers(database)
    with database.transaction():
        assert names.numbers("feeds", ["a", "b"]) == [1, 2]
        assert names.numbers("feeds", ["a", "c", "b", "d"]) == [1, 3, 2, 4]


def test_a_name_that_is_not_known_has_no_number(database: Database) -> None:
    rows = pa.table(
        {"feed": ["f"], "seq": [1], "id": ["i"], "type": [0], "size": [0], "chunks": [0], "publisher": [None]}
    )
    with database.transaction():
        named = NameNumbers(database).numbered(
            "entries", rows.set_column(6, "publisher", pa.array([None], pa.string()))
        )
    assert named.to_pylist() == [
        {
            "feed_no": 1, "seq": 1, "id": "i", "type": 0, "size": 0, "chunks": 0, "publisher": None, "boot": None,
            "t_us": None, "mono_us": None,
        }
    ]  # fmt: skip
    assert database.rows("SELECT * FROM nodes") == []


def test_rows_that_are_none_are_none(database: Database) -> None:
    empty = pa.table({"node": pa.array([], pa.string()), "boot": pa.array([], pa.int64())})
    rows = empty.append_column("first_offset", pa.array([], pa.int64()))
    with database.transaction():
        assert NameNumbers(database).numbered("gaps", rows).num_rows == 0
