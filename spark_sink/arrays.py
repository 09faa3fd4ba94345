"""Types of columns, and what several modules do with them."""

from collections.abc import Iterator
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

Ints: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
Bools: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]
Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Columns = TypeVar("Columns")


def take(columns: Columns, rows: Ints | Bools) -> Columns:
    """Return some rows of a dataclass (with slots) whose fields are all columns."""
    return type(columns)(*(getattr(columns, name)[rows] for name in columns.__slots__))  # type: ignore[attr-defined] # a dataclass with slots


def fitted(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the columns of *schema* with its types; those that *table* lacks are null."""
    there = set(table.column_names)
    columns = [
        table.column(field.name).cast(field.type) if field.name in there else pa.nulls(len(table), field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def run_starts(*columns: Numbers) -> Bools:
    """Return which rows differ from the row before in any column: the first rows of runs."""
    found = np.ones(len(columns[0]), np.bool_)
    if len(found):
        found[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return found


def runs(starts: Bools) -> tuple[Ints, Ints]:
    """Return where each run begins, and how many rows it has."""
    begin = np.flatnonzero(starts)
    return begin, np.diff(begin, append=len(starts))


def boot_runs(nodes: pa.Array, boots: Ints) -> Iterator[tuple[str, int, int, int]]:
    """Yield the runs of rows of one boot: node, boot, the first row, and the one behind the last."""
    known = nodes.dictionary_encode()
    begins, counts = runs(run_starts(known.indices.to_numpy(), boots))
    names = known.take(pa.array(begins)).to_pylist()
    for name, begin, count in zip(names, begins.tolist(), counts.tolist(), strict=True):
        yield name, int(boots[begin]), begin, begin + count


def count_up(counts: Ints) -> Ints:
    """Return 0, 1, 2, … up to each of *counts*, one run after the other."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


def components(count: int, left: Ints, right: Ints) -> Ints:
    """Return for each index the smallest index that it is connected to; *left* and *right* are the ends of the edges.

    Each round ties every tree to the smallest root next to it and flattens the trees; it ends when nothing changes.
    """
    label = np.arange(count)
    while True:
        before = label.copy()
        low = np.minimum(label[left], label[right])
        np.minimum.at(label, before[left], low)
        np.minimum.at(label, before[right], low)
        while not np.array_equal(label, label[label]):
            label = label[label]
        if np.array_equal(label, before):
            return label
