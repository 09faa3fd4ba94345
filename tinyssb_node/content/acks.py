"""Acknowledgements: the entries of others that an author states to store (docs/formats/acknowledgements.md)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from tinyssb_node import limits
from tinyssb_node.codec import bipf
from tinyssb_node.codec.varint import encode_varint, read_varint
from tinyssb_node.content import limits as content_limits
from tinyssb_node.content.references import read_message_ref
from tinyssb_node.errors import AckShapeError, PeerError
from tinyssb_node.ids import MessageId

ACK_TYPE: Final = 6
"""Type byte of an acknowledgement's entry."""

_FORM: Final = 1
"""First byte of the content."""
CONFIRMING_WORDS: Final = re.compile(b"DLV|ACK")
"""First items of messages by which the phone app confirms another one."""


@dataclass(frozen=True, slots=True)
class Ack:
    """A statement that its author stores an entry, and all before it in its feed."""

    seq: int
    """The entry's sequence number, from 1."""
    id_prefix: bytes
    """First 4 bytes of its message id."""


def ack_of(seq: int, id_: MessageId) -> Ack:
    """Return the acknowledgement of entry *seq* with that id."""
    return Ack(seq, bytes(id_[: content_limits.ACK_ID_SIZE]))


def parse_acks(content: bytes) -> tuple[Ack, ...]:
    """Parse the 48 bytes of an entry of type 6; at least one item. Raises AckShapeError."""
    if len(content) != limits.CONTENT_SIZE or content[0] != _FORM:
        raise AckShapeError("of another form")
    acks = []
    offset = 1
    while offset < len(content) and content[offset]:
        read = read_varint(content, offset, len(content), content_limits.ACK_SEQ_SIZE_MAX)
        if read is None or not 0 < read[0] <= limits.SEQ_MAX:
            raise AckShapeError("with a number that is no sequence number")
        seq, offset = read
        if offset + content_limits.ACK_ID_SIZE > len(content):
            raise AckShapeError("that ends within an item")
        acks.append(Ack(seq, content[offset : offset + content_limits.ACK_ID_SIZE]))
        offset += content_limits.ACK_ID_SIZE
    if any(content[offset:]):
        raise AckShapeError("with more behind its end")
    if not acks:
        raise AckShapeError("of nothing")
    return tuple(acks)


def serialize_acks(acks: Iterable[Ack]) -> tuple[bytes, int]:
    """Serialize as many of *acks* as fit into 48 bytes, in their order. Returns the bytes and that number.

    Raises ValueError for none at all, and for a number or id that cannot be encoded.
    """
    content, count = bytes((_FORM,)), 0
    for ack in acks:
        if not 0 < ack.seq <= limits.SEQ_MAX or len(ack.id_prefix) != content_limits.ACK_ID_SIZE:
            raise ValueError(f"{ack} cannot be acknowledged")
        item = encode_varint(ack.seq) + ack.id_prefix
        if len(content) + len(item) > limits.CONTENT_SIZE:
            break
        content, count = content + item, count + 1
    if not count:
        raise ValueError("an acknowledgement is of something")
    return content.ljust(limits.CONTENT_SIZE, b"\x00"), count


def confirmed(content: bytes) -> MessageId | None:
    """Return the message that *content*, a message of the phone app, confirms (``DLV``, ``ACK``); None if it confirms
    none."""
    try:
        value = bipf.decode(content)
    except PeerError:
        return None
    if not isinstance(value, list) or len(value) < 2 or not isinstance(value[0], str):
        return None
    if CONFIRMING_WORDS.fullmatch(value[0].encode()) is None:
        return None
    message = read_message_ref(value[1])
    return message if isinstance(message, MessageId) else None
