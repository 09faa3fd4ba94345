"""BIPF, the binary format of WANT, CHNK and published content (decision 0002).

A value is a tag, the varint of ``length << 3 | type``, and *length* bytes. Parsing is strict: a value fits its bounds,
nests at most ``limits.BIPF_DEPTH_MAX`` deep, and text is valid UTF-8.
"""

import struct
from typing import Final, TypeAlias

from tinyssb_node import limits
from tinyssb_node.codec.varint import encode_varint, read_varint
from tinyssb_node.errors import PeerError

Scalar: TypeAlias = "bool | int | float | str | bytes | None"
Value: TypeAlias = "Scalar | list[Value] | dict[Scalar, Value]"

_STRING: Final = 0
_BYTES: Final = 1
_INT: Final = 2
_DOUBLE: Final = 3
_LIST: Final = 4
_DICT: Final = 5
_BOOL: Final = 6

_DOUBLE_FORMAT: Final = struct.Struct("<d")


class BipfError(PeerError):
    """Bytes that are not BIPF, or a value that BIPF cannot represent."""

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(f"not BIPF at byte {offset}: {reason}")
        self.reason = reason
        """Which rule is broken."""
        self.offset = offset
        """Offset in bytes from the start; 0 for a value that cannot be written."""


def decode(data: bytes) -> Value:
    """Return the one value that fills *data*. Raises BipfError."""
    value, end = decode_prefix(data)
    if end != len(data):
        raise BipfError("more bytes than one value has", end)
    return value


def decode_prefix(data: bytes, *, unsigned: bool = False) -> tuple[Value, int]:
    """Return the value at the start of *data* and its size. Raises BipfError.

    With *unsigned* integers are never negative, as in WANT and CHNK.
    """
    return _Reader(data, unsigned=unsigned).value(0, len(data), 0)


class _Reader:
    """A parser of nested values in one buffer."""

    __slots__ = ("_data", "_signed")

    def __init__(self, data: bytes, *, unsigned: bool) -> None:
        self._data = data
        self._signed = not unsigned

    def value(self, offset: int, end: int, depth: int) -> tuple[Value, int]:
        """Return the value at *offset*, which ends before *end*, and the offset behind it."""
        kind, start, stop = self._tag(offset, end)
        if kind == _INT:
            return self._int(start, stop), stop
        if kind == _STRING:
            return self._text(start, stop), stop
        if kind == _LIST:
            return self._list(start, stop, depth + 1), stop
        if kind == _BYTES:
            return self._data[start:stop], stop
        if kind == _BOOL:
            return self._bool(start, stop), stop
        if kind == _DICT:
            return self._dict(start, stop, depth + 1), stop
        if kind == _DOUBLE:
            return self._double(start, stop), stop
        raise BipfError("type 7 is not in use", offset)

    def _tag(self, offset: int, end: int) -> tuple[int, int, int]:
        """Return type, first byte and end of the value whose tag is at *offset*."""
        if offset < end and self._data[offset] < 0x80:  # nearly all tags: twice as fast
            tag, start = self._data[offset], offset + 1
        else:
            read = read_varint(self._data, offset, end, limits.BIPF_TAG_SIZE_MAX)
            if read is None:
                raise BipfError("the tag does not end", offset)
            tag, start = read
        stop = start + (tag >> 3)
        if stop > end:
            raise BipfError("the value is longer than what holds it", offset)
        return tag & 7, start, stop

    def _int(self, start: int, stop: int) -> int:
        if not 1 <= stop - start <= limits.BIPF_INT_SIZE_MAX:
            raise BipfError(f"an integer has 1 to {limits.BIPF_INT_SIZE_MAX} bytes", start)
        return int.from_bytes(self._data[start:stop], "little", signed=self._signed)

    def _text(self, start: int, stop: int) -> str:
        try:
            return self._data[start:stop].decode()
        except UnicodeDecodeError as error:
            raise BipfError("text that is not UTF-8", start + error.start) from error

    def _bool(self, start: int, stop: int) -> bool | None:
        if start == stop:
            return None
        if stop - start != 1 or self._data[start] > 1:
            raise BipfError("a bool is one byte, 0 or 1", start)
        return self._data[start] == 1

    def _double(self, start: int, stop: int) -> float:
        if stop - start != _DOUBLE_FORMAT.size:
            raise BipfError("a double has 8 bytes", start)
        number: float = _DOUBLE_FORMAT.unpack_from(self._data, start)[0]
        return number

    def _list(self, offset: int, end: int, depth: int) -> list[Value]:
        self._check_depth(offset, depth)
        items: list[Value] = []
        while offset < end:
            item, offset = self.value(offset, end, depth)
            items.append(item)
        return items

    def _dict(self, offset: int, end: int, depth: int) -> dict[Scalar, Value]:
        self._check_depth(offset, depth)
        items: dict[Scalar, Value] = {}
        while offset < end:
            at = offset
            key, offset = self.value(offset, end, depth)
            if isinstance(key, list | dict):
                raise BipfError("a key is no list or dict", at)
            if key in items:
                raise BipfError("a key comes twice", at)
            items[key], offset = self.value(offset, end, depth)
        return items

    @staticmethod
    def _check_depth(offset: int, depth: int) -> None:
        if depth > limits.BIPF_DEPTH_MAX:
            raise BipfError(f"nested deeper than {limits.BIPF_DEPTH_MAX}", offset)


def encode(value: Value) -> bytes:
    """Return the bytes of *value*: integers in the fewest bytes, dict entries in their order. Raises BipfError."""
    return _encode(value, 0)


def encoded_size(value: Value) -> int:
    """Return the size of ``encode(value)``. Raises BipfError."""
    return len(encode(value))


def _encode(value: Value, depth: int) -> bytes:
    if depth > limits.BIPF_DEPTH_MAX:
        raise BipfError(f"nested deeper than {limits.BIPF_DEPTH_MAX}", 0)
    if isinstance(value, list):
        return _tagged(_LIST, b"".join(_encode(item, depth + 1) for item in value))
    if isinstance(value, dict):
        return _tagged(
            _DICT, b"".join(_encode(key, depth + 1) + _encode(item, depth + 1) for key, item in value.items())
        )
    return _encode_scalar(value)


def _encode_scalar(value: Scalar) -> bytes:
    if value is None:
        return _tagged(_BOOL, b"")
    if isinstance(value, bool):
        return _tagged(_BOOL, b"\x01" if value else b"\x00")
    if isinstance(value, int):
        return _tagged(_INT, _int_bytes(value))
    if isinstance(value, float):
        return _tagged(_DOUBLE, _DOUBLE_FORMAT.pack(value))
    if isinstance(value, bytes):
        return _tagged(_BYTES, value)
    try:
        return _tagged(_STRING, value.encode())
    except UnicodeEncodeError as error:
        raise BipfError("text with half a surrogate pair", 0) from error


def _int_bytes(number: int) -> bytes:
    """Return the fewest bytes of *number* in two's complement, little-endian."""
    size = (number if number >= 0 else ~number).bit_length() // 8 + 1
    if size > limits.BIPF_INT_SIZE_MAX:
        raise BipfError(f"an integer has at most {limits.BIPF_INT_SIZE_MAX} bytes", 0)
    return number.to_bytes(size, "little", signed=True)


def _tagged(kind: int, payload: bytes) -> bytes:
    return encode_varint(len(payload) << 3 | kind) + payload
