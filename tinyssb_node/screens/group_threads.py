"""A message of a private group with all answers to it, and the messages that it answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.ids import MessageId
from tinyssb_node.screens.chatlines import displayed_text, local_minute, mark_of, other_times
from tinyssb_node.screens.group_conversations import GroupMessageQueries, GroupMessageView
from tinyssb_node.screens.safetext import one_line

if TYPE_CHECKING:
    from tinyssb_node.control.client import DaemonClient
    from tinyssb_node.screens.people import DisplayNames

_DEPTH_MAX: Final = 8
"""Deepest indentation that is shown."""


@dataclass(frozen=True, slots=True)
class ThreadMessage:
    """A message of a thread."""

    row: GroupMessageView
    """Its predecessor is the message that it answers; the first one has none."""
    depth: int
    """0 for the first message, 1 for answers to it, and so on."""


def thread_of(rows: Sequence[GroupMessageView], id_: MessageId) -> list[ThreadMessage]:
    """Return the thread that a message of a group is in: the first message that was not an answer, then all answers,
    each below the message that it answers and in their order. Empty if the message is not in *rows*."""
    by_id = {row.id: row for row in rows}
    if id_ not in by_id:
        return []
    answers: dict[MessageId, list[GroupMessageView]] = {}
    for row in rows:
        if row.reply_to in by_id:
            answers.setdefault(row.reply_to, []).append(row)
    first = by_id[id_]
    # An id is a hash of what it names, so that no message answers one that answers it.
    while first.reply_to in by_id:
        first = by_id[first.reply_to]
    found: list[ThreadMessage] = []
    waiting = [ThreadMessage(first, 0)]
    while waiting:
        here = waiting.pop()
        answered = () if not found else (here.row.reply_to,)
        found.append(replace(here, row=replace(here.row, previous=tuple(filter(None, answered)))))
        further = reversed(answers.get(here.row.id, ()))
        waiting += [ThreadMessage(row, here.depth + 1) for row in further]
    return found


def read_thread(client: DaemonClient, group: str, digits: str, names: DisplayNames) -> list[ThreadMessage]:
    """Return the thread of the message of a group whose id begins with *digits*. Raises ProblemError, and as the client
    does."""
    rows = GroupMessageQueries(client, names).messages(group)
    found = [row.id for row in rows if digits and row.id.hex().startswith(digits.lower())]
    if len(found) == 1:
        return thread_of(rows, found[0])
    typed = one_line(digits, 2 * MessageId.SIZE)
    raise ProblemError(
        f"{len(found) or 'No'} messages of this group have an id that begins with '{typed}'.",
        "`tinyssb group read` shows the first digits of each id.",
        exit_code=ExitCode.USAGE if found else ExitCode.MISSING,
    )


def thread_lines(thread: Sequence[ThreadMessage], names: DisplayNames) -> Iterator[str]:
    """Format a thread in lines of text, answers indented; unescaped."""
    for one in thread:
        row = one.row
        indent = "  " * min(one.depth, _DEPTH_MAX)
        mark = "↳ " if one.depth else ""
        when = f"{' '.join(local_minute(row.written_us))}{mark_of(row).strip()}"
        first, *more = f"{displayed_text(row)}{other_times(row)}".split("\n")
        yield f"{indent}{mark}{names.shown(row.feed)} {when}: {first}"
        yield from (f"{indent}  {line}" for line in more)
