"""Port from the sync to a replica: few queries, and one way to add."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import Protocol

from tinyssb_node.pzp.messages.goals import Goal
from tinyssb_node.pzp.messages.message import Message
from tinyssb_node.pzp.messages.tangle import PzpTangle


class MessageOutcome(StrEnum):
    """Outcome of a message."""

    NEW = "new"
    """It is held now, or what it says is, which was not before."""
    KNOWN = "known"
    """It was held before, or is not to come back."""
    REFUSED = "refused"
    """It breaks a rule, or does not fit."""


class PzpReplica(Protocol):
    """A replica of PZP messages."""

    def goal(self, root: str) -> Goal:
        """Return the goal of the tangle *root*, known or not."""
        ...

    def tangle(self, root: str) -> PzpTangle:
        """Return the known part of the tangle *root*, valid until the next call; empty if it is unknown."""
        ...

    def bare(self, root: str) -> Mapping[str, bool]:
        """The messages of the tangle that are held without what they say; True if that would be taken, False if it was
        erased so as not to come back. A feed root is none of them: it says nothing."""
        ...

    def ghosts(self, root: str) -> Mapping[str, int]:
        """The messages of the tangle that were deleted so as not to come back whole, with their depths."""
        ...

    def get(self, message: str) -> Message | None:
        """The message of that id, erased or not; None if it is not held."""
        ...

    def add(self, root: str, message: Message) -> MessageOutcome:
        """Check *message* for the tangle *root*, which may be unknown and it its root, and hold it.

        What was held without what it says is filled. What was deleted stays so, but its place is taken again if that
        is all that is offered: something that came later is on no other way to the root. Raises LocalErrors only.
        """
        ...

    def batch(self) -> AbstractContextManager[None]:
        """Return a context manager; messages added within it are durable at its end."""
        ...
