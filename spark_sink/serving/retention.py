"""Forgetting single packets and arrivals of long ago: what was derived from them stays (docs/formats/serving.md)."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from spark_sink import limits
from spark_sink.derive.facts import HOUR_US
from spark_sink.serving.meta import SIGHTS_SINCE, read_sights_since
from spark_sink.serving.port import Database, Reader

PATH: Final = "retention"
"""What rows of ``oddities`` have in the place of a path that tell of logs which came too late."""
_OLDER: Final = (
    "{table}.hour_us - coalesce((SELECT min(c.offset_us) FROM clocks c "
    "WHERE c.node_no = {table}.node_no AND c.boot = {table}.boot), 0) < ?"
)
"""Hours that are over by the clock of the mesh. A clock that is not known is taken for right."""


def forget(database: Database, before_us: int) -> int:
    """Delete rows of ``sights`` of hours before *before_us* (mesh time), and marks of theirs; says how many rows.

    Derived rows of hours before that are not made anew from now on. What came since the last call for hours that were
    forgotten by then is told in ``oddities``, by node. The last hours before *before_us* are kept: the first ones after
    it need them. In a transaction of its own. Raises DatabaseFailedError.
    """
    with database.transaction():
        since_us = read_sights_since(database)
        if since_us is not None:
            _note_late(database, since_us)
        before_us = max(before_us, since_us or 0)
        end_us = before_us - limits.SIGHTS_MARGIN_US
        count = _count(database, end_us)
        for table in ("sights", "dirty"):
            database.execute(f"DELETE FROM {table} WHERE {_OLDER.format(table=table)}", (end_us,))  # noqa: S608 - names of ours
        _write_since(database, before_us)
    return count


def kept(
    reader: Reader, hours: Sequence[int], tables: Mapping[str, pa.Table]
) -> tuple[list[int], dict[str, pa.Table]]:
    """Of *hours* of mesh time and derived rows those that can be made anew: their sights are not forgotten.

    Rows of tables that are of no hour stay all. Raises DatabaseFailedError.
    """
    since_us = read_sights_since(reader)
    if since_us is None:
        return list(hours), dict(tables)
    rows = {
        name: table.filter(pc.greater_equal(table["hour_us"], since_us))
        if "hour_us" in table.column_names
        else table
        for name, table in tables.items()
    }
    return [hour_us for hour_us in hours if hour_us >= since_us], rows


def repair(database: Database, latest_us: int) -> bool:
    """Take back what a clock that is ahead of *latest_us* made an earlier version forget; says if there was any.

    The packets are gone, and so rows stay that were made of them. All hours after them can be made again. In a
    transaction of its own. Raises DatabaseFailedError.
    """
    since_us = read_sights_since(database)
    if since_us is None or since_us <= latest_us:
        return False
    rows = database.rows("SELECT max(hour_us) FROM groups WHERE hour_us <= ?", (latest_us,))
    ((last_us,),) = rows
    with database.transaction():
        database.execute("DELETE FROM meta WHERE name = ?", (SIGHTS_SINCE,))
        if isinstance(last_us, int):
            _write_since(database, last_us + HOUR_US)
    return True


def _write_since(database: Database, since_us: int) -> None:
    database.execute(
        "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (SIGHTS_SINCE, str(since_us)),
    )


def _count(database: Database, end_us: int) -> int:
    query = f"SELECT count(*) FROM sights WHERE {_OLDER.format(table='sights')}"  # noqa: S608 - names of ours
    ((count,),) = database.rows(query, (end_us,))
    assert isinstance(count, int)
    return count


def _note_late(database: Database, since_us: int) -> None:
    """Say of which nodes there are sights again that were forgotten before."""
    day = datetime.fromtimestamp(since_us // 1_000_000, UTC).strftime("%Y-%m-%d %H:%M UTC")
    reason = (
        f"packets from before {day} came after those of that time had been forgotten: they are counted, but not "
        "matched with what other nodes heard"
    )
    database.execute(
        "INSERT INTO oddities (node, path, reason) SELECT DISTINCT n.node, ?, ? FROM sights "  # noqa: S608 - names of ours
        f"JOIN nodes n ON n.node_no = sights.node_no WHERE {_OLDER.format(table='sights')} "
        "ON CONFLICT (node, path) DO UPDATE SET reason = excluded.reason",
        (PATH, reason, since_us - limits.SIGHTS_MARGIN_US),
    )
