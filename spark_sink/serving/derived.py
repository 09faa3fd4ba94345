"""Derived rows of some hours, put in the place of those that were there."""

from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa

from spark_sink.serving import retention
from spark_sink.serving.database import Database, marks, pieces
from spark_sink.serving.tables import DERIVED

_BY_HOUR: Final = tuple(table.name for table in DERIVED if "hour_us" in table.names)
_WHOLE: Final = tuple(table.name for table in DERIVED if table.name not in _BY_HOUR)


def replace(database: Database, hours: Sequence[int], tables: Mapping[str, pa.Table]) -> None:
    """Put the rows of *tables*, all of which are of these hours, in the place of what is there of the hours.

    *hours* are their beginnings, in microseconds of mesh time. ``clocks``, ``changes`` and ``alerts`` are of no hour:
    where they are among *tables*, all their rows are replaced. Hours whose sights were forgotten stay as they are. To
    be called within a transaction. Raises DatabaseFailedError.
    """
    hours, tables = retention.kept(database, hours, tables)
    for table in _BY_HOUR:
        for some in pieces(hours):
            database.execute(f"DELETE FROM {table} WHERE hour_us IN ({marks(len(some))})", some)  # noqa: S608 - names of ours
    for table in _WHOLE:
        if table in tables:
            database.execute(f"DELETE FROM {table}")  # noqa: S608 - names of ours
    for table, rows in tables.items():
        if rows.num_rows:
            database.insert(table, rows)
