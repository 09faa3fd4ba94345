"""`chat`: read and write messages."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tinyssb_node.catalog.rows import PUBLIC, ConversationRow
from tinyssb_node.cli.chatlisting import lacking_line, latest_arrival, print_now, show_latest, show_message
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.ids import FeedId
from tinyssb_node.screens import limits
from tinyssb_node.screens.chatlines import ChatFormatter
from tinyssb_node.screens.languages import t
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
from tinyssb_node.screens.session import NodeSession
from tinyssb_node.store.home import MAIN_IDENTITY

if TYPE_CHECKING:
    from tinyssb_node.screens.group_conversations import GroupNotes
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
    _refuse_beside_group(arguments)
    with open_node(arguments) as talk:
        names = talk.names()
        people = [names.find(text).feed for text in arguments.people or ()]
        notes = None if arguments.group is None else _notes_below(talk, arguments.group)
        where: str | None = PUBLIC
        if notes is not None:
            where = notes.group
        elif people:
            where = talk.conversation_with(people)
        if people and not arguments.json:
            shown = ", ".join(names.shown(feed) for feed in people)
            print(t("Private conversation with {people}:", people=shown))
        lines = show_latest(talk, where, notes, arguments.last, arguments.arrived, as_json=arguments.json)
        if arguments.follow and notes is not None:
            _follow_group(talk, notes, lines)
        elif arguments.follow:
            _follow(talk, where, people, lines)
    return 0


def _notes_below(talk: NodeSession, group: str) -> GroupNotes:
    from tinyssb_node.screens.group_conversations import notes_below

    return notes_below(talk.client, group)


def _follow_group(talk: NodeSession, notes: GroupNotes, lines: ChatFormatter | JsonLines) -> None:
    """Show the messages of a group as they come, until Ctrl-C."""
    after = latest_arrival(talk, notes.group)
    while True:
        time.sleep(1.0)  # longer than for other conversations: this asks the daemon
        told, notes = notes, _notes_below(talk, notes.group)
        talk.catch_up()
        lines.rename(talk.names())
        rows = talk.queries(notes.group).arrived(notes.group, after, limits.CHAT_LAST_MAX)
        after = max((row.placed or 0 for row in rows), default=after)
        for row in sorted(rows, key=lambda one: one.order):
            show_message(lines, row)
        if notes.lacking > told.lacking and isinstance(lines, ChatFormatter):
            print_now([lacking_line(notes, ())])
        if notes.closed and notes.closed != told.closed:
            print(notes.closed, file=sys.stderr)


def _refuse_beside_group(arguments: argparse.Namespace) -> None:
    """Check that no other option chooses the readers beside --group. Raises ProblemError."""
    if arguments.people and arguments.group is not None:
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
    _refuse_beside_group(arguments)
    text = text_given(" ".join(arguments.text))
    if arguments.group is not None:
        from tinyssb_node.cli.commands.group import said

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
    return describe_published(arguments, t("Published"), row)


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
            "tinyssb: "
            + t(
                "Private groups are not listed: the daemon, which has their keys, is not running or is too old."
            ),
            file=sys.stderr,
        )
    if arguments.json:
        return print_json(conversation_json(row, names) for row in rows)
    listed = [
        (_title(row, names), row.messages, local_time(row.last.committed_us) if row.last else None)
        for row in rows
    ]
    print(table((t("WITH"), t("MESSAGES"), t("LATEST")), listed))
    return 0


def _title(row: ConversationRow, names: DisplayNames) -> str:
    """Return the readers of a conversation, or the name of the group."""
    from tinyssb_node.screens.group_conversations import GroupConversation, called

    if isinstance(row, GroupConversation):
        return t("group {name}", name=called(row.title, row.name)) + (f" ({row.note})" if row.note else "")
    if not row.members:
        return t("everybody")
    others = [feed for feed in row.members if not names.is_own(feed)]
    return ", ".join(names.shown(feed) for feed in others or row.members)


def _follow(
    talk: NodeSession,
    where: str | None,
    people: Sequence[FeedId],
    lines: ChatFormatter | JsonLines,
) -> None:
    """Show messages as they come, until Ctrl-C: those of a private conversation, or of all, marked unless public."""
    elsewhere = None if people else _Elsewhere(talk)
    after = latest_arrival(talk, where)
    while True:
        changed = talk.changed()
        if changed:
            lines.rename(talk.names())
            where = where or talk.conversation_with(people)
            rows = [] if where is None else talk.catalog.arrived(where, after, limit=limits.CHAT_LAST_MAX)
            after = max((row.placed or 0 for row in rows), default=after)
            for row in sorted(rows, key=lambda one: one.order):
                show_message(lines, row)
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
                print_now(lines.message(row, mark_of_place(conversation, lines.names)))
