"""A message of the public conversation, or of a private one, with what it answers and all answers.

A message names the one that it answers first. If it answers none, the latest one that its author has stands first
(docs/formats/messages.md), as a rule the one above it. So a message answers the one that it names first, unless that
stands right above it: then it may be an answer, and is shown, but nothing follows from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from tinyssb_node.catalog.rows import FirstTie, MessageKind, MessageRow, is_group
from tinyssb_node.content.short_text import TIE_SIZE, is_brief, tie_range
from tinyssb_node.errors import ProblemError
from tinyssb_node.screens import limits
from tinyssb_node.screens.gaps import in_place
from tinyssb_node.screens.threads import Thread, ThreadMessage, tree

if TYPE_CHECKING:
    from tinyssb_node.catalog.queries import CatalogQueries
    from tinyssb_node.ids import MessageId
    from tinyssb_node.screens.session import NodeSession


def find_thread(node: NodeSession, conversation: str, id_: MessageId) -> Thread:
    """Return the thread of a message of a conversation or a private group. Raises ProblemError, and as the catalog and
    the client do."""
    if is_group(conversation):
        from tinyssb_node.screens.group_threads import read_thread

        return Thread(read_thread(node.client, conversation, id_.hex(), node.names()))
    found = conversation_thread(node.catalog, conversation, id_)
    if found is None:
        raise ProblemError(
            "This message has not arrived here, or is in another conversation.",
            "If it arrives, it is shown.",
            code="unknown_entry",
        )
    return found


def conversation_thread(catalog: CatalogQueries, conversation: str, id_: MessageId) -> Thread | None:
    """Return the thread of a message; None: this conversation has no such message here. Raises as the catalog does."""
    asked = catalog.message(id_)
    if asked is None or asked.conversation != conversation:
        return None
    path = _path_up(catalog, asked)
    first = path.rows[-1]
    members = _ThreadMembers(path)
    for start, end in ((first, asked.order), (asked, "")):
        if start.placed is not None and start.order != end:
            members.look_through(catalog, start, end)
    known = {row.id: row for row in path.rows}
    rows = [row for one in members.answered if (row := known.get(one) or catalog.message(one))]
    placed = sorted((row for row in rows if row.placed is not None), key=lambda row: row.order)
    waiting = [row for row in rows if row.placed is None]
    waiting += members.add_waiting(catalog.waiting(conversation, limits.WAITING_MAX))
    shown = {one.row.id: one for one in in_place(placed, waiting)}
    answers: dict[MessageId, list[MessageRow]] = {}
    for one in shown.values():
        if (answered := members.answered[one.row.id]) is not None:
            answers.setdefault(answered, []).append(one.row)
    messages = [
        ThreadMessage(row, depth, row.id in members.adjacent, shown[row.id].gap)
        for row, depth in tree(first, answers)
    ]
    return Thread(messages, lacking=path.lacking, further=path.more, more=members.more)


def is_adjacent(named: MessageRow, above: MessageRow | None) -> bool:
    """Return whether no text stands between the message that another one names and that one, which has the text *above*
    before it."""
    return above is None or above.order <= named.order


@dataclass(frozen=True, slots=True)
class _Path:
    """The messages from one up to the first of its thread."""

    rows: Sequence[MessageRow]
    """Each answers the next one."""
    adjacent: bool = False
    """The first of these stands right below the one that it names."""
    lacking: bool = False
    """The message that the last one answers is not stored here."""
    more: bool = False
    """The last one answers others that are left out."""


def _path_up(catalog: CatalogQueries, asked: MessageRow) -> _Path:
    rows, adjacent = [asked], False
    while len(rows) <= limits.THREAD_PATH_MAX:
        here = rows[-1]
        named = _named_first(catalog, here)
        if named is None:
            return _Path(rows, adjacent, lacking=here.placed is None and bool(here.previous))
        if here.placed is not None and is_adjacent(named, _above(catalog, here)):
            if here is not asked:
                break
            adjacent = True
        rows.append(named)
    return _Path(rows, adjacent, more=len(rows) > limits.THREAD_PATH_MAX)


def _named_first(catalog: CatalogQueries, row: MessageRow) -> MessageRow | None:
    """Return the message of the same conversation that a message names first; None: there is none here."""
    if not row.previous:
        return None
    tie = row.previous[0]
    # Brief ties remain in messages that wait.
    found = catalog.find(tie[:TIE_SIZE].hex() if is_brief(tie) else tie.hex())
    return found[0] if len(found) == 1 and found[0].conversation == row.conversation else None


def _above(catalog: CatalogQueries, row: MessageRow) -> MessageRow | None:
    """Return the text above a placed message. More files in a row than are looked at stand for a text."""
    rows = catalog.messages(row.conversation or "", before=row.order, limit=4)
    texts = [one for one in rows if one.kind is not MessageKind.FILE]
    return next(reversed(texts or rows), None)


@dataclass(slots=True)
class _ThreadMembers:
    """The messages of a thread, at first those from the one that was asked for up to the first one."""

    path: _Path
    answered: dict[MessageId, MessageId | None] = field(default_factory=dict)
    """By message: the one that it answers."""
    adjacent: set[MessageId] = field(default_factory=set)
    more: bool = False
    _below: set[MessageId] = field(default_factory=set)
    """The message that was asked for and answers to it. They have a bound of their own, so that a flood of answers to
    another message hides none of them."""

    def __post_init__(self) -> None:
        rows = self.path.rows
        self.answered |= {row.id: named.id for row, named in pairwise(rows)} | {rows[-1].id: None}
        self._below.add(rows[0].id)
        if self.path.adjacent:
            self.adjacent.add(rows[0].id)

    def look_through(self, catalog: CatalogQueries, start: MessageRow, end: str) -> None:
        """Add the messages of this thread that come after *start*, up to the position *end*; empty: all."""
        above, order, looked = {start.id}, start.order, 0
        while ties := catalog.first_ties(start.conversation or "", order, limits.THREAD_PAGE):
            for tie in ties:
                if end and tie.order >= end:
                    return
                self._add(tie, above)
                above = {tie.id} if tie.listed else {*above, tie.id}
            order, looked = ties[-1].order, looked + len(ties)
            if looked >= limits.THREAD_LOOKED_MAX:
                self.more = True
                return

    def _add(self, tie: FirstTie, above: AbstractSet[MessageId]) -> None:
        """Add a message if it is of this thread; *above*: those that no other text stands below."""
        named = tie.named
        if named is None or named not in self.answered or tie.id in self.answered:
            return
        adjacent = named in above
        if adjacent and named in self.adjacent:
            return
        below = named in self._below
        if (len(self._below) if below else len(self.answered) - len(self._below)) > limits.THREAD_ANSWERS_MAX:
            self.more = True
            return
        self.answered[tie.id] = named
        if adjacent:
            self.adjacent.add(tie.id)
        if below:
            self._below.add(tie.id)

    def add_waiting(self, rows: Sequence[MessageRow]) -> list[MessageRow]:
        """Add those of *rows*, which wait, that are of this thread; return them."""
        added: list[MessageRow] = []
        for _ in rows:  # a round adds one at least, or is the last
            new = [row for row in rows if row.id not in self.answered and self._adds(row)]
            if not new:
                break
            added += new
        return added

    def _adds(self, row: MessageRow) -> bool:
        low, high = tie_range(row.previous[0]) if row.previous else (b"", b"")
        meant = [one for one in self.answered if low <= one <= high]
        if len(meant) == 1:
            self.answered[row.id] = meant[0]
        return len(meant) == 1
