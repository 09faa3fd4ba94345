"""A small protobuf codec: fields to bytes and back. Pure.

Source: "Encoding", protobuf.dev: records of tag and value; a tag is the field's number times eight, plus a wire type.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from firmware_bridge.serial import limits

_VARINT: Final = 0
_FIXED64: Final = 1
_BYTES: Final = 2
_FIXED32: Final = 5
_VARINT_MAX: Final = 10
_WORD: Final = (1 << 64) - 1


class ProtobufError(ValueError):
    """Bytes that are not a protobuf message."""

    def __init__(self, offset: int) -> None:
        super().__init__(f"not a protobuf message: malformed from byte {offset} on")


@dataclass(frozen=True, slots=True)
class Fixed32:
    """A value of four bytes: an address, or a floating-point number."""

    bits: int
    """0 to 2^32 - 1."""


def fixed_float(value: float) -> Fixed32:
    """Encode *value* as four bytes."""
    return Fixed32(int.from_bytes(struct.pack("<f", value), "little"))


Value = int | bytes | Fixed32
"""A varint, bytes with a length, or four bytes."""
Fields = dict[int, list[Value]]
"""Values by field number, in their order."""


def serialize_fields(fields: Iterable[tuple[int, Value]]) -> bytes:
    """Return the message with these field numbers and values. Negative numbers take ten bytes, as in protobuf."""
    out = bytearray()
    for number, value in fields:
        if isinstance(value, int):
            out += _varint(number << 3 | _VARINT) + _varint(value & _WORD)
        elif isinstance(value, bytes):
            out += _varint(number << 3 | _BYTES) + _varint(len(value)) + value
        else:
            out += _varint(number << 3 | _FIXED32) + value.bits.to_bytes(4, "little")
    return bytes(out)


def parse_fields(message: bytes) -> Fields:
    """Parse *message*, without values of eight bytes. Raises ProtobufError."""
    fields: Fields = {}
    at = count = 0
    while at < len(message):
        begin = at
        tag, at = _read_varint(message, at)
        number, wire = tag >> 3, tag & 7
        value, at = _read_value(message, at, wire)
        count += 1
        if number == 0 or count > limits.PROTOBUF_FIELDS_MAX:
            raise ProtobufError(begin)
        if value is not None:
            fields.setdefault(number, []).append(value)
    return fields


def _read_value(message: bytes, at: int, wire: int) -> tuple[Value | None, int]:
    if wire == _VARINT:
        return _read_varint(message, at)
    if wire == _BYTES:
        length, at = _read_varint(message, at)
        if at + length > len(message):
            raise ProtobufError(at)
        return message[at : at + length], at + length
    if wire == _FIXED32 and at + 4 <= len(message):
        return Fixed32(int.from_bytes(message[at : at + 4], "little")), at + 4
    if wire == _FIXED64 and at + 8 <= len(message):
        return None, at + 8
    raise ProtobufError(at)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for index, byte in enumerate(message[at : at + _VARINT_MAX]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value & _WORD, at + index + 1
    raise ProtobufError(at)


def number(fields: Fields, field: int, default: int = 0) -> int:
    """Return the last varint or four bytes of *field*; *default* if there is none."""
    value = fields.get(field, [default])[-1]
    if isinstance(value, Fixed32):
        return value.bits
    return value if isinstance(value, int) else default


def signed(fields: Fields, field: int) -> int:
    """Return the last varint of *field* as int32 or int64."""
    value = number(fields, field)
    return value - (1 << 64) if value >> 63 else value


def blob(fields: Fields, field: int) -> bytes:
    """Return the last bytes of *field*; empty if there are none."""
    value = fields.get(field, [b""])[-1]
    return value if isinstance(value, bytes) else b""


def real(fields: Fields, field: int) -> float:
    """Return the last floating-point number of *field*; 0 if there is none."""
    value = fields.get(field, [b""])[-1]
    return (
        float(struct.unpack("<f", value.bits.to_bytes(4, "little"))[0]) if isinstance(value, Fixed32) else 0.0
    )
