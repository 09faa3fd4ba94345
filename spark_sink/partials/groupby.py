"""Rows that have the same key: numbered, summed up, and the one among them that counts.

All of it is a handful of passes over whole columns, whatever the number of groups: nothing here is done row by row.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_sink import limits
from spark_sink.arrays import Bools, Ints

Column: TypeAlias = pa.Array | pa.ChunkedArray
Texts: TypeAlias = pa.DictionaryArray | str
Criterion: TypeAlias = Callable[[Ints, Ints, int], Ints]
"""Given rows, the group of each and the number of groups: a number for each row, the least in a group is the best."""

LAST: Final = 2**63 - 1
"""Greater than any number; stands for null where the least number is wanted."""
_HALF: Final = 31
_HALF_MASK: Final = 2**31 - 1
"""Great numbers are summed up in two halves."""
_KEYS_MAX: Final = 2**62
_TABLE_RATIO: Final = 8
"""Table places per row up to which keys are numbered by a table rather than by hashing."""


@dataclass(frozen=True, slots=True)
class RowGroups:
    """Group number of each row, counted from 0."""

    of: Ints
    count: int

    def sums(self, values: Ints) -> Ints:
        """Return the sum in each group of values that are not negative; sums stop at `limits.SUM_MAX`."""
        if len(values) and int(values.max()) * len(values) <= limits.SUM_MAX:
            return self._sums(values)
        high, low = self._sums(values >> _HALF), self._sums(values & _HALF_MASK)
        high += low >> _HALF
        return np.where(high >= limits.SUM_MAX >> _HALF, limits.SUM_MAX, (high << _HALF) + (low & _HALF_MASK))

    def _sums(self, values: Ints) -> Ints:
        found = np.zeros(self.count, np.int64)
        np.add.at(found, self.of, values)
        return found

    def least(self, values: Ints) -> Ints:
        """Return the least value in each group."""
        return _least(values, self.of, self.count)

    def most(self, values: Ints) -> Ints:
        """Return the greatest value in each group, none of which is below 0."""
        found = np.zeros(self.count, np.int64)
        np.maximum.at(found, self.of, values)
        return found

    def some(self) -> Ints:
        """Return the first row of each group."""
        return self.best(())

    def best(self, criteria: Sequence[Criterion]) -> Ints:
        """Return the row of each group that is best by the first criterion; of equals by the next, and so on."""
        rows, of = np.arange(len(self.of)), self.of
        for criterion in criteria:
            if len(rows) == self.count:
                break
            values = criterion(rows, of, self.count)
            kept = values == _least(values, of, self.count)[of]
            rows, of = rows[kept], of[kept]
        found = np.empty(self.count, np.int64)
        found[of[::-1]] = rows[::-1]  # what is written last stays
        return found


def _least(values: Ints, of: Ints, count: int) -> Ints:
    found = np.full(count, LAST)
    np.minimum.at(found, of, values)
    return found


def group(columns: Sequence[Column], rows: int) -> RowGroups:
    """Put *rows* rows that are equal in all *columns* into one group.

    Where rows are in order of the first column, groups are so, too.
    """
    key, size = np.zeros(rows, np.int64), 1
    for column in columns:
        values, count = _numbered(column)
        if size * count >= _KEYS_MAX:
            key, size = _dense(key, size)
        key, size = key * count + values, size * count
    return RowGroups(*_dense(key, size))


def _numbered(column: Column) -> tuple[Ints, int]:
    """Return numbers from 0 on, equal where the column is, and an upper limit of them."""
    if not pa.types.is_integer(column.type):
        numbers, names = codes(column)
        return numbers + 1, len(names) + 1
    values = numbers_of(column)
    if len(values) == 0:
        return values, 1
    low, high = int(values.min()), int(values.max())
    if high - low < 2**31:
        return values - low, high - low + 1
    return _dense(values, LAST)


def _dense(key: Ints, size: int) -> tuple[Ints, int]:
    """Number the keys that occur; *size* is more than any of them."""
    if size <= _TABLE_RATIO * len(key):
        seen = np.zeros(size, np.int64)
        seen[key] = 1
        number = np.cumsum(seen)
        return number[key] - 1, int(number[-1])
    encoded = pa.array(key).dictionary_encode()
    return np.asarray(encoded.indices).astype(np.int64), len(encoded.dictionary)


def codes(column: Column) -> tuple[Ints, pa.Array]:
    """Encode texts: return for each row the index of its text among those that occur, −1 for null; and these
    texts."""
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks() if encoded.num_chunks else pa.array([], encoded.type)
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.unify_dictionaries().combine_chunks()
    indices = encoded.indices
    if indices.null_count:
        indices = indices.fill_null(-1)
    return np.asarray(indices).astype(np.int64), encoded.dictionary


def texts(numbers: Ints, names: pa.Array) -> pa.DictionaryArray:
    """Turn numbers back into texts."""
    unknown = numbers < 0
    indices = pa.array(numbers.astype(np.int32), mask=unknown if unknown.any() else None)
    return pa.DictionaryArray.from_arrays(indices, names)


def chosen(length: int, otherwise: Texts | None, *choices: tuple[Bools, Texts | None]) -> pa.DictionaryArray:
    """Choose a text for each row: that of the last choice that is true for it, else *otherwise*; None stands for
    null."""
    numbers = np.full(length, -1, np.int64)
    names, place = [pa.array([], pa.string())], 0
    for rows, source in ((np.ones(length, np.bool_), otherwise), *choices):
        if source is None:
            found, known = np.full(length, -1), pa.array([], pa.string())
        elif isinstance(source, str):
            found, known = np.zeros(length, np.int64), pa.array([source])
        else:
            found, known = codes(source)
        numbers[rows] = np.where(found < 0, -1, found + place)[rows]
        names.append(known)
        place += len(known)
    distinct = pa.concat_arrays(names).dictionary_encode()
    renamed = np.append(np.asarray(distinct.indices), -1)
    return texts(renamed[numbers], distinct.dictionary)


def numbers_of(column: Column, unknown: int = 0) -> Ints:
    """Return a column of whole numbers or truths; null becomes *unknown*."""
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int64())
    if column.null_count == len(column):
        return np.full(len(column), unknown, np.int64)
    if column.null_count:
        column = column.fill_null(unknown)
    return np.asarray(column)


def least(column: Column, unknown: int = LAST) -> Criterion:
    """Prefer the smallest number; null is *unknown*."""
    values = numbers_of(column, unknown)
    return lambda rows, _of, _count: values if len(rows) == len(values) else values[rows]


def greatest(column: Column, unknown: int = -1) -> Criterion:
    """Prefer the greatest number; null is *unknown*."""
    values = -numbers_of(column, unknown)
    return lambda rows, _of, _count: values if len(rows) == len(values) else values[rows]


def first_text(column: Column) -> Criterion:
    """Prefer the text that comes first in the order of bytes, null before all.

    Texts are sorted only where those of a group differ, which is rare.
    """

    def rank(rows: Ints, of: Ints, count: int) -> Ints:
        numbers, names = codes(column)
        numbers = numbers[rows] + 1
        lows = _least(numbers, of, count)
        differs = (numbers != lows[of]).nonzero()[0]
        ranks = np.zeros(len(names) + 1, np.int64)
        if len(differs):
            unlike = np.unique(np.concatenate((numbers[differs], lows[of[differs]])))
            named = unlike[unlike > 0] - 1
            order = np.asarray(pc.sort_indices(names.take(pa.array(named)))).astype(np.int64)
            ranks[named[order] + 1] = np.arange(1, len(named) + 1)
        return ranks[numbers]

    return rank
