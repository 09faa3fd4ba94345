"""Forgetting single packets and arrivals of long ago: what was derived from them stays (docs/formats/serving.md)."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import numpy as np
import pyarrow as pa

from spark_sink import limits
from spark_sink.arrays import Bools, Ints
from spark_sink.derive.facts import HOUR_US
from spark_sink.serving.database import Database, Reader
from spark_sink.serving.meta import SIGHTS_SINCE, SIGHTS_UNTIL, read_number, write

PATH: Final = "retention"
"""In place of a path, in rows of ``oddities`` about logs that came too late."""
_EVER_US: Final = -(2**63)
_AGED: Final = (
    "sights s JOIN new_ages a ON a.node_no = s.node_no AND a.boot = s.boot AND a.hour_us = s.hour_us"
)


def forget(database: Database, ages: pa.Table, now_us: int, keep_us: int) -> int:
    """Delete rows of ``sights`` that are `old` by *ages*, or `by_reading` and read *keep_us* ago; return their number.

    *ages* are all hours of logs (``node_no``, ``boot``, ``hour_us``) with the columns of derive/packet_ages.py.
    *now_us* is the clock of the job. Marks are deleted with the last row. The derived rows of the affected hours of
    mesh time are not made again from now on. Late rows that came for such hours since the last call, and are deleted
    now, are reported in ``oddities``, by node. In a transaction of its own. Raises DatabaseFailedError.
    """
    with database.transaction():
        read_before = _read_before(database, now_us - keep_us)
        database.stage("ages", _going(database, ages, read_before))
        _note_late(database)
        gone = f"FROM {_AGED} WHERE a.old = 1 OR s.batch <= ?"
        ((count, low_us, high_us),) = database.rows(
            f"SELECT count(*), min(CASE WHEN a.low_us <= a.high_us THEN a.low_us END), max(a.high_us) {gone}",
            (read_before,),
        )
        hours = "(node_no, boot, hour_us) IN (SELECT node_no, boot, hour_us FROM new_ages"
        database.execute(f"DELETE FROM sights WHERE {hours} WHERE old = 1)")  # noqa: S608 - names of ours
        database.execute(f"DELETE FROM sights WHERE batch <= ? AND {hours})", (read_before,))  # noqa: S608 - names of ours
        database.execute(
            "DELETE FROM dirty WHERE NOT EXISTS (SELECT 1 FROM sights s WHERE s.node_no = dirty.node_no "
            "AND s.boot = dirty.boot AND s.hour_us = dirty.hour_us)"
        )
        database.execute("DROP TABLE new_ages")
        if isinstance(low_us, int) and isinstance(high_us, int):
            _freeze(database, low_us, high_us)
        _note_time(database, now_us, keep_us)
    assert isinstance(count, int)
    return count


def kept(
    reader: Reader, hours: Sequence[int], tables: Mapping[str, pa.Table]
) -> tuple[list[int], dict[str, pa.Table]]:
    """Return those of *hours* of mesh time and of derived rows that can be made again: their sights are still there.

    Rows of tables without hours are all returned. Raises DatabaseFailedError.
    """
    since_us, until_us = read_number(reader, SIGHTS_SINCE), read_number(reader, SIGHTS_UNTIL)
    if since_us is None:
        return list(hours), dict(tables)

    def can(hour_us: Ints) -> Bools:
        return (hour_us >= since_us) | (hour_us < (_EVER_US if until_us is None else until_us))

    rows = {
        name: table.filter(pa.array(can(table["hour_us"].to_numpy())))
        if "hour_us" in table.column_names
        else table
        for name, table in tables.items()
    }
    some = np.array(hours, np.int64)
    return some[can(some)].tolist(), rows


def _freeze(database: Database, low_us: int, high_us: int) -> None:
    """Freeze the hours that depend on this range, and those between frozen hours and it: they are not made again."""
    before_us = low_us - limits.HOURS_BEFORE_US
    after_us = high_us + limits.HOURS_AFTER_US
    since_us, until_us = read_number(database, SIGHTS_SINCE), read_number(database, SIGHTS_UNTIL)
    if since_us is None or until_us is not None:
        first_us = before_us - before_us % HOUR_US
        write(database, SIGHTS_UNTIL, first_us if until_us is None else min(until_us, first_us))
    next_us = after_us - after_us % HOUR_US + HOUR_US
    write(database, SIGHTS_SINCE, next_us if since_us is None else max(since_us, next_us))


def _going(database: Database, ages: pa.Table, read_before: int) -> pa.Table:
    """Return the hours of which some sights are to be deleted."""
    goes = ages["old"].to_numpy() == 1
    query = "SELECT DISTINCT node_no, boot, hour_us FROM sights WHERE batch <= ?"
    if long_ago := set(database.rows(query, (read_before,))):
        keys = zip(*(ages[name].to_pylist() for name in ("node_no", "boot", "hour_us")), strict=True)
        goes |= (ages["by_reading"].to_numpy() == 1) & np.array([key in long_ago for key in keys], bool)
    return ages.filter(pa.array(goes))


def _read_before(database: Database, before_us: int) -> int:
    """Deliveries up to this one were there by then, by the clock of the job; −1 if none is known to have been."""
    ((changes,),) = database.rows("SELECT max(changes) FROM forgets WHERE at_us <= ?", (before_us,))
    return changes if isinstance(changes, int) else -1


def _note_time(database: Database, now_us: int, keep_us: int) -> None:
    """Remember which deliveries there are by now; of what is longer ago, only the latest is needed."""
    database.execute(
        "DELETE FROM forgets WHERE at_us >= ? OR at_us < (SELECT max(at_us) FROM forgets WHERE at_us <= ?)",
        (now_us, now_us - keep_us),
    )
    database.execute("INSERT INTO forgets (at_us, changes) VALUES (?, ?)", (now_us, database.changes()))


def _note_late(database: Database) -> None:
    """Report the nodes whose old sights came for hours that can no longer be made again."""
    since_us, until_us = read_number(database, SIGHTS_SINCE), read_number(database, SIGHTS_UNTIL)
    ((changes,),) = database.rows("SELECT max(changes) FROM forgets")
    if since_us is None or not isinstance(changes, int):
        return
    day = datetime.fromtimestamp(since_us // 1_000_000, UTC).strftime("%Y-%m-%d %H:%M UTC")
    reason = (
        f"packets from before {day} arrived after the packets of that time had been deleted: they are counted, but not "
        "matched with what other nodes heard"
    )
    database.execute(
        f"INSERT INTO oddities (node, path, reason) SELECT DISTINCT n.node, ?, ? FROM {_AGED} "  # noqa: S608 - names of ours
        "JOIN nodes n ON n.node_no = s.node_no WHERE a.old = 1 AND s.batch > ? AND a.low_us >= ? AND a.high_us < ? "
        "ON CONFLICT (node, path) DO UPDATE SET reason = excluded.reason",
        (PATH, reason, changes, _EVER_US if until_us is None else until_us, since_us),
    )
