"""Ports through which the page uses the node: ``NodeSession`` and ``DaemonClient`` implement them, and tests' fakes."""

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
        """Queries of messages and people."""
        ...

    def catch_up(self, progress: Callable[[int, int], None] = ...) -> object:
        """Update the catalog; *progress* gets the number of appends read, and of all."""
        ...

    def changed(self) -> bool:
        """Update the catalog, and return whether anything is new since the last call."""
        ...

    def names(self) -> DisplayNames:
        """Return the names of all people."""
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
        """Return the content that ``say`` would publish now."""
        ...

    def draft_private(
        self, text: str, recipients: Iterable[FeedId], reply_to: MessageId | None = None
    ) -> bytes:
        """Return the content that ``say_private`` would publish now."""
        ...

    def groups(self) -> Sequence[GroupConversation] | None:
        """Return private groups as conversations; None: the daemon, which reads them, does not run."""
        ...

    def group_messages(
        self, group: str, *, before: int | None = None, limit: int | None = None
    ) -> Sequence[MessageRow]:
        """Return the last messages of a private group, or the last before a place."""
        ...

    def conversation_with(self, people: Iterable[FeedId]) -> str | None:
        """Return the private conversation with exactly these people; None: it has no messages yet."""
        ...

    def follow(self, feed: FeedId) -> FollowedRow:
        """Request a feed."""
        ...


class DaemonPort(Protocol):
    """The running node (``tinyssb_node.control.client.DaemonClient``). Everything raises LocalError."""

    def status(self) -> StatusRow:
        """Return its status."""
        ...

    def faces(self) -> Iterable[FaceRow]:
        """Return its links."""
        ...

    def airtime(self) -> Iterable[AirtimeRow]:
        """Return its airtime accounts."""
        ...

    def receipts(self, *, first: int | None = None, last: int | None = None) -> Iterable[ReceiptRow]:
        """Return receipts of our own entries."""
        ...


class NodePortOpener(Protocol):
    """Opener of both ports, for the calling thread."""

    def node(self) -> AbstractContextManager[NodePort]:
        """Open a session, once for each thread; needs no running daemon. Raises LocalError."""
        ...

    def daemon(self) -> AbstractContextManager[DaemonPort]:
        """Connect to the daemon, once for each request. Raises DaemonUnreachableError."""
        ...


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """A message that a page requests to publish."""

    text: str
    conversation: str | None
    """`PUBLIC` or the name of a private one; None: with *recipients*."""
    recipients: tuple[FeedId, ...]
    """Its readers, if this conversation has no messages yet."""
    reply_to: MessageId | None
    once: str
    """The page's own id for it: the same id again is the same message, whose reply was lost."""
