"""Files: bytes with a name and a type, in one entry and its side chain (docs/formats/files.md)."""

from dataclasses import dataclass
from typing import Final

from tinyssb_node import limits
from tinyssb_node.codec import bipf
from tinyssb_node.codec.bipf import Value
from tinyssb_node.codec.varint import read_varint
from tinyssb_node.content import limits as content_limits
from tinyssb_node.content.minutes import read_minutes, to_minutes
from tinyssb_node.content.padded import decode
from tinyssb_node.errors import LocalError
from tinyssb_node.ids import FeedId

WORD: Final = "FIL"
"""First item of the list in such content."""

_TEXT: Final = 0
_BYTES: Final = 1
_LIST: Final = 4
_KIND_BITS: Final = 3
_KIND_MASK: Final = 7


class FileNameError(LocalError):
    """A name or a type that the format does not allow."""

    def __init__(self, what: str, text: str, most: int) -> None:
        super().__init__(
            f"{text!r} cannot be a file's {what}, which is text of at most {most} bytes. Nothing was published. "
            f"Choose another one with --{what}"
        )


class FileTooLongError(LocalError):
    """More bytes than one entry carries together with name and type."""

    def __init__(self, size: int, most: int) -> None:
        super().__init__(
            f"The file has {size:,} bytes, and one entry carries {most:,} of it. Nothing was published. "
            "Make it smaller, or attach it in parts"
        )
        self.size = size
        self.most = most


@dataclass(frozen=True, slots=True)
class File:
    """A file. Its name and type are given by its author, and must be made safe before they are shown or written to a
    disk."""

    name: str
    """Empty: it has none."""
    type: str
    """A media type such as ``image/webp``; empty: not given."""
    data: bytes
    said_s: int | None = None
    """The author's clock, seconds since 1970, in whole minutes; None: not given."""
    readers: tuple[FeedId, ...] = ()
    """Of a private file the people for whom it is encrypted, its author among them; none: it names nobody."""


@dataclass(frozen=True, slots=True)
class FileHead:
    """The known part of a file whose beginning has arrived."""

    name: str | None
    """None: not known yet."""
    type: str | None
    """None: not known yet."""
    size: int | None
    """Size of its data; None: not known yet."""


def parse_file(content: bytes) -> File | None:
    """Parse the file in *content*; None if it is not a file. Never raises."""
    return read_file(decode(content))


def read_file(value: Value) -> File | None:
    """Parse content that is decoded already, as `parse_file` does. Items after the time are for later versions, and
    ignored."""
    if not isinstance(value, list) or len(value) < 4 or value[0] != WORD:
        return None
    name, type_, data = value[1:4]
    if not isinstance(name, str) or not isinstance(type_, str) or not isinstance(data, bytes):
        return None
    if not _fits(name, content_limits.FILE_NAME_MAX) or not _fits(type_, content_limits.FILE_TYPE_MAX):
        return None
    said_s = read_minutes(value[4]) if len(value) > 4 else None
    return File(name, type_, data, said_s, _readers(value[5]) if len(value) > 5 else ())


def _readers(value: Value) -> tuple[FeedId, ...]:
    """Return the feeds whose ids are concatenated in *value*; none if it is anything else."""
    size = FeedId.SIZE
    if not isinstance(value, bytes) or len(value) % size or len(value) > content_limits.CIRCLE_MAX * size:
        return ()
    return tuple(FeedId(value[start : start + size]) for start in range(0, len(value), size))


def serialize_file(file: File, extra: int = 0) -> bytes:
    """Serialize *file* as the content of an entry, beside *extra* bytes. Raises FileNameError, FileTooLongError."""
    for what, text, most in (
        ("name", file.name, content_limits.FILE_NAME_MAX),
        ("type", file.type, content_limits.FILE_TYPE_MAX),
    ):
        if not _fits(text, most):
            raise FileNameError(what, text, most)
    items: list[Value] = [WORD, file.name, file.type, file.data]
    if file.said_s is not None or file.readers:
        items.append(None if file.said_s is None else to_minutes(file.said_s))
    if file.readers:
        items.append(b"".join(file.readers))
    content = bipf.encode(items)
    over = len(content) + extra - limits.CONTENT_PUBLISH_MAX
    if over > 0:
        raise FileTooLongError(len(file.data), len(file.data) - over)
    return content


def parse_head(beginning: bytes) -> FileHead | None:
    """Parse the *beginning* of a file's content; None if it is not that of a file. Never raises.

    An entry has the first 25 bytes of content and its first chunk 100 more, which is enough for all fields.
    """
    tagged = _tag(beginning, 0)
    if tagged is None or tagged[0] != _LIST:
        return None
    word = _text(beginning, tagged[2], len(WORD))
    if word is None or word[0] != WORD:
        return None
    name = _text(beginning, word[1], content_limits.FILE_NAME_MAX)
    if name is None:
        return None
    type_ = _text(beginning, name[1], content_limits.FILE_TYPE_MAX)
    if type_ is None:
        return None
    data = _tag(beginning, type_[1])
    if data is None:
        return FileHead(name[0], type_[0], None)
    return FileHead(name[0], type_[0], data[1]) if data[0] == _BYTES else None


def _text(beginning: bytes, offset: int, most: int) -> tuple[str | None, int] | None:
    """Return the text at *offset*, None if part of it is missing, and the offset after it; None if no text of at most
    *most* bytes can be there."""
    tagged = _tag(beginning, offset)
    if tagged is None:
        return None, len(beginning)
    kind, size, start = tagged
    if kind != _TEXT or size > most:
        return None
    if start + size > len(beginning):
        return None, len(beginning)
    try:
        return beginning[start : start + size].decode(), start + size
    except UnicodeDecodeError:
        return None


def _tag(beginning: bytes, offset: int) -> tuple[int, int, int] | None:
    """Return kind, size and first byte of the value at *offset*; None if part of its tag is missing."""
    read = read_varint(beginning, offset, len(beginning), limits.BIPF_TAG_SIZE_MAX)
    if read is None:
        return None
    return read[0] & _KIND_MASK, read[0] >> _KIND_BITS, read[1]


def _fits(text: str, most: int) -> bool:
    try:
        return len(text.encode()) <= most
    except UnicodeEncodeError:
        return False
