"""What the terminal screen shows, and whom it asks for it. The screen knows nothing else of a node."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tinyssb_node.catalog.rows import PUBLIC, ConversationRow, MessageRow, PersonRow
from tinyssb_node.control.rows import AirtimeRow, FaceRow, FeedRow, StatusRow
from tinyssb_node.ids import FeedId, MessageId
from tinyssb_node.screens.group_conversations import GroupConversation
from tinyssb_node.screens.people import DisplayNames


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenRequest:
    """Which part of all there is the screen has room for."""

    conversation: str = PUBLIC
    """The conversation that is open."""
    before: int | None = None
    """Only messages placed before this; None: the latest."""
    after: int | None = None
    """Only messages placed after this, the first of them; counts only without *before*."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenState:
    """Everything the screen shows, at one time. Bounded: `limits.MESSAGES_MAX` and its neighbours."""

    now_us: int
    """Our wall clock, microseconds since 1970."""
    away: str | None = None
    """Why the daemon does not answer; then what it said last is still here. None: it answers."""
    away_us: int | None = None
    """Wall clock when it answered last; None: never yet."""
    fault: str | None = None
    """Why what is kept cannot be read; then what was read last is still here."""
    status: StatusRow | None = None
    """None: the daemon has never answered yet."""
    asked: ScreenRequest = ScreenRequest()
    """What *messages* answers."""
    conversations: Sequence[ConversationRow] = ()
    groups: Sequence[GroupConversation] = ()
    """Private groups, which the daemon alone can read."""
    messages: Sequence[MessageRow] = ()
    """Of the open conversation, in the order in which they found their place."""
    referred: Mapping[MessageId, MessageRow] = field(default_factory=dict)
    """What *messages* follow and is not among them."""
    waiting: int = 0
    """How many more wait for what they follow, as far as is counted."""
    holders: Mapping[MessageId, str] = field(default_factory=dict)
    """For own messages: in words who has them."""
    names: DisplayNames = field(default_factory=lambda: DisplayNames(()))
    """What everybody is called."""
    people: Sequence[PersonRow] = ()
    hidden_people: int = 0
    """People left out at the bound."""
    faces: Sequence[FaceRow] = ()
    airtime: Sequence[AirtimeRow] = ()
    feeds: Sequence[FeedRow] = ()
    events: Sequence[tuple[int, bytes]] = ()
    """Latest lines of the event log, counted, the newest last."""
    log_fault: str | None = None
    """Why there are none of them, or no later ones."""

    @property
    def rooms(self) -> Sequence[ConversationRow]:
        """All in which one can read and write: conversations, then groups."""
        return [*self.conversations, *self.groups]


class ScreenSource(Protocol):
    """A node. `look` is called by one thread, everything else by another; both may block."""

    def look(self, asked: ScreenRequest) -> ScreenState:
        """How things are. Never raises for what may happen to a node: it is said in the answer."""
        ...

    def say(self, conversation: str, text: str, reply_to: MessageId | None = None) -> None:
        """Publish a message in a conversation. Raises LocalError."""
        ...

    def tell(self, people: Sequence[FeedId], text: str) -> str:
        """Publish a private message to *people*; the conversation that it is in. Raises LocalError."""
        ...

    def follow(self, feed: FeedId, *, wanted: bool) -> None:
        """Ask peers for a feed, or stop asking. Raises LocalError."""
        ...

    def block(self, feed: FeedId, *, blocked: bool) -> None:
        """Hide a person, or show it again. Raises LocalError."""
        ...

    def end_looking(self) -> None:
        """Let go of what `look` used. Called by its thread, last."""
        ...

    def end_writing(self) -> None:
        """The same for the other thread."""
        ...
