"""Queries of facts for the refresh and the page, as Arrow tables."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from spark_sink.serving.database import Reader, Row, Value, marks, pieces, table_of
from spark_sink.serving.ddl import quoted
from spark_sink.serving.tables import TABLES

COPY_COLUMNS: Final = TABLES["copies"].names


def sights_of(reader: Reader, wanted: Sequence[tuple[int, int, int]]) -> pa.Table:
    """Return the rows of ``sights`` with these (node_no, boot, hour_us). Raises DatabaseFailedError."""
    return _with_keys(reader, "sights", ("node_no", "boot", "hour_us"), wanted)


def copies_of(reader: Reader, entries: Sequence[tuple[int, int]]) -> pa.Table:
    """Return all rows of ``copies`` with these (feed_no, seq). Raises DatabaseFailedError."""
    return _with_keys(reader, "copies", ("feed_no", "seq"), entries)


def whole(reader: Reader, table: str, rest: str = "", parameters: Sequence[Value] = ()) -> pa.Table:
    """Return all columns of a table; *rest* of the statement follows its name. Raises DatabaseFailedError."""
    names = TABLES[table].names
    found = reader.rows(f"SELECT {quoted(names)} FROM {table} {rest}", parameters)  # noqa: S608 the names are ours
    return table_of(table, names, found)


def boots(reader: Reader) -> pa.Table:
    """Return the table ``boots``, by its key. Raises DatabaseFailedError."""
    return whole(reader, "boots", "ORDER BY node_no, boot")


def dirty(reader: Reader, limit: int) -> pa.Table:
    """Return at most *limit* rows of ``dirty``, by hour: the nodes' logs of one hour come together.

    dirty_hours.spread has to be called before. Raises DatabaseFailedError.
    """
    return whole(reader, "dirty", "ORDER BY hour_us, node_no, boot LIMIT ?", (limit,))


def _with_keys(reader: Reader, table: str, key: Sequence[str], wanted: Sequence[tuple[int, ...]]) -> pa.Table:
    """Return rows whose *key* is among *wanted*, in order of the table's key."""
    columns = TABLES[table].names
    distinct = sorted(set(wanted))
    joined = " AND ".join(f"t.{column} = w.{column}" for column in key)
    names = ", ".join(f't."{column}"' for column in columns)
    found: list[Row] = []
    for some in pieces(distinct):
        values = ", ".join([f"({marks(len(key))})"] * len(some))
        parameters: list[Value] = [value for row in some for value in row]
        # SQLite keeps the order of a CROSS JOIN: it looks up a few keys, and does not go through the table for them.
        rows = reader.rows(
            f"WITH w ({', '.join(key)}) AS (VALUES {values}) "  # noqa: S608 the names are ours
            f"SELECT {names} FROM w CROSS JOIN {table} t WHERE {joined}",
            parameters,
        )
        found += sorted(rows, key=lambda row: row[: len(TABLES[table].key)])
    return table_of(table, columns, found)
