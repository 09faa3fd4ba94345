"""What the job and the page need of a database: SQLite and PostgreSQL under one small port."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa

Value: TypeAlias = int | float | str | bytes | None
Row: TypeAlias = tuple[Value, ...]


class Reader(Protocol):
    """A connection that reads. Statements are SQL that both databases know, with ``?`` where a parameter goes."""

    def rows(self, sql: str, parameters: Sequence[Value] = ()) -> list[Row]:
        """What a query finds. Raises DatabaseFailedError."""
        ...

    def table(self, sql: str, schema: "pa.Schema") -> "pa.Table":
        """What a query finds, as columns of these types: for many rows, which as tuples would take ten times the room.

        Raises DatabaseFailedError.
        """
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """Within it, all queries see one state of the database. Raises DatabaseFailedError."""
        ...

    def changes(self) -> int:
        """A number that grows with every transaction of the job. Raises DatabaseFailedError."""
        ...

    def close(self) -> None:
        """Give the connection back."""
        ...


class Database(Reader, Protocol):
    """A connection that also writes. There is one at a time."""

    def transaction(self) -> AbstractContextManager[None]:
        """All of it or nothing; durable when it is left. Raises DatabaseFailedError."""
        ...

    def execute(self, sql: str, parameters: Sequence[Value] = ()) -> None:
        """Run one statement. Raises DatabaseFailedError."""
        ...

    def stage(self, table: str, rows: "pa.Table") -> None:
        """Put rows side by side with the tables: they are in the temporary table ``new_<table>`` until it is dropped.

        Columns go by their names, and have the types they have in Arrow. Raises DatabaseFailedError.
        """
        ...

    def insert(self, table: str, rows: "pa.Table") -> None:
        """Add rows whose keys are new to a table; columns go by their names. Raises DatabaseFailedError."""
        ...
