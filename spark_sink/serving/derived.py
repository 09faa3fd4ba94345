"""Derived rows of some hours, put in the place of those that were there."""

from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa

from spark_sink.serving import retention, standing
from spark_sink.serving.database import Database, marks, pieces
from spark_sink.serving.tables import DERIVED

_BY_HOUR: Final = tuple(table.name for table in DERIVED if "hour_us" in table.names)


def replace(database: Database, hours: Sequence[int], tables: Mapping[str, pa.Table]) -> None:
    """Put the rows of *tables*, all of which are of these hours, in the place of what is there of the hours.

    *hours* are their beginnings, in microseconds of mesh time. ``clocks`` are of no hour:
    where they are among *tables*, all their rows are replaced. Hours whose sights were forgotten stay as they are. To
    be called within a transaction. Raises DatabaseFailedError.
    """
    hours, tables = retention.kept(database, hours, tables)
    if hours:
        standing.forget(database, min(hours))
    for table in _BY_HOUR:
        for some in pieces(hours):
            database.execute(f"DELETE FROM {table} WHERE hour_us IN ({marks(len(some))})", some)  # noqa: S608 - names of ours
    if "clocks" in tables:
        database.execute("DELETE FROM clocks")
    for table, rows in tables.items():
        if rows.num_rows:
            database.insert(table, rows)
            if table == "steps":
                _drop_overtaken(database, rows)


def _drop_overtaken(database: Database, steps: pa.Table) -> None:
    """Delete later rows of a node and a feed that are no growth any more: the last row is always the highest."""
    database.stage("steps", steps)
    database.execute(
        "DELETE FROM steps WHERE (node_no, feed_no, hour_us) IN (SELECT s.node_no, s.feed_no, s.hour_us "
        "FROM new_steps n CROSS JOIN steps s WHERE s.node_no = n.node_no AND s.feed_no = n.feed_no "
        "AND s.hour_us > n.hour_us AND s.seq <= n.seq)"
    )
    database.execute("DROP TABLE new_steps")
