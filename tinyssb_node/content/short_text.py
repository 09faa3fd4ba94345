"""Short texts: a text with its time and ties in as few bytes as possible (docs/formats/short-texts.md)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from tinyssb_node import limits
from tinyssb_node.content import limits as content_limits
from tinyssb_node.content.minutes import (
    MINUTES_SHORT_MAX,
    nearest_seconds,
    to_low_minutes,
    to_minutes,
    to_seconds,
)
from tinyssb_node.feeds.layout import packet_count
from tinyssb_node.ids import Dialect, FeedId, MessageId

_FORM: Final = 0b0000_0111
"""The lowest bits of the first byte: no value in BIPF begins so."""
_WIDE: Final = 0b0000_1000
"""The bit for a whole time, of three bytes."""
_TIES_SHIFT: Final = 4
TIES_MAX: Final = 7
"""Most messages that a short text follows: three bits of its first byte."""
_BRIEF: Final = 0b1000_0000
"""The bit for brief ties."""
_WIDE_SIZE: Final = 3
_LOW_SIZE: Final = 2
TIE_SIZE: Final = 4
"""Bytes of a brief tie."""
_REST: Final = bytes(limits.MESSAGE_ID_SIZE - TIE_SIZE)
_LAST: Final = b"\xff" * len(_REST)
PAIR_BOX_EXTRA: Final = 2 + content_limits.SEAL_TAG_SIZE + limits.FEED_ID_SIZE
"""Bytes of a private text for one person beside the short text in it, up to 2 kB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortText:
    """A text of a conversation."""

    text: str
    ties: tuple[MessageId, ...] = ()
    """The messages that it follows, each once; the first one is answered. Brief ones are the first bytes of an id, and
    zeros."""
    brief: bool = False
    """True if its ties are brief."""
    said_s: int | None = None
    """The author's clock, seconds since 1970, in whole minutes; None: it was not set, or only its lower bits are
    stated."""
    low_minutes: int | None = None
    """The lower 16 bits of the minutes, instead of *said_s*: see `minutes.nearest_seconds`."""
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
    if not content or content[0] & _FORM != _FORM:
        return None
    count, brief = content[0] >> _TIES_SHIFT & TIES_MAX, bool(content[0] & _BRIEF)
    wide = bool(content[0] & _WIDE)
    start = 1 + (_WIDE_SIZE if wide else _LOW_SIZE)
    size = TIE_SIZE if brief else limits.MESSAGE_ID_SIZE
    end = start + count * size
    raw, zero, rest = content[end:].partition(b"\0")
    if not raw:
        return None
    found = [content[at : at + size] for at in range(start, end, size)]
    ties = dict.fromkeys(brief_tie(one) if brief else MessageId(one) for one in found)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return None
    if len(ties) != count:
        return None
    minutes = int.from_bytes(content[1:start], "big")
    said_s = to_seconds(minutes) if wide and minutes else None
    low = None if wide else minutes
    return ShortText(text=text, ties=tuple(ties), brief=brief, said_s=said_s, low_minutes=low), zero + rest


def brief_tie(id_: bytes) -> MessageId:
    """Return the brief tie to the message *id_*: its first bytes, and zeros."""
    return MessageId(id_[:TIE_SIZE] + _REST)


def is_brief(tie: bytes) -> bool:
    """Return whether a tie is brief. No whole id ends like one, except with a probability of 2^-128."""
    return tie.endswith(_REST)


def tie_range(tie: bytes) -> tuple[bytes, bytes]:
    """Return the lowest and the highest id that *tie* may mean; the same for a whole one."""
    return (tie, tie[:TIE_SIZE] + _LAST) if is_brief(tie) else (tie, tie)


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
    form = _FORM | len(message.ties) << _TIES_SHIFT | (_BRIEF if message.brief else 0)
    ties = [tie[:TIE_SIZE] if message.brief else tie for tie in message.ties]
    if message.low_minutes is None:
        start = bytes([form | _WIDE]) + minutes.to_bytes(_WIDE_SIZE, "big")
    else:
        start = bytes([form]) + message.low_minutes.to_bytes(_LOW_SIZE, "big")
    return start + b"".join(ties) + raw


def fitting_ties(
    text: str, ties: Sequence[MessageId], *, extra: int = 0, size: int = limits.MESSAGE_ID_SIZE
) -> tuple[MessageId, ...]:
    """Return as many of the first *ties*, of *size* bytes each, as cost no packet beyond those that *text* takes with
    one of them; *extra*: bytes of content beside the short text."""
    counts = range(1, min(len(ties), TIES_MAX) + 1)
    packets = [_packets(text, extra + count * size) for count in counts]
    return tuple(ties[: packets.count(packets[0])]) if packets else ()


def public_text(text: str, ties: Sequence[MessageId], said_s: int, reference_s: int | None) -> ShortText:
    """Return a public text that follows the first of *ties*, by whole ids unless brief ones take fewer packets or are
    more. *reference_s*: the time of its author's last public entry that states one; None: there is none."""
    whole, brief = fitting_ties(text, ties), fitting_ties(text, ties, size=TIE_SIZE)
    same = len(whole) == len(brief) and _packets(text, len(whole) * limits.MESSAGE_ID_SIZE) == _packets(
        text, len(brief) * TIE_SIZE
    )
    named = whole if same else tuple(dict.fromkeys(map(brief_tie, brief)))
    dated = ShortText(text=text, ties=named, brief=not same, said_s=said_s)
    low, minute_s = to_low_minutes(said_s), to_seconds(to_minutes(said_s))
    if reference_s is None or nearest_seconds(low, reference_s) != minute_s:
        return dated
    return replace(dated, said_s=None, low_minutes=low)


def _packets(text: str, extra: int) -> int:
    size = 1 + _WIDE_SIZE + len(text.encode(errors="replace")) + extra
    return packet_count(size, Dialect.SPEC)
