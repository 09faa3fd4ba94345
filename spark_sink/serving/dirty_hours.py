"""Marks of hours to be derived again: the tables ``dirty`` and ``touched``."""

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_sink import limits
from spark_sink.arrays import Bools, Ints, run_starts, runs
from spark_sink.derive.facts import HOUR_US
from spark_sink.serving import facts
from spark_sink.serving.database import Database, table_of

MeshTimes: TypeAlias = Callable[[pa.Table], Ints]
"""Function from copies, as facts.copies_of returns them, to their mesh times in microseconds."""

_EVER_US: Final = np.iinfo(np.int64).min
_NEVER_US: Final = np.iinfo(np.int64).max
_KEY: Final = ("node_no", "boot", "hour_us")
_COPIES: Final = ", ".join(f'c."{column}"' for column in facts.COPY_COLUMNS)
_NEXT: Final = (
    f"SELECT {_COPIES}, CASE WHEN t.node_no IS NULL THEN 0 ELSE 1 END "  # noqa: S608 the names are ours
    "FROM (SELECT DISTINCT feed_no, seq FROM touched ORDER BY feed_no, seq LIMIT ?) e "
    "JOIN copies c ON c.feed_no = e.feed_no AND c.seq = e.seq "
    "LEFT JOIN touched t ON t.feed_no = c.feed_no AND t.seq = c.seq AND t.node_no = c.node_no "
    "ORDER BY c.feed_no, c.seq, c.node_no"
)
"""All copies of the next few entries that were touched, and whether the copy itself is new."""


def touch(database: Database) -> None:
    """Remember the copies that are being merged: what they mean to other nodes' hours is found out by spread."""
    database.execute(
        "INSERT INTO touched (feed_no, seq, node_no) SELECT feed_no, seq, node_no FROM new_copies WHERE true "
        "ON CONFLICT DO NOTHING"
    )


def mark(database: Database, hours: pa.Table, now_us: int) -> None:
    """Mark hours of boots' logs (``node_no``, ``boot``, ``hour_us``). Within a transaction."""
    hours = hours.group_by(list(_KEY)).aggregate([]).select(list(_KEY))
    database.stage(
        "dirty", hours.append_column("marked_us", pa.array(np.full(hours.num_rows, now_us, np.int64)))
    )
    database.execute(
        "INSERT INTO dirty (node_no, boot, hour_us, marked_us) "
        "SELECT node_no, boot, hour_us, marked_us FROM new_dirty WHERE true "
        "ON CONFLICT (node_no, boot, hour_us) DO UPDATE SET marked_us = excluded.marked_us"
    )
    database.execute("DROP TABLE new_dirty")


def spread(database: Database, now_us: int, mesh_us: MeshTimes | None = None) -> None:
    """Mark the hours of copies for which newer facts about other copies of the same entry matter.

    A copy matters to those that came later than it, and that of the publisher to all. With *mesh_us* unknown, all
    are marked. Within a transaction. Raises DatabaseFailedError.
    """
    while rows := database.rows(_NEXT, (limits.ENTRIES_AT_A_TIME,)):
        copies = table_of("copies", facts.COPY_COLUMNS, [row[:-1] for row in rows])
        new = np.array([row[-1] for row in rows], bool)
        matter = np.ones(len(new), bool) if mesh_us is None else _matter(copies, new, mesh_us(copies))
        mark(database, _hours(copies.filter(pa.array(matter))), now_us)
        feed_no, seq, *_ = rows[-1]
        database.execute("DELETE FROM touched WHERE (feed_no, seq) <= (?, ?)", (feed_no, seq))


def clear(database: Database, marked: pa.Table) -> None:
    """Take marks away, as they were read by facts.dirty; one that was made again since stays. Within a transaction."""
    database.stage("dirty", marked)
    database.execute(
        "DELETE FROM dirty WHERE (node_no, boot, hour_us, marked_us) IN "
        "(SELECT node_no, boot, hour_us, marked_us FROM new_dirty)"
    )
    database.execute("DROP TABLE new_dirty")


def _matter(copies: pa.Table, new: Bools, mesh_us: Ints) -> Bools:
    """Return which copies, in order of entries, the new ones affect."""
    feed_no, seq = copies["feed_no"].to_numpy(), copies["seq"].to_numpy()
    first, count = runs(run_starts(feed_no, seq))
    entry = np.repeat(np.arange(len(first)), count)
    published = pc.equal(copies["origin"], "own").to_numpy(zero_copy_only=False) & new
    # A copy may be an hour later than those it affects: the unit that is derived again anyway.
    since_us = np.where(published, _EVER_US, np.where(new, mesh_us - HOUR_US, _NEVER_US))
    earliest_us = np.minimum.reduceat(since_us, first)
    matter: Bools = mesh_us >= earliest_us[entry]
    return matter


def _hours(copies: pa.Table) -> pa.Table:
    t_us = copies["t_us"].to_numpy()
    return copies.select(["node_no", "boot"]).append_column("hour_us", pa.array(t_us - t_us % HOUR_US))
