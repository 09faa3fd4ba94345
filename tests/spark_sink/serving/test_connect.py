"""A database is opened by its name, by one writer, and never taken for what it is not."""

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from spark_sink import errors, limits
from spark_sink.serving import connect
from spark_sink.serving.address import is_address
from spark_sink.serving.connect import open_for_reading, open_for_writing
from spark_sink.serving.database import Database
from spark_sink.serving.ddl import VIEWS
from spark_sink.serving.tables import TABLES
from tests.spark_sink.serving.server import PostgresServer


def change(database: Database, *statements: str) -> None:
    with database.transaction():
        for statement in statements:
            database.execute(statement)


def set_version(name: str, version: int) -> None:
    """Pretend that another program wrote it."""
    with open_for_writing(name) as database:
        if is_address(name):
            change(database, f"UPDATE meta SET value = '{version}' WHERE name = 'version'")
        else:
            database.execute(f"PRAGMA user_version = {version}")


def test_a_new_database_has_all_tables_and_views(name: str) -> None:
    with open_for_writing(name) as database:
        for table in TABLES.values():
            columns = ", ".join(f'"{column.name}"' for column in table.columns)
            assert len(database.rows(f"SELECT {columns} FROM {table.name}")) == (
                2 if table.name == "meta" else 0
            )
        for view in VIEWS:
            assert database.rows(f"SELECT * FROM {view}") == []
        meta = database.rows("SELECT name, value FROM meta ORDER BY name")
        assert meta == [("changes", "0"), ("version", str(limits.STORE_VERSION))]


def test_there_is_one_writer(name: str) -> None:
    with open_for_writing(name):
        with pytest.raises(errors.BusyError, match="Another tinyssb-sink is filling"), open_for_writing(name):
            pass
        open_for_reading(name).close()
    with open_for_writing(name):
        pass


def test_what_is_lacking_is_added_and_the_rest_is_kept(name: str) -> None:
    with open_for_writing(name) as database:
        change(
            database,
            "INSERT INTO nodes VALUES (1, 'aa')",
            "INSERT INTO frontiers VALUES (1, 2, 7, 1, 0)",
            "INSERT INTO counts VALUES (1, 90000000000, 'want', 'tx', 2, 9), (1, 93600000000, 'want', 'tx', 3, 1)",
            "INSERT INTO delays VALUES (90000000000, 'hop', 1, 2, 40, 5), (90000000000, 'hop', 2, 1, 40, 1)",
            "INSERT INTO links VALUES (90000000000, 1, 2, 1, 1, 0, 0, 0, 0, 1, 1)",
            "DROP TABLE touched",
            "DROP TABLE node_totals",
            "DROP TABLE count_days",
            "DROP TABLE delay_hours",
            "DROP TABLE days",
            "DROP TABLE link_days",
            "DROP INDEX incidents_by_t_us",
            "ALTER TABLE sets DROP COLUMN state",
            "INSERT INTO sets VALUES (1, 1, 1, 1, 1)",
            "ALTER TABLE faces DROP COLUMN region",
        )
    with open_for_writing(name) as database:
        assert database.rows("SELECT * FROM nodes") == [(1, "aa")]
        assert database.rows("SELECT * FROM node_totals") == [(1, 7)]
        assert database.rows("SELECT * FROM count_days") == [(1, 86_400_000_000, "want", "tx", 5, 10)]
        assert database.rows("SELECT * FROM delay_hours") == [(90_000_000_000, "hop", 40, 6)]
        assert database.rows("SELECT * FROM days") == [(86_400_000_000, 0)], "the job will sum it up"
        assert database.rows("SELECT * FROM link_days") == []
        assert database.rows("SELECT state FROM sets") == [("",)]
        assert database.rows("SELECT count(region) FROM faces") == database.rows(
            "SELECT count(*) FROM touched"
        )
        assert database.changes() == 1


def test_a_database_of_another_version_is_left_alone(name: str) -> None:
    set_version(name, limits.STORE_VERSION + 1)
    for version, kind, words in (
        (limits.STORE_VERSION + 1, errors.SinkError, "this program knows up to 2"),
        (1, errors.SinkError, "made again from the nodes' logs"),
    ):
        if version == 1:
            _lower_version(name)
        with pytest.raises(kind, match=words), open_for_writing(name):
            pass
        with pytest.raises(kind, match="it was left as it is"):
            open_for_reading(name)


def _lower_version(name: str) -> None:
    if is_address(name):
        import psycopg

        url, _, schema = name.rpartition("&schema=")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"UPDATE {schema}.meta SET value = '1' WHERE name = 'version'")
    else:
        Path(name).unlink()
        with closing(sqlite3.connect(name)) as connection:
            connection.execute(f"PRAGMA application_id = {limits.APPLICATION_ID}")
            connection.execute("PRAGMA user_version = 1")
            connection.execute("CREATE TABLE nodes (node TEXT)")


def test_there_is_nothing_to_read_before_the_first_writer(name: str) -> None:
    with pytest.raises(errors.NoDatabaseError, match="Fill one with"):
        open_for_reading(name)
    if not is_address(name):
        assert not Path(name).exists()


def test_another_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "letter"
    path.write_text("Dear Sir")
    for attempt in (open_for_reading, lambda name: open_for_writing(name).__enter__()):
        with pytest.raises(errors.NotServingDatabaseError):
            attempt(str(path))
    assert path.read_text() == "Dear Sir"


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(errors.DatabaseFailedError, match="No such file"):
        open_for_writing(str(tmp_path / "none" / "x.sqlite")).__enter__()


def test_a_file_that_cannot_be_one_is_named(tmp_path: Path) -> None:
    with pytest.raises(errors.DatabaseFailedError):
        open_for_writing(str(tmp_path)).__enter__()


@pytest.mark.postgres
def test_another_schema_is_left_alone(server: PostgresServer) -> None:
    import psycopg

    url, _, _ = server.url("x").rpartition("&schema=")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA theirs CREATE TABLE meta (a int)")
        for attempt in (open_for_reading, lambda name: open_for_writing(name).__enter__()):
            with pytest.raises(errors.NotServingDatabaseError, match="schema=theirs"):
                attempt(server.url("theirs"))
        connection.execute("DROP TABLE theirs.meta; CREATE TABLE theirs.meta (name text, value text)")
        with pytest.raises(errors.NotServingDatabaseError):
            open_for_reading(server.url("theirs"))
        assert connection.execute(
            "SELECT count(*) FROM pg_tables WHERE schemaname = 'theirs'"
        ).fetchone() == (1,)


@pytest.mark.postgres
def test_a_writer_that_is_just_ending_is_waited_for(server: PostgresServer) -> None:
    import psycopg

    name = server.url("waited_for")
    url, _, _ = name.rpartition("&schema=")
    waiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with (
        ThreadPoolExecutor(1) as pool,
        psycopg.connect(url, autocommit=True) as watcher,
        ExitStack() as first,
    ):
        first.enter_context(open_for_writing(name))
        second = pool.submit(lambda: open_for_writing(name).__enter__())
        while not second.done() and watcher.execute(waiting).fetchone() is None:
            pass
        first.close()
        second.result().close()


@pytest.mark.postgres
def test_a_server_that_does_not_answer_is_named_without_the_password(server: PostgresServer) -> None:
    for attempt in (open_for_reading, lambda name: open_for_writing(name).__enter__()):
        with pytest.raises(errors.UnavailableError, match="no connection to postgresql://") as caught:
            attempt("postgresql://me:secret@/mesh?host=/nowhere")
        assert "secret" not in str(caught.value)
        assert "\n" not in str(caught.value)


def test_without_the_driver_the_line_to_type_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spark_sink.serving.postgres", None)
    monkeypatch.delattr("spark_sink.serving.postgres", raising=False)
    with pytest.raises(errors.UnavailableError, match=r"pip install 'psycopg\[binary\]>=3.2'"):
        open_for_reading("postgresql://localhost/mesh")


def test_the_driver_is_not_loaded_for_sqlite() -> None:
    """It is under the LGPL, and most have no use for it."""
    script = f"import sys, {connect.__name__}; sys.exit('psycopg' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


_CRASH = """
import os, signal, sys
from spark_sink.serving.connect import open_for_writing
with open_for_writing(sys.argv[1]) as database:
    with database.transaction():
        database.execute("INSERT INTO nodes VALUES (1, 'kept')")
    with database.transaction():
        database.execute("INSERT INTO nodes VALUES (2, 'lost')")
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_writer_leaves_what_it_had_committed(name: str) -> None:
    run = subprocess.run([sys.executable, "-c", _CRASH, name], check=False)
    assert run.returncode == -9
    reader = open_for_reading(name)
    assert reader.rows("SELECT node FROM nodes") == [("kept",)]
    assert reader.changes() == 1
    reader.close()


def _write_while_the_server_dies(database: Database, server: PostgresServer) -> None:
    with database.transaction():
        database.execute("INSERT INTO nodes VALUES (2, 'lost')")
        server.kill()
        server.start()


@pytest.mark.postgres
def test_a_killed_server_ends_the_writer_but_not_the_reader(server: PostgresServer) -> None:
    name = server.url("killed")
    with open_for_writing(name) as database:
        reader = open_for_reading(name)
        change(database, "INSERT INTO nodes VALUES (1, 'kept')")
        with pytest.raises(errors.DatabaseFailedError):
            _write_while_the_server_dies(database, server)
        with pytest.raises(errors.DatabaseFailedError), reader.snapshot():
            pass
        with pytest.raises(errors.DatabaseFailedError):
            database.rows("SELECT 1")
    assert reader.rows("SELECT node FROM nodes") == [("kept",)]
    reader.close()
