"""The serving database in a schema of PostgreSQL, by psycopg (docs/formats/serving.md).

This module needs the extra ``postgres``; serving/connect.py loads it when a URL asks for it.
"""

import contextlib
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from psycopg.adapt import Buffer, Loader

from spark_sink import errors, limits
from spark_sink.serving import ddl
from spark_sink.serving.address import Address
from spark_sink.serving.database import Database, Reader, Value, rows_of, without_nan
from spark_sink.serving.meta import FIRST_ROWS, check_version, filling

_CSV: Final = pyarrow.csv.WriteOptions(include_header=False, quoting_style="needed")
_READ_ONLY: Final = "SET default_transaction_read_only = on"
_PATIENCE: Final = "SET lock_timeout = '5s'"
"""The server ends the session of a job that has just ended, and lets go of its lock, in its own time."""


class _NumberLoader(Loader):
    """Sums of whole numbers are whole numbers, as in SQLite."""

    def load(self, data: Buffer) -> int | float:
        text = bytes(data).decode()
        return float(text) if "." in text or not text.lstrip("-").isdigit() else int(text)


class _TruthLoader(Loader):
    """Truth is 1 or 0, as in SQLite."""

    def load(self, data: Buffer) -> int:
        return int(bytes(data) == b"t")


class PostgresReader(Reader):
    """A read-only session. It is opened again when it was lost."""

    def __init__(self, connection: "psycopg.Connection[Any]", address: Address) -> None:
        self._connection: psycopg.Connection[Any] = connection
        self._address = address
        self._in_snapshot = False

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all queries within see one state of the database. Raises DatabaseFailedError."""
        with self._translated():
            self._reconnect()
            self._connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        self._in_snapshot = True
        try:
            self.changes()  # the state is that of the first query
            yield
        finally:
            self._in_snapshot = False
            with contextlib.suppress(psycopg.Error):  # the session is gone, and the snapshot with it
                self._connection.execute("ROLLBACK")

    def _run(self, sql: str, parameters: Sequence[Value]) -> "psycopg.Cursor[Any]":
        self._reconnect()
        return self._connection.execute(sql.replace("%", "%%").replace("?", "%s"), parameters)

    def _reconnect(self) -> None:
        """Open a lost session again: a page that stays open outlives restarts of the server."""
        if self._connection.closed and not self._in_snapshot:
            self._connection = _connect(self._address)
            self._connection.execute(_READ_ONLY)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            reason = self._address.without_secrets(str(error))
            raise errors.DatabaseFailedError(self._address.shown, reason) from error


class PostgresDatabase(PostgresReader, Database):
    """The session of the one job that writes."""

    _dialect = ddl.POSTGRES

    def beside(self) -> PostgresReader:
        """Open a session of its own in the same schema, which reads while this one writes. Raises SinkError."""
        return open_for_reading(self._address)

    def insert(self, table: str, rows: pa.Table) -> None:
        """Add rows whose keys are new to a table; columns go by their names. Raises DatabaseFailedError."""
        rows = _storable(
            without_nan(rows.combine_chunks())
        )  # Arrow writes wrong CSV where an empty chunk is first
        statement = f"COPY {table} ({ddl.quoted(rows.column_names)}) FROM STDIN"
        if any(pa.types.is_binary(field.type) for field in rows.schema):
            with self._translated(), self._connection.cursor().copy(statement) as copy:
                for row in rows_of(rows):
                    copy.write_row(row)
        elif rows.num_rows:
            text = io.BytesIO()
            pyarrow.csv.write_csv(rows, text, _CSV)
            with self._translated(), self._connection.cursor().copy(f"{statement} (FORMAT csv)") as copy:
                copy.write(text.getbuffer())

    def _reconnect(self) -> None:
        """Leave a lost session closed: the lock went with it, another job may have begun, so this one ends."""


def open_for_writing(address: Address) -> PostgresDatabase:
    """Open the schema, make it if there is none, and add what it lacks of tables and columns.

    Raises UnavailableError, BusyError, SinkError for another file or version, DatabaseFailedError.
    """
    database = PostgresDatabase(_connect(address), address)
    with database.opening() as connection:
        _lock(connection, address)
        _check(connection, address, may_be_new=True)
        _prepare(connection, address)
    return database


def open_beside(address: Address) -> PostgresDatabase:
    """Open a session that adds rows to tables of their own, beside the job. Raises UnavailableError."""
    return PostgresDatabase(_connect(address), address)


def open_for_reading(address: Address) -> PostgresReader:
    """Open the schema read-only.

    Raises UnavailableError, NoDatabaseError, SinkError for another file or version, DatabaseFailedError.
    """
    reader = PostgresReader(_connect(address), address)
    with reader.opening() as connection:
        connection.execute(_READ_ONLY)
        _check(connection, address, may_be_new=False)
    return reader


def _storable(rows: pa.Table) -> pa.Table:
    """Replace NUL, which PostgreSQL refuses, by ␀0, and ␀ itself by ␀1, so that different texts stay different."""
    for index, field in enumerate(rows.schema):
        if pa.types.is_string(field.type):
            column = rows.column(index)
            if pc.any(pc.match_substring_regex(column, "[\\x00␀]")).as_py():
                column = pc.replace_substring(pc.replace_substring(column, "␀", "␀1"), "\0", "␀0")
                rows = rows.set_column(index, field, column)
    return rows


def _connect(address: Address) -> "psycopg.Connection[Any]":
    try:
        # Plans are not kept: most statements name temporary tables, which come and go.
        connection = psycopg.connect(address.url, autocommit=True, prepare_threshold=None)
        connection.execute("SELECT set_config('search_path', %s, false)", (address.schema,))
        connection.execute("SET client_min_messages = warning")
    except psycopg.Error as error:
        reason = address.without_secrets(str(error))
        raise errors.UnavailableError(
            f"There was no connection to {address.shown}: {reason}. Nothing was done. See whether PostgreSQL runs "
            "there, and whether the name of the database, the user and the password are right."
        ) from error
    connection.adapters.register_loader("numeric", _NumberLoader)
    connection.adapters.register_loader("bool", _TruthLoader)
    return connection


def _lock(connection: "psycopg.Connection[Any]", address: Address) -> None:
    """Be the only writer, as long as the session lasts. Raises BusyError."""
    number = zlib.crc32(address.schema.encode()) - 2**31
    connection.execute(_PATIENCE)
    try:
        connection.execute("SELECT pg_advisory_lock(%s, %s)", (limits.APPLICATION_ID, number))
    except psycopg.errors.LockNotAvailable as error:
        raise errors.BusyError(filling(address.shown)) from error
    connection.execute("RESET lock_timeout")
    for setting in ("idle", "interval"):  # a job that is gone must not hold its lock for long
        connection.execute(f"SET tcp_keepalives_{setting} = 30")
    connection.execute("SET synchronous_commit = on")  # the checkpoint of a bronze must not be ahead of us


def _check(connection: "psycopg.Connection[Any]", address: Address, *, may_be_new: bool) -> None:
    existing = _columns(connection, address)
    if not existing:
        if may_be_new:
            return
        raise errors.NoDatabaseError(address.shown)
    is_ours = existing.get("meta") == {"name", "value"}
    row = connection.execute("SELECT value FROM meta WHERE name = 'version'").fetchone() if is_ours else None
    if row is None or not str(row[0]).isdigit():
        raise errors.NotServingDatabaseError(address.shown)
    check_version(address.shown, int(row[0]))


def _columns(connection: "psycopg.Connection[Any]", address: Address) -> dict[str, set[str]]:
    """Return columns by table of the schema, none where it does not exist."""
    existing: dict[str, set[str]] = {}
    for table, column in connection.execute(
        "SELECT c.relname, a.attname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped "
        "WHERE n.nspname = %s AND c.relkind IN ('r', 'p')",
        (address.schema,),
    ):
        existing.setdefault(table, set()).add(column)
    return existing


def _prepare(connection: "psycopg.Connection[Any]", address: Address) -> None:
    """Create what is missing in one transaction, so that a crash leaves either all tables or none."""
    with connection.transaction():
        connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{address.schema}"')
        for statement in ddl.additions(_columns(connection, address), ddl.POSTGRES):
            connection.execute(statement)
        for name, query in ddl.VIEWS.items():
            connection.execute(f"CREATE OR REPLACE VIEW {name} AS {query}")
        for row in FIRST_ROWS:
            connection.execute("INSERT INTO meta VALUES (%s, %s) ON CONFLICT DO NOTHING", row)
