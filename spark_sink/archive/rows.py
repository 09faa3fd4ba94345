"""Archived parts of segments, read as the records that `segment_reader.read_parts` makes of lines."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from spark_sink.arrays import fitted
from spark_sink.line_parser import Projection, bad_rows
from spark_sink.log_files import LogFiles
from spark_sink.segments import ArchivedPiece, SegmentPart

BYTE = "byte"
"""Column with the byte of its segment at which a line begins."""
_NEEDED = ("offset", BYTE)


@dataclass(frozen=True, slots=True)
class _WantedRows:
    """Rows of a piece, of which those are wanted that *part* has."""

    piece: ArchivedPiece
    part: SegmentPart

    def is_whole(self) -> bool:
        """True if all of its rows are wanted."""
        base = self.part.segment.pieces[0].low
        after = self.piece.first - 1 if self.part.after is None else self.part.after
        return (
            self.part.low + base <= self.piece.low
            and self.piece.high <= self.part.high + base
            and after < self.piece.first
            and self.piece.next <= self.part.before
        )


def read_archived(
    files: LogFiles, parts: Iterable[SegmentPart], shape: Projection
) -> Iterator[pa.RecordBatch]:
    """Yield the records of parts that lie in archives; neighbouring rows are read together.

    For a part that can no longer be read, a bad-line row says so. Raises OSError.
    """
    by_path: dict[str, list[_WantedRows]] = {}
    for part in parts:
        base = part.segment.pieces[0].low
        for piece in part.segment.pieces:
            if piece.low < part.high + base and part.low + base < piece.high:
                by_path.setdefault(piece.path, []).append(_WantedRows(piece, part))
    for path, wanted in by_path.items():
        wanted.sort(key=lambda rows: rows.piece.row)
        try:
            with files.open(path) as file:
                yield from _read_file(file, wanted, shape)
        except FileNotFoundError:
            yield bad_rows([_lost(rows, "vanished before it was read") for rows in wanted], shape)
        except (pa.ArrowException, OSError, KeyError) as error:
            reason = f"cannot be read ({str(error).splitlines()[0]})"
            yield bad_rows([_lost(rows, reason) for rows in wanted], shape)


def _lost(rows: _WantedRows, reason: str) -> tuple[str, int, str]:
    part, piece = rows.part, rows.piece
    what = f"records {piece.first} to {piece.next - 1} of boot {part.segment.boot} of node {part.node}"
    return (
        piece.path,
        piece.row,
        f"the archive's file {reason}: {what} are lost, unless they were read before",
    )


def _read_file(
    file: "pa.NativeFile", wanted: list[_WantedRows], shape: Projection
) -> Iterator[pa.RecordBatch]:
    reader = pq.ParquetFile(file, page_checksum_verification=True)
    columns = [*shape.names, *(name for name in _NEEDED if name not in shape.names)]
    there = set(reader.schema_arrow.names)
    missing = [name for name in columns if name not in there]
    if missing and set(missing) & {*_NEEDED, "bad_path"}:
        raise KeyError(missing[0])
    begin = 0
    place = 0
    for group in range(reader.num_row_groups):
        end = begin + reader.metadata.row_group(group).num_rows
        of_group = []
        while place < len(wanted) and wanted[place].piece.row < end:
            of_group.append(wanted[place])
            if wanted[place].piece.row + wanted[place].piece.rows > end:
                break  # it goes on in the next one
            place += 1
        if of_group:
            table = reader.read_row_group(group, columns=[name for name in columns if name in there])
            yield from _chosen(table, begin, of_group, shape)
        begin = end


def _chosen(
    table: pa.Table, begin: int, wanted: list[_WantedRows], shape: Projection
) -> Iterator[pa.RecordBatch]:
    """Yield the wanted rows of a row group, the first of which is row *begin* of the file.

    Columns missing in an older archive are null.
    """
    whole: list[tuple[int, int]] = []
    for rows in wanted:
        low = max(rows.piece.row - begin, 0)
        high = min(rows.piece.row + rows.piece.rows - begin, len(table))
        if not rows.is_whole():
            yield from fitted(_filtered(table.slice(low, high - low), rows.part), shape.schema).to_batches()
        elif whole and whole[-1][1] == low:
            whole[-1] = (whole[-1][0], high)
        else:
            whole.append((low, high))
    for low, high in whole:
        yield from fitted(table.slice(low, high - low), shape.schema).to_batches()


def _filtered(table: pa.Table, part: SegmentPart) -> pa.Table:
    base = part.segment.pieces[0].low
    byte, offset = table.column(BYTE), table.column("offset")
    chosen = pc.and_(pc.greater_equal(byte, part.low + base), pc.less(byte, part.high + base))
    new = pc.less(offset, part.before)
    if part.after is not None:
        new = pc.and_(new, pc.greater(offset, part.after))
    return table.filter(pc.and_(chosen, pc.fill_null(new, fill_value=True)))
