"""The meaning of an entry, as the catalog stores it. All bytes have a meaning, possibly `OPAQUE`."""

from dataclasses import dataclass
from typing import Final

from tinyssb_node.catalog import limits
from tinyssb_node.catalog.rows import MessageKind
from tinyssb_node.catalog.tie_numbers import NOTE_PREFIX
from tinyssb_node.codec import bipf
from tinyssb_node.content import chat
from tinyssb_node.content.acks import ACK_TYPE, parse_acks
from tinyssb_node.content.blocklist import parse_block_step
from tinyssb_node.content.description import describe, describe_value
from tinyssb_node.content.files import parse_file
from tinyssb_node.content.note import parse_note
from tinyssb_node.content.padded import decode
from tinyssb_node.content.pair_box import open_text
from tinyssb_node.content.private import SealKey, unsealed_message
from tinyssb_node.content.short_text import ShortText
from tinyssb_node.content.tangle import TangleData
from tinyssb_node.content.telemetry import PositionRecord, parse_telemetry, record_fields
from tinyssb_node.errors import PeerError
from tinyssb_node.ids import FeedId, MessageId

CHAT: Final = "chat"
"""The space of conversations. Tangles of different spaces are unrelated."""
BOARD: Final = "board"
GAME: Final = "game"

_KINDS: Final[dict[type, MessageKind]] = {
    chat.ChatPost: MessageKind.TAV,
    chat.Alias: MessageKind.IAM,
    chat.BoardStep: MessageKind.KAN,
    chat.GameMove: MessageKind.TTT,
    chat.Acknowledged: MessageKind.ACK,
    chat.Delivered: MessageKind.DLV,
    chat.Trust: MessageKind.TRT,
    chat.Deletion: MessageKind.DEL,
    chat.Text: MessageKind.TEXT,
    ShortText: MessageKind.TEXT,
    chat.SealedMessage: MessageKind.OPAQUE,
    chat.Opaque: MessageKind.OPAQUE,
}
_SPACES: Final = {
    MessageKind.TAV: CHAT,
    MessageKind.TEXT: CHAT,
    MessageKind.KAN: BOARD,
    MessageKind.TTT: GAME,
}


@dataclass(frozen=True, slots=True)
class FurtherTie:
    """The position that a message states in a tangle beside its first one."""

    space: str
    root: MessageId | None
    """None: that of its predecessors."""
    previous: tuple[MessageId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """The meaning of an entry."""

    kind: MessageKind
    text: str
    cut: bool = False
    space: str | None = None
    """The kind of its tangle; None: it is in none."""
    root: MessageId | None = None
    """Its tangle in that space; None: that of its predecessors."""
    previous: tuple[MessageId, ...] = ()
    """Its predecessors, each once, without a virtual root."""
    further: tuple[FurtherTie, ...] = ()
    """Its positions in further tangles, if it is a note in several; their names differ."""
    tip: bool = True
    """False: new messages do not follow it."""
    said_us: int | None = None
    low_minutes: int | None = None
    """The lower bits of its time, if that is all it states (``content.minutes``)."""
    voice_size: int = 0
    private: bool = False
    members: tuple[FeedId, ...] = ()
    """Members of its private conversation, sorted; empty: it is in none."""
    alias: str | None = None
    """The name that its author gives themselves from here on; empty: none any more."""
    step: bytes | None = None
    """Its content, if it is an operation on a board, a change of a blocklist, or telemetry."""


def meaning_of(type_: int, content: bytes, id_: MessageId, author: FeedId, key: SealKey | None) -> Meaning:
    """Return the meaning of the entry *id_* of type *type_*. *key* opens content that was sealed for it."""
    if type_ == ACK_TYPE:
        return _acknowledgement(content)
    message = chat.parse(content)
    if isinstance(message, chat.Opaque):
        return (
            _file(content)
            or _note(content, id_)
            or _blocks(content)
            or _telemetry(content)
            or _of(message, content, id_, author, None)
        )
    if isinstance(message, chat.SealedMessage) and key is not None:
        inner = open_text(message.box, key, author) or unsealed_message(message, key)
        if inner is not None:
            private_file = (
                _file(inner.content, author, key.feed_id) if isinstance(inner, chat.Opaque) else None
            )
            return private_file or _of(inner, content, id_, author, key.feed_id)
    return _of(message, content, id_, author, None)


def _of(
    message: chat.Message, content: bytes, id_: MessageId, author: FeedId, reader: FeedId | None
) -> Meaning:
    kind = _KINDS[type(message)]
    if isinstance(message, chat.Opaque) and isinstance(decode(content), list | dict):
        kind = MessageKind.DATA
    text, cut = describe(message, limits.CATALOG_TEXT_MAX)
    space, root, previous = _tie(chat.links(message, author, reader), _SPACES.get(kind), id_)
    voice = message.voice if isinstance(message, chat.ChatPost) else None
    members: tuple[FeedId, ...] = ()
    if isinstance(message, chat.ChatPost | ShortText) and reader is not None:
        members = chat.members(message, author, reader)
    return Meaning(
        kind=kind,
        text=text,
        cut=cut,
        space=space,
        root=root,
        previous=previous,
        said_us=chat.said_us(message),
        low_minutes=message.low_minutes if isinstance(message, ShortText) and reader is None else None,
        voice_size=len(voice or b""),
        private=reader is not None,
        members=members,
        alias=message.name if isinstance(message, chat.Alias) and reader is None else None,
        step=content if kind is MessageKind.KAN and space is not None else None,
    )


def _tie(
    place: TangleData | None, space: str | None, id_: MessageId
) -> tuple[str | None, MessageId | None, tuple[MessageId, ...]]:
    """Return space, root and predecessors of a message with *place*; nothing for one without."""
    if place is None or space is None:
        return None, None, ()
    if place.first:
        return space, id_, ()
    if space != CHAT:
        return space, place.root, place.previous
    # The root of a conversation is virtual: it is never missing, and is not a message.
    return space, place.root, tuple(one for one in place.previous if one != place.root)


def _file(content: bytes, author: FeedId | None = None, reader: FeedId | None = None) -> Meaning | None:
    """Return the meaning of a file. It is shown in the public conversation, or in that of the people whom it names, its
    *author* and the *reader* for whom it was opened. Phones do not know it, so no message follows it."""
    file = parse_file(content)
    if file is None:
        return None
    about: bipf.Value = {"name": file.name, "type": file.type, "size": len(file.data)}
    text, cut = describe_value(about, limits.CATALOG_TEXT_MAX)
    said_us = None if file.said_s is None else file.said_s * 1_000_000
    members = () if author is None or reader is None else tuple(sorted({*file.readers, author, reader}))
    return Meaning(
        kind=MessageKind.FILE,
        text=text,
        cut=cut,
        space=CHAT,
        root=chat.conversation_root(members),
        tip=False,
        said_us=said_us,
        private=bool(members),
        members=members,
    )


def _note(content: bytes, id_: MessageId) -> Meaning | None:
    """Return the meaning of content that names its tangles."""
    note = parse_note(content)
    if note is None:
        return None
    body = note.body
    described = (body, False) if isinstance(body, str) else describe_value(body, limits.CATALOG_TEXT_MAX)
    text, cut = described[0][: limits.CATALOG_TEXT_MAX], len(described[0]) > limits.CATALOG_TEXT_MAX
    ties = [
        FurtherTie(f"{NOTE_PREFIX}{name}", id_ if place.first else place.root, place.previous)
        for name, place in note.places.items()
    ]
    first, further = (ties[0], tuple(ties[1:])) if ties else (None, ())
    return Meaning(
        kind=MessageKind.NOTE,
        text=text,
        cut=cut or described[1],
        space=None if first is None else first.space,
        root=None if first is None else first.root,
        previous=() if first is None else first.previous,
        further=further,
    )


def _blocks(content: bytes) -> Meaning | None:
    """Return the meaning of a change of a blocklist. It is in no conversation."""
    step = parse_block_step(content)
    if step is None:
        return None
    about: bipf.Value = {"added": [*step.added], "removed": [*step.removed]}
    text, cut = describe_value(about, limits.CATALOG_TEXT_MAX)
    return Meaning(kind=MessageKind.BLK, text=text, cut=cut, step=content)


def _telemetry(content: bytes) -> Meaning | None:
    """Return the meaning of a position, or of values of sensors. It is in no conversation."""
    record = parse_telemetry(content)
    if record is None:
        return None
    kind = MessageKind.POS if isinstance(record, PositionRecord) else MessageKind.TLM
    text, cut = describe_value(dict(record_fields(record).items()), limits.CATALOG_TEXT_MAX)
    said_us = None if record.said_s is None else record.said_s * 1_000_000
    return Meaning(kind=kind, text=text, cut=cut, said_us=said_us, step=content)


def _acknowledgement(content: bytes) -> Meaning:
    try:
        acks = parse_acks(content)
    except PeerError:
        return Meaning(kind=MessageKind.OPAQUE, text=content.hex())
    text, cut = describe_value([[ack.seq, ack.id_prefix] for ack in acks], limits.CATALOG_TEXT_MAX)
    return Meaning(kind=MessageKind.ACKNOWLEDGEMENT, text=text, cut=cut)
