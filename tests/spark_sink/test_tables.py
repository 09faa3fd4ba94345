"""Opening the serving database: made once, checked always, read while it is written."""

import sqlite3
from pathlib import Path

import pytest

from spark_sink import limits, tables
from spark_sink.errors import NewerDatabaseError, NoDatabaseError, NotServingDatabaseError

FORMAT = Path(__file__).parents[2] / "docs/formats/serving.md"


def test_a_database_is_made_once_and_read_beside_its_writer(tmp_path: Path) -> None:
    path = tmp_path / "db.sqlite"
    writer = tables.open_for_writing(path)
    writer.execute("INSERT INTO sets VALUES ('n', 1, 's', 5)")
    tables.open_for_writing(path).close()
    reader = tables.open_for_reading(path)
    assert reader.execute("SELECT node FROM sets").fetchall() == [("n",)]
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader.execute("DELETE FROM sets")
    reader.close()
    writer.close()


def test_what_is_no_serving_database_is_left_as_it_is(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a database, but long enough to look at" * 30)
    other = tmp_path / "other.sqlite"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE mine (x)")
    connection.close()
    for path in (text, other):
        before = path.read_bytes()
        for opened in (tables.open_for_writing, tables.open_for_reading):
            with pytest.raises(NotServingDatabaseError, match="not a database of tinyssb-sink"):
                opened(path)
        assert path.read_bytes() == before


def test_a_newer_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "db.sqlite"
    connection = tables.open_for_writing(path)
    connection.execute(f"PRAGMA user_version = {limits.SERVING_VERSION + 1}")
    connection.close()
    with pytest.raises(NewerDatabaseError, match="has version 2"):
        tables.open_for_reading(path)


def test_no_database_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(NoDatabaseError, match="tinyssb-sink backfill"):
        tables.open_for_reading(tmp_path / "db.sqlite")


def test_every_table_view_and_column_is_in_the_format_document(tmp_path: Path) -> None:
    connection = tables.open_for_writing(tmp_path / "db.sqlite")
    text = FORMAT.read_text()
    names = connection.execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')").fetchall()
    for (name,) in names:
        assert f"| `{name}` |" in text
        for column in connection.execute("SELECT name FROM pragma_table_info(?)", (name,)):
            assert column[0] in text, f"{name}.{column[0]}"
    connection.close()
