"""What the catalog answers."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tinyssb_node.ids import FeedId, MessageId, Origin

PUBLIC: Final = "public"
"""The conversation that everybody reads."""


class MessageKind(StrEnum):
    """What a message is, by the first word of its content."""

    TEXT = "text"
    """A bare BIPF text, as `tinyssb publish` writes it."""
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
    """An entry of type 6: which entries of others its author holds."""
    FILE = "file"
    """Bytes that `tinyssb attach` announced, with a name."""
    BLK = "BLK"
    """A change of its author's list of blocks."""
    HAPPENING = "happening"
    """A change of a private group that somebody made, told in words that are not his. The catalog has none."""
    OPAQUE = "opaque"
    """Anything else, and private messages that are not for us."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRow:
    """One entry and what it means."""

    id: MessageId
    feed: FeedId
    seq: int
    arrival: int
    """Counts appends of the store; that of the entry."""
    committed_us: int
    """Our wall clock when it was kept, microseconds since 1970."""
    said_us: int | None
    """The author's clock as the content says, microseconds since 1970. Shown, never trusted."""
    origin: Origin
    own: bool
    kind: MessageKind
    conversation: str | None
    """`PUBLIC`, or the name of a private one (`ConversationRow.name`); None: it is in none."""
    tangle: MessageId | None
    """Root of its tangle; its own id if it is one; None: it is in none, or not placed yet."""
    previous: tuple[MessageId, ...]
    """What it follows directly, as it says."""
    placed: int | None
    """Counts messages in the order in which they found their place: never before what they follow. None: it waits."""
    missing: tuple[MessageId, ...]
    """What it waits for."""
    text: str
    """What it says, unescaped: the text; else the decoded value as JSON; else hexadecimal digits. At most
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
    """Of those how many are here; without all of them there is no meaning yet, and *kind* is `OPAQUE`."""
    private: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationRow:
    """What people say to the same circle."""

    name: str
    """`PUBLIC`, or 16 hexadecimal digits for a private one."""
    members: tuple[FeedId, ...]
    """Sorted; empty for `PUBLIC`."""
    messages: int
    last: MessageRow | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonRow:
    """A feed, seen as somebody."""

    feed: FeedId
    alias: str | None
    """Unescaped; the petname that our user gave, else what the person calls itself (`IAM`)."""
    said: str | None
    """What the person calls itself."""
    own: bool
    entries: int
    """Held."""
    last_us: int | None
    """Our wall clock when its last entry came."""
    blocked: bool
    """Not shown, not asked for."""
    blocked_by: tuple[FeedId, ...] = ()
    """Whose lists of blocks say so; none, though blocked: our user does."""
    list_followed: bool = False
    """Whom this person's list names is blocked here, too."""


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
    """Our user began it, or did something on it."""
