"""Encodings of ids and lists where they are hashed: BFE, SLP, contexts (docs/formats/envelope.md)."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from tinyssb_node.groups import limits as group_limits
from tinyssb_node.ids import FeedId, MessageId

_FEED: Final = 0x00
_MESSAGE: Final = 0x01
_CODE_SIZE: Final = 2
_TINYSSB_FEED: Final = b"\x00\x54"
_TINYSSB_MESSAGE: Final = b"\x01\x54"


def slp(items: Iterable[bytes]) -> bytes:
    """Return a list of byte strings, each after its length. Raises ValueError for one of more than 65,535 bytes."""
    parts = []
    for item in items:
        if len(item) > group_limits.SLP_ITEM_MAX:
            raise ValueError(f"an item of {len(item)} bytes, the most is {group_limits.SLP_ITEM_MAX}")
        parts.append(len(item).to_bytes(2, "little") + item)
    return b"".join(parts)


def bfe_feed(feed: FeedId) -> bytes:
    """Return a tinySSB feed id in BFE, 34 bytes."""
    return _TINYSSB_FEED + feed


def bfe_message(message: MessageId) -> bytes:
    """Return the id of a tinySSB entry in BFE, 22 bytes."""
    return _TINYSSB_MESSAGE + message


@dataclass(frozen=True, slots=True)
class EnvelopeContext:
    """The position of an entry, to which its envelope is bound. Raises ValueError for an invalid BFE id."""

    feed: bytes
    """Id of the feed, in BFE."""
    previous: bytes
    """Id of the entry before, in BFE."""
    info: bytes = field(init=False, repr=False, compare=False)
    """First part of the info of every derivation."""

    def __post_init__(self) -> None:
        if len(self.feed) <= _CODE_SIZE or self.feed[0] != _FEED:
            raise ValueError(f"{self.feed.hex()} is not a feed id")
        if len(self.previous) <= _CODE_SIZE or self.previous[0] != _MESSAGE:
            raise ValueError(f"{self.previous.hex()} is not a message id")
        object.__setattr__(self, "info", slp((b"envelope", self.feed, self.previous)))


def context_of(feed: FeedId, previous: MessageId) -> EnvelopeContext:
    """Return the context of the entry of *feed* after *previous*: an id, or the value that its dialect has before entry
    1."""
    return EnvelopeContext(bfe_feed(feed), bfe_message(previous))
