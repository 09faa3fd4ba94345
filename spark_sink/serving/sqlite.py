"""The serving database in one SQLite file, WAL mode (docs/formats/serving.md)."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from spark_sink import errors, limits
from spark_sink.serving import ddl
from spark_sink.serving.database import Database, Reader, Value, rows_of, without_nan
from spark_sink.serving.meta import FIRST_ROWS, check_version


class SqliteReader(Reader):
    """A read-only connection to a file."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection: sqlite3.Connection = connection
        self._path = path

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all queries within see one state of the database. Raises DatabaseFailedError."""
        with self._translated():
            self._connection.execute("BEGIN")
        try:
            self.changes()  # a transaction begins with the first thing it reads
            yield
        finally:
            with self._translated():
                self._connection.execute("ROLLBACK")

    def _run(self, sql: str, parameters: Sequence[Value]) -> sqlite3.Cursor:
        return self._connection.execute(sql, parameters)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise errors.DatabaseFailedError(self._path, str(error)) from error


class SqliteDatabase(SqliteReader, Database):
    """The connection of the one job that writes."""

    _begin = "BEGIN IMMEDIATE"
    _dialect = ddl.SQLITE

    def beside(self) -> SqliteReader:
        """Open a connection of its own to the same file, which reads while this one writes. Raises SinkError."""
        return open_for_reading(self._path)

    def insert(self, table: str, rows: pa.Table) -> None:
        """Add rows whose keys are new to a table; columns go by their names. Raises DatabaseFailedError."""
        marks = ", ".join("?" for _ in rows.column_names)
        statement = f"INSERT INTO {table} ({ddl.quoted(rows.column_names)}) VALUES ({marks})"  # noqa: S608 - names of ours
        with self._translated():
            self._connection.executemany(statement, rows_of(without_nan(rows)))


def open_for_writing(path: Path) -> SqliteDatabase:
    """Open the file, make it if there is none, and add what it lacks of tables and columns.

    Raises SinkError for another file or version, DatabaseFailedError.
    """
    database = SqliteDatabase(_connect(str(path), path, uri=False), path)
    with database.opening() as connection:
        if not _is_new(connection):
            _check(connection, path)
        _prepare(connection)
    return database


def open_for_reading(path: Path) -> SqliteReader:
    """Open the file read-only.

    Raises NoDatabaseError, SinkError for another file or version, DatabaseFailedError.
    """
    if not path.exists():
        raise errors.NoDatabaseError(path)
    reader = SqliteReader(_connect(f"{path.absolute().as_uri()}?mode=ro", path, uri=True), path)
    with reader.opening() as connection:
        _check(connection, path)
    return reader


def _connect(name: str, path: Path, *, uri: bool) -> sqlite3.Connection:
    try:
        # Another connection's lock lasts as long as a batch's transaction: under one second.
        return sqlite3.connect(name, timeout=10.0, isolation_level=None, check_same_thread=False, uri=uri)
    except sqlite3.Error as error:
        raise errors.DatabaseFailedError(path, str(error)) from error


def _is_new(connection: sqlite3.Connection) -> bool:
    try:
        (count,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.DatabaseError:
        return False  # not a database at all: _check says so
    return bool(count == 0)


def _check(connection: sqlite3.Connection, path: Path) -> None:
    try:
        (application_id,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.DatabaseError as error:
        raise errors.NotServingDatabaseError(path) from error
    if application_id != limits.APPLICATION_ID:
        raise errors.NotServingDatabaseError(path)
    check_version(path, version)


def _prepare(connection: sqlite3.Connection) -> None:
    """Set up the connection and the tables, in one transaction, so that a crash leaves either all tables or none."""
    for setting in (
        "journal_mode = WAL",
        "synchronous = FULL",  # the checkpoint of a bronze must not be ahead of us
        "temp_store = MEMORY",
        "cache_size = -65536",  # KiB: the leaves of the largest tables that a batch touches, on a Pi of 1 GiB
        "wal_autocheckpoint = 4000",  # a busy page is then written to the file once in many batches
        "journal_size_limit = 67108864",  # what a large batch may leave on the disk
    ):
        connection.execute(f"PRAGMA {setting}")
    connection.execute("BEGIN IMMEDIATE")
    try:
        existing: dict[str, set[str]] = {}
        for table, column in connection.execute(
            "SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c WHERE t.type = 'table'"
        ):
            existing.setdefault(table, set()).add(column)
        for statement in ddl.additions(existing, ddl.SQLITE):
            connection.execute(statement)
        for name, query in ddl.VIEWS.items():
            connection.execute(f"DROP VIEW IF EXISTS {name}")
            connection.execute(f"CREATE VIEW {name} AS {query}")
        for row in FIRST_ROWS:
            connection.execute("INSERT INTO meta VALUES (?, ?) ON CONFLICT DO NOTHING", row)
        connection.execute(f"PRAGMA application_id = {limits.APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {limits.STORE_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise
