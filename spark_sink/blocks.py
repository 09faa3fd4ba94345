"""A range of a segment's bytes as blocks of whole lines."""

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

import pyarrow as pa

from spark_sink import limits
from spark_sink.errors import SegmentShrunkError
from spark_sink.lines import Place, Shape, parse_block
from spark_sink.segments import ByteRange


def read_range(file: BinaryIO, part: ByteRange, path: str, shape: Shape) -> Iterator[pa.RecordBatch]:
    """Yield the records of *part* of the segment *file*. Raises SegmentShrunkError if it ends too early."""
    first = _first_line(file, part.low)
    place = Place(path, part.node, int(part.segment[:8]), int(part.segment[9:21]) - 1)
    if first > 0:
        before = record_before(file, first)
        place.last_offset = before.get("offset", place.last_offset) if before else place.last_offset
    for byte, block in _blocks(file, first, part):
        yield from parse_block(block, byte, place, shape)


def _first_line(file: BinaryIO, low: int) -> int:
    """The beginning of the first line that begins at *low* or later, the end of the file if none does."""
    if low == 0:
        return 0
    byte = low - 1
    file.seek(byte)
    while data := file.read(limits.TAIL_SIZE):
        found = data.find(b"\n")
        if found >= 0:
            return byte + found + 1
        byte += len(data)
    return byte


def record_before(file: BinaryIO, end: int) -> dict[str, Any] | None:
    """The record whose line ends at *end*, None if that line is no JSON object with a whole number as offset."""
    low = max(0, end - limits.LINE_SIZE_MAX)
    file.seek(low)
    line = file.read(end - low)[:-1].rpartition(b"\n")[2]
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if isinstance(record, dict) and type(record.get("offset")) is int:
        return record
    return None


def _blocks(file: BinaryIO, first: int, part: ByteRange) -> Iterator[tuple[int, bytes]]:
    """Yield (place in the file, whole lines) for all lines from *first* on that begin before the part's end."""
    byte = first
    while byte < part.high:
        file.seek(byte)
        data = file.read(limits.BLOCK_SIZE)
        if not data:
            raise SegmentShrunkError(part.node, part.segment, part.high, byte)
        end = data.find(b"\n", max(0, part.high - 1 - byte)) + 1 or data.rfind(b"\n") + 1
        if end > 0:
            yield byte, data[:end]
            byte += end
        elif len(data) < limits.BLOCK_SIZE:
            yield byte, data  # torn: the file ends here
            byte += len(data)
        else:
            yield (
                byte,
                data[: limits.LINE_SIZE_MAX] + b"\n",
            )  # far too long, so its beginning is enough to refuse it
            byte = _first_line(file, byte + 1)
