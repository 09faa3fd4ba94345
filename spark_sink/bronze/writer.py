"""Tasks of landing: parts of segments to bronze files, one for each day (docs/formats/bronze.md)."""

import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from spark_sink import limits, segment_probe, segment_reader
from spark_sink.arrays import Ints, boot_runs, run_starts
from spark_sink.bronze.footer import KEY, BronzePiece, serialize_footer
from spark_sink.line_parser import Projection
from spark_sink.log_files import LogFiles, opened
from spark_sink.schema import COLUMNS
from spark_sink.segments import SegmentPart
from spark_sink.stream_offset import Tail

_DAY_US: Final = 24 * 3_600_000_000
_EPOCH: Final = date(1970, 1, 1)
FILE: Final = "file"
"""Column with the number of the file."""
_SHAPE: Final = Projection([field.name for field in COLUMNS])
_TEXTS: Final = [field.name for field in _SHAPE.schema if pa.types.is_string(field.type)]
_SORTED: Final = ("offset", "t_us", "mono_us")
"""Columns that grow along a log: stored as differences."""
FILES: Final = pa.schema(
    [("staged", pa.string()), ("name", pa.string()), ("rows", pa.int64()), ("bytes", pa.int64())]
)
"""Report of a task on each file it wrote: its path, and its final one below the folder of the bronze."""


@dataclass(frozen=True, slots=True)
class _Cut:
    """Rows of one part and one day."""

    day: int
    begin: int
    end: int
    piece: BronzePiece


def write_task(path: str, endpoint: str, staging: Path, parts: Sequence[SegmentPart]) -> pa.Table:
    """Write the records of whole *parts* of the logs at *path*, as `write_parts`."""
    return write_parts(opened(path, endpoint), parts, staging)


def write_parts(files: LogFiles, parts: Sequence[SegmentPart], staging: Path) -> pa.Table:
    """Write the records of whole *parts* into new files of *staging*, and return `FILES`. They are on the disk then.

    Raises FileNotFoundError if a segment is gone; OSError.
    """
    batches = segment_reader.read_parts(files, parts, _SHAPE)
    rows = pa.Table.from_batches(batches, _SHAPE.schema)
    of_part = _parts_of(parts, rows)
    if not (of_part[1:] >= of_part[:-1]).all():  # how many more lines are bad is said at the end of a block
        order = np.argsort(of_part, kind="stable")
        of_part, rows = of_part[order], rows.take(pa.array(order))
    by_day: dict[int, list[_Cut]] = {}
    for cut in _cuts(files, parts, of_part, rows):
        by_day.setdefault(cut.day, []).append(cut)
    found = [_write(staging, day, cuts, rows) for day, cuts in sorted(by_day.items())]
    return pa.Table.from_pylist(found, FILES)


def file_name(day: date, number: int) -> str:
    """Return the place of the file *number* below the folder of a bronze."""
    return f"day={day.isoformat()}/{number:016x}.parquet"


def _write(staging: Path, day: int, cuts: Sequence[_Cut], rows: pa.Table) -> dict[str, object]:
    """Write the rows of a day. Raises OSError."""
    runs: list[tuple[int, int]] = []
    for cut in cuts:
        if runs and runs[-1][1] == cut.begin:
            runs[-1] = (runs[-1][0], cut.end)
        else:
            runs.append((cut.begin, cut.end))
    chosen = pa.concat_tables(rows.slice(begin, end - begin) for begin, end in runs)
    number = secrets.randbits(63)
    chosen = chosen.append_column(FILE, pa.array(np.full(len(chosen), number, np.int64)))
    path = staging / f"{number:016x}.parquet"
    with pq.ParquetWriter(
        path,
        chosen.schema,
        compression="zstd",
        compression_level=3,  # level 9 takes twice the time of writing for 4 % less
        use_dictionary=[*_TEXTS, FILE],
        column_encoding=dict.fromkeys(_SORTED, "DELTA_BINARY_PACKED"),
        write_page_checksum=True,
        write_statistics=["node", "boot", "offset", "t_us", "kind"],
    ) as writer:
        # A row group is what readers skip, if its nodes or kinds are not wanted, and what they hold in memory.
        writer.write_table(chosen, row_group_size=65_536)
        writer.add_key_value_metadata({KEY: serialize_footer([cut.piece for cut in cuts])})
    sync(path)
    name = file_name(_EPOCH + timedelta(days=day), number)
    return {"staged": str(path), "name": name, "rows": len(chosen), "bytes": path.stat().st_size}


def sync(path: Path) -> None:
    """Wait until what is in a file, or the names in a folder, are on the disk. Raises OSError."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _cuts(files: LogFiles, parts: Sequence[SegmentPart], of_part: Ints, rows: pa.Table) -> Iterator[_Cut]:
    """Cut *rows*, in order of their parts, by part, and where the day changes. Raises FileNotFoundError; OSError."""
    ends = np.searchsorted(of_part, np.arange(len(parts) + 1)).tolist()
    offsets = pc.fill_null(rows.column("offset"), -1).to_numpy()
    t_us = pc.fill_null(rows.column("t_us"), -1).to_numpy()
    stops = pc.fill_null(pc.equal(rows.column("kind"), "stop"), fill_value=False).to_numpy()
    for part, (begin, end) in zip(parts, pairwise(ends), strict=True):
        if begin < end:
            stopped = bool(stops[begin + np.argmax(offsets[begin:end])])
            cuts = _cut_part(files, part, offsets[begin:end], t_us[begin:end], stopped=stopped)
            yield from (replace(cut, begin=begin + cut.begin, end=begin + cut.end) for cut in cuts)


def _parts_of(parts: Sequence[SegmentPart], rows: pa.Table) -> Ints:
    """Return for each row the index of its part: records by node, boot and offset, bad lines by their file."""
    places = _by_boot(parts)
    found = np.full(len(rows), -1, np.int64)
    bad = np.flatnonzero(np.asarray(rows.column("bad_path").is_valid()))
    paths = {part.segment.path: number for number, part in enumerate(parts)}
    found[bad] = [paths[path] for path in rows.column("bad_path").take(pa.array(bad)).to_pylist()]
    records = np.flatnonzero(found < 0)
    if len(records) == 0:
        return found
    table = rows.select(["node", "boot", "offset"]).take(pa.array(records))
    boots, offsets = table.column("boot").to_numpy(), table.column("offset").to_numpy()
    for name, boot, begin, end in boot_runs(table.column("node").combine_chunks(), boots):
        firsts, numbers = places[name, boot]
        place = np.searchsorted(firsts, offsets[begin:end], side="right") - 1
        found[records[begin:end]] = numbers[place]
    return found


def _by_boot(parts: Sequence[SegmentPart]) -> dict[tuple[str, int], tuple[Ints, Ints]]:
    """Return, by node and boot, the first records of its parts in order, and the indices of these parts."""
    found: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for number, part in enumerate(parts):
        found.setdefault((part.node, part.segment.boot), []).append((_first(part), number))
    ordered = {place: np.array(sorted(of_one)) for place, of_one in found.items()}
    return {place: (of_one[:, 0], of_one[:, 1]) for place, of_one in ordered.items()}


def _first(part: SegmentPart) -> int:
    """Return the first record that a whole part may have."""
    assert part.after is not None  # only parts of parts do not know it
    return part.after + 1


def _cut_part(
    files: LogFiles, part: SegmentPart, offsets: Ints, t_us: Ints, *, stopped: bool
) -> Iterator[_Cut]:
    """Cut one part where the day changes, `limits.PIECES_MAX` times at most; rows are counted from its first one.

    Raises FileNotFoundError; OSError.
    """
    days = _days(t_us)
    begins = np.flatnonzero(run_starts(days))[: limits.PIECES_MAX].tolist()
    first = _first(part)
    for begin, end in zip(begins, [*begins[1:], len(days)], strict=True):
        is_last = end == len(days)
        after = part.before if is_last else max(first, int(offsets[:end].max()) + 1)
        piece = _piece(files, part, first, after, is_last=is_last, stopped=stopped and is_last)
        yield _Cut(int(days[begin]), begin, end, piece)
        first = after


def _days(t_us: Ints) -> Ints:
    """Return the day of each row; a bad line (−1) has that of the record before it, or of the first one."""
    known = np.flatnonzero(t_us >= 0)
    if len(known) == 0:
        return np.zeros(len(t_us), np.int64)
    place = np.maximum(np.searchsorted(known, np.arange(len(t_us)), side="right") - 1, 0)
    return t_us[known[place]] // _DAY_US


def _piece(
    files: LogFiles, part: SegmentPart, first: int, after: int, *, is_last: bool, stopped: bool
) -> BronzePiece:
    """Make a piece. One in the middle of a part says that the part is read from its beginning: its end in bytes is not
    known, and records that come again are refused by their offsets. Raises FileNotFoundError; OSError."""
    segment = part.segment
    byte = part.high if is_last else part.low
    tail = Tail(segment.first, byte, segment_probe.tail_print(files, segment, byte))
    start = None
    if (segment.first, part.low, first) == (0, 0, 0):
        line = segment_probe.first_line(files, segment) or b""
        start = segment_probe.fingerprint(line), segment_probe.says_clean(line)
    return BronzePiece(part.node, segment.boot, first, after, tail, stopped, start)


def whole_tasks(parts: Iterable[SegmentPart], size_max: int) -> list[tuple[SegmentPart, ...]]:
    """Gather *parts* into tasks of *size_max* bytes or a little more; no part is cut, order is kept."""
    tasks: list[tuple[SegmentPart, ...]] = []
    task: list[SegmentPart] = []
    size = 0
    for part in parts:
        task.append(part)
        size += part.size
        if size >= size_max:
            tasks.append(tuple(task))
            task, size = [], 0
    if task:
        tasks.append(tuple(task))
    return tasks
