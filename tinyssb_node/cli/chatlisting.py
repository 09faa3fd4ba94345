"""The latest messages of a conversation or a private group, as commands show them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tinyssb_node.catalog.rows import PUBLIC, MessageRow, is_group, is_news
from tinyssb_node.ids import FeedId, MessageId
from tinyssb_node.screens import limits
from tinyssb_node.screens.chatlines import SHORT_MESSAGE, ChatFormatter
from tinyssb_node.screens.gaps import MessageGap, ShownMessage, in_place
from tinyssb_node.screens.languages import t, tn
from tinyssb_node.screens.people import DisplayNames
from tinyssb_node.screens.screen import width
from tinyssb_node.screens.session import NodeSession

if TYPE_CHECKING:
    from tinyssb_node.screens.group_conversations import GroupNotes
    from tinyssb_node.screens.talkjson import JsonLines
# Reading must be quick: what only groups and --json need is imported where they begin.


def show_latest(
    talk: NodeSession,
    where: str | None,
    notes: GroupNotes | None,
    last: int,
    arrived: int | None = None,
    *,
    as_json: bool = False,
) -> ChatFormatter | JsonLines:
    """Show the *last* messages of a conversation, or with *arrived* so many of those that arrived last, and mark it as
    read. *notes*: of a private group. Returns the formatter, for those that come."""
    names = talk.names()
    rows: Sequence[MessageRow] = []
    waiting: Sequence[MessageRow] = []
    if where is not None:
        queries = talk.queries(where)
        if arrived is not None:
            rows = queries.latest_arrivals(where, min(arrived, limits.CHAT_LAST_MAX))
        else:
            rows = queries.messages(where, limit=min(last, limits.CHAT_LAST_MAX))
        waiting = queries.waiting(where, limit=limits.WAITING_MAX)
    lines = _lines(names, [*rows, *waiting], lambda: held_by(talk, names, rows), as_json=as_json)
    if not rows and not waiting and not as_json and not (notes and notes.closed):
        to = "" if notes is None else f"--group {notes.group[:SHORT_MESSAGE]} "
        print(
            t("There are no messages yet. Write one: {command}", command=f"tinyssb chat say {to}{t('TEXT')}")
        )
    footer = "" if as_json or where is None else _note_read(talk, where, rows, lines)
    shown = in_place(rows, waiting)
    for one in shown:
        show_message(lines, one.row, one.gap)
    if not as_json:
        if notes is not None and (lacking := lacking_line(notes, shown)):
            print(lacking, flush=True)
        _print_below(talk, names, where, [*rows, *waiting], footer)
    if notes is not None and notes.closed:
        print(notes.closed, file=sys.stderr)
    return lines


def lacking_line(notes: GroupNotes, shown: Sequence[ShownMessage]) -> str:
    """Return a line about the missing messages of a group that have no place among those *shown*."""
    from tinyssb_node.screens.group_conversations import lacking_in_words

    lacking = lacking_in_words(notes.lacking, shown)
    return f"... {lacking} ..." if lacking else ""


def _note_read(
    talk: NodeSession, where: str, rows: Sequence[MessageRow], lines: ChatFormatter | JsonLines
) -> str:
    """Mark a conversation as read, and in *lines* those of *rows* that arrived since and come before seen ones. Return
    a line about others like these, which are not among *rows*; empty: there are none."""
    mark, queries = talk.read_marks().get(where, 0), talk.queries(where)
    unread = queries.unread(where, mark, limits.UNREAD_MAX)
    seen = max((row.order for row in rows if (row.placed or 0) <= mark), default="")
    late = [row.id for row in rows if (row.placed or 0) > mark and row.order < seen and is_news(row)]
    if isinstance(lines, ChatFormatter):
        lines.mark_late(late)
    talk.mark_read({where: latest_arrival(talk, where)})
    hidden = unread.older - len(late)
    if not mark or hidden <= 0:
        return ""
    option = f"--arrived {unread.count}"
    return tn(
        hidden,
        "{n} older message has arrived since you last looked. To see them: add {option}",
        "{n} older messages have arrived since you last looked. To see them: add {option}",
        option=option,
    )


def _print_below(
    talk: NodeSession, names: DisplayNames, where: str | None, rows: Sequence[MessageRow], footer: str
) -> None:
    """Print what belongs below the messages *rows* of a conversation: the *footer*, what arrives, and forks."""
    if footer:
        print(footer)
    # Nobody knows of something incomplete to which conversation it belongs.
    if where == PUBLIC and (arriving := talk.catalog.arriving()):
        from tinyssb_node.screens.arriving_words import arriving_in_words

        for row in arriving:
            print(t("arriving: {words}", words=arriving_in_words(row, names)))
    _print_forks(talk, names, rows)


def _print_forks(talk: NodeSession, names: DisplayNames, rows: Sequence[MessageRow]) -> None:
    """Name the authors of *rows* whose feeds are forked."""
    forked = talk.catalog.forked()
    for feed in sorted({row.feed for row in rows} & forked.keys()):
        whose = t("Your feed") if names.is_own(feed) else t("The feed of {name}", name=names.shown(feed))
        print(
            t(
                "{feed} is forked at entry {n}, and nothing new of it is accepted: see `tinyssb forks`.",
                feed=whose,
                n=forked[feed],
            )
        )


def _lines(
    names: DisplayNames,
    rows: Sequence[MessageRow],
    holders: Callable[[], Mapping[MessageId, str]],
    *,
    as_json: bool,
) -> ChatFormatter | JsonLines:
    """Return the formatter of messages, for programs or for people; *holders* reads who has our own."""
    if as_json:
        from tinyssb_node.screens.talkjson import JsonLines

        return JsonLines(names)
    lines = ChatFormatter(names, width(), holders())
    lines.fit(rows)
    return lines


def held_by(talk: NodeSession, names: DisplayNames, rows: Sequence[MessageRow]) -> dict[MessageId, str]:
    """Return, for our own messages among *rows*, the nodes that have them, in words: at the last of those that the same
    nodes have."""
    if rows and is_group(rows[0].conversation or ""):
        from tinyssb_node.screens.group_conversations import held_in_group

        return held_in_group(rows, names)
    receipts = talk.receipts(rows)
    if not receipts:
        return {}
    from tinyssb_node.screens.holders_text import holders_texts, last_of_each

    def name_of(digits: str) -> str:
        return names.shown(FeedId.from_hex(digits))

    now_us = time.time_ns() // 1_000
    texts = holders_texts(receipts.values(), name_of, now_us)
    words = {id_: texts[receipt.id] for id_, receipt in receipts.items()}
    return last_of_each([row.id for row in rows], words)


def show_message(lines: ChatFormatter | JsonLines, row: MessageRow, gap: MessageGap | None = None) -> None:
    """Print a message, and for people what is missing right before it."""
    shown = lines.message(row) if row.placed is not None else lines.waiting(row)
    before = lines.gap(gap) if gap is not None and isinstance(lines, ChatFormatter) else ()
    print_now([*before, *shown])


def print_now(lines: Iterable[str]) -> None:
    """Print lines so that the reader of a pipe sees each message when it comes."""
    for line in lines:
        print(line, flush=True)


def latest_arrival(talk: NodeSession, where: str | None) -> int:
    """Return the number of the latest arrival in a conversation, 0 for none."""
    rows = [] if where is None else talk.queries(where).latest_arrivals(where, 1)
    return max((row.placed or 0 for row in rows), default=0)
