"""What the page needs of the node: ``Talk`` and ``Client`` are two of these, and tests have others."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from tinyssb_node.catalog.queries import CatalogQueries
from tinyssb_node.catalog.rows import PUBLIC, MessageRow
from tinyssb_node.control.rows import AirtimeRow, FaceRow, FollowedRow, PublishedRow, ReceiptRow, StatusRow
from tinyssb_node.ids import FeedId, MessageId
from tinyssb_node.screens.group_conversations import GroupConversation
from tinyssb_node.screens.people import DisplayNames


class NodePort(Protocol):
    """Reads and writes for one thread (``tinyssb_node.screens.session.NodeSession``). Everything raises LocalError."""

    @property
    def own(self) -> FeedId:
        """Our feed."""
        ...

    @property
    def catalog(self) -> CatalogQueries:
        """What may be asked."""
        ...

    def catch_up(self, progress: Callable[[int, int], None] = ...) -> object:
        """Bring the catalog up to date; *progress* is told how many appends of how many are in."""
        ...

    def changed(self) -> bool:
        """Catch up, and say whether anything is new since this was last asked."""
        ...

    def names(self) -> DisplayNames:
        """What everybody is called."""
        ...

    def say(self, text: str, conversation: str = PUBLIC, reply_to: MessageId | None = None) -> PublishedRow:
        """Publish a text in a conversation."""
        ...

    def say_private(
        self, text: str, recipients: Iterable[FeedId], reply_to: MessageId | None = None
    ) -> PublishedRow:
        """Publish a text for some people."""
        ...

    def draft(self, text: str, conversation: str = PUBLIC, reply_to: MessageId | None = None) -> bytes:
        """The content that ``say`` would publish now."""
        ...

    def draft_private(
        self, text: str, recipients: Iterable[FeedId], reply_to: MessageId | None = None
    ) -> bytes:
        """The content that ``say_private`` would publish now."""
        ...

    def groups(self) -> Sequence[GroupConversation] | None:
        """Private groups as conversations; None: the daemon, which reads them, does not run."""
        ...

    def group_messages(
        self, group: str, *, before: int | None = None, limit: int | None = None
    ) -> Sequence[MessageRow]:
        """The last messages of a private group, or the last before a place."""
        ...

    def conversation_with(self, people: Iterable[FeedId]) -> str | None:
        """The private conversation with just these people; None: nothing was said in it yet."""
        ...

    def follow(self, feed: FeedId) -> FollowedRow:
        """Ask for a feed."""
        ...


class DaemonPort(Protocol):
    """The running node (``tinyssb_node.control.client.DaemonClient``). Everything raises LocalError."""

    def status(self) -> StatusRow:
        """How it is."""
        ...

    def faces(self) -> Iterable[FaceRow]:
        """Its links."""
        ...

    def airtime(self) -> Iterable[AirtimeRow]:
        """Its accounts of airtime."""
        ...

    def receipts(self, *, first: int | None = None, last: int | None = None) -> Iterable[ReceiptRow]:
        """Who has our own entries."""
        ...


class NodePortOpener(Protocol):
    """Opens both, for the thread that asks."""

    def voice(self) -> AbstractContextManager[NodePort]:
        """Opened once by each thread; needs no running daemon. Raises LocalError."""
        ...

    def daemon(self) -> AbstractContextManager[DaemonPort]:
        """Opened for each question. Raises DaemonUnreachableError."""
        ...


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """A message that a page wants to be said."""

    text: str
    conversation: str | None
    """`PUBLIC` or the name of a private one; None: with *recipients*."""
    recipients: tuple[FeedId, ...]
    """Who is to read it, where nothing was said in that circle yet."""
    reply_to: MessageId | None
    once: str
    """The page's own name for it: the same one again is the same message, whose answer was lost."""
