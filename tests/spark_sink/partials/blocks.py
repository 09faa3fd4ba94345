"""Records as they come out of the source, and partial tables as dictionaries to compare with the oracle's."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from spark_sink.blocks import read_parts
from spark_sink.lines import Shape
from spark_sink.partials.combine import combine
from spark_sink.partials.merging import KEYS
from spark_sink.partials.records import COLUMNS, Records, gather
from spark_sink.partials.reduce import reduce
from spark_sink.schema import COLUMNS as SOURCE
from spark_sink.segments import ByteRange
from tests.spark_sink.logs import Record
from tests.spark_sink.partials.oracle import Facts

SHAPE = Shape([field.name for field in SOURCE if field.name in COLUMNS])


def block(records: Iterable[Record]) -> pa.RecordBatch:
    """Some records, or rows that are none, as the source would give them."""
    return pa.RecordBatch.from_pylist(list(records), schema=SHAPE.schema)


def gathered(*records: Record) -> Records:
    return gather([block(records)])[0]


def keyed(name: str, table: pa.Table) -> Facts:
    """The table *name* as the oracle has it. No key is there twice."""
    found = {tuple(row.pop(key) for key in KEYS[name]): row for row in table.to_pylist()}
    assert len(found) == len(table)
    return found


def reduced(tasks: Iterable[Iterable[pa.RecordBatch]]) -> dict[str, pa.Table]:
    """What a batch of these tasks gives."""
    return combine(part for task in tasks for part in reduce(iter(task)))


def segments(root: Path) -> Iterator[tuple[ByteRange, str]]:
    """All segments there are, to be read whole."""
    for path in sorted(root.rglob("*.jsonl")):
        yield ByteRange(path.parent.name, path.name, 0, path.stat().st_size), str(path)


def read(root: Path) -> list[pa.RecordBatch]:
    """All that logs have, through the source."""
    return list(read_parts(segments(root), SHAPE))


def records_of(batches: Iterable[pa.RecordBatch]) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.to_pylist() if row["kind"] is not None]
