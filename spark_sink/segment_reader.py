"""Parts of segments as blocks of whole lines."""

from collections.abc import Iterable, Iterator

import pyarrow as pa

from spark_sink import limits
from spark_sink.line_parser import Block, BlockPart, Projection, ReadPosition, bad_rows, parse_block
from spark_sink.log_files import LogFiles
from spark_sink.segment_probe import json_object
from spark_sink.segments import SegmentPart


class _ShortError(Exception):
    """A file ends before it should."""

    def __init__(self, byte: int) -> None:
        super().__init__(byte)
        self.byte = byte


class _Gatherer:
    """Joins what many small segments hold, of whatever nodes: a block costs as much as a thousand of its lines."""

    def __init__(self, shape: Projection) -> None:
        self._shape = shape
        self._data: list[bytes] = []
        self._size = 0
        self._pieces: list[BlockPart] = []

    def add(self, place: ReadPosition, path: str, byte: int, data: bytes) -> Iterator[pa.RecordBatch]:
        """Add lines; yields what has become a full block. A torn line ends its block, so that nothing joins it."""
        if self._pieces and self._pieces[-1].place is place:
            yield from self.flush()
        self._pieces.append(BlockPart(self._size, path, byte, place))
        self._data.append(data)
        self._size += len(data)
        if self._size >= limits.BLOCK_SIZE // 2 or not data.endswith(b"\n"):
            yield from self.flush()

    def flush(self) -> Iterator[pa.RecordBatch]:
        """Yield what is left."""
        if self._data:
            block = Block(b"".join(self._data), tuple(self._pieces))
            self._data.clear()
            self._size = 0
            self._pieces.clear()
            yield from parse_block(block, self._shape)


def read_parts(files: LogFiles, parts: Iterable[SegmentPart], shape: Projection) -> Iterator[pa.RecordBatch]:
    """Yield the records of parts of segments. Raises FileNotFoundError if a segment is gone; OSError.

    The first bad lines of each part are rows (`limits.BAD_LINES_LISTED`), followed by the number of further ones.
    """
    gatherer = _Gatherer(shape)
    for part in parts:
        path = part.segment.path
        try:
            first = _first_line(files, path, part.low)
            last = _offset_before(files, first, part)
            place = ReadPosition(part.node, part.segment.boot, last, part.before)
            for byte, data in _blocks(files, first, part):
                yield from gatherer.add(place, path, byte, data)
        except _ShortError as error:
            reason = f"the file ends here, but had {part.high} bytes when reading it was planned"
            yield bad_rows([(path, error.byte, reason)], shape)
    yield from gatherer.flush()


def _offset_before(files: LogFiles, first: int, part: SegmentPart) -> int:
    """Return the offset of the record before those to be counted; a smaller number if that is not known."""
    if part.after is not None:
        return part.after
    lines = files.read(part.segment.path, max(0, first - limits.LINE_SIZE_MAX), first)
    offset = json_object(lines[:-1].rpartition(b"\n")[2]).get("offset")
    return offset if type(offset) is int else part.segment.first - 1


def _first_line(files: LogFiles, path: str, low: int) -> int:
    """Return the start of the first line that begins at *low* or later, the end of the file if none does."""
    if low == 0:
        return 0
    byte = low - 1
    while data := files.read(path, byte, byte + limits.LINE_SIZE_MAX):
        found = data.find(b"\n")
        if found >= 0:
            return byte + found + 1
        byte += len(data)
    return byte


def _blocks(files: LogFiles, first: int, part: SegmentPart) -> Iterator[tuple[int, bytes]]:
    """Yield (place in the file, whole lines) for all lines from *first* on that begin before the part's end.

    Raises _ShortError, FileNotFoundError; OSError.
    """
    path = part.segment.path
    byte = first
    while byte < part.high:
        wanted = min(limits.BLOCK_SIZE, part.high - byte + limits.LINE_SIZE_MAX)
        data = files.read(path, byte, byte + wanted)
        if not data:
            raise _ShortError(byte)
        end = data.find(b"\n", max(0, part.high - 1 - byte)) + 1 or data.rfind(b"\n") + 1
        if end > 0:
            yield byte, data[:end]
            byte += end
        elif len(data) < wanted:
            yield byte, data  # torn: the file ends here
            byte += len(data)
        else:
            # Far too long, so its beginning is enough to refuse it.
            yield byte, data[: limits.LINE_SIZE_MAX] + b"\n"
            byte = _first_line(files, path, byte + 1)
