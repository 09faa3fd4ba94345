"""What may be asked of the catalog; screens depend on this and not on SQLite."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from tinyssb_node.catalog.rows import BoardRow, ConversationRow, MessageRow, PersonRow
from tinyssb_node.ids import FeedId, MessageId

if TYPE_CHECKING:
    from tinyssb_node.content.board import PlacedOperation


class CatalogQueries(Protocol):
    """Each answer is of one state of the catalog. Raises CatalogFailedError, ContactsError.

    Whom our user blocked is left out of conversations and search, and the boards that they began out of the list of
    boards, unless our user works on them; not out of threads and single boards, where what others said hangs on it.
    """

    def conversations(self) -> Sequence[ConversationRow]:
        """Conversations in which our user said something, and `PUBLIC`; behind them those of others alone. Of both the
        one with the latest message first.

        Of more than `limits.CATALOG_CONVERSATIONS_MAX` those of our user's, then of each other person the latest before
        anybody's second: who begins many hides nobody else's.
        """
        ...

    def conversation(self, name: str) -> ConversationRow | None:
        """The conversation of that name, listed or not; None: there is none."""
        ...

    def messages(
        self, conversation: str, *, before: int | None = None, after: int | None = None, limit: int = 50
    ) -> Sequence[MessageRow]:
        """Placed messages in the order of `placed`: the last *limit*, the last before a place or the first after it."""
        ...

    def waiting(self, conversation: str, limit: int = 50) -> Sequence[MessageRow]:
        """Messages that wait for what they follow, the latest arrivals first."""
        ...

    def message(self, id_: MessageId) -> MessageRow | None:
        """One message."""
        ...

    def find(self, prefix: str, limit: int = 2) -> Sequence[MessageRow]:
        """Messages whose id begins with these hexadecimal digits, or `FEED.SEQ` with a beginning of the feed."""
        ...

    def thread(self, root: MessageId) -> Sequence[MessageRow]:
        """All placed messages of the tangle of that root, in canonical order (Kahn, smallest id first).

        Thousands may be in it: they are read from the disk while somebody goes through them.
        """
        ...

    def tips(self, conversation: str) -> Sequence[MessageId]:
        """What a new message of a conversation follows, the latest first, at most `limits.CATALOG_TIPS_MAX`."""
        ...

    def search(self, words: str, limit: int = 50) -> Sequence[MessageRow]:
        """Messages with all these words, or words that begin so, the best first. Any text is a valid question."""
        ...

    def people(self) -> Sequence[PersonRow]:
        """Everybody of whom the node knows, sorted by feed."""
        ...

    def person(self, feed: FeedId) -> PersonRow | None:
        """One of them."""
        ...

    def boards(self) -> Sequence[BoardRow]:
        """Boards that our user works on, by name, then those of others, by name.

        Of more than `limits.CATALOG_BOARDS_MAX` our user's that were last worked on, then of each other person the last
        one before anybody's second: who begins many hides nobody else's.
        """
        ...

    def find_boards(self, prefix: str, limit: int = 2) -> Sequence[MessageId]:
        """Boards whose id begins with these hexadecimal digits, listed or not, whoever began them."""
        ...

    def operations(self, board: MessageId) -> Sequence[MessageRow]:
        """The operations on a board, in canonical order; their `text` is the operation as JSON."""
        ...

    def steps(self, board: MessageId) -> "Sequence[PlacedOperation]":
        """The operations on a board for `content.board.fold`, in no order."""
        ...

    def content(self, id_: MessageId) -> bytes | None:
        """The whole content of a message, opened if it was sealed for us; None if not all of it is here."""
        ...
