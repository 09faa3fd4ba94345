"""Both databases keep the port's promises in the same way."""

import math

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spark_sink import limits
from spark_sink.errors import DatabaseFailedError
from spark_sink.serving.connect import open_for_reading
from spark_sink.serving.database import Database

INTS = st.none() | st.integers(-(2**63), 2**63 - 1)
REALS = st.none() | st.floats(allow_nan=False)
TEXTS = st.none() | st.text(st.characters(exclude_characters="\0␀", codec="utf-8"))
ROWS = st.lists(st.tuples(INTS, REALS, TEXTS), max_size=5)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, blobs=st.booleans())
def test_what_is_staged_is_what_is_there(
    database: Database, rows: list[tuple[int | None, float | None, str | None]], blobs: bool
) -> None:
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    types = (pa.int64(), pa.float64(), pa.string())
    table = pa.table(dict(zip("abc", map(pa.array, columns, types), strict=True)))
    expected = [*rows]
    if blobs:  # they take another way into PostgreSQL
        data = [None if row[2] is None else row[2].encode() for row in rows]
        table = table.append_column("d", pa.array(data, pa.binary()))
        expected = [(*row, value) for row, value in zip(rows, data, strict=True)]  # type: ignore[misc] # rows of any length
    with database.transaction():
        database.stage("things", table)
        assert sorted(database.rows("SELECT * FROM new_things"), key=repr) == sorted(expected, key=repr)
        database.execute("DROP TABLE new_things")


def test_texts_that_postgresql_cannot_hold_stay_different(database: Database) -> None:
    texts = ["a\0", "a␀", "a␀0", "a␀1", "a"]
    with database.transaction():
        database.insert(
            "bad_lines", pa.table({"path": texts, "byte": [0] * 5, "reason": ["x"] * 5, "text": texts})
        )
    found = database.rows("SELECT DISTINCT path FROM bad_lines")
    assert len(found) == len(texts)


def test_what_is_no_number_is_unknown(database: Database) -> None:
    with database.transaction():
        database.stage("things", pa.table({"a": [1.5, math.nan, math.inf, None]}))
        found = {row[0] for row in database.rows("SELECT a FROM new_things")}
    assert found == {1.5, None, math.inf}


def test_answers_have_the_same_types(database: Database) -> None:
    sql = "SELECT sum(a), min(a), count(*), avg(a), a > 1 FROM (SELECT 3 AS a UNION ALL SELECT 4) x GROUP BY a > 1"
    ((total, least, count, mean, truth),) = database.rows(sql)
    assert [total, least, count, truth] == [7, 3, 2, 1]
    assert [type(value) for value in (total, least, count, truth)] == [int, int, int, int]
    assert isinstance(mean, float)
    assert mean == 3.5


def test_signs_of_the_drivers_are_only_text(database: Database) -> None:
    with database.transaction():
        database.execute("INSERT INTO meta VALUES (?, ?)", ("a%b", "?%s"))
    assert database.rows("SELECT value FROM meta WHERE name LIKE '%a%' AND value = ?", ("?%s",)) == [("?%s",)]
    assert database.rows("SELECT 7 % 4") == [(3,)]


def test_texts_are_compared_by_bytes(database: Database) -> None:
    with database.transaction():
        database.insert(
            "oddities", pa.table({"node": ["b", "Z", "ä", "a"], "path": ["p"] * 4, "reason": ["r"] * 4})
        )
    assert [row[0] for row in database.rows("SELECT node FROM oddities ORDER BY node")] == [
        "Z",
        "a",
        "b",
        "ä",
    ]


def _insert(database: Database, *rows: tuple[int, str], error: Exception | None = None) -> None:
    with database.transaction():
        for row in rows:
            database.execute("INSERT INTO nodes VALUES (?, ?)", row)
        if error is not None:
            raise error


def test_a_transaction_is_all_or_nothing_and_a_change(database: Database) -> None:
    with database.transaction():
        database.execute("INSERT INTO nodes VALUES (1, 'a')")
    assert database.changes() == 1
    with pytest.raises(DatabaseFailedError):
        _insert(database, (2, "b"), (1, "c"))
    with pytest.raises(KeyError):
        _insert(database, (3, "d"), error=KeyError())
    assert database.rows("SELECT * FROM nodes") == [(1, "a")]
    assert database.changes() == 1


def test_a_snapshot_is_one_state(name: str, database: Database) -> None:
    reader = open_for_reading(name)
    with reader.snapshot():
        with database.transaction():
            database.execute("INSERT INTO nodes VALUES (1, 'a')")
        assert reader.rows("SELECT * FROM nodes") == []
        assert reader.changes() == 0
    assert reader.rows("SELECT * FROM nodes") == [(1, "a")]
    assert reader.changes() == 1
    reader.close()


def test_readers_cannot_write(name: str, database: Database) -> None:
    reader = open_for_reading(name)
    with pytest.raises(DatabaseFailedError, match=r"failed: .*(readonly|read-only)"):
        reader.rows("INSERT INTO nodes VALUES (1, 'a') RETURNING node")
    reader.close()


def test_a_database_without_its_counter_is_no_longer_read(name: str, database: Database) -> None:
    with database.transaction():
        database.execute("DELETE FROM meta WHERE name = 'changes'")
    with pytest.raises(DatabaseFailedError, match="no row `changes`"):
        database.changes()


def test_many_rows_come_as_columns(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ROWS_AT_A_TIME", 3)
    schema = pa.schema([("place", pa.int64()), ("name", pa.string())])
    rows = [(place, None if place % 2 else f"n{place}") for place in range(8)]
    with database.transaction():
        database.stage(
            "things", pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows])
        )
        found = database.table("SELECT place, name FROM new_things ORDER BY place", schema)
        nothing = database.table("SELECT place, name FROM new_things WHERE place < 0", schema)
    assert (found.schema, nothing.schema) == (schema, schema)
    assert [tuple(row.values()) for row in found.to_pylist()] == rows
    assert nothing.num_rows == 0


def test_rows_whose_first_part_is_empty(database: Database) -> None:
    rows = pa.table({"node_no": [1, 2], "held": [3, 4]})
    database.insert("node_totals", pa.concat_tables([rows.slice(0, 0), rows]))
    assert database.rows("SELECT node_no, held FROM node_totals ORDER BY node_no") == [(1, 3), (2, 4)]
