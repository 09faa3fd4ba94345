"""The rows of the catalog's answers."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tinyssb_node.content.limits import CLAIM_MIN_US
from tinyssb_node.content.telemetry import TelemetryRecord
from tinyssb_node.ids import FeedId, MessageId, Origin

PUBLIC: Final = "public"
"""The conversation that everybody reads."""


class MessageKind(StrEnum):
    """The kind of a message, by the first word of its content."""

    TEXT = "text"
    """A text as `tinyssb publish` writes it."""
    TAV = "TAV"
    """Text and voice."""
    IAM = "IAM"
    """An alias."""
    KAN = "KAN"
    """An operation on a kanban board."""
    TTT = "TTT"
    """A move of tic-tac-toe."""
    ACK = "ACK"
    DLV = "DLV"
    TRT = "TRT"
    DEL = "DEL"
    NOTE = "note"
    """A BIPF dict with `tangles`."""
    ACKNOWLEDGEMENT = "acknowledgement"
    """An entry of type 6: the entries of others that its author stores."""
    FILE = "file"
    """Bytes that `tinyssb attach` announced, with a name."""
    BLK = "BLK"
    """A change of its author's blocklist."""
    POS = "POS"
    """Its author's position."""
    TLM = "TLM"
    """Values of its author's sensors."""
    HAPPENING = "happening"
    """A change of a private group, described by the program. The catalog has none."""
    DATA = "data"
    """A BIPF list or dict without a known meaning, such as the readings of a sensor."""
    OPAQUE = "opaque"
    """Anything else, and private messages that are not for us."""


SILENT: Final = frozenset(
    {
        MessageKind.OPAQUE,
        MessageKind.ACKNOWLEDGEMENT,
        MessageKind.BLK,
        MessageKind.POS,
        MessageKind.TLM,
    }
)
"""Kinds without text to search."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRow:
    """One entry and its meaning."""

    id: MessageId
    feed: FeedId
    seq: int
    arrival: int
    """Arrival number of the entry in the store."""
    committed_us: int
    """Our wall clock when it was stored, microseconds since 1970."""
    said_us: int | None
    """The author's clock in the content, microseconds since 1970. Shown, never trusted."""
    origin: Origin
    own: bool
    kind: MessageKind
    conversation: str | None
    """`PUBLIC`, or the name of a private one (`ConversationRow.name`); None: it is in none."""
    tangle: MessageId | None
    """Root of its tangle; its own id if it is one; None: it is in none, or not placed yet."""
    previous: tuple[MessageId, ...]
    """Its direct predecessors, as it states them."""
    placed: int | None
    """Number of its placement, in order of arrival; greater than those of its predecessors. None: it waits."""
    missing: tuple[MessageId, ...]
    """The predecessors it waits for."""
    text: str
    """Its content, unescaped: the text; else the decoded value as JSON; else hexadecimal digits. At most
    `limits.CATALOG_TEXT_MAX` characters."""
    cut: bool
    """True if *text* is only the beginning."""
    voice_size: int
    """Bytes of recorded voice, 0 for none."""
    size: int
    """Bytes of content as declared."""
    chunks: int
    """Packets of its side chain."""
    chunks_held: int
    """Number of those stored; without all of them there is no meaning yet, and *kind* is `OPAQUE`."""
    private: bool
    order: str = ""
    """Its position among the messages of its tangle: texts that compare as the order is (`content.time_order`). Empty:
    it has none yet."""
    order_us: int | None = None
    """When it was written by the times that the messages of its tangle state, microseconds since 1970; None: they state
    none."""
    doubtful: bool = False
    """The messages around it contradict the time that its author states, or it states none."""
    older_missing: int = 0
    """How many earlier entries of its author are missing, if it came ahead of them, on request; it is not placed."""

    @property
    def written_us(self) -> int:
        """When it was written, as far as this is known; else when it arrived. Microseconds since 1970. While a message
        is not placed, only its author's clock is known."""
        if self.placed is None and self.said_us is not None and self.said_us >= CLAIM_MIN_US:
            return self.said_us
        return self.committed_us if self.order_us is None else self.order_us


@dataclass(frozen=True, slots=True)
class FirstTie:
    """A placed message of a conversation, and the message that it names first, which it answers or just follows."""

    id: MessageId
    named: MessageId | None
    """None: it names none."""
    order: str
    """As in `MessageRow`."""
    listed: bool
    """A message that answers none may name it because it is the latest one: it is no file, and its author is not
    blocked."""


@dataclass(frozen=True, slots=True)
class UnreadMessages:
    """The messages of others in a conversation since an arrival."""

    count: int
    older: int
    """How many of them come before a message that had arrived earlier."""
    latest: MessageRow | None
    """The last one to arrive; None: there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationRow:
    """The messages among the same people."""

    name: str
    """`PUBLIC`, or 16 hexadecimal digits for a private one."""
    members: tuple[FeedId, ...]
    """Sorted; empty for `PUBLIC`."""
    messages: int
    last: MessageRow | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivingRow:
    """A message or a file of another person of which packets are missing."""

    id: MessageId
    feed: FeedId
    seq: int
    is_file: bool
    name: str | None
    """The name of a file, unescaped; None: not known yet, or it is no file."""
    size: int
    """Bytes of the file, else of the content."""
    chunks: int
    """Packets of its side chain."""
    chunks_held: int
    """Number of those stored."""


@dataclass(frozen=True, slots=True)
class SealedRow:
    """An entry that may be a private message, unopened."""

    arrival: int
    """The number of its arrival here."""
    id: MessageId
    feed: FeedId
    seq: int
    committed_us: int
    """Our wall clock when it was stored, microseconds since 1970."""
    content: bytes | None
    """Its content; empty: it is no private message; None: packets of it are missing."""


@dataclass(frozen=True, slots=True)
class DataRow:
    """A public entry with data, such as the readings of a sensor."""

    feed: FeedId
    committed_us: int
    """Our wall clock when it was stored, microseconds since 1970."""
    text: str
    """Its content as JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetryRow:
    """A message with a position, or with values of sensors."""

    feed: FeedId
    own: bool
    committed_us: int
    """Our wall clock when it was stored, microseconds since 1970."""
    record: TelemetryRecord
    group: str | None = None
    """The group with which it is shared, 40 digits; None: it is public. The catalog has public ones only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonRow:
    """A person, by their main feed."""

    feed: FeedId
    alias: str | None
    """Unescaped; the petname, else the name that the person gives themselves (`IAM`)."""
    said: str | None
    """The name that the person gives themselves."""
    own: bool
    entries: int
    """Stored entries."""
    last_us: int | None
    """Our wall clock when their last entry arrived."""
    blocked: bool
    """Not shown, and not requested."""
    blocked_by: tuple[FeedId, ...] = ()
    """Authors of the blocklists that block them; none, though blocked: the user does."""
    list_followed: bool = False
    """Feeds on this person's blocklist are blocked here, too."""
    wanted: bool = False
    """Their entries are requested: the node knows their feed, and the user did not stop following it."""
    pending: bool = False
    """The user follows them, and nobody near has anything of theirs yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardRow:
    """A kanban board."""

    id: MessageId
    """Its root."""
    name: str
    items: int
    operations: int
    last_us: int
    ours: bool
    """True if the user began it, or wrote an operation on it."""


def is_group(conversation: str) -> bool:
    """Return whether a conversation's name is that of a group: private conversations have 16 digits."""
    return len(conversation) == 2 * MessageId.SIZE


def is_news(row: MessageRow) -> bool:
    """Return whether a message is by another person, and no change of a group."""
    return not row.own and row.kind is not MessageKind.HAPPENING
