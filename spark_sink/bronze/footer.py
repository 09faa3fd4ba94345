"""Footers of bronze files: which records of which boots a file has (docs/formats/bronze.md). Pure."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from spark_sink import limits
from spark_sink.segments import NODE
from spark_sink.stream_offset import BootProgress, Interval, StreamOffset, Tail

KEY: Final = b"tinyssb.bronze"
"""Under which the Parquet footer keeps it."""


class BronzeFileError(Exception):
    """A file that is not bronze, or that this program cannot read; the message says why."""


@dataclass(frozen=True, slots=True)
class BronzePiece:
    """Records ``first`` to ``next - 1`` of a boot, from one segment."""

    node: str
    boot: int
    first: int
    next: int
    tail: Tail
    """How far the segment is read with this piece."""
    stopped: bool
    """The last record is an orderly stop of the boot."""
    start: tuple[str, bool | None] | None = None
    """``print`` and ``clean`` of the boot, if the piece begins with the boot's first record."""


def serialize_footer(pieces: Sequence[BronzePiece]) -> bytes:
    """Write the footer of a file with these *pieces*. Round trip: `parse_footer`."""
    rows = [
        [
            piece.node, piece.boot, piece.first, piece.next, piece.tail.segment, piece.tail.byte, piece.tail.print,
            int(piece.stopped), *(piece.start or ()),
        ]
        for piece in pieces
    ]  # fmt: skip
    footer = {"version": limits.BRONZE_VERSION, "pieces": rows}
    return json.dumps(footer, separators=(",", ":")).encode()


def parse_footer(text: bytes | None) -> list[BronzePiece]:
    """Read what `serialize_footer` wrote. Raises BronzeFileError."""
    if text is None:
        raise BronzeFileError("something else wrote it")
    try:
        footer = json.loads(text)
        version = footer["version"]
        if version != limits.BRONZE_VERSION:
            raise BronzeFileError(f"it has version {version}, this program reads {limits.BRONZE_VERSION}")
        return [_piece(*row) for row in footer["pieces"]]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise BronzeFileError("its list of records cannot be read") from error


def _piece(
    node: str,
    boot: int,
    first: int,
    end: int,
    segment: int,
    byte: int,
    print_: str,
    stopped: int,
    *start: object,
) -> BronzePiece:
    """Raises ValueError, TypeError for what no file can have."""
    numbers = (boot, first, end, segment, byte)
    if any(type(number) is not int for number in numbers) or not NODE.match(node):
        raise ValueError("a number is none")
    if not 0 <= segment <= first <= end <= limits.OFFSET_MAX or boot < 0 or byte < 0:
        raise ValueError("a number cannot be true")
    begin = (str(start[0]), None if start[1] is None else bool(start[1])) if start else None
    return BronzePiece(node, boot, first, end, Tail(segment, byte, str(print_)), bool(stopped), begin)


def count_pieces(offset: StreamOffset, pieces: Iterable[BronzePiece]) -> StreamOffset:
    """Return *offset* with the records of *pieces* counted. Order and repetition make no difference."""
    counted = {node: dict(boots) for node, boots in offset.items()}
    for piece in pieces:
        boots = counted.setdefault(piece.node, {})
        boots[piece.boot] = _count(boots.get(piece.boot, BootProgress()), piece)
    return {node: dict(sorted(boots.items())) for node, boots in sorted(counted.items())}


def _count(boot: BootProgress, piece: BronzePiece) -> BootProgress:
    """Join the piece with intervals that it touches; of those, the tail of the last one holds."""
    new = Interval(piece.first, piece.next, None if piece.stopped else piece.tail)
    runs: list[Interval] = []
    for run in sorted([*boot.runs, new], key=_order):
        last = runs[-1] if runs else None
        if last is None or run.first > last.next:
            runs.append(run)
        elif _order_of_end(run) >= _order_of_end(last):
            runs[-1] = replace(run, first=last.first)
    print_, clean = (boot.print, boot.clean) if piece.start is None else piece.start
    return BootProgress(print_, clean, boot.stopped or piece.stopped, tuple(runs))


def _order(run: Interval) -> tuple[int, tuple[int, int, int]]:
    return run.first, _order_of_end(run)


def _order_of_end(run: Interval) -> tuple[int, int, int]:
    """Return what grows with what is known of an interval's end."""
    if run.tail is None:
        return run.next, limits.OFFSET_MAX, 0
    return run.next, run.tail.segment, run.tail.byte
