"""The layout of an entry's 48 content bytes (spec, message types 0 and 1; decision 0001).

Type 1 begins with the varint of the content's length. Content that does not fit has a side chain: the entry then
carries the first bytes and, in its last 20, the hash of the first chunk.
"""

from enum import StrEnum
from typing import Final

from tinyssb_node import limits
from tinyssb_node.codec.values import quick_dataclass
from tinyssb_node.codec.varint import encode_varint, read_varint
from tinyssb_node.ids import Dialect

FIXED_TYPE: Final = 0
"""Type byte of an entry whose content is 48 bytes."""
VARIABLE_TYPE: Final = 1
"""Type byte of an entry whose content begins with its length."""

NO_CHUNK: Final = bytes(limits.MESSAGE_ID_SIZE)
"""The pointer where nothing follows."""


class LayoutKind(StrEnum):
    """The ways in which an entry carries its content."""

    FIXED = "fixed"
    """48 bytes, no more, no less."""
    INLINE = "inline"
    """All of it in the entry."""
    CHAINED = "chained"
    """Its first bytes in the entry, the rest in a side chain."""
    OPAQUE = "opaque"
    """Unreadable: an unknown type, or a length that is broken or absurd. The entry is valid all the same."""


@quick_dataclass(frozen=True, slots=True)
class Layout:
    """The layout of an entry's content."""

    form: LayoutKind
    """The way it is carried."""
    size: int
    """Bytes of content declared, those in the side chain included; 48 where it is opaque."""
    head: bytes
    """The bytes of content in the entry itself; all 48 where it is opaque."""
    chunks: int
    """Packets of the side chain, 0 for none."""
    first_hash: bytes | None
    """First 20 bytes of the SHA-256 of the first chunk; None without a side chain."""


def layout_of(type_: int, content: bytes, dialect: Dialect) -> Layout:
    """Read the 48 bytes *content* of an entry of type *type_* in a feed of *dialect*. Any bytes have a layout."""
    if type_ == FIXED_TYPE:
        return Layout(LayoutKind.FIXED, limits.CONTENT_SIZE, content, 0, None)
    if type_ != VARIABLE_TYPE:
        return _opaque(content)
    first = content[0]
    if first < 0x80:
        size, start = first, 1
    else:
        read = read_varint(content, 0, limits.CONTENT_SIZE, limits.CONTENT_LENGTH_SIZE_MAX)
        if read is None:
            return _opaque(content)
        size, start = read
    if start + size <= limits.INLINE_SIZE[dialect]:
        return Layout(LayoutKind.INLINE, size, content[start : start + size], 0, None)
    return _chained(size, start, content)


def _chained(size: int, start: int, content: bytes) -> Layout:
    """Return the layout of content of *size* bytes that begins at *start* and does not fit. Without a pointer the rest
    cannot be found, and beyond the limit it is not requested: both are opaque."""
    first_hash = content[limits.HEAD_SIZE :]
    if size > limits.CONTENT_FETCH_MAX or first_hash == NO_CHUNK:
        return _opaque(content)
    head = content[start : limits.HEAD_SIZE]
    return Layout(LayoutKind.CHAINED, size, head, chunks_for(size - len(head)), first_hash)


def _opaque(content: bytes) -> Layout:
    return Layout(LayoutKind.OPAQUE, limits.CONTENT_SIZE, content, 0, None)


def chunks_for(size: int) -> int:
    """Return the number of packets of a side chain that carries *size* bytes."""
    return -(-size // limits.CHUNK_CONTENT_SIZE)


def packet_count(size: int, dialect: Dialect) -> int:
    """Return the number of packets that publishing *size* bytes takes in a feed of *dialect*: the entry and its side
    chain."""
    declared = len(encode_varint(size)) + size
    if size == limits.CONTENT_SIZE or declared <= limits.INLINE_SIZE[dialect]:
        return 1
    return 1 + chunks_for(declared - limits.HEAD_SIZE)


def filling_size(size: int) -> int:
    """Return the largest number of bytes that take as many packets as *size*, where 48 bytes are one in any dialect."""
    if size <= limits.CONTENT_SIZE:
        return limits.CONTENT_SIZE
    whole = limits.HEAD_SIZE + limits.CHUNK_CONTENT_SIZE * (packet_count(size, Dialect.SPEC) - 1)
    return whole - len(encode_varint(whole - 1))
