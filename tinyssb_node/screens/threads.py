"""A message with what it answers and all answers, as a tree and in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tinyssb_node.screens.chatlines import BLOCKED, displayed_text, local_minute, mark_of, other_times
from tinyssb_node.screens.gaps import gap_in_words
from tinyssb_node.screens.languages import message, t, tn

if TYPE_CHECKING:
    from tinyssb_node.catalog.rows import MessageRow
    from tinyssb_node.ids import MessageId
    from tinyssb_node.screens.gaps import MessageGap
    from tinyssb_node.screens.people import DisplayNames

_DEPTH_MAX: Final = 8
"""Deepest indentation that is shown."""
ADJACENT: Final = message("right below it in the chat, perhaps no answer")
"""Remark on a message that names the one above it."""


@dataclass(frozen=True, slots=True)
class ThreadMessage:
    """A message of a thread."""

    row: MessageRow
    depth: int
    """0 for the first message, 1 for answers to it, and so on."""
    adjacent: bool = False
    """It stands right below the message that it names, and in public and private conversations a message that answers
    none names the one above it, too."""
    gap: MessageGap | None = None
    """The messages that are missing right before it."""


@dataclass(frozen=True, slots=True)
class Thread:
    """A message with what it answers and all answers."""

    messages: Sequence[ThreadMessage]
    """Each below the message that it answers, and in the order of the conversation."""
    lacking: bool = False
    """The message that the first one answers is not stored here."""
    further: bool = False
    """The first one answers others that are left out: there are too many."""
    more: bool = False
    """Answers are left out: there are too many."""


def tree(
    first: MessageRow, answers: Mapping[MessageId, Sequence[MessageRow]]
) -> Iterator[tuple[MessageRow, int]]:
    """Yield *first* and all *answers* to it, each below the message that it answers, with its depth."""
    waiting = [(first, 0)]
    while waiting:
        row, depth = waiting.pop()
        yield row, depth
        waiting += [(answer, depth + 1) for answer in reversed(answers.get(row.id, ()))]


def thread_notes(thread: Thread, names: DisplayNames) -> list[str]:
    """Return in words what of a thread is missing or not shown."""
    notes = []
    if thread.lacking:
        notes.append(t("The message that the first one answers has not arrived here."))
    if thread.further:
        notes.append(t("The messages that the first one answers are not shown: there are too many."))
    if hidden := sum(names.is_blocked(one.row.feed) for one in thread.messages):
        notes.append(
            tn(
                hidden,
                "{n} message of blocked people is hidden.",
                "{n} messages of blocked people are hidden.",
            )
        )
    if thread.more:
        notes.append(t("Some answers are not shown: there are too many messages."))
    return notes


def thread_lines(thread: Sequence[ThreadMessage], names: DisplayNames) -> Iterator[str]:
    """Format a thread in lines of text, answers indented; unescaped."""
    for one in thread:
        row = one.row
        indent = "  " * min(one.depth, _DEPTH_MAX)
        if one.gap is not None:
            yield f"{indent}... {gap_in_words(one.gap, names)} ..."
        mark = "↳ " if one.depth else ""
        when = f"{' '.join(local_minute(row.written_us))}{mark_of(row).strip()}"
        text = t(BLOCKED) if names.is_blocked(row.feed) else f"{displayed_text(row)}{other_times(row)}"
        first, *more = text.split("\n")
        remark = f" [{t(ADJACENT)}]" if one.adjacent else ""
        yield f"{indent}{mark}{names.shown(row.feed)} {when}{remark}: {first}"
        yield from (f"{indent}  {line}" for line in more)
