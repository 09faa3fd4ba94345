"""Queries of facts for the refresh and the page, as Arrow tables."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from spark_sink import limits
from spark_sink.serving.database import Reader, Row, Value, table_of
from spark_sink.serving.ddl import quoted
from spark_sink.serving.tables import TABLES

COPY_COLUMNS: Final = tuple(column.name for column in TABLES["copies"].columns)
_SIGHT_COLUMNS: Final = tuple(column.name for column in TABLES["sights"].columns)
_BOOT_COLUMNS: Final = tuple(column.name for column in TABLES["boots"].columns)
_DIRTY_COLUMNS: Final = tuple(column.name for column in TABLES["dirty"].columns)


def sights_of(reader: Reader, wanted: Sequence[tuple[int, int, int]]) -> pa.Table:
    """Return the rows of ``sights`` with these (node_no, boot, hour_us). Raises DatabaseFailedError."""
    return _with_keys(reader, "sights", ("node_no", "boot", "hour_us"), _SIGHT_COLUMNS, wanted)


def copies_of(reader: Reader, entries: Sequence[tuple[int, int]]) -> pa.Table:
    """Return all rows of ``copies`` with these (feed_no, seq). Raises DatabaseFailedError."""
    return _with_keys(reader, "copies", ("feed_no", "seq"), COPY_COLUMNS, entries)


def boots(reader: Reader) -> pa.Table:
    """Return the table ``boots``, by its key. Raises DatabaseFailedError."""
    found = reader.rows(f"SELECT {quoted(_BOOT_COLUMNS)} FROM boots ORDER BY node_no, boot")  # noqa: S608 the names are ours
    return table_of("boots", _BOOT_COLUMNS, found)


def dirty(reader: Reader, limit: int) -> pa.Table:
    """Return at most *limit* rows of ``dirty``, by hour: the nodes' logs of one hour come together.

    dirty_hours.spread has to be called before. Raises DatabaseFailedError.
    """
    found = reader.rows(
        f"SELECT {quoted(_DIRTY_COLUMNS)} FROM dirty ORDER BY hour_us, node_no, boot LIMIT ?",  # noqa: S608 the names are ours
        (limit,),
    )
    return table_of("dirty", _DIRTY_COLUMNS, found)


def _with_keys(
    reader: Reader, table: str, key: Sequence[str], columns: Sequence[str], wanted: Sequence[tuple[int, ...]]
) -> pa.Table:
    """Return rows whose *key* is among *wanted*, in order of the table's key."""
    distinct = sorted(set(wanted))
    joined = " AND ".join(f"t.{column} = w.{column}" for column in key)
    names = ", ".join(f't."{column}"' for column in columns)
    order = ", ".join(f"t.{column}" for column in TABLES[table].key)
    found: list[Row] = []
    for begin in range(0, len(distinct), limits.KEYS_AT_A_TIME):
        some = distinct[begin : begin + limits.KEYS_AT_A_TIME]
        marks = ", ".join([f"({', '.join('?' for _ in key)})"] * len(some))
        parameters: list[Value] = [value for row in some for value in row]
        found += reader.rows(
            f"WITH w ({', '.join(key)}) AS (VALUES {marks}) "  # noqa: S608 the names are ours
            f"SELECT {names} FROM w JOIN {table} t ON {joined} ORDER BY {order}",
            parameters,
        )
    return table_of(table, columns, found)
