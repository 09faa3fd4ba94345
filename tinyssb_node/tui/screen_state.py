"""The state that the terminal screen shows, and its source. The screen knows nothing else of a node."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tinyssb_node.catalog.rows import PUBLIC, ArrivingRow, ConversationRow, MessageRow, PersonRow
from tinyssb_node.control.rows import AirtimeRow, FaceRow, FeedRow, StatusRow
from tinyssb_node.ids import FeedId, MessageId
from tinyssb_node.screens.conversation_files import ConversationFileDraft
from tinyssb_node.screens.gaps import ShownMessage, in_place
from tinyssb_node.screens.group_changes import GroupChange
from tinyssb_node.screens.group_conversations import GroupConversation
from tinyssb_node.screens.group_files import GroupFileDraft
from tinyssb_node.screens.people import DisplayNames


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenRequest:
    """The part of a node's data that the screen shows."""

    conversation: str = PUBLIC
    """The conversation that is open."""
    before: str | None = None
    """Only messages before this position (`MessageRow.order`); None: the latest."""
    after: str | None = None
    """Only messages after this position, the first of them; applies only without *before*."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenState:
    """Everything the screen shows, at one time. Bounded by `limits.MESSAGES_MAX` and its neighbours."""

    now_us: int
    """Our wall clock, microseconds since 1970."""
    away: str | None = None
    """Why the daemon does not answer; its last answers are still shown. None: it answers."""
    away_us: int | None = None
    """Wall clock of its last answer; None: it has never answered."""
    fault: str | None = None
    """Why the store or catalog cannot be read; the last data read are still shown."""
    status: StatusRow | None = None
    """None: the daemon has never answered."""
    asked: ScreenRequest = ScreenRequest()
    """The request that *messages* answers."""
    conversations: Sequence[ConversationRow] = ()
    groups: Sequence[GroupConversation] = ()
    """Private groups, which only the daemon can read."""
    messages: Sequence[MessageRow] = ()
    """Messages of the open conversation, in their order."""
    referred: Mapping[MessageId, MessageRow] = field(default_factory=dict)
    """Predecessors of *messages* that are not among them."""
    read: Mapping[str, int] | None = None
    """The number of the last arrival that the user has seen, by conversation; None: not known."""
    older: int = 0
    """How many of *messages* that are unread come before messages that the user has seen, shown or not."""
    waiting: Sequence[MessageRow] = ()
    """The latest messages there that wait for a predecessor; not of groups."""
    arriving: Sequence[ArrivingRow] = ()
    """Messages and files of which packets are missing; of whatever conversation."""
    holders: Mapping[MessageId, str] = field(default_factory=dict)
    """Receipts of own messages, in words."""
    names: DisplayNames = field(default_factory=lambda: DisplayNames(()))
    """Names of all people."""
    people: Sequence[PersonRow] = ()
    hidden_people: int = 0
    """People left out because of the bound."""
    faces: Sequence[FaceRow] = ()
    airtime: Sequence[AirtimeRow] = ()
    feeds: Sequence[FeedRow] = ()
    events: Sequence[tuple[int, bytes]] = ()
    """Latest lines of the event log, counted, the newest last."""
    log_fault: str | None = None
    """Why there are no events, or no later ones."""

    @property
    def shown(self) -> Sequence[ShownMessage]:
        """The messages of the open conversation, and with the latest of them those that wait."""
        asked = self.asked
        latest = asked.before is asked.after is None
        waiting = [row for row in self.waiting if latest and row.conversation == asked.conversation]
        return in_place(self.messages, waiting)

    @property
    def rooms(self) -> Sequence[ConversationRow]:
        """All conversations, then groups."""
        return [*self.conversations, *self.groups]


class ScreenSource(Protocol):
    """A node. `look` is called by one thread, everything else by another; both may block."""

    def look(self, asked: ScreenRequest) -> ScreenState:
        """Return the state. Never raises for problems of a node: the state describes them."""
        ...

    def mark_read(self, seen: Mapping[str, int]) -> None:
        """Advance the marks of conversations, for all screens. Called by the thread that calls `look`."""
        ...

    def say(self, conversation: str, text: str, reply_to: MessageId | None = None) -> None:
        """Publish a message in a conversation. Raises LocalError."""
        ...

    def cost_words(
        self,
        text: str,
        conversation: str | None,
        people: Sequence[FeedId] = (),
        reply_to: MessageId | None = None,
    ) -> str:
        """Return the cost of a message in one line, as for `cost_question`; empty if it is not known now."""
        ...

    def cost_question(
        self,
        text: str,
        conversation: str | None,
        people: Sequence[FeedId] = (),
        reply_to: MessageId | None = None,
    ) -> list[str]:
        """Return the cost of a message in lines, if its author should agree to it first; else nothing. *conversation*:
        None for a new private one with *people*. Raises LocalError."""
        ...

    def tell(self, people: Sequence[FeedId], text: str) -> str:
        """Publish a private message to *people*; return its conversation. Raises LocalError."""
        ...

    def follow(self, feed: FeedId, *, wanted: bool) -> None:
        """Request a feed from peers, or stop requesting it. Raises LocalError."""
        ...

    def block(self, feed: FeedId, *, blocked: bool) -> None:
        """Hide a person, or show them again. Raises LocalError."""
        ...

    def group_page(self, group: str) -> str:
        """Return everything about a group in words, unescaped. Raises LocalError."""
        ...

    def group_decisions(self, group: str) -> list[tuple[GroupChange, str]]:
        """Return the decisions that wait for the user in a group, each in a line. Raises LocalError."""
        ...

    def group_preview(self, change: GroupChange) -> list[str]:
        """Return the cost and the limits of a change of a group, in lines, without making it. Raises LocalError."""
        ...

    def subject_text(self) -> str:
        """Return the data of optional subjects, such as PZP messages, in words, unescaped. Raises LocalError."""
        ...

    def search(self, words: str) -> tuple[list[MessageRow], bool]:
        """Return messages with all these words, and whether private groups were searched. Raises LocalError."""
        ...

    def thread(self, conversation: str, message: MessageId) -> str:
        """Return the thread of a message of a conversation or a group in lines of text, unescaped. Raises
        LocalError."""
        ...

    def file_to_send(
        self, conversation: str, path: str
    ) -> tuple[GroupFileDraft | ConversationFileDraft, list[str]]:
        """Read a file of this machine for a conversation or a group; return it with its size and cost in lines. Raises
        LocalError."""
        ...

    def send_file(self, draft: GroupFileDraft | ConversationFileDraft) -> str:
        """Publish a file; return what was done. Raises LocalError."""
        ...

    def save_file(self, conversation: str, message: MessageId) -> str:
        """Save the file in a message of a conversation or a group in the current folder; return what was done. Raises
        LocalError."""
        ...

    def change_group(self, change: GroupChange) -> str:
        """Make a change of a group; return what was done. Raises LocalError."""
        ...

    def end_looking(self) -> None:
        """Release what `look` used. Called by its thread, last."""
        ...

    def end_writing(self) -> None:
        """Release what the other thread used."""
        ...
