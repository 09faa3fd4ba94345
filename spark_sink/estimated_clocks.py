"""The estimate of all nodes' clocks, by one function wherever it runs: in the driver, or in a task of an engine."""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import Final

import pyarrow as pa

from spark_sink import limits
from spark_sink.arrays import Ints
from spark_sink.derive.clock_table import clock_rows
from spark_sink.facts_loader import keys_of, records_by_node
from spark_sink.serving.connect import open_for_reading
from spark_sink.serving.database import Reader

_NICE: Final = 10
"""Lower priority than other processes have: a tenth of their time where they want all of it."""


def estimate_clocks(reader: Reader, keys: Ints, sights: float) -> pa.Table:
    """Make the rows of the table `clocks` from the hours of logs *keys*, which have about so many *sights*: few are
    read once and kept, many are read twice. Raises DatabaseFailedError, DamagedDataError."""
    named = reader.rows("SELECT node_no, node FROM nodes")
    names = {int(number): str(name) for number, name in named}  # type: ignore[arg-type] # columns of whole numbers and texts
    if sights > limits.SIGHTS_IN_MEMORY:
        return clock_rows(lambda: records_by_node(reader, keys), names)
    kept = list(records_by_node(reader, keys))
    return clock_rows(lambda: kept, names)


def estimate_apart(database: str, sights: float) -> pa.Table:
    """Make the rows from all hours of logs in *database*, by a connection of one's own. Raises SinkError."""
    with closing(open_for_reading(database)) as reader:
        return estimate_clocks(reader, keys_of(reader), sights)


def estimate_aside(database: str, sights: float) -> pa.Table:
    """Do the same at a lower priority: this may take a minute, in which records that are written wait for their rows.

    In a thread of its own, since Linux has a priority for each thread, and a process that is used again could not get
    its own back. Raises SinkError.
    """
    with ThreadPoolExecutor(1, initializer=partial(os.nice, _NICE)) as aside:
        return aside.submit(estimate_apart, database, sights).result()
