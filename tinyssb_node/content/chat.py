"""The phone app's messages: text and voice, aliases, boards, games, receipts (docs/formats/messages.md).

A message is one BIPF list that begins with three letters. ``parse`` gives any bytes a meaning: content that is not
exactly a known message is `Opaque`, and nothing is lost. ``links`` returns the tangle data of a message.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias, TypeGuard

from tinyssb_node import limits
from tinyssb_node.codec import bipf
from tinyssb_node.content import limits as content_limits
from tinyssb_node.content.damaged import read_damaged
from tinyssb_node.content.minutes import read_minutes, to_minutes
from tinyssb_node.content.padded import decode
from tinyssb_node.content.references import (
    FeedRef,
    MessageRef,
    feed_ids,
    feed_text,
    message_ids,
    message_ref_text,
    message_text,
    read_feed_ref,
    read_message_ref,
)
from tinyssb_node.content.short_text import ShortText, parse_short_text, serialize_short_text
from tinyssb_node.content.tangle import FIRST, TangleData
from tinyssb_node.errors import UnencodableMessageError
from tinyssb_node.ids import FeedId, MessageId

_NAMES_MAX: Final = 64  # people, or arguments: the app lets a user pick 7, and needs 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatPost:
    """``TAV``: text, recorded voice, or both. Public, or inside a private message."""

    tips: tuple[MessageRef, ...] = ()
    """The last messages of this conversation that its author had seen."""
    text: str | None
    voice: bytes | None = None
    """Codec2 audio as the app records it."""
    said_s: int
    """The author's clock, seconds since 1970. Shown, never trusted."""
    recipients: tuple[FeedRef, ...] | None = None
    """Readers of a private one, its author last; None: it is public."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """``IAM``: the name that an author gives themselves; empty: none any more."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardStep:
    """``KAN``: an operation on a kanban board; `board.fold` makes a board of them."""

    board: MessageRef | None
    """The message that created the board; None: this one does."""
    previous: tuple[MessageRef, ...] = ()
    """The tips of the board that its author had seen."""
    operation: str
    """`board.Operation`, or one that we do not know."""
    args: tuple[str, ...] = ()
    """As the app reads them: bytes are base64 text here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GameMove:
    """``TTT``: a step of a game of tic-tac-toe."""

    action: str
    """``N`` invites, ``A`` accepts, ``M`` moves, ``E`` ends, ``G`` gives up, ``V`` reports a violation."""
    args: tuple[str, ...] = ()
    """``N``: the invited feed. Others: the message that invited, then for ``M`` the cell from 0 to 8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """``ACK``: its author has looked at a private message."""

    message: MessageRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """``DLV``: a private message has reached its author."""

    message: MessageRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """``TRT``: how far its author trusts a contact. The app seals it for its author alone."""

    tips: tuple[MessageRef, ...] = ()
    contact: FeedRef
    level: int
    """0: not at all; the app writes 2 for a contact that was added as trusted."""
    said_s: int
    """The author's clock, seconds since 1970."""
    recipients: tuple[FeedRef, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """``DEL``: its author took a contact out of its list (1), or put it back (0). Sealed for its author alone."""

    contact: FeedRef
    deleted: int
    recipients: tuple[FeedRef, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A text as ``tinyssb publish`` writes it, with the time or bare."""

    text: str
    said_s: int | None = None
    """The author's clock, seconds since 1970, in whole minutes; None: a bare BIPF text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedMessage:
    """A private message, or bytes that could be one, which `private.unseal` decides."""

    box: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Opaque:
    """Content without a known meaning, unchanged."""

    content: bytes


Message: TypeAlias = (
    ChatPost
    | Alias
    | BoardStep
    | GameMove
    | Acknowledged
    | Delivered
    | Trust
    | Deletion
    | Text
    | ShortText
    | SealedMessage
    | Opaque
)

_CREATE: Final = "board/create"
_INVITE: Final = "N"
_NO_TIPS: Final = "null"
"""Text that the app writes where a board has no earlier operations."""


# --- reading


def parse(content: bytes) -> Message:
    """Parse *content*. Any bytes have a meaning, possibly `Opaque`; nothing is raised.

    The 48 bytes of an entry of type 0 may end in zeros.
    """
    value = decode(content)
    if value is None:
        return parse_short_text(content) or _read_counted(content) or Opaque(content=content)
    return read_message(value) or Opaque(content=content)


def read_message(value: bipf.Value) -> Message | None:
    """Parse content that is decoded already; None if it has no known meaning."""
    if isinstance(value, str):
        return Text(text=value)
    if isinstance(value, bytes):
        return SealedMessage(box=value)
    if not isinstance(value, list) or not value:
        return None
    if not isinstance(value[0], str):
        return _read_timed_text(value)
    reader = _READERS.get(value[0])
    return None if reader is None else reader(value)


def _read_counted(content: bytes) -> Message | None:
    """Read a message whose lengths count characters, as older Python programs write it."""
    damaged = read_damaged(content)
    return read_message(damaged.items) if damaged is not None and damaged.whole else None


def _read_timed_text(items: Sequence[bipf.Value]) -> Text | None:
    said_s = read_minutes(items[0])
    text = items[1] if len(items) > 1 else None
    return Text(text=text, said_s=said_s) if said_s is not None and isinstance(text, str) else None


def _read_post(items: Sequence[bipf.Value]) -> Message | None:
    if len(items) >= 2 and not isinstance(items[1], list):
        items = ["TAV", [], *items[1:]]  # as the app wrote it before it knew tips
    if len(items) < 5:
        return None
    tips, text, voice, said_s = _message_refs(items[1]), items[2], items[3], items[4]
    recipients = _feed_refs(items[5]) if len(items) > 5 and items[5] is not None else ()
    if tips is None or recipients is None or not _is_int(said_s):
        return None
    if not isinstance(text, str | None) or not isinstance(voice, bytes | None):
        return None
    return ChatPost(tips=tips, text=text, voice=voice, said_s=said_s, recipients=recipients or None)


def _read_alias(items: Sequence[bipf.Value]) -> Message | None:
    return Alias(name=items[1]) if len(items) > 1 and isinstance(items[1], str) else None


def _read_step(items: Sequence[bipf.Value]) -> Message | None:
    if len(items) < 4 or not isinstance(items[3], str):
        return None
    board = None if items[1] is None or items[1] == _NO_TIPS else read_message_ref(items[1])
    previous = () if items[2] is None or items[2] == _NO_TIPS else _message_refs(items[2])
    args = _texts(items[4:])
    if previous is None or args is None or (board is None and items[1] is not None and items[1] != _NO_TIPS):
        return None
    return BoardStep(board=board, previous=previous, operation=items[3], args=args)


def _read_game(items: Sequence[bipf.Value]) -> Message | None:
    args = _texts(items[2:])
    if len(items) < 2 or not isinstance(items[1], str) or args is None:
        return None
    return GameMove(action=items[1], args=args)


def _read_receipt(kind: type[Acknowledged | Delivered], items: Sequence[bipf.Value]) -> Message | None:
    ref = read_message_ref(items[1]) if len(items) > 1 else None
    return None if ref is None else kind(message=ref)


def _read_trust(items: Sequence[bipf.Value]) -> Message | None:
    if len(items) < 5:
        return None
    tips, contact, level, said_s = _message_refs(items[1]), read_feed_ref(items[2]), items[3], items[4]
    recipients = _feed_refs(items[6]) if len(items) > 6 else ()
    if tips is None or contact is None or recipients is None or not _is_int(level) or not _is_int(said_s):
        return None
    return Trust(tips=tips, contact=contact, level=level, said_s=said_s, recipients=recipients)


def _read_deletion(items: Sequence[bipf.Value]) -> Message | None:
    if len(items) < 3:
        return None
    contact, deleted = read_feed_ref(items[1]), items[2]
    recipients = _feed_refs(items[3]) if len(items) > 3 else ()
    if contact is None or recipients is None or not _is_int(deleted):
        return None
    return Deletion(contact=contact, deleted=deleted, recipients=recipients)


_READERS: Final[dict[str, Callable[[Sequence[bipf.Value]], Message | None]]] = {
    "TAV": _read_post,
    "IAM": _read_alias,
    "KAN": _read_step,
    "TTT": _read_game,
    "ACK": partial(_read_receipt, Acknowledged),
    "DLV": partial(_read_receipt, Delivered),
    "TRT": _read_trust,
    "DEL": _read_deletion,
}


def _is_int(value: bipf.Value) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _message_refs(value: bipf.Value) -> tuple[MessageRef, ...] | None:
    if not isinstance(value, list) or len(value) > limits.TANGLE_PREVIOUS_MAX:
        return None
    refs = [read_message_ref(item) for item in value]
    return None if None in refs else tuple(ref for ref in refs if ref is not None)


def _feed_refs(value: bipf.Value) -> tuple[FeedRef, ...] | None:
    if not isinstance(value, list) or len(value) > _NAMES_MAX:
        return None
    refs = [read_feed_ref(item) for item in value]
    return None if None in refs else tuple(ref for ref in refs if ref is not None)


def _texts(items: Sequence[bipf.Value]) -> tuple[str, ...] | None:
    """Return *items* as the app reads them: text unchanged, bytes in base64. None if there are other values."""
    if len(items) > _NAMES_MAX:
        return None
    texts = [message_ref_text(item) for item in items if isinstance(item, str | bytes)]
    return tuple(texts) if len(texts) == len(items) else None


# --- writing


def serialize(message: Message) -> bytes:
    """Serialize *message* as the app does.

    Raises UnencodableMessageError: half a surrogate pair in a text, a number of more than 8 bytes, too many names.
    """
    if isinstance(message, Opaque):
        return message.content
    if isinstance(message, ShortText):
        short = serialize_short_text(message)
        if short is None:
            raise UnencodableMessageError("a short text cannot have this text, time or number of ties")
        return short
    try:
        content = bipf.encode(to_value(message))
    except bipf.BipfError as error:
        raise UnencodableMessageError(error.reason) from error
    if parse(content) == Opaque(content=content):
        raise UnencodableMessageError(
            "it names more messages, people or arguments than the format has room for"
        )
    return content


def to_value(message: Message) -> bipf.Value:
    """Return the BIPF value of *message*; of an `Opaque` one its bytes, of a short text its ties and text."""
    match message:
        case ChatPost():
            items = ["TAV", _ref_values(message.tips), message.text, message.voice, message.said_s]
            return [*items, _feed_values(message.recipients)] if message.recipients else [*items]
        case Alias():
            return ["IAM", message.name]
        case BoardStep():
            previous: bipf.Value = list(message.previous) or _NO_TIPS
            return ["KAN", message.board, previous, message.operation, *map(_arg_value, message.args)]
        case GameMove():
            return ["TTT", message.action, *message.args]
        case Acknowledged() | Delivered():
            return ["ACK" if isinstance(message, Acknowledged) else "DLV", _ref_value(message.message)]
        case Trust() | Deletion():
            return _contact_items(message)
        case Text() | ShortText():
            return _text_value(message)
        case SealedMessage():
            return message.box
        case Opaque():
            return message.content


def _text_value(message: Text | ShortText) -> bipf.Value:
    if isinstance(message, ShortText):
        return [*message.ties, message.text]
    return message.text if message.said_s is None else [to_minutes(message.said_s), message.text]


def _contact_items(message: Trust | Deletion) -> bipf.Value:
    """Return the items of a message about a contact, which the app writes in hexadecimal digits there, and only
    there."""
    contact = message.contact.hex() if isinstance(message.contact, FeedId) else message.contact
    people = _feed_values(message.recipients)
    if isinstance(message, Deletion):
        return ["DEL", contact, message.deleted, people]
    return ["TRT", _ref_values(message.tips), contact, message.level, message.said_s, None, people]


def _ref_value(ref: MessageRef) -> bipf.Value:
    return message_text(ref) if isinstance(ref, MessageId) else ref


def _ref_values(refs: Iterable[MessageRef]) -> list[bipf.Value]:
    return [_ref_value(ref) for ref in refs]


def _feed_values(refs: Iterable[FeedRef]) -> list[bipf.Value]:
    return [feed_text(ref) if isinstance(ref, FeedId) else ref for ref in refs]


def _arg_value(text: str) -> bipf.Value:
    """Return an id as its bytes, as the app does; it does so with all base64, we with nothing else."""
    ref = read_message_ref(text)
    return text if ref is None else ref


# --- tangles


def tips_form(
    ids: Iterable[MessageId], virtual: MessageId | None = None, first: MessageId | None = None
) -> tuple[MessageRef, ...]:
    """Return the `ChatPost.tips` or `BoardStep.previous` of a message that follows *ids*, without the *virtual* root.

    *first* is in front: the message that is answered. The others are sorted. At most `limits.TIPS_WRITTEN_MAX`: more
    stay tips for later messages.
    """
    front = () if first is None else (first,)
    rest = sorted(set(ids) - {PUBLIC_ROOT, virtual, *front})
    return (*front, *rest)[: content_limits.TIPS_WRITTEN_MAX]


def links(message: Message, author: FeedId, reader: FeedId | None = None) -> TangleData | None:
    """Return the tangle data of *message* of *author*; None: it is in no tangle.

    *reader* is the feed whose key opened it, only for a sealed message, which is part of a private conversation.
    """
    if isinstance(message, Text):
        return TangleData(PUBLIC_ROOT, (PUBLIC_ROOT,)) if reader is None else None
    if isinstance(message, ShortText):
        if message.other is None and reader is not None:
            return None
        root = conversation_root(members(message, author, reader)) if reader is not None else PUBLIC_ROOT
        return TangleData(root, message.ties or (root,))
    if isinstance(message, ChatPost):
        root = PUBLIC_ROOT if reader is None else conversation_root(members(message, author, reader))
        return TangleData(root, message_ids(message.tips) or (root,))
    if reader is not None:
        return None
    if isinstance(message, BoardStep):
        return _board_place(message)
    return _game_place(message) if isinstance(message, GameMove) else None


def _board_place(message: BoardStep) -> TangleData | None:
    if message.operation == _CREATE:
        return FIRST
    if not isinstance(message.board, MessageId):
        return None
    return TangleData(message.board, message_ids(message.previous) or (message.board,))


def _game_place(message: GameMove) -> TangleData | None:
    if message.action == _INVITE:
        return FIRST
    game = read_message_ref(message.args[0]) if message.args else None
    return TangleData(game, (game,)) if isinstance(game, MessageId) else None


def members(message: ChatPost | ShortText, author: FeedId, reader: FeedId) -> tuple[FeedId, ...]:
    """Return the people in the private conversation of *message*, sorted: those it names, its author, and the
    reader."""
    if isinstance(message, ShortText):
        return tuple(sorted({author, reader, message.other or author}))
    return tuple(sorted({*feed_ids(message.recipients or ()), author, reader}))


def conversation_root(people: Iterable[FeedId]) -> MessageId:
    """Return the virtual root of the private conversation of *people*, in any order; of nobody: of the public chat."""
    digest = hashlib.sha256(_ROOT_PREFIX + b"".join(sorted(set(people)))).digest()
    return MessageId(digest[: limits.MESSAGE_ID_SIZE])


_ROOT_PREFIX: Final = b"tinyssb conversation"
PUBLIC_ROOT: Final = conversation_root(())
"""The virtual root of the public chat: it precedes all first messages, is never missing, and is not a message."""


def said_us(message: Message) -> int | None:
    """Return the author's clock in *message*, microseconds since 1970; None if it has none, or an absurd one."""
    if not isinstance(message, ChatPost | Trust | Text | ShortText) or message.said_s is None:
        return None
    return message.said_s * 1_000_000 if 0 <= message.said_s <= content_limits.SAID_S_MAX else None
