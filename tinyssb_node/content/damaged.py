"""Reading of lists that are not BIPF: with lengths that count characters, or damaged (docs/formats/messages.md).

The older Python programs, and the PyPI package `bipf`, count the characters of a text where BIPF counts its bytes. So
their text with one letter beyond ASCII makes all lists around it too short. Such a list can be read without loss: no
other list of theirs has the same bytes.
"""

from dataclasses import dataclass
from typing import Final

from tinyssb_node import limits
from tinyssb_node.codec import bipf
from tinyssb_node.codec.varint import read_varint

_STRING: Final = 0
_LIST: Final = 4
_WORD_SIZE: Final = 3

COUNTED: Final = "lengths in it count characters instead of bytes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Damaged:
    """A list of a phone-app message that is not BIPF."""

    items: "list[bipf.Value]"
    """Its items, as far as they can be read."""
    whole: bool
    """True: these are all of them, as they were written."""
    damage: str
    """The damage, as the rest of a sentence."""


def read_damaged(content: bytes) -> Damaged | None:
    """Read *content* that is not BIPF, and begins like a list with a word of three letters in front; None: it does not.

    Its cost is linear in the size of *content*.
    """
    try:
        value, end, _size = _counted(content, 0, 0)
    except bipf.BipfError:
        return _readable(content)
    if end != len(content) or not isinstance(value, list) or not _has_word(value):
        return _readable(content)
    return Damaged(items=value, whole=True, damage=COUNTED)


def _counted(data: bytes, offset: int, depth: int) -> tuple[bipf.Value, int, int]:
    """Return the value at *offset*, the offset behind it, and its size by that count. Raises BipfError."""
    kind, size, start = _tag(data, offset)
    if kind == _STRING:
        # No character has more than four bytes.
        text = data[start : start + 4 * size].decode(errors="surrogateescape")[:size]
        try:
            end = start + len(text.encode())
        except UnicodeEncodeError as error:
            raise bipf.BipfError("text that is not UTF-8", start) from error
        if len(text) < size:
            raise bipf.BipfError("the text is cut off", start)
        return text, end, start - offset + size
    if kind == _LIST:
        if depth >= limits.BIPF_DEPTH_MAX:
            raise bipf.BipfError("nested too deeply", offset)
        items: list[bipf.Value] = []
        at, left = start, size
        while left > 0:
            item, at, taken = _counted(data, at, depth + 1)
            left -= taken
            items.append(item)
        if left < 0:
            raise bipf.BipfError("the value is longer than what holds it", offset)
        return items, at, start - offset + size
    value, taken = bipf.decode_prefix(data[offset : start + size])
    return value, offset + taken, taken


def _readable(content: bytes) -> Damaged | None:
    """Return the items in front of the damage; None if the list does not begin like a message."""
    try:
        kind, size, at = _tag(content, 0)
    except bipf.BipfError:
        return None
    if kind != _LIST:
        return None
    end = min(at + size, len(content))
    items: list[bipf.Value] = []
    damage, inner, start, length = "", kind, at, size
    while at < end and not damage:
        try:
            inner, length, start = _tag(content, at)
            item, _ = bipf.decode_prefix(content[at : start + length])
        except bipf.BipfError as error:
            damage = f"byte {at + error.offset}: {error.reason}"
            if inner == _STRING and start + length > len(content):
                items.append(content[start:].decode(errors="ignore"))
        else:
            items.append(item)
            at = start + length
    if not _has_word(items):
        return None
    if not damage:
        more = len(content) - at
        damage = f"{more} more bytes than its list has" if more > 0 else "its end is missing"
    return Damaged(items=items, whole=False, damage=damage)


def _tag(data: bytes, offset: int) -> tuple[int, int, int]:
    """Return type and size of the value whose tag is at *offset*, and the offset behind the tag. Raises BipfError."""
    read = read_varint(data, offset, len(data), limits.BIPF_TAG_SIZE_MAX)
    if read is None:
        raise bipf.BipfError("the tag does not end", 0)
    tag, start = read
    return tag & 7, tag >> 3, start


def _has_word(items: "list[bipf.Value]") -> bool:
    word = items[0] if items else None
    return isinstance(word, str) and len(word) == _WORD_SIZE and word.isascii() and word.isalpha()
