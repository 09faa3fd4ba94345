"""Footers of an archive's files: the pieces that a file holds (docs/formats/archive.md). Pure."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final, NamedTuple, TypeAlias

from spark_sink import limits
from spark_sink.segments import NODE, ArchivedPiece, Segment

KEY: Final = b"tinyssb.archive"
"""Under which the Parquet footer keeps it."""
_BOOT_MAX: Final = 10**8 - 1
_LISTS: Final = (
    "node", "boot", "segment", "low", "high", "first", "next", "stopped", "print", "rows",
)  # fmt: skip
_NUMBERS: Final = ("segment", "low", "high", "first", "next", "stopped", "rows")

_UNREADABLE: Final = "the description of pieces in its footer cannot be read"

Chains: TypeAlias = Mapping[str, tuple[Segment, ...]]
"""Archived segments by node, in order."""


class Archived(NamedTuple):
    """A piece, and whose it is."""

    node: str
    boot: int
    piece: ArchivedPiece


class FooterError(Exception):
    """A footer that no file of an archive can have; the message says why."""


def serialize_footer(pieces: Sequence[Archived]) -> bytes:
    """Write the footer of a file with these *pieces*. Round trip: `parse_footer`."""
    lists: dict[str, list[Any]] = {name: [] for name in _LISTS}
    for node, boot, piece in pieces:
        row = {"node": node, "boot": boot, **piece._asdict(), "stopped": int(piece.stopped)}
        for name in _LISTS:
            lists[name].append(row[name])
    starts = {str(place): piece.line for place, (_, _, piece) in enumerate(pieces) if piece.line}
    footer = {"version": limits.ARCHIVE_VERSION, "pieces": lists, "starts": starts}
    return json.dumps(footer, separators=(",", ":")).encode()


def parse_footer(text: bytes, path: str, rows: int) -> list[Archived]:
    """Read the footer of the file at *path*, which has so many *rows*. Raises FooterError."""
    try:
        footer = json.loads(text)
        version = footer["version"]
        if type(version) is int and version > limits.ARCHIVE_VERSION:
            raise FooterError(f"version {version} of the archive is newer than {limits.ARCHIVE_VERSION}")
        if version != limits.ARCHIVE_VERSION:
            raise FooterError(_UNREADABLE)
        lists = [footer["pieces"][name] for name in _LISTS]
        starts = {int(place): line for place, line in footer["starts"].items()}
        begins = accumulate(footer["pieces"]["rows"], initial=0)
        found = [
            _archived(dict(zip(_LISTS, values, strict=True)), starts.get(place, ""), path, row)
            for place, (row, *values) in enumerate(zip(begins, *lists, strict=False))
        ]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise FooterError(_UNREADABLE) from error
    if any(len(values) != len(found) for values in lists) or rows != sum(one.piece.rows for one in found):
        raise FooterError("its footer describes other rows than it has")
    return found


def _archived(lists: dict[str, Any], line: str, path: str, row: int) -> Archived:
    """Read one piece. Raises ValueError for impossible values; TypeError, AttributeError."""
    node, boot = lists.pop("node"), lists.pop("boot")
    if any(type(lists[name]) is not int for name in _NUMBERS) or type(boot) is not int:
        raise ValueError("a number is none")
    piece = ArchivedPiece(**{**lists, "stopped": bool(lists["stopped"])}, line=line, path=path, row=row)
    line.encode("latin-1")
    if not (
        NODE.match(node)
        and 0 <= boot <= _BOOT_MAX
        and 0 <= piece.low < piece.high
        and piece.rows > 0
        and 0 <= piece.segment <= piece.first <= piece.next <= limits.OFFSET_MAX
        and piece.next - piece.first <= piece.high + limits.OFFSET_JUMP_MAX
        and type(piece.print) is str
    ):
        raise ValueError("a number cannot be true")
    return Archived(node, boot, piece)


def chain(pieces: Iterable[Archived], root_of: Mapping[str, str]) -> tuple[Chains, list[tuple[str, str]]]:
    """Join pieces without a hole between them to segments.

    Return these, and the pieces that overlap others and are passed over: the path and the reason.

    *root_of*: for each Parquet file the archive in which it lies, which is the folder of its segments.
    """
    passed: list[tuple[str, str]] = []
    chains: list[list[Archived]] = []
    for found in sorted(pieces, key=_order):
        last = chains[-1][-1] if chains and _same_segment(chains[-1][-1], found) else None
        if last is None or found.piece.low > last.piece.high:
            chains.append([found])
        elif found.piece.low == last.piece.high:
            chains[-1].append(found)
        elif found.piece.high > last.piece.high or (
            found.piece.high == last.piece.high and found.piece.print != last.piece.print
        ):
            reason = (
                f"it repeats bytes of a segment of node {found.node} that {last.piece.path} has: not counted"
            )
            passed.append((found.piece.path, reason))
    segments: dict[str, list[Segment]] = {}
    for links in chains:
        segments.setdefault(links[0].node, []).append(_segment(links, root_of))
    return {node: tuple(sorted(of_node)) for node, of_node in segments.items()}, passed


def _order(found: Archived) -> tuple[str, int, int, int, int, str]:
    piece = found.piece
    return found.node, found.boot, piece.segment, piece.low, -piece.high, piece.path


def _same_segment(one: Archived, other: Archived) -> bool:
    return (one.node, one.boot, one.piece.segment) == (other.node, other.boot, other.piece.segment)


def _segment(links: Sequence[Archived], root_of: Mapping[str, str]) -> Segment:
    pieces = tuple(link.piece for link in links)
    begin = pieces[0].first if pieces[0].low else pieces[0].segment
    return Segment(links[0].boot, begin, pieces[-1].high - pieces[0].low, root_of[pieces[0].path], pieces)
