"""Ids of messages and feeds as the phone app writes them inside content (docs/formats/messages.md).

A message is its 20 bytes, or these in base64. A feed is ``@…=.ed25519``, with its key in base64, or 64 hexadecimal
digits. Only the exact encoding is an id; any other value is kept unchanged.
"""

import base64
import binascii
from collections.abc import Iterable
from typing import Final, TypeAlias

from tinyssb_node import limits
from tinyssb_node.codec import bipf
from tinyssb_node.ids import FeedId, MessageId

MessageRef: TypeAlias = MessageId | str | bytes
"""A message that content names: its id, or any other value, unchanged."""
FeedRef: TypeAlias = FeedId | str | bytes
"""A feed that content names: its id, or any other value, unchanged."""

_FEED_START: Final = "@"
_FEED_END: Final = ".ed25519"


def read_message_ref(value: bipf.Value) -> MessageRef | None:
    """Return the message that *value* names; None if it is neither text nor bytes."""
    if isinstance(value, bytes):
        return MessageId(value) if len(value) == limits.MESSAGE_ID_SIZE else value
    if not isinstance(value, str):
        return None
    raw = _from_base64(value, limits.MESSAGE_ID_SIZE)
    return value if raw is None else MessageId(raw)


def message_text(id_: MessageId) -> str:
    """Return the message *id_* as the app writes it in text: 28 characters of base64."""
    return base64.b64encode(id_).decode()


def message_ref_text(ref: MessageRef) -> str:
    """Return a reference as the app shows it: text unchanged, bytes in base64."""
    return ref if isinstance(ref, str) else base64.b64encode(ref).decode()


def message_ids(refs: Iterable[MessageRef]) -> tuple[MessageId, ...]:
    """Return the message ids among *refs*, each once, in their order."""
    return tuple(dict.fromkeys(ref for ref in refs if isinstance(ref, MessageId)))


def read_feed_ref(value: bipf.Value) -> FeedRef | None:
    """Return the feed that *value* names; None if it is neither text nor bytes."""
    if isinstance(value, bytes):
        return FeedId(value) if len(value) == limits.FEED_ID_SIZE else value
    if not isinstance(value, str):
        return None
    if value.startswith(_FEED_START) and value.endswith(_FEED_END):
        raw = _from_base64(value[len(_FEED_START) : -len(_FEED_END)], limits.FEED_ID_SIZE)
        return value if raw is None else FeedId(raw)
    return _feed_from_hex(value)


def feed_text(feed: FeedId) -> str:
    """Return *feed* as the app writes it: ``@``, 44 characters of base64, ``.ed25519``."""
    return f"{_FEED_START}{base64.b64encode(feed).decode()}{_FEED_END}"


def feed_ids(refs: Iterable[FeedRef]) -> tuple[FeedId, ...]:
    """Return the feed ids among *refs*, each once, in their order."""
    return tuple(dict.fromkeys(ref for ref in refs if isinstance(ref, FeedId)))


def _feed_from_hex(text: str) -> FeedRef:
    if len(text) != 2 * limits.FEED_ID_SIZE:
        return text
    try:
        raw = bytes.fromhex(text)
    except ValueError:
        return text
    return FeedId(raw) if raw.hex() == text else text


def _from_base64(text: str, size: int) -> bytes | None:
    """Return the *size* bytes that *text* is the base64 of; None unless it is exactly that."""
    if len(text) != (size + 2) // 3 * 4:
        return None
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw if len(raw) == size and base64.b64encode(raw).decode() == text else None
