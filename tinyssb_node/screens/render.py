"""Tables, times and decoded content for people. Text of strangers is always escaped."""

import datetime as dt
import json
import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from tinyssb_node import limits
from tinyssb_node.codec import bipf
from tinyssb_node.content.acks import ACK_TYPE, parse_acks
from tinyssb_node.content.damaged import read_damaged
from tinyssb_node.content.padded import decode
from tinyssb_node.content.short_text import parse_short_text
from tinyssb_node.errors import AckShapeError
from tinyssb_node.screens.languages import decimal
from tinyssb_node.screens.safetext import cells, padded, safe

SHORT_ID = 12
"""Digits of a feed id in tables: enough to name one of 255, and to type."""

LINE_TEXT = 120
"""Characters of content in a line of a listing."""


class DecodedFormat(StrEnum):
    """The format in which content was read."""

    BIPF = "bipf"
    """The whole content is one BIPF value."""
    TEXT = "text"
    """It is not BIPF, but printable UTF-8 text."""
    HEX = "hex"
    """It is neither."""
    DAMAGED = "damaged"
    """It begins like a message, but is not BIPF."""
    SHORT_TEXT = "short text"
    """It is a text of a conversation in its short form (docs/formats/short-texts.md)."""
    ACKS = "acks"
    """It is an acknowledgement: numbers of entries, and beginnings of their ids."""


def print_json(rows: Iterable[object]) -> int:
    """Print *rows* for programs, one JSON object a line. Return the exit code of success."""
    for row in rows:
        print(json.dumps(row))
    return 0


@dataclass(frozen=True, slots=True)
class Decoded:
    """Readable content."""

    form: DecodedFormat
    value: bipf.Value
    """The BIPF value, the text, hexadecimal digits, what is acknowledged, or the items before the damage."""
    damage: str = ""
    """The damage of a damaged one."""


def decode_content(content: bytes, type_: int | None = None) -> Decoded:
    """Read *content*: BIPF if all of it is one value, else a short text, the readable items of a damaged message, text,
    or hexadecimal; zeros may fill up 48 bytes. An entry whose *type_* is acknowledgement is first read as one."""
    if type_ == ACK_TYPE:
        with suppress(AckShapeError):
            return Decoded(
                DecodedFormat.ACKS, [[ack.seq, ack.id_prefix.hex()] for ack in parse_acks(content)]
            )
    value = decode(content)
    if value is not None or content == bipf.encode(None):
        return Decoded(DecodedFormat.BIPF, value)
    if (short := parse_short_text(content)) is not None:
        return Decoded(DecodedFormat.SHORT_TEXT, short.text)
    damaged = read_damaged(content)
    if damaged is not None:
        return Decoded(DecodedFormat.DAMAGED, damaged.items, damaged.damage)
    if len(content) == limits.CONTENT_SIZE:
        content = content.rstrip(b"\0") or content  # an entry of type 0 is filled up with zeros
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return Decoded(DecodedFormat.HEX, content.hex())
    if all(char.isprintable() or char in "\n\r\t" for char in text):
        return Decoded(DecodedFormat.TEXT, text)
    return Decoded(DecodedFormat.HEX, content.hex())


def one_line(decoded: Decoded) -> str:
    """Return *decoded* for a table: a text as it is, anything else as JSON."""
    value = decoded.value
    return printable(value if isinstance(value, str) else json.dumps(to_json(value), ensure_ascii=False))


def shortened(text: str) -> str:
    """Cut *text* to what fits behind a number and a time on a wide terminal."""
    return text if len(text) <= LINE_TEXT else text[:LINE_TEXT] + "…"


def to_json(value: bipf.Value) -> object:
    """Return *value* with what JSON lacks in words: bytes as ``{"hex": …}``, odd keys and numbers as text."""
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {_key(key): to_json(item) for key, item in value.items()}
    return value


def _key(key: bipf.Scalar) -> str:
    if isinstance(key, str):
        return key
    return key.hex() if isinstance(key, bytes) else json.dumps(key)


def printable(text: str) -> str:
    """Return *text* in one line, with every character escaped that could move a cursor or hide other text."""
    return safe(text).replace("\n", "\\n")


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Format aligned columns under *header*: numbers to the right, everything else to the left, no trailing spaces."""
    shown = [[_cell(value) for value in row] for row in rows]
    numeric = [all(_is_number(row[i]) for row in rows) for i in range(len(header))]
    widths = [max(len(title), *(cells(row[i]) for row in shown), 0) for i, title in enumerate(header)]
    return "\n".join(
        "  ".join(
            " " * (width - cells(cell)) + cell if right else padded(cell, width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in [list(header), *shown]
    )


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool))


def fields(pairs: Sequence[tuple[str, object]]) -> str:
    """Format one *name: value* a line, values under each other."""
    width = max(len(name) for name, _ in pairs)
    return "\n".join(f"{name + ':':<{width + 1}}  {_cell(value)}".rstrip() for name, value in pairs)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return printable(str(value))


def local_time(wall_us: int) -> str:
    """Return a wall-clock time in the local zone, ISO 8601; its number if it is not a date."""
    try:
        moment = dt.datetime.fromtimestamp(wall_us / 1e6, dt.UTC).astimezone()
    except (OverflowError, ValueError, OSError):
        return str(wall_us)
    return moment.isoformat(sep="T", timespec="seconds")


def duration(us: int) -> str:
    """Return a span of time in its two largest units."""
    seconds = us // 1_000_000
    for size, unit, small, small_unit in (
        (86_400, "d", 3_600, "h"),
        (3_600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if seconds >= size:
            return f"{seconds // size} {unit} {seconds % size // small} {small_unit}"
    return f"{decimal(us / 1e6, 1)} s"
