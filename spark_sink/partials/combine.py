"""Partial tables of many tasks to one of each: what the driver does before it writes to the database."""

from collections import defaultdict
from collections.abc import Iterable

import pyarrow as pa

from spark_sink.partials.merging import merge


def combine(parts: Iterable[tuple[str, pa.Table]]) -> dict[str, pa.Table]:
    """Partial tables by name, each with one row a key, from what `reduce` gave for parts of the records.

    How records were divided makes no difference, but for `packets`, of which those read last are kept, and `sights`:
    records of one hour that were read in several tasks stay in several rows.
    """
    tables = defaultdict(list)
    for name, part in parts:
        tables[name].append(part)
    return {name: merge(name, pa.concat_tables(some)) for name, some in tables.items()}
