"""Child feeds: entries that name a child, a parent, or the end of a feed (docs/formats/children.md).

The types are those of the tinySSB proof of concept. A feed is a child of another one only if both state it: the parent
in an entry that names the child, the child in its first entry, which names that very entry.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from tinyssb_node import limits
from tinyssb_node.errors import ChildShapeError, NobodyError, SeqRangeError
from tinyssb_node.ids import FeedId

_NOBODY: Final = FeedId(bytes(limits.FEED_ID_SIZE))
_NOTE_AT: Final = limits.FEED_ID_SIZE
_PREFIX_AT: Final = limits.FEED_ID_SIZE + limits.SEQ_SIZE


class EntryType(IntEnum):
    """Type bytes of entries about feeds."""

    CHILD_OF = 2
    """A child's first entry, which names the parent (``ischild``)."""
    CHILD_MADE = 4
    """An entry of the parent, which names the child (``mkchild``)."""
    CONTINUED = 5
    """A feed's last entry: where it goes on, or that it does not (``contdas``)."""


@dataclass(frozen=True, slots=True)
class ChildMade:
    """The content of a parent's entry that names a child."""

    feed: FeedId
    """The child."""
    note: bytes = b""
    """The purpose of the child: up to 16 bytes, zeros at their end not counted."""


@dataclass(frozen=True, slots=True)
class ChildOf:
    """The content of a child's entry that names its parent."""

    feed: FeedId
    """The parent."""
    seq: int
    """The parent's entry that names the child."""
    id_prefix: bytes
    """First 12 bytes of that entry's message id. Of a longer one the first 12 are taken."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "id_prefix", bytes(self.id_prefix[: limits.PARENT_ID_SIZE]))


@dataclass(frozen=True, slots=True)
class Continued:
    """The last entry of a feed."""

    feed: FeedId | None
    """The feed that goes on where this one ends; None: END, nothing goes on."""
    note: bytes = b""
    """Up to 16 bytes, zeros at their end not counted."""


END: Final = Continued(None)
"""The content of the last entry of a feed that we end."""


def parse_child_made(content: bytes) -> ChildMade:
    """Read the 48 bytes of an entry of type 4. Raises ChildShapeError, NobodyError."""
    feed, note = _feed_and_note(EntryType.CHILD_MADE, content)
    if feed == _NOBODY:
        raise NobodyError("mkchild")
    return ChildMade(feed, note)


def serialize_child_made(made: ChildMade) -> bytes:
    """Return the 48 bytes that name a child. Raises ValueError for a note that cannot be represented."""
    return made.feed + _padded(made.note)


def parse_child_of(content: bytes) -> ChildOf:
    """Read the 48 bytes of an entry of type 2. Raises ChildShapeError, NobodyError, SeqRangeError."""
    _check_size(EntryType.CHILD_OF, content)
    feed, seq = FeedId(content[:_NOTE_AT]), int.from_bytes(content[_NOTE_AT:_PREFIX_AT], "big")
    if feed == _NOBODY:
        raise NobodyError("ischild")
    if seq < 1:
        raise SeqRangeError(seq)
    return ChildOf(feed, seq, content[_PREFIX_AT:])


def serialize_child_of(child: ChildOf) -> bytes:
    """Return the 48 bytes that name a parent. Raises ValueError for a number or id that cannot be represented."""
    if not 0 < child.seq <= limits.SEQ_MAX or len(child.id_prefix) != limits.PARENT_ID_SIZE:
        raise ValueError(f"{child} cannot be said")
    return child.feed + child.seq.to_bytes(limits.SEQ_SIZE, "big") + child.id_prefix


def parse_continued(content: bytes) -> Continued:
    """Read the 48 bytes of an entry of type 5. Raises ChildShapeError."""
    feed, note = _feed_and_note(EntryType.CONTINUED, content)
    return Continued(None if feed == _NOBODY else feed, note)


def serialize_continued(continued: Continued) -> bytes:
    """Return the 48 bytes of a feed's last entry. Raises ValueError for a note that cannot be represented."""
    return (continued.feed or _NOBODY) + _padded(continued.note)


def ends_feed(type_: int, content: bytes) -> bool:
    """Return True if an entry of type *type_* with these 48 bytes is END: nothing follows in its feed."""
    return type_ == EntryType.CONTINUED and content[:_NOTE_AT] == _NOBODY


def _feed_and_note(type_: EntryType, content: bytes) -> tuple[FeedId, bytes]:
    _check_size(type_, content)
    return FeedId(content[:_NOTE_AT]), content[_NOTE_AT:].rstrip(b"\x00")


def _check_size(type_: EntryType, content: bytes) -> None:
    if len(content) != limits.CONTENT_SIZE:
        raise ChildShapeError(type_, len(content))


def _padded(note: bytes) -> bytes:
    if len(note) > limits.CHILD_NOTE_SIZE or note.endswith(b"\x00"):
        raise ValueError(f"a note of {len(note)} bytes, or that ends with a zero, cannot be said")
    return note.ljust(limits.CHILD_NOTE_SIZE, b"\x00")
