"""Parser of event log lines: records to Arrow columns, bad lines to rows with their position and reason.

Whole blocks go through a fast reader of lines as nodes write them, and then through checks of whole columns. A block
that fails either is halved until its bad lines are found; few lines are read one by one, with the same rules.
"""

import io
import json
import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_sink import limits
from spark_sink.arrays import Ints, fitted
from spark_sink.bad_lines import more
from spark_sink.plain_lines import read_lines
from spark_sink.schema import BAD_FIELDS, FIELDS, HEADER, IDENTITY, REQUIRED, Field, FieldType

_INTS: Final = pa.list_(pa.field("element", pa.int64()))
_ARROW_TYPES: Final = {
    FieldType.INT: pa.int64(),
    FieldType.FLOAT: pa.float64(),
    FieldType.TEXT: pa.string(),
    FieldType.BOOL: pa.bool_(),
    FieldType.INTS: _INTS,
    FieldType.TRIPLES: pa.list_(pa.field("element", _INTS)),
}
_NUMERIC: Final = frozenset({FieldType.INT, FieldType.FLOAT})
_LINE_FEED: Final = 10
_DIGITS: Final = "0123456789abcdef"
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"?')
_BRACKET: Final = re.compile(r"[\[\]{}]")


class Projection:
    """Requested columns in their order, and the fields that must be read and checked for them.

    A field that is not requested is not read, unless it decides whether a line is a record that belongs here.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        wanted = frozenset(names) | frozenset(IDENTITY)
        self.fields = tuple(field for field in FIELDS if field.name in wanted)
        self.read = frozenset(field.name for field in self.fields)
        self.numbers = tuple(field for field in self.fields if field.type in _NUMERIC)
        self.header = tuple(name for name in HEADER if name in wanted)
        self.required = {kind: tuple(wanted.intersection(fields)) for kind, fields in REQUIRED.items()}
        types = {field.name: _ARROW_TYPES[field.type] for field in FIELDS + BAD_FIELDS}
        self.schema = pa.schema([(name, types[name]) for name in names])


@dataclass(slots=True)
class ReadPosition:
    """The node and boot whose lines are read, and the range of records to be counted."""

    node: str
    boot: int
    last_offset: int
    """Offset of the last record before them; moves on with reading."""
    next_offset: int = limits.OFFSET_MAX
    """They come before this one."""
    listed_max: int = limits.BAD_LINES_LISTED
    """Number of bad lines that are listed."""
    listed: int = 0
    """Number of bad lines listed so far."""
    more: int = 0
    """Number of bad lines only counted, and not yet reported."""
    more_byte: int = 0
    """Byte of the file at which the first of those begins."""

    @property
    def is_full(self) -> bool:
        """True if no more bad lines are listed."""
        return self.listed >= self.listed_max

    def count(self, byte: int, lines: int) -> None:
        """Count lines that are no records, of which the first begins at *byte*."""
        if not self.more:
            self.more_byte = byte
        self.more += lines


@dataclass(frozen=True, slots=True)
class BlockPart:
    """A part of a block, read off one file."""

    start: int
    """Byte of the block at which it begins."""
    path: str
    byte: int
    """Byte of the file at which it begins."""
    place: ReadPosition


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines, read off one or several files. The pieces have places of their own, each."""

    data: bytes
    pieces: tuple[BlockPart, ...]
    """At least one; the first begins where the block does, or before."""
    skipped: int = 0
    """Bytes left out before ``data``; what the pieces' starts count from."""

    def cut(self, at: int) -> "tuple[Block, Block]":
        """Split the block into its first *at* bytes and the rest."""
        start = self.skipped + at
        later = bisect_left(self.pieces, start, key=lambda piece: piece.start)
        split = later if later < len(self.pieces) and self.pieces[later].start == start else later - 1
        return (
            Block(self.data[:at], self.pieces[:later], self.skipped),
            Block(self.data[at:], self.pieces[split:], start),
        )

    def lines(self) -> Iterator[tuple[BlockPart, int, bytes]]:
        """Yield each line with the piece and the place in its file where it lies."""
        at = self.skipped
        for line in io.BytesIO(self.data):
            piece = self.pieces[bisect_right(self.pieces, at, key=lambda piece: piece.start) - 1]
            yield piece, piece.byte + at - piece.start, line
            at += len(line)


class _NoRecordError(Exception):
    """A bad line; the message is the content of `bad_reason`."""


def parse_block(block: Block, shape: Projection) -> Iterator[pa.RecordBatch]:
    """Yield the lines of *block* in order, then how many were only counted. Moves its places on."""
    yield from _parse(block, shape)
    counted = []
    for piece in block.pieces:
        place = piece.place
        if place.more:
            counted.append((piece.path, place.more_byte, more(place.more)))
            place.more = 0
    if counted:
        yield bad_rows(counted, shape)


def _parse(block: Block, shape: Projection) -> Iterator[pa.RecordBatch]:
    feeds = np.flatnonzero(np.frombuffer(block.data, np.uint8) == _LINE_FEED)
    if _are_short(block, feeds):
        return
    if len(feeds) <= limits.SLOW_LINES:
        rows = list(_parse_lines(block, shape))
        if rows:
            yield pa.RecordBatch.from_pylist(rows, schema=shape.schema)
    elif (batch := _parse_fast(block, feeds, shape)) is not None:
        yield batch
    else:
        for half in block.cut(int(feeds[len(feeds) // 2 - 1]) + 1):
            yield from _parse(half, shape)


def _are_short(block: Block, feeds: Ints) -> bool:
    """True if all lines are too short for records; then they are counted, many at once."""
    piece, place = block.pieces[0], block.pieces[0].place
    if len(block.pieces) > 1 or not place.is_full or len(feeds) == 0 or feeds[-1] != len(block.data) - 1:
        return False
    if np.diff(feeds, prepend=-1).max() >= limits.RECORD_SIZE_MIN:
        return False
    place.count(piece.byte + block.skipped - piece.start, len(feeds))
    return True


def _parse_fast(block: Block, feeds: Ints, shape: Projection) -> pa.RecordBatch | None:
    """Parse all lines at once; None if any line needs a closer look."""
    if feeds[-1] != len(block.data) - 1 or np.diff(feeds, prepend=-1).max() > limits.LINE_SIZE_MAX:
        return None
    table = read_lines(block.data, feeds)
    if table is None or not _is_true(table, shape) or not _belong(table, block, feeds):
        return None
    return next(iter(fitted(table, shape.schema).combine_chunks().to_batches()), None)


def _is_true(table: pa.Table, shape: Projection) -> bool:
    """Apply the rules of `_check` to whole columns."""
    if any(table.column(name).null_count for name in shape.header):
        return False
    return bool(
        all(_in_bounds(table.column(field.name), field) for field in shape.numbers)
        and all(_has_fields(table, kind, names) for kind, names in shape.required.items())
    )


def _belong(table: pa.Table, block: Block, feeds: Ints) -> bool:
    """True if all lines are records that belong to their parts' positions; then moves the positions on."""
    places = [piece.place for piece in block.pieces]
    starts = np.array([piece.start - block.skipped for piece in block.pieces])
    firsts = np.searchsorted(feeds, starts)  # lines that end before a piece's beginning come before it
    lasts = np.append(firsts[1:], len(feeds)) - 1
    counts = lasts + 1 - firsts
    offsets = table.column("offset").to_numpy()
    grows = np.diff(offsets) > 0
    grows[firsts[1:] - 1] = True  # another place
    if not (
        _are(table.column("node"), [place.node for place in places], counts)
        and (table.column("boot").to_numpy() == np.repeat([place.boot for place in places], counts)).all()
        and grows.all()
        and (offsets[firsts] > [place.last_offset for place in places]).all()
        and (offsets[lasts] < [place.next_offset for place in places]).all()
    ):
        return False
    for place, offset in zip(places, offsets[lasts].tolist(), strict=True):
        place.last_offset = offset
    return True


def _are(column: pa.ChunkedArray, values: Sequence[str], counts: Ints) -> bool:
    """True if *column* has each of *values* so many times, in order."""
    expected: Any = values[0]
    if len(set(values)) > 1:
        expected = pc.take(pa.array(values), pa.array(np.repeat(np.arange(len(values)), counts)))
    return bool(pc.all(pc.equal(column, expected)).as_py())


def _in_bounds(column: pa.ChunkedArray, field: Field) -> bool:
    if column.null_count == len(column):
        return True
    bounds = pc.min_max(column).as_py()
    return bool(field.low <= bounds["min"] and bounds["max"] <= field.high)


def _has_fields(table: pa.Table, kind: str, names: tuple[str, ...]) -> bool:
    of_kind = table.select(names).filter(pc.equal(table.column("kind"), kind))
    return not any(column.null_count for column in of_kind.columns)


def _parse_lines(block: Block, shape: Projection) -> Iterator[dict[str, Any]]:
    """Yield the lines one by one, without those that are only counted."""
    for piece, byte, line in block.lines():
        row = parse_slow(piece, byte, line, shape)
        if "bad_path" not in row:
            yield row
        elif piece.place.is_full:
            piece.place.count(byte, 1)
        else:
            piece.place.listed += 1
            yield row


def parse_slow(piece: BlockPart, byte: int, line: bytes, shape: Projection) -> dict[str, Any]:
    """Parse one line to a row of the source: a record, or the position and reason of a bad line."""
    try:
        record = _parse_object(line, shape)
        _check(record, piece.place, shape)
    except _NoRecordError as error:
        text = line[: limits.LINE_SIZE_MAX].decode(errors="replace").rstrip("\n")[: limits.BAD_TEXT_MAX]
        return {"bad_path": piece.path, "bad_byte": byte, "bad_reason": str(error), "bad_text": text}
    piece.place.last_offset = record["offset"]
    return record


def _parse_object(line: bytes, shape: Projection) -> dict[str, Any]:
    if len(line) > limits.LINE_SIZE_MAX:
        raise _NoRecordError(f"longer than {limits.LINE_SIZE_MAX} bytes")
    if not line.endswith(b"\n"):
        raise _NoRecordError("torn: no line feed at its end")
    try:
        text = line.decode()
        if _nests_deeply(text):
            raise _NoRecordError(f"nested deeper than {limits.NESTING_MAX} levels")
        pairs = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=tuple)
    except ValueError as error:
        raise _NoRecordError("not JSON") from error
    if not isinstance(pairs, tuple):
        raise _NoRecordError("not a JSON object")
    known = [pair for pair in pairs if pair[0] in shape.read]
    record = dict(known)
    if len(record) != len(known):
        raise _NoRecordError("a field occurs twice")
    return {field.name: record[field.name] for field in shape.fields if record.get(field.name) is not None}


def _nests_deeply(text: str) -> bool:
    """True if *text*, were it JSON, has lists and objects within each other beyond the limit."""
    if text.count("{") + text.count("[") <= limits.NESTING_MAX:
        return False
    level = 0
    for bracket in _BRACKET.findall(_STRING.sub("", text)):
        level += 1 if bracket in "{[" else -1
        if level > limits.NESTING_MAX:
            return True
    return False


def bad_rows(rows: Sequence[tuple[str, int, str]], shape: Projection) -> pa.RecordBatch:
    """Make rows of (path, byte, reason) for input that cannot be read at all."""
    return pa.RecordBatch.from_pylist(
        [
            {"bad_path": path, "bad_byte": byte, "bad_reason": reason, "bad_text": ""}
            for path, byte, reason in rows
        ],
        schema=shape.schema,
    )


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def _check(record: dict[str, Any], place: ReadPosition, shape: Projection) -> None:
    """Raises _NoRecordError, unless *record* is one that belongs here and was not counted before."""
    version = record.get("v")
    if type(version) is int and version > limits.EVENTS_VERSION:
        raise _NoRecordError(f"version {version} is newer than {limits.EVENTS_VERSION}")
    for name in shape.header + shape.required.get(str(record.get("kind")), ()):
        if name not in record:
            raise _NoRecordError(f"no {name}")
    for field in shape.fields:
        if field.name in record:
            _check_value(field, record[field.name])
    if version != limits.EVENTS_VERSION:
        raise _NoRecordError("v is out of bounds")
    if (record["node"], record["boot"]) != (place.node, place.boot):
        raise _NoRecordError("belongs to another node or boot")
    if record["offset"] <= place.last_offset:
        raise _NoRecordError("counted before: its offset does not grow")
    if record["offset"] >= place.next_offset:
        raise _NoRecordError("its offset is that of a record in another segment, or implausible")


def _check_value(field: Field, value: object) -> None:
    if not _TYPE_CHECKS[field.type](value):
        raise _NoRecordError(f"{field.name} has the wrong type")
    if isinstance(value, int | float) and field.type in _NUMERIC and not field.low <= value <= field.high:
        raise _NoRecordError(f"{field.name} is out of bounds")
    if isinstance(value, str) and field.digits is not None:
        if len(value.encode()) != field.digits:
            raise _NoRecordError(f"{field.name} has the wrong length")
        if value.strip(_DIGITS):
            raise _NoRecordError(f"{field.name} is not all hexadecimal digits in lower case")


def _is_text(value: object) -> bool:
    """True for a text with a UTF-8 form: JSON can contain half a surrogate pair, which has none."""
    return isinstance(value, str) and not any(0xD800 <= ord(letter) <= 0xDFFF for letter in value)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def _is_ints(value: object) -> bool:
    return isinstance(value, list) and all(item is None or _is_int(item) for item in value)


_TYPE_CHECKS: Final[dict[FieldType, Callable[[Any], bool]]] = {
    FieldType.INT: _is_int,
    FieldType.FLOAT: lambda value: type(value) is int or (type(value) is float and math.isfinite(value)),
    FieldType.TEXT: _is_text,
    FieldType.BOOL: lambda value: type(value) is bool,
    FieldType.INTS: _is_ints,
    FieldType.TRIPLES: lambda value: (
        type(value) is list and all(item is None or _is_ints(item) for item in value)
    ),
}
