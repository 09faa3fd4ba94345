"""The queries of the catalog; screens depend on this interface and not on SQLite."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from tinyssb_node.catalog.rows import (
    ArrivingRow,
    BoardRow,
    ConversationRow,
    DataRow,
    FirstTie,
    MessageRow,
    PersonRow,
    TelemetryRow,
    UnreadMessages,
)
from tinyssb_node.ids import FeedId, MessageId

if TYPE_CHECKING:
    from tinyssb_node.content.board import PlacedOperation


class ConversationQueries(Protocol):
    """The messages of conversations. Private groups have the same queries, which their daemon answers."""

    def messages(
        self, conversation: str, *, before: str | None = None, after: str | None = None, limit: int = 50
    ) -> Sequence[MessageRow]:
        """Return placed messages in their order: the last *limit*, the last before a position (`MessageRow.order`) or
        the first after it."""
        ...

    def arrived(self, conversation: str, after: int, limit: int = 50) -> Sequence[MessageRow]:
        """Return the messages placed since the number *after*, in order of arrival, the first *limit*."""
        ...

    def latest_arrivals(self, conversation: str, limit: int) -> Sequence[MessageRow]:
        """Return the *limit* placed messages that arrived last, in their order."""
        ...

    def unread(self, conversation: str, after: int, limit: int) -> UnreadMessages:
        """Return the messages of others placed since the number *after*, counted up to *limit*."""
        ...

    def waiting(self, conversation: str, limit: int = 50) -> Sequence[MessageRow]:
        """Return messages that wait for predecessors, the latest arrivals first."""
        ...


class CatalogQueries(ConversationQueries, Protocol):
    """The interface to the catalog. Each answer is of one state of it. Raises CatalogFailedError, ContactsError.

    Blocked people are left out of conversations and search, and boards that they began out of the list of boards,
    unless the user works on them. They are not left out of threads and single boards, where messages of others depend
    on theirs.
    """

    def conversations(self) -> Sequence[ConversationRow]:
        """Return the conversations in which the user wrote, and `PUBLIC`; then those of others alone. Of both the one
        with the latest message is first.

        If there are more than `limits.CATALOG_CONVERSATIONS_MAX`: those of the user, then the latest of each other
        person before anybody's second, so that a person who begins many hides nobody else's.
        """
        ...

    def conversation(self, name: str) -> ConversationRow | None:
        """Return the conversation of that name, listed or not; None: there is none."""
        ...

    def arriving(self, limit: int = 5) -> Sequence[ArrivingRow]:
        """Return the latest messages and files of others of which packets are missing."""
        ...

    def data(self) -> Sequence[DataRow]:
        """Return the latest public entries with short data, in order of arrival: of each author at most
        `limits.CATALOG_DATA_EACH`, of all `limits.CATALOG_DATA_MAX`."""
        ...

    def telemetry(self) -> Sequence[TelemetryRow]:
        """Return of each person the latest position, and the latest values of sensors, whether valid or not: at most
        `limits.CATALOG_TELEMETRY_MAX` of each kind, the latest to arrive."""
        ...

    def telemetry_of(self, feed: FeedId, since_us: int) -> Sequence[TelemetryRow]:
        """Return the records of one feed that arrived since a time of our wall clock, in order; at most the last
        `limits.CATALOG_TELEMETRY_EACH` of each kind."""
        ...

    def message(self, id_: MessageId) -> MessageRow | None:
        """Return one message."""
        ...

    def find(self, prefix: str, limit: int = 2) -> Sequence[MessageRow]:
        """Return messages whose id begins with these hexadecimal digits, or `FEED.SEQ` with a beginning of the feed."""
        ...

    def thread(self, root: MessageId) -> Sequence[MessageRow]:
        """Return all placed messages of the tangle of that root, in their order (`content.time_order`).

        There may be thousands: they are read from the disk while the caller iterates.
        """
        ...

    def first_ties(self, conversation: str, after: str, limit: int) -> Sequence[FirstTie]:
        """Return the first *limit* placed messages after a position, those of blocked people too, in their order, each
        with the message that it names first."""
        ...

    def tangle_names(self, id_: MessageId) -> Sequence[str]:
        """Return the names of the tangles in which a note is placed, as it names them; none for other messages."""
        ...

    def note_thread(self, id_: MessageId, name: str) -> Sequence[MessageRow]:
        """Return all placed messages of the tangle *name* in which the note *id_* is placed, in their order, with their
        positions there; none: it is in none."""
        ...

    def tips(self, conversation: str) -> Sequence[MessageId]:
        """Return the predecessors of a new message of a conversation, the latest first, at most
        64."""
        ...

    def search(self, words: str, limit: int = 50) -> Sequence[MessageRow]:
        """Return messages with all these words, or longer ones that begin so, the best first. Any text is a valid
        query."""
        ...

    def people(self) -> Sequence[PersonRow]:
        """Return all known people, sorted by feed."""
        ...

    def person(self, feed: FeedId) -> PersonRow | None:
        """Return one person."""
        ...

    def boards(self) -> Sequence[BoardRow]:
        """Return the boards that the user works on, by name, then those of others, by name.

        If there are more than `limits.CATALOG_BOARDS_MAX`: those of the user that changed last, then the latest of each
        other person before anybody's second, so that a person who begins many hides nobody else's.
        """
        ...

    def find_boards(self, prefix: str, limit: int = 2) -> Sequence[MessageId]:
        """Return boards whose id begins with these hexadecimal digits, listed or not, of anybody."""
        ...

    def operations(self, board: MessageId) -> Sequence[MessageRow]:
        """Return the operations on a board, in their order; their `text` is the operation as JSON."""
        ...

    def steps(self, board: MessageId) -> "Sequence[PlacedOperation]":
        """Return the operations on a board for `content.board.fold`, in any order."""
        ...

    def content(self, id_: MessageId) -> bytes | None:
        """Return the whole content of a message, opened if it was sealed for us; None if part of it is missing."""
        ...
