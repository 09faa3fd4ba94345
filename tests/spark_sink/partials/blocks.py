"""Records as they come out of the source, and partial tables as dictionaries to compare with the oracle's."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from spark_sink.partials.combine import KEYS, combine
from spark_sink.partials.records import COLUMNS, RecordColumns, gather
from spark_sink.partials.reduce import reduce
from spark_sink.schema import COLUMNS as SOURCE
from spark_sink.schema import FieldType
from tests.spark_sink.logs import Record
from tests.spark_sink.partials.oracle import Facts

_TYPES = {
    FieldType.INT: pa.int64(),
    FieldType.FLOAT: pa.float64(),
    FieldType.TEXT: pa.string(),
    FieldType.BOOL: pa.bool_(),
    FieldType.INTS: pa.list_(pa.int64()),
    FieldType.TRIPLES: pa.list_(pa.list_(pa.int64())),
}
_NEW = {
    "latitude": pa.float64(),
    "longitude": pa.float64(),
    "region": pa.string(),
    "sub_band": pa.string(),
    "limit_ppm": pa.int64(),
    "window_us": pa.int64(),
}
"""Columns that not every source has."""
_SCHEMA = pa.schema({**_NEW, **{field.name: _TYPES[field.type] for field in SOURCE if field.name in COLUMNS}})


def block(records: Iterable[Record]) -> pa.RecordBatch:
    """Some records, or rows that are none, as the source would give them."""
    return pa.RecordBatch.from_pylist(list(records), schema=_SCHEMA)


def gathered(*records: Record) -> RecordColumns:
    return gather([block(records)])[0]


def keyed(name: str, table: pa.Table) -> Facts:
    """The table *name* as the oracle has it. No key is there twice."""
    found = {tuple(row.pop(key) for key in KEYS[name]): row for row in table.to_pylist()}
    assert len(found) == len(table)
    return found


def reduced(tasks: Iterable[Iterable[pa.RecordBatch]]) -> dict[str, pa.Table]:
    """Return the partials of a batch of these tasks."""
    return combine(part for task in tasks for part in reduce(iter(task)))


def read(root: Path) -> Iterator[pa.RecordBatch]:
    """All that logs have, a block a segment."""
    for path in sorted(root.rglob("*.jsonl")):
        yield block(json.loads(line) for line in path.read_text("utf-8").splitlines())


def records_of(batches: Iterable[pa.RecordBatch]) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.to_pylist() if row["kind"] is not None]
