"""Short texts: a text with its time and ties in as few bytes as possible (docs/formats/short-texts.md)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tinyssb_node import limits
from tinyssb_node.content import limits as content_limits
from tinyssb_node.content.minutes import MINUTES_SHORT_MAX, to_minutes, to_seconds
from tinyssb_node.feeds.layout import packet_count
from tinyssb_node.ids import Dialect, FeedId, MessageId

_FORM: Final = 0b0000_1111
"""The lowest bits of the first byte: no value in BIPF begins with the lowest three."""
_TIES_SHIFT: Final = 4
TIES_MAX: Final = 7
"""Most messages that a short text follows: three bits of its first byte."""
_TIME_SIZE: Final = 3
PAIR_BOX_EXTRA: Final = 2 + content_limits.SEAL_TAG_SIZE + limits.FEED_ID_SIZE
"""Bytes of a private text for one person beside the short text in it, up to 2 kB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortText:
    """A text of a conversation."""

    text: str
    ties: tuple[MessageId, ...] = ()
    """The messages that it follows, each once; the first one is answered."""
    said_s: int | None = None
    """The author's clock, seconds since 1970, in whole minutes; None: it was not set."""
    other: FeedId | None = None
    """The person whom a private one is for; None: it is public, or not opened yet."""


def parse_short_text(content: bytes) -> ShortText | None:
    """Parse *content*; None if it is no short text. In 48 bytes, those of an entry of type 0, zeros may follow it."""
    found = read_short_text(content)
    if found is None:
        return None
    message, rest = found
    return message if not rest or (len(content) == limits.CONTENT_SIZE and not any(rest)) else None


def read_short_text(content: bytes) -> tuple[ShortText, bytes] | None:
    """Parse the short text in front of *content*; return it, and what follows from its first zero byte on. None: there
    is none."""
    if not content or content[0] & _FORM != _FORM or content[0] >> _TIES_SHIFT > TIES_MAX:
        return None
    count, start = content[0] >> _TIES_SHIFT, 1 + _TIME_SIZE
    end = start + count * limits.MESSAGE_ID_SIZE
    raw, zero, rest = content[end:].partition(b"\0")
    if not raw:
        return None
    ties = dict.fromkeys(
        MessageId(content[at : at + limits.MESSAGE_ID_SIZE])
        for at in range(start, end, limits.MESSAGE_ID_SIZE)
    )
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return None
    if len(ties) != count:
        return None
    minutes = int.from_bytes(content[1:start], "big")
    said_s = to_seconds(minutes) if minutes else None
    return ShortText(text=text, ties=tuple(ties), said_s=said_s), zero + rest


def serialize_short_text(message: ShortText) -> bytes | None:
    """Serialize *message*; None if this form cannot state it: no text, or one with a
    zero byte or half a surrogate pair, too many ties, or a time after November 2051."""
    minutes = 0 if message.said_s is None else to_minutes(message.said_s)
    try:
        raw = message.text.encode()
    except UnicodeEncodeError:
        return None
    if not raw or 0 in raw or len(message.ties) > TIES_MAX or minutes > MINUTES_SHORT_MAX:
        return None
    form = bytes([_FORM | len(message.ties) << _TIES_SHIFT])
    return form + minutes.to_bytes(_TIME_SIZE, "big") + b"".join(message.ties) + raw


def fitting_ties(text: str, ties: Sequence[MessageId], *, extra: int = 0) -> tuple[MessageId, ...]:
    """Return as many of the first *ties* as cost no packet beyond those that *text* takes with one of them; *extra*:
    bytes of content beside the short text."""
    size = extra + 1 + _TIME_SIZE + len(text.encode(errors="replace"))
    counts = range(1, min(len(ties), TIES_MAX) + 1)
    packets = [packet_count(size + count * limits.MESSAGE_ID_SIZE, Dialect.SPEC) for count in counts]
    return tuple(ties[: packets.count(packets[0])]) if packets else ()
