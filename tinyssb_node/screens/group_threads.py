"""A message of a private group with all answers to it, and the messages that it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.ids import MessageId
from tinyssb_node.screens.group_conversations import GroupMessageQueries, GroupMessageView
from tinyssb_node.screens.safetext import one_line
from tinyssb_node.screens.threads import ThreadMessage, tree

if TYPE_CHECKING:
    from tinyssb_node.control.client import DaemonClient
    from tinyssb_node.screens.people import DisplayNames


def thread_of(rows: Sequence[GroupMessageView], id_: MessageId) -> list[ThreadMessage]:
    """Return the thread that a message of a group is in: the first message that was not an answer, then all answers,
    each below the message that it answers and in their order. Their predecessors are the messages that they answer.
    Empty if the message is not in *rows*."""
    by_id = {row.id: row for row in rows}
    if id_ not in by_id:
        return []
    first = by_id[id_]
    # An id is a hash of what it names, so that no message answers one that answers it.
    while first.reply_to in by_id:
        first = by_id[first.reply_to]
    answers: dict[MessageId, list[GroupMessageView]] = {}
    for row in rows:
        if row.reply_to in by_id:
            answers.setdefault(row.reply_to, []).append(replace(row, previous=(row.reply_to,)))
    return [ThreadMessage(row, depth) for row, depth in tree(replace(first, previous=()), answers)]


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
