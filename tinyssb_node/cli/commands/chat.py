"""`chat`: read and write messages."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tinyssb_node.catalog.rows import PUBLIC, ConversationRow, MessageRow
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.ids import FeedId, MessageId
from tinyssb_node.screens import limits
from tinyssb_node.screens.chatlines import ChatFormatter
from tinyssb_node.screens.gaps import MessageGap, in_place
from tinyssb_node.screens.message_commands import describe_published, open_node, text_given
from tinyssb_node.screens.options import (
    CommandParsers,
    add_actions,
    add_json,
    add_network,
    add_yes,
    positive,
)
from tinyssb_node.screens.people import DisplayNames
from tinyssb_node.screens.screen import width
from tinyssb_node.screens.session import NodeSession
from tinyssb_node.store.home import MAIN_IDENTITY

if TYPE_CHECKING:
    from tinyssb_node.screens.talkjson import JsonLines
# Reading must be quick: what only groups, lists and --json need is imported where they begin.


def add(commands: CommandParsers) -> None:
    """Define the command."""
    parser = commands.add(
        "chat", read, more="Without an action it shows the latest messages; that works without the daemon."
    )
    parser.add_argument(
        "--last",
        type=positive,
        default=limits.CHAT_LAST,
        metavar="N",
        help=f"show the N latest messages (default: {limits.CHAT_LAST})",
    )
    parser.add_argument(
        "--arrived", type=positive, metavar="N", help="show the N messages that arrived last, in their order"
    )
    parser.add_argument(
        "--follow",
        action="store_true",
        help="continue with messages as they come, until Ctrl-C; private ones and those of groups are marked",
    )
    _add_with(parser, None)
    _add_group(parser, None)
    add_network(parser)
    add_json(parser)
    add_action = add_actions(parser)
    action = add_action("say", say, "post a message, public or private")
    action.add_argument(
        "text", metavar="TEXT", nargs="+", help="the message; `-` reads it from standard input"
    )
    action.add_argument(
        "--reply", metavar="ID", help="answer this message: some digits of its id, or FEED.SEQ"
    )
    action.add_argument(
        "--as",
        dest="identity",
        metavar="NAME",
        help="the identity of the node that writes it, in public (default: main)",
    )
    _add_with(action, argparse.SUPPRESS)
    _add_group(action, argparse.SUPPRESS)
    add_yes(action)
    add_action("list", list_conversations, "list conversations and groups")


def _add_group(parser: argparse.ArgumentParser, default: object) -> None:
    parser.add_argument(
        "--group",
        default=default,
        metavar="GROUP",
        help="use this private group: its name, or digits of its id",
    )


def _add_with(parser: argparse.ArgumentParser, default: object) -> None:
    parser.add_argument(
        "--with",
        dest="people",
        action="append",
        default=default,
        metavar="PERSON",
        help="use the private conversation with this person, by name or beginning of the feed id; may be repeated",
    )


def read(arguments: argparse.Namespace) -> int:
    """Show the latest messages and, with --follow, those that come."""
    if arguments.group is not None:
        return _read_group(arguments)
    with open_node(arguments) as talk:
        names = talk.names()
        people = [names.find(text).feed for text in arguments.people or ()]
        where = talk.conversation_with(people) if people else PUBLIC
        last = min(arguments.last, limits.CHAT_LAST_MAX)
        rows: Sequence[MessageRow] = []
        if where is not None and arguments.arrived is not None:
            rows = talk.catalog.latest_arrivals(where, min(arguments.arrived, limits.CHAT_LAST_MAX))
        elif where is not None:
            rows = talk.catalog.messages(where, limit=last)
        waiting = [] if where is None else talk.catalog.waiting(where, limit=limits.WAITING_MAX)
        lines = _lines(arguments, names, [*rows, *waiting], lambda: held_by(talk, names, rows))
        if people and not arguments.json:
            print(f"Private conversation with {', '.join(names.shown(feed) for feed in people)}:")
        if not rows and not waiting and not arguments.json:
            print("There are no messages yet. Write one: tinyssb chat say TEXT")
        footer = "" if arguments.json or where is None else _note_read(talk, where, rows, lines)
        for one in in_place(rows, waiting):
            _show(lines, one.row, one.gap)
        if not arguments.json:
            _print_below(talk, names, where, [*rows, *waiting], footer)
        if arguments.follow:
            _follow(talk, where, people, lines)
    return 0


def _note_read(
    talk: NodeSession, where: str, rows: Sequence[MessageRow], lines: ChatFormatter | JsonLines
) -> str:
    """Mark a conversation as read, and in *lines* those of *rows* that arrived since and come before seen ones. Return
    a line about others like these, which are not among *rows*; empty: there are none."""
    mark = talk.read_marks().get(where, 0)
    unread = talk.catalog.unread(where, mark, limits.UNREAD_MAX)
    seen = max((row.order for row in rows if (row.placed or 0) <= mark), default="")
    late = [row.id for row in rows if (row.placed or 0) > mark and row.order < seen and not row.own]
    if isinstance(lines, ChatFormatter):
        lines.mark_late(late)
    talk.mark_read({where: _arrivals(talk, where)})
    hidden = unread.older - len(late)
    if not mark or hidden <= 0:
        return ""
    were = "message has" if hidden == 1 else "messages have"
    return f"{hidden:,} older {were} arrived since you last looked. To see them: add --arrived {unread.count}"


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
            print(f"arriving: {arriving_in_words(row, names)}")
    _print_forks(talk, names, rows)


def _print_forks(talk: NodeSession, names: DisplayNames, rows: Sequence[MessageRow]) -> None:
    """Name the authors of *rows* whose feeds are forked."""
    forked = talk.catalog.forked()
    for feed in sorted({row.feed for row in rows} & forked.keys()):
        whose = "Your feed" if names.is_own(feed) else f"The feed of {names.shown(feed)}"
        print(
            f"{whose} is forked at entry {forked[feed]}, and nothing new of it is accepted: see `tinyssb forks`."
        )


def _read_group(arguments: argparse.Namespace) -> int:
    """Show the latest messages of a group and, with --follow, those that come."""
    from tinyssb_node.screens.group_conversations import held_in_group, messages, notes_below

    _refuse_beside_group(arguments)
    with open_node(arguments) as talk:
        names = talk.names()
        rows = messages(talk.client, arguments.group, names, limit=min(arguments.last, limits.CHAT_LAST_MAX))
        lines = _lines(arguments, names, rows, lambda: held_in_group(rows, names))
        notes, told = notes_below(talk.client, arguments.group), None
        if not rows and not arguments.json and not notes.closed:
            print(f"There are no messages yet. Write one: tinyssb chat say --group {arguments.group} TEXT")
        after = 0
        while True:
            for row in rows:
                _show(lines, row)
                after = max(after, row.placed or 0)
            if notes.lacking and not arguments.json and (told is None or notes.lacking != told.lacking):
                print(f"... {notes.lacking} ...", flush=True)
            if notes.closed and (told is None or notes.closed != told.closed):
                print(notes.closed, file=sys.stderr)
            if not arguments.follow:
                return 0
            time.sleep(1.0)  # longer than for other conversations: this asks the daemon
            notes, told = notes_below(talk.client, arguments.group), notes
            talk.catch_up()
            names = talk.names()
            lines.rename(names)
            rows = messages(talk.client, arguments.group, names, after=after)


def _refuse_beside_group(arguments: argparse.Namespace) -> None:
    """Check that no other option chooses the readers beside --group. Raises ProblemError."""
    if arguments.people:
        raise ProblemError(
            "A message to a group is for all its members. Nothing was posted.",
            "Use --group without --with.",
            exit_code=ExitCode.USAGE,
        )


def say(arguments: argparse.Namespace) -> int:
    """Post a message, and print its id."""
    identity = None if arguments.identity == MAIN_IDENTITY else arguments.identity
    if identity is not None and (arguments.group is not None or arguments.people):
        raise ProblemError(
            "Only the node's own identity takes part in private conversations. Nothing was published.",
            "Use --as without --with and --group.",
            exit_code=ExitCode.USAGE,
        )
    text = text_given(" ".join(arguments.text))
    if arguments.group is not None:
        from tinyssb_node.cli.commands.group import said

        _refuse_beside_group(arguments)
        with open_node(arguments) as talk:
            return said(arguments, talk.say_to_group(arguments.group, text, arguments.reply))
    with open_node(arguments) as talk:
        answered = None if arguments.reply is None else talk.find_message(arguments.reply)
        reply_to = None if answered is None else answered.id
        if arguments.people:
            people = [talk.find_person(name).feed for name in arguments.people]
            row = talk.say_private(text, people, reply_to)
        else:
            where = PUBLIC if answered is None or answered.conversation is None else answered.conversation
            row = talk.say(text, where, reply_to, identity)
    return describe_published(arguments, "Published", row)


def list_conversations(arguments: argparse.Namespace) -> int:
    """List conversations, the one with the latest message first."""
    from tinyssb_node.screens.render import local_time, print_json, table
    from tinyssb_node.screens.talkjson import conversation_json

    with open_node(arguments) as talk:
        names, groups = talk.names(), talk.groups()
        rows = [*talk.catalog.conversations(), *(groups or ())]
    rows.sort(key=lambda row: -(row.last.committed_us if row.last is not None else 0))
    if groups is None:
        print(
            "tinyssb: Private groups are not listed: the daemon, which has their keys, is not running or is too old.",
            file=sys.stderr,
        )
    if arguments.json:
        return print_json(conversation_json(row, names) for row in rows)
    listed = [
        (_title(row, names), row.messages, local_time(row.last.committed_us) if row.last else None)
        for row in rows
    ]
    print(table(("WITH", "MESSAGES", "LATEST"), listed))
    return 0


def _title(row: ConversationRow, names: DisplayNames) -> str:
    """Return the readers of a conversation, or the name of the group."""
    from tinyssb_node.screens.group_conversations import GroupConversation, called

    if isinstance(row, GroupConversation):
        return f"group {called(row.title, row.name)}" + (f" ({row.note})" if row.note else "")
    if not row.members:
        return "everybody"
    others = [feed for feed in row.members if not names.is_own(feed)]
    return ", ".join(names.shown(feed) for feed in others or row.members)


def _lines(
    arguments: argparse.Namespace,
    names: DisplayNames,
    rows: Sequence[MessageRow],
    holders: Callable[[], Mapping[MessageId, str]],
) -> ChatFormatter | JsonLines:
    """Return the formatter of messages, for programs or for people; *holders* reads who has our own."""
    if arguments.json:
        from tinyssb_node.screens.talkjson import JsonLines

        return JsonLines(names)
    lines = ChatFormatter(names, width(), holders())
    lines.fit(rows)
    return lines


def held_by(talk: NodeSession, names: DisplayNames, rows: Sequence[MessageRow]) -> dict[MessageId, str]:
    """Return, for our own messages among *rows*, the nodes that have them, in words: at the last of those that the same
    nodes have."""
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


def _show(lines: ChatFormatter | JsonLines, row: MessageRow, gap: MessageGap | None = None) -> None:
    """Print a message, and for people what is missing right before it."""
    shown = lines.message(row) if row.placed is not None else lines.waiting(row)
    before = lines.gap(gap) if gap is not None and isinstance(lines, ChatFormatter) else ()
    _print_now([*before, *shown])


def _print_now(lines: Iterable[str]) -> None:
    for line in lines:
        # Flushed: the reader of a pipe sees each message when it comes.
        print(line, flush=True)


def _follow(
    talk: NodeSession,
    where: str | None,
    people: Sequence[FeedId],
    lines: ChatFormatter | JsonLines,
) -> None:
    """Show messages as they come, until Ctrl-C: those of a private conversation, or of all, marked unless public."""
    elsewhere = None if people else _Elsewhere(talk)
    after = _arrivals(talk, where)
    while True:
        changed = talk.changed()
        if changed:
            lines.rename(talk.names())
            where = where or talk.conversation_with(people)
            rows = [] if where is None else talk.catalog.arrived(where, after, limit=limits.CHAT_LAST_MAX)
            after = max((row.placed or 0 for row in rows), default=after)
            for row in sorted(rows, key=lambda one: one.order):
                _show(lines, row)
        if elsewhere is not None:
            elsewhere.show(lines, changed=changed)
        if not changed:
            time.sleep(0.25)  # a person does not notice the wait, and each look takes 2 ms


class _Elsewhere:
    """Follows private conversations and groups beside the public chat."""

    def __init__(self, talk: NodeSession) -> None:
        from tinyssb_node.screens.inbox import latest_places

        self._talk = talk
        self._seen = latest_places([*talk.catalog.conversations(), *(talk.groups() or ())])
        self._asked_s = time.monotonic()

    def show(self, lines: ChatFormatter | JsonLines, *, changed: bool) -> None:
        """Show what is new. *changed*: something came in a conversation, of which the daemon is not asked."""
        from tinyssb_node.screens.inbox import conversation_arrivals, group_arrivals, mark_of_place

        found = [*conversation_arrivals(self._talk, self._seen)] if changed else []
        # Longer than for other conversations: this asks the daemon.
        if time.monotonic() - self._asked_s >= 1.0:
            self._asked_s = time.monotonic()
            found += group_arrivals(self._talk, self._seen)
        for conversation, row in found:
            self._seen[conversation.name] = max(self._seen.get(conversation.name, 0), row.placed or 0)
            if conversation.name != PUBLIC:
                _print_now(lines.message(row, mark_of_place(conversation, lines.names)))


def _arrivals(talk: NodeSession, where: str | None) -> int:
    """Return the number of the latest arrival in a conversation, 0 for none."""
    row = None if where is None else talk.catalog.conversation(where)
    return 0 if row is None or row.last is None else row.last.placed or 0
