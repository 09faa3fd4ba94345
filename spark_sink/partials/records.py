"""Records of many blocks as one set of columns, texts by numbers: what all partial tables are made from."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_sink.arrays import Bools, Ints
from spark_sink.partials.groupby import codes, numbers_of, texts

_NUMBERED: Final = (
    "node", "kind", "feed", "reason", "face", "origin", "packet", "verdict", "direction", "rule", "record",
)  # fmt: skip
"""Texts that identify records; they repeat often, and are numbered."""
_SPELLED: Final = (
    "name", "dialect", "version", "spec", "id", "state", "held", "other", "network", "network_name", "region",
    "sub_band", "hash",
)  # fmt: skip
"""Texts that are only copied, or read in few records."""
_NUMBERS: Final = (
    "boot", "offset", "t_us", "mono_us", "clean", "step_us", "seq", "type", "size", "chunks", "chunk", "complete",
    "length", "rssi_dbm", "airtime_us", "count", "limit_ppm", "window_us", "total",
)  # fmt: skip
_REALS: Final = ("snr_db", "latitude", "longitude")
_LISTS: Final = ("seqs", "chunks_wanted")
BAD: Final = ("bad_path", "bad_byte", "bad_reason", "bad_text")
COLUMNS: Final = (*_NUMBERED, *_SPELLED, *_NUMBERS, *_REALS, *_LISTS, *BAD)
"""Columns of the source that are used; others need not be read."""
_TYPES: Final = {
    **dict.fromkeys(_NUMBERED, pa.dictionary(pa.int32(), pa.string())),
    **dict.fromkeys(_SPELLED, pa.string()),
    **dict.fromkeys(_NUMBERS, pa.int64()),
    **dict.fromkeys(_REALS, pa.float64()),
}


class RecordColumns:
    """Columns of records, or of some of the rows of others. What the source does not have is null."""

    def __init__(
        self,
        columns: dict[str, pa.Array],
        length: int,
        chosen: "tuple[RecordColumns, pa.Array] | None" = None,
    ) -> None:
        """*chosen*: the records that these are some of, and which rows they are."""
        self._columns = columns
        self._length = length
        self._chosen = chosen
        self._of_kinds: dict[tuple[str, ...], RecordColumns] = {}

    def __len__(self) -> int:
        return self._length

    def column(self, name: str) -> pa.Array:
        """Return a column in Arrow; texts that identify records are dictionary-encoded."""
        if name not in self._columns:
            self._columns[name] = self._take(name)
        return self._columns[name]

    def _take(self, name: str) -> pa.Array:
        if self._chosen is None:
            return pa.nulls(self._length, _TYPES[name])
        of, rows = self._chosen
        return of.column(name).take(rows)

    def numbers(self, name: str, unknown: int = 0) -> Ints:
        """Return a column of whole numbers or truths; null becomes *unknown*."""
        return numbers_of(self.column(name), unknown)

    def codes(self, name: str) -> tuple[Ints, pa.Array]:
        """Return a column of texts as in `codes`: for each record the index of its text (−1: null), and the texts."""
        return codes(self.column(name))

    def says(self, name: str, *values: str) -> Bools:
        """Return whether the column *name* is one of *values*."""
        numbers, names = self.codes(name)
        return np.array([text in values for text in names.to_pylist()] + [False])[numbers]

    def has(self, name: str) -> Bools:
        """Return whether the column *name* has a value."""
        return np.asarray(self.column(name).is_valid())

    def known(self, *names: str) -> "RecordColumns":
        """Return the records in which all of these columns have a value."""
        if not any(self.column(name).null_count for name in names):
            return self
        return self.where(np.logical_and.reduce([self.has(name) for name in names]))

    def where(self, chosen: Bools) -> "RecordColumns":
        """Return the records at which *chosen* is true."""
        rows = pa.array(np.flatnonzero(chosen))
        of = self
        if self._chosen is not None:
            of, rows = self._chosen[0], self._chosen[1].take(rows)
        return RecordColumns({}, len(rows), (of, rows))

    def of(self, *kinds: str) -> "RecordColumns":
        """Return the records of these kinds."""
        if kinds not in self._of_kinds:
            self._of_kinds[kinds] = self.where(self.says("kind", *kinds))
        return self._of_kinds[kinds]


def gather(batches: Sequence[pa.RecordBatch]) -> tuple[RecordColumns, pa.Table]:
    """Join the records of *batches*, and separate bad lines (docs/formats/events.md defines them)."""
    table = pa.Table.from_batches(batches)
    table = table.select([name for name in COLUMNS if name in table.column_names])
    bad = table.slice(0, 0)
    if table.column("bad_path").null_count < len(table):
        is_record = table.column("bad_path").is_null()
        bad = table.filter(pc.invert(is_record))
        table = table.filter(is_record)
    columns = {}
    for name in table.column_names:
        column = table.column(name)
        if name in _NUMBERED:
            columns[name] = texts(*codes(column))
        elif name not in BAD:
            columns[name] = column.combine_chunks()
    return RecordColumns(columns, len(table)), bad.select(BAD)
