"""Connections to the serving database, and rows as Arrow tables; SQLite and PostgreSQL fill in what differs."""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, ClassVar, Final, TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from spark_sink import limits
from spark_sink.errors import DatabaseFailedError
from spark_sink.serving import ddl
from spark_sink.serving.tables import TABLES

Value: TypeAlias = int | float | str | bytes | None
Row: TypeAlias = tuple[Value, ...]
Item = TypeVar("Item")
_COUNT_CHANGE: Final = (
    "UPDATE meta SET value = CAST(CAST(value AS bigint) + 1 AS text) WHERE name = 'changes'"
)
"""The first statement of every transaction."""


class Reader(ABC):
    """A read-only connection, beside a job that may be writing. Any thread may use it, one at a time.

    Statements are SQL that both databases know, with ``?`` where a parameter goes.
    """

    _connection: Any

    def rows(self, sql: str, parameters: Sequence[Value] = ()) -> list[Row]:
        """Run a query and return its rows. Raises DatabaseFailedError."""
        with self._translated():
            found: list[Row] = self._run(sql, parameters).fetchall()
            return found

    def table(self, sql: str, schema: pa.Schema, parameters: Sequence[Value] = ()) -> pa.Table:
        """Run a query and return columns of these types: for many rows, which as tuples would take ten times the room.

        Raises DatabaseFailedError.
        """
        with self._translated():
            cursor = self._run(sql, parameters)
            return _table_of_some(iter(partial(cursor.fetchmany, limits.ROWS_AT_A_TIME), []), schema)

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[None]:
        """Let all queries within see one state of the database. Raises DatabaseFailedError."""

    def changes(self) -> int:
        """Return a number that grows with every transaction of the job. Raises DatabaseFailedError."""
        rows = self.rows("SELECT CAST(value AS bigint) FROM meta WHERE name = 'changes'")
        if not rows or not isinstance(rows[0][0], int):
            raise DatabaseFailedError("the database", "its table meta has no row `changes`")
        return rows[0][0]

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @contextmanager
    def opening(self) -> Iterator[Any]:
        """Give the driver's connection to prepare or check it; close it on any error. Raises DatabaseFailedError."""
        try:
            with self._translated():
                yield self._connection
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def _run(self, sql: str, parameters: Sequence[Value]) -> Any:  # noqa: ANN401 - a cursor of either driver
        """Run a statement and return its cursor."""

    @abstractmethod
    def _translated(self) -> AbstractContextManager[None]:
        """Raise DatabaseFailedError for errors of the driver."""


class Database(Reader):
    """The connection of the one job that writes."""

    _begin: ClassVar[str] = "BEGIN"
    _dialect: ClassVar[ddl.Dialect]

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Apply everything within, or nothing; durable at its end. Raises DatabaseFailedError."""
        self.execute(self._begin)
        try:
            self.execute(_COUNT_CHANGE)
            yield
            self.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(DatabaseFailedError):  # the first error is the one to raise
                self.execute("ROLLBACK")
            raise

    def execute(self, sql: str, parameters: Sequence[Value] = ()) -> None:
        """Run one statement. Raises DatabaseFailedError."""
        with self._translated():
            self._run(sql, parameters)

    def stage(self, table: str, rows: pa.Table) -> None:
        """Put rows into the temporary table ``new_<table>``, which the caller drops.

        Columns go by their names, and have the types they have in Arrow. Raises DatabaseFailedError.
        """
        self.execute(ddl.staging(table, rows, self._dialect))
        self.insert(f"new_{table}", rows)

    @abstractmethod
    def beside(self) -> Reader:
        """Open a connection of its own to the same database, which reads while this one writes. Raises SinkError."""

    @abstractmethod
    def insert(self, table: str, rows: pa.Table) -> None:
        """Add rows whose keys are new to a table; columns go by their names. Raises DatabaseFailedError."""


def pieces(values: Sequence[Item], size: int | None = None) -> Iterator[Sequence[Item]]:
    """Yield values, as many at a time as one statement takes: `limits.KEYS_AT_A_TIME`, or *size*."""
    size = size or limits.KEYS_AT_A_TIME
    for first in range(0, len(values), size):
        yield values[first : first + size]


def marks(count: int) -> str:
    """Return *count* question marks for a list in a statement."""
    return ", ".join("?" * count)


def rows_of(table: pa.Table) -> Iterator[Row]:
    """Return the rows of *table*, as tuples."""
    return zip(*(column.to_pylist() for column in table.columns), strict=True)


def table_of(name: str, columns: Sequence[str], rows: Sequence[Row]) -> pa.Table:
    """Make a table of rows that a query found, with these columns of the table called *name*."""
    types = {column.name: ddl.ARROW_TYPES[column.type] for column in TABLES[name].columns}
    return _table_of_some([rows], pa.schema([(column, types[column]) for column in columns]))


def _table_of_some(parts: Iterable[Sequence[Row]], schema: pa.Schema) -> pa.Table:
    """Make one table with these columns of rows that come some at a time."""
    return pa.Table.from_batches(
        [
            pa.RecordBatch.from_arrays(
                [
                    pa.array(column, field.type)
                    for column, field in zip(zip(*rows, strict=True), schema, strict=True)
                ],
                schema=schema,
            )
            for rows in parts
            if rows
        ],
        schema=schema,
    )


def without_nan(table: pa.Table) -> pa.Table:
    """*table* with null in the place of what is not a number: SQLite knows no other."""
    for index, field in enumerate(table.schema):
        if pa.types.is_floating(field.type):
            column = table.column(index)
            known = pc.if_else(pc.is_nan(column), pa.scalar(None, field.type), column)
            table = table.set_column(index, field, known)
    return table
