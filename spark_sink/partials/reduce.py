"""Records of one task to rows of the fact tables: what tasks run, so that only little has to travel."""

from collections.abc import Callable, Iterator
from typing import Final

import pyarrow as pa

from spark_sink import limits
from spark_sink.partials import sights, transforms
from spark_sink.partials.records import RecordColumns, gather
from spark_sink.partials.transforms import bad_lines

TRANSFORMS: Final[dict[str, Callable[[RecordColumns], pa.Table]]] = {
    transform.__name__: transform
    for transform in (
        transforms.boots, transforms.faces, transforms.entries, transforms.copies, transforms.side_chains,
        transforms.frontiers, transforms.sets, transforms.traffic, transforms.counts,
        transforms.incidents, sights.sights, transforms.packets,
    )
}  # fmt: skip
"""Functions that make the partial rows, by table."""


def reduce(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, pa.Table]]:
    """Yield partial tables by name, none of them empty, for rows of the ``tinyssb`` source in any order.

    A name comes again for each `limits.REDUCE_ROWS` rows, so that memory is bounded; `combine` joins what belongs
    together. No record may come twice.
    """
    gathered: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        gathered.append(batch)
        rows += len(batch)
        if rows >= limits.REDUCE_ROWS:
            yield from _partials(gathered)
            gathered, rows = [], 0
    if rows:
        yield from _partials(gathered)


def _partials(batches: list[pa.RecordBatch]) -> Iterator[tuple[str, pa.Table]]:
    records, bad = gather(batches)
    if len(records):
        for name, transform in TRANSFORMS.items():
            table = transform(records)
            if len(table):
                yield name, table
    if len(bad):
        yield "bad_lines", bad_lines(bad)
