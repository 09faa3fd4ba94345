"""Ranges of segments' bytes as blocks of whole lines."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from spark_sink import limits
from spark_sink.errors import SegmentShrunkError, SegmentVanishedError
from spark_sink.lines import Block, Piece, Place, Shape, parse_block
from spark_sink.segments import ByteRange


class _Gatherer:
    """Joins what one boot wrote in several small segments: a block costs as much as a thousand of its lines."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._place: Place | None = None
        self._data = bytearray()
        self._pieces: list[Piece] = []

    def begin(self, part: ByteRange, last_offset: int | None) -> Iterator[pa.RecordBatch]:
        """Go on with *part*; *last_offset* is that of the record before it, None at the beginning of a segment."""
        boot = int(part.segment[:8])
        place = self._place
        if place is None or (place.node, place.boot) != (part.node, boot) or last_offset is not None:
            yield from self.flush()
            first_offset = int(part.segment[9:21])
            self._place = Place(part.node, boot, first_offset - 1 if last_offset is None else last_offset)

    def add(self, path: str, byte: int, data: bytes) -> Iterator[pa.RecordBatch]:
        """Add lines; yields what has become a full block. A torn line ends its block, so that nothing joins it."""
        self._pieces.append(Piece(len(self._data), path, byte))
        self._data += data
        if len(self._data) >= limits.BLOCK_SIZE // 2 or not data.endswith(b"\n"):
            yield from self.flush()

    def flush(self) -> Iterator[pa.RecordBatch]:
        """Yield what is left."""
        if self._place is not None and self._data:
            block = Block(bytes(self._data), tuple(self._pieces))
            self._data.clear()
            self._pieces.clear()
            yield from parse_block(block, self._place, self._shape)


def read_parts(parts: Iterable[tuple[ByteRange, str]], shape: Shape) -> Iterator[pa.RecordBatch]:
    """Yield the records of ranges of segments, given with their paths.

    Raises SegmentVanishedError, SegmentShrunkError.
    """
    gatherer = _Gatherer(shape)
    for part, path in parts:
        try:
            file = Path(path).open("rb", buffering=0)  # noqa: SIM115 - closed below; only opening may find it gone
        except FileNotFoundError as error:
            raise SegmentVanishedError(part.node, part.segment) from error
        with file:
            first = _first_line(file, part.low)
            yield from gatherer.begin(part, _offset_before(file, first, part))
            for byte, data in _blocks(file, first, part):
                yield from gatherer.add(path, byte, data)
    yield from gatherer.flush()


def _offset_before(file: BinaryIO, first: int, part: ByteRange) -> int | None:
    """The offset of the record whose line ends at *first*; less than any in the segment if that is not known."""
    if first == 0:
        return None
    before = record_before(file, first)
    return int(part.segment[9:21]) - 1 if before is None else int(before["offset"])


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
