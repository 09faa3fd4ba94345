"""The database as the sync of PZP sees it (``pzpsync.port.Msgs``)."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Final

from tinyssb_node.pzp.database.database import PzpAddOutcome, PzpDatabase
from tinyssb_node.pzp.messages.errors import MessageError
from tinyssb_node.pzp.messages.goals import NONE, Goal
from tinyssb_node.pzp.messages.message import Message
from tinyssb_node.pzp.messages.tangle import PzpTangle
from tinyssb_node.pzp.sync.port import MessageOutcome

_TAKEN: Final = {
    PzpAddOutcome.NEW: MessageOutcome.NEW,
    PzpAddOutcome.FILLED: MessageOutcome.NEW,
    PzpAddOutcome.KNOWN: MessageOutcome.KNOWN,
    PzpAddOutcome.GONE: MessageOutcome.KNOWN,
}


class DatabaseReplica:
    """``Msgs`` in a database. Each method raises StoreFailedError and its kin."""

    def __init__(
        self, database: PzpDatabase, wall_us: Callable[[], int], *, default: Goal = NONE, strict: bool = True
    ) -> None:
        """Add to *database* what comes, dated by *wall_us*.

        Of tangles without a goal *default* is wanted. What comes is checked as its text says, or, if not *strict*, as
        the original does.
        """
        self._database: Final = database
        self._wall_us: Final = wall_us
        self._default: Final = default
        self._strict: Final = strict
        self.refused: MessageError | None = None
        """Why the last message that was refused was."""

    def goal(self, root: str) -> Goal:
        """Return the goal of the tangle *root*, known or not."""
        return self._database.goals().get(root, self._default)

    def tangle(self, root: str) -> PzpTangle:
        """Return the known part of the tangle *root*, valid until the next call; empty if it is unknown."""
        return self._database.tangle(root)

    def bare(self, root: str) -> Mapping[str, bool]:
        """The messages of the tangle that are held without what they say; True if that would be taken."""
        return self._database.bare(root)

    def ghosts(self, root: str) -> Mapping[str, int]:
        """The messages of the tangle that were deleted so as not to come back whole, with their depths."""
        return self._database.ghosts(root)

    def get(self, message: str) -> Message | None:
        """The message of that id, erased or not; None if it is not held."""
        record = self._database.record(message)
        return None if record is None else record.message()

    def add(self, root: str, message: Message) -> MessageOutcome:
        """Check *message* for the tangle *root*, which may be unknown and it its root, and hold it."""
        try:
            added = self._database.add(dict(message), root, wall_us=self._wall_us(), strict=self._strict)
        except MessageError as error:
            self.refused = error
            return MessageOutcome.REFUSED
        return _TAKEN[added.outcome]

    def batch(self) -> AbstractContextManager[None]:
        """Return a context manager; messages added within it are durable at its end."""
        return self._database.batch()
