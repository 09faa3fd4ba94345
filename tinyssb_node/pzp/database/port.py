"""Storage port of the database: messages, their places in tangles, goals, ghosts; in SQLite or in memory."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol, cast

from tinyssb_node.errors import StoreFailedError
from tinyssb_node.pzp.messages.errors import MessageError
from tinyssb_node.pzp.messages.jsontext import read
from tinyssb_node.pzp.messages.message import Message


class PayloadState(IntEnum):
    """Availability of the payload of a message."""

    HERE = 1
    """All of it; also of a message that never said anything, which is a feed's root."""
    ABSENT = 2
    """Nothing: it came without, or was dropped to save room. It is taken if somebody brings it."""
    ERASED = 3
    """Nothing, on purpose: it is not taken again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PzpRecord:
    """A message that is held."""

    number: int
    """Counts what arrives; grows, and is never given twice."""
    id: str
    version: int
    """Of the format: 1, 2 or 4."""
    owner: str | None
    """The group it was written for; in V1 the author's key. None in an identity's own messages, and for anybody."""
    kind: str | None
    """Its type. Both are None for what only ``compat`` takes: no strings."""
    said: PayloadState
    strict: bool
    """It was checked strictly, and not as the original does."""
    added_us: int
    """Wall clock when it came."""
    text: bytes
    """The message as canonical JSON."""

    def message(self) -> Message:
        """The message itself. Raises StoreFailedError if the file is damaged."""
        try:
            return cast("Message", read(self.text))
        except MessageError as error:
            raise StoreFailedError(
                f"Message {self.id} of the PZP database is damaged: {error}. Nothing was changed. Put a backup of the "
                "database in its place, or move it aside: messages come back from peers."
            ) from error


@dataclass(frozen=True, slots=True)
class PzpPlacement:
    """The place of a message in a tangle whose root is another one."""

    id: str
    depth: int
    prev: tuple[str, ...]
    adds: str | None
    """The key that it adds to an identity, or removes."""
    taken: bool
    """It was checked for this tangle. Otherwise it waits for what it follows there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TangleSummary:
    """Summary of a tangle, for lists."""

    root: str
    messages: int
    """With the root."""
    max_depth: int
    last_number: int
    """Of the message that came last."""
    goal: str | None


@dataclass(frozen=True, slots=True)
class PzpTotals:
    """Totals of the stored messages."""

    messages: int
    bytes: int
    """Of the messages' text: what a budget is about. The file is larger, by a quarter or so."""


class PzpRows(Protocol):
    """Keeps rows, and knows nothing of their meaning. Raises StoreFullError, StoreFailedError, StoreDamagedError.

    Writes are done within ``transaction`` only.
    """

    def transaction(self) -> AbstractContextManager[None]:
        """All writes in it are durable when it ends, or, if it ends by an exception, none was made.

        Nobody else writes meanwhile.
        """
        ...

    def generation(self) -> int:
        """A number that differs from an earlier one if somebody else has written in between."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...

    # --- messages

    def put(self, record: PzpRecord, places: Mapping[str, PzpPlacement]) -> int:
        """Add a message that is not there, with its places by root. Its number is given here and returned."""
        ...

    def rewrite(self, record: PzpRecord) -> None:
        """Replace the text of a message, and what is here of what it says. What was there is overwritten."""
        ...

    def delete(self, record: PzpRecord, places: Mapping[str, int]) -> None:
        """Take away a message with its places: roots, each with the depth there."""
        ...

    def get(self, id_: str) -> PzpRecord | None:
        """A message."""
        ...

    def records(self, after: int, limit: int, owner: str | None, kind: str | None) -> Sequence[PzpRecord]:
        """Messages with numbers above *after*, of that owner and kind unless they are None, by number."""
        ...

    def totals(self) -> PzpTotals:
        """Return the totals of the stored messages."""
        ...

    # --- tangles

    def places(self, root: str) -> Sequence[PzpPlacement]:
        """All places in a tangle, those that wait among them, by depth and id."""
        ...

    def take(self, root: str, placed: PzpPlacement) -> None:
        """Replace a place: it was checked, or the key is known that it adds."""
        ...

    def bare(self, root: str) -> Mapping[str, PayloadState]:
        """The messages of a tangle, with its root, of which is not here what they say."""
        ...

    def tangles(self) -> Sequence[TangleSummary]:
        """Tangles with a root that is here and says it is one, or with messages behind it, by root."""
        ...

    # --- goals, and what was deleted

    def goals(self) -> Mapping[str, str]:
        """Goals by root."""
        ...

    def put_goal(self, root: str, goal: str | None) -> None:
        """Keep the goal of a tangle; None: it has none."""
        ...

    def ghosts(self, root: str) -> Mapping[str, int]:
        """Messages that were deleted from a tangle, with their depths."""
        ...

    def put_ghost(self, root: str, id_: str, depth: int | None) -> None:
        """Remember a message that was deleted; None: forget it."""
        ...

    def drop_ghosts(self, root: str, below: int) -> None:
        """Forget those that are less deep."""
        ...
