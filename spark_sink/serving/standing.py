"""States of the mesh at some hours, from which changes and alerts go on: the tables ``standing`` and ``counted``."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from spark_sink.serving.database import Database

_CLOSE_US: Final = 24 * 3_600_000_000


def forget(database: Database, first_us: int) -> None:
    """Delete the states that have anything from *first_us* on, of mesh time. Within a transaction."""
    database.execute("DELETE FROM standing WHERE at_us > ?", (first_us,))


def note_counted(database: Database, table: str) -> None:
    """Note the first hour of each node, by its own clock, in ``new_<table>``, which is being merged."""
    database.execute(
        f"INSERT INTO counted (node_no, hour_us) SELECT node_no, min(hour_us) FROM new_{table} WHERE true "  # noqa: S608 - names of ours
        "GROUP BY node_no ON CONFLICT (node_no) DO UPDATE SET hour_us = "
        "CASE WHEN excluded.hour_us < counted.hour_us THEN excluded.hour_us ELSE counted.hour_us END"
    )


def keep(database: Database, states: Sequence[tuple[int, bytes]], now_us: int) -> None:
    """Add states, and of those longer ago than a day keep two for each doubling of the time. Within a transaction."""
    database.insert(
        "standing",
        pa.table(
            {
                "at_us": [at_us for at_us, _ in states],
                "state": pa.array([state for _, state in states], pa.binary()),
            }
        ),
    )
    known = [row[0] for row in database.rows("SELECT at_us FROM standing ORDER BY at_us")]
    spans: dict[int, list[int]] = {}
    for at_us in known:
        assert isinstance(at_us, int)
        spans.setdefault(((now_us - at_us) // _CLOSE_US).bit_length(), []).append(at_us)
    for doubling, some in spans.items():
        for at_us in some[1:-1] if doubling else ():
            database.execute("DELETE FROM standing WHERE at_us = ?", (at_us,))
