"""Content that the deployed phone app does not survive (docs/reference/interop.md).

The app reads the first BIPF value of each entry, whatever it is. Some values end it, some of them again at every start.
So they are not written into feeds that phones read, unless the user insists.
"""

from dataclasses import dataclass
from typing import Final

from tinyssb_node import limits
from tinyssb_node.codec.varint import encode_varint
from tinyssb_node.errors import phrase

_BYTES: Final = 1
_LIST: Final = 4
_DICT: Final = 5
_BOOL: Final = 6
_READ: Final = frozenset({0, _BYTES, 2, _LIST, _DICT, _BOOL})
"""Types that it reads: not doubles."""
_BOX_MIN: Final = 56
"""It takes bytes for a private message, and takes the first 24 and the next 32 of them without looking whether they are
there (its SSBid.kt)."""
_DEPTH_MAX: Final = 64
"""Nesting that surely leaves room on its stack."""


@dataclass(frozen=True, slots=True)
class _Value:
    """A value as the app reads it."""

    kind: int
    size: int
    end: int
    parts: "tuple[_Value, ...]" = ()
    """Items of a list; of a dict nothing, which it does not show."""


class _FaultError(Exception):
    """The app ends."""


def harm_to_phones(content: bytes) -> str:
    """Return why the app would end on an entry with *content*, as the end of a sentence; empty: it does not."""
    # It also shows an entry before its side chain is there: what is in the entry, and the zeros behind it.
    if len(content) == limits.CONTENT_SIZE:
        # Here it takes the first byte for a length.
        head = content[_varint(content, 0, 3)[1] : limits.HEAD_SIZE]
    else:
        room = limits.HEAD_SIZE - len(encode_varint(len(content)))
        head = content[:room].ljust(room, b"\0")
    try:
        for reading in (content, head):
            value = _value(reading, 0, len(reading), 0)
            if value is not None:
                _check(value)
    except _FaultError as fault:
        return str(fault)
    return ""


def _check(value: _Value) -> None:
    """Check what it does with *value*. Raises _FaultError."""
    if value.kind == _BYTES and value.size < _BOX_MIN:
        raise _FaultError(
            phrase(f"it begins like a private message, but {value.size} bytes are too few for one")
        )
    if value.kind == _LIST and any(_has_truth(part) for part in value.parts):
        raise _FaultError(phrase("it is a list with `true` or `false`"))


def _has_truth(value: _Value) -> bool:
    if value.kind == _BOOL:
        return value.size > 0
    return value.kind == _LIST and any(map(_has_truth, value.parts))


def _value(data: bytes, at: int, end: int, depth: int) -> _Value | None:
    """Return the value at *at*, None if the app finds it unreadable. Raises _FaultError."""
    tag, start = _varint(data, at, end)
    kind, size = tag & 7, tag >> 3
    if size < 0 or depth > _DEPTH_MAX:
        raise _FaultError(
            phrase("a length in it is negative for phones" if size < 0 else "it nests too deeply")
        )
    stop = start + size
    if stop > end or kind not in _READ:
        return None
    parts: list[_Value] = []
    while kind in {_LIST, _DICT} and start < stop:
        part = _value(data, start, stop, depth + 1)
        key = kind == _DICT and len(parts) % 2 == 0
        if part is None or (key and part.kind in {_LIST, _DICT}):
            return None
        parts.append(part)
        start = part.end
    return _Value(kind, size, max(stop, start), tuple(parts) if kind == _LIST else ())


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Return a number of 32 bits with a sign, and the offset behind it: one too far if it does not end."""
    number, shift = 0, 0
    while at < end:
        number |= (data[at] & 0x7F) << shift
        if data[at] < 0x80:
            break
        at, shift = at + 1, shift + 7
    number &= 0xFFFF_FFFF
    return number - (number >> 31 << 32), at + 1
