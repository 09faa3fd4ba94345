"""Derived rows of some hours, put in the place of those that were there."""

from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa

from spark_sink.serving import day_sums, retention, standing
from spark_sink.serving.database import Database, marks, pieces
from spark_sink.serving.ddl import quoted
from spark_sink.serving.staging import STAGED
from spark_sink.serving.tables import DERIVED

_BY_HOUR: Final = tuple(table.name for table in DERIVED if "hour_us" in table.names)


def replace(database: Database, hours: Sequence[int], tables: Mapping[str, pa.Table]) -> None:
    """Put the rows of *tables*, all of which are of these hours, in the place of what is there of the hours.

    *hours* are their beginnings, in microseconds of mesh time. ``clocks`` are of no hour:
    where they are among *tables*, all their rows are replaced. Hours whose sights were forgotten stay as they are. To
    be called within a transaction. Raises DatabaseFailedError.
    """
    hours, tables = retention.kept(database, hours, tables)
    _delete(database, hours)
    if "clocks" in tables:
        database.execute("DELETE FROM clocks")
    for table, rows in tables.items():
        if rows.num_rows and table == "steps":
            database.stage("steps", rows)
            _add_steps(database)
        elif rows.num_rows:
            database.insert(table, rows)


def take(database: Database, hours: Sequence[int], delivery: int) -> None:
    """Do the same with the rows that a task delivered (serving/staging.py). Raises DatabaseFailedError."""
    kept, _ = retention.kept(database, hours, {})
    _delete(database, kept)
    frozen = sorted({*hours} - {*kept})
    for table in STAGED:
        delivered = f"FROM staged_{table.name} WHERE delivery = {delivery}"
        for some in pieces(frozen):
            database.execute(f"DELETE {delivered} AND hour_us IN ({marks(len(some))})", some)
        rows = f"SELECT {quoted(table.names)} {delivered}"
        if table.name == "steps":
            database.execute(f"CREATE TEMP TABLE new_steps AS {rows}")
            _add_steps(database)
        else:
            database.execute(f"INSERT INTO {table.name} ({quoted(table.names)}) {rows}")
        database.execute(f"DELETE {delivered}")


def _delete(database: Database, hours: Sequence[int]) -> None:
    if hours:
        standing.forget(database, min(hours))
        day_sums.mark(database, hours)
    for table in _BY_HOUR:
        for some in pieces(hours):
            database.execute(f"DELETE FROM {table} WHERE hour_us IN ({marks(len(some))})", some)  # noqa: S608 - names of ours


def _add_steps(database: Database) -> None:
    """Add those of ``new_steps`` that are above all that the node held of the feed before, and the highest of any node.
    Delete later rows that are no growth any more: the last row is always the highest."""
    database.execute(
        "DELETE FROM new_steps WHERE seq <= (SELECT s.seq FROM steps s WHERE s.node_no = new_steps.node_no "
        "AND s.feed_no = new_steps.feed_no AND s.hour_us < new_steps.hour_us ORDER BY s.hour_us DESC LIMIT 1)"
    )
    database.execute(
        "INSERT INTO steps (node_no, feed_no, hour_us, seq) SELECT node_no, feed_no, hour_us, seq FROM new_steps"
    )
    database.execute(
        "INSERT INTO feed_steps (feed_no, hour_us, seq) "
        "SELECT feed_no, hour_us, max(seq) FROM new_steps GROUP BY feed_no, hour_us"
    )
    database.execute(
        "DELETE FROM steps WHERE (node_no, feed_no, hour_us) IN (SELECT s.node_no, s.feed_no, s.hour_us "
        "FROM new_steps n CROSS JOIN steps s WHERE s.node_no = n.node_no AND s.feed_no = n.feed_no "
        "AND s.hour_us > n.hour_us AND s.seq <= n.seq)"
    )
    database.execute("DROP TABLE new_steps")
