"""Derived rows that tasks put beside the tables of PostgreSQL, for the driver to take (docs/formats/serving.md).

A delivery has a random number. Only what the driver was told of is taken: rows of a task that was lost, or that ran
twice, stay until the tables are made anew.
"""

import secrets
from collections.abc import Mapping
from contextlib import closing
from typing import Final

import numpy as np
import pyarrow as pa

from spark_sink.serving.address import parse_address
from spark_sink.serving.database import Database
from spark_sink.serving.tables import DERIVED

STAGED: Final = tuple(
    table for table in DERIVED if "hour_us" in table.names and table.name not in ("feed_steps", "standing")
)
"""Tables that are derived hour by hour; `feed_steps` follows from `steps`."""


def prepare(database: Database) -> None:
    """Make the tables ``staged_<table>``, empty. Raises DatabaseFailedError."""
    for table in STAGED:
        database.execute(f"DROP TABLE IF EXISTS staged_{table.name}")
        database.execute(
            f"CREATE UNLOGGED TABLE staged_{table.name} (delivery bigint NOT NULL, LIKE {table.name})"
        )


def deliver(name: str, tables: Mapping[str, pa.Table]) -> int:
    """Put rows into these tables of the database called *name*, all or nothing; return the delivery's number.

    Raises SinkError.
    """
    from spark_sink.serving.postgres import open_beside  # noqa: PLC0415 its driver is an extra

    number = secrets.randbits(62)
    with closing(open_beside(parse_address(name))) as database:
        database.execute("BEGIN")
        for table, rows in tables.items():
            delivery = pa.array(np.full(rows.num_rows, number, np.int64))
            database.insert(f"staged_{table}", rows.append_column("delivery", delivery))
        database.execute("COMMIT")
    return number
