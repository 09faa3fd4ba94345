"""Types of numpy columns, and what several modules do with rows that are in order."""

from typing import Any, TypeAlias, TypeVar

import numpy as np

Ints: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
Bools: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]
Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Columns = TypeVar("Columns")


def take(columns: Columns, rows: Ints | Bools) -> Columns:
    """Return some rows of a dataclass (with slots) whose fields are all columns."""
    return type(columns)(*(getattr(columns, name)[rows] for name in columns.__slots__))  # type: ignore[attr-defined] # a dataclass with slots


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


def count_up(counts: Ints) -> Ints:
    """Return 0, 1, 2, … up to each of *counts*, one run after the other."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
