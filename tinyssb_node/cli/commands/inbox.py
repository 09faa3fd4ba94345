"""`inbox`: unread messages, public, private and of groups."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from contextlib import closing, nullcontext
from typing import TYPE_CHECKING

from tinyssb_node.screens.chatlines import ChatFormatter, displayed_text, local_minute
from tinyssb_node.screens.inbox import InboxRow, arrivals, inbox, latest_places, title_of, unread_in_words
from tinyssb_node.screens.languages import t
from tinyssb_node.screens.message_commands import open_node
from tinyssb_node.screens.message_hook import MessageHook
from tinyssb_node.screens.options import CommandParsers, add_json, add_network
from tinyssb_node.screens.people import DisplayNames
from tinyssb_node.screens.render import print_json, table
from tinyssb_node.screens.safetext import one_line
from tinyssb_node.screens.screen import width
from tinyssb_node.screens.talkjson import message_json

if TYPE_CHECKING:
    from tinyssb_node.catalog.rows import ConversationRow, MessageRow
    from tinyssb_node.screens.session import NodeSession

_TEXT_CELLS = 50  # of the latest message in a list


def add(commands: CommandParsers) -> None:
    """Define the command."""
    parser = commands.add(
        "inbox",
        show,
        more="`chat` and the screens mark as read what they show. Groups are read only while the daemon runs.",
    )
    parser.add_argument("--read", action="store_true", help="mark everything as read")
    parser.add_argument(
        "--follow",
        action="store_true",
        help="show new messages of all conversations as they come, until Ctrl-C",
    )
    parser.add_argument("--bell", action="store_true", help="with --follow: ring the terminal's bell")
    parser.add_argument(
        "--run",
        dest="program",
        metavar="COMMAND",
        help="with --follow: run this program when messages come, with a JSON object for each on its standard input",
    )
    add_network(parser)
    add_json(parser)
    parser.set_defaults(parser=parser)


def show(arguments: argparse.Namespace) -> int:
    """List conversations with unread messages."""
    if (arguments.bell or arguments.program is not None) and not arguments.follow:
        arguments.parser.error("--bell and --run need --follow")
    hook = None if arguments.program is None else MessageHook(arguments.program)
    with open_node(arguments) as talk:
        if arguments.follow:
            return _follow(arguments, talk, hook)
        groups = talk.groups()
        conversations = talk.catalog.conversations()
        rows = inbox(talk, conversations, groups or ())
        names = talk.names()
        if arguments.read:
            talk.mark_read(latest_places([*conversations, *(groups or ())]))
    if groups is None:
        print(
            "tinyssb: "
            + t(
                "Private groups are not counted: the daemon, which has their keys, is not running or is too old."
            ),
            file=sys.stderr,
        )
    if arguments.json:
        return print_json(_json(row, names) for row in rows)
    print(_listed(rows, names) if rows else t("There are no unread messages."))
    if arguments.read and rows:
        print(t("Marked as read: {sums}.", sums=unread_in_words(rows)))
    return 0


def _listed(rows: Sequence[InboxRow], names: DisplayNames) -> str:
    return table(
        (t("UNREAD"), t("OLDER"), t("WITH"), t("ARRIVED"), t("LATEST")),
        [
            (
                row.unread,
                row.older,
                title_of(row.conversation, names),
                " ".join(local_minute(row.latest.committed_us)),
                one_line(f"{names.shown(row.latest.feed)}: {displayed_text(row.latest)}", _TEXT_CELLS),
            )
            for row in rows
        ],
    )


def _json(row: InboxRow, names: DisplayNames) -> dict[str, object]:
    return {
        "conversation": row.conversation.name,
        "title": title_of(row.conversation, names),
        "unread": row.unread,
        "older": row.older,
        "latest": message_json(row.latest, names),
    }


def _follow(arguments: argparse.Namespace, talk: NodeSession, hook: MessageHook | None) -> int:
    """Show messages as they come, without marking them as read."""
    seen = latest_places([*talk.catalog.conversations(), *(talk.groups() or ())])
    names = talk.names()
    lines = ChatFormatter(names, width())
    print(t("Waiting for new messages. Ctrl-C ends."), file=sys.stderr, flush=True)
    with nullcontext() if hook is None else closing(hook):
        while True:
            found = list(arrivals(talk, seen))
            if found:
                names = talk.names()
                lines.rename(names)
            for conversation, row in found:
                seen[conversation.name] = max(seen.get(conversation.name, 0), row.placed or 0)
                line = json.dumps({**message_json(row, names), "title": title_of(conversation, names)})
                if hook is not None:
                    hook.add(line)
                _print(arguments, line, conversation, row, lines)
            if found and arguments.bell:
                print("\a", end="", file=sys.stderr, flush=True)
            if hook is not None:
                hook.look(time.monotonic())
            time.sleep(1.0)  # groups are requested from the daemon
            talk.catch_up()


def _print(
    arguments: argparse.Namespace,
    line: str,
    conversation: ConversationRow,
    row: MessageRow,
    lines: ChatFormatter,
) -> None:
    if arguments.json:
        print(line, flush=True)
        return
    title = title_of(conversation, lines.names)
    for text in lines.found(row, f"[{title}]"):
        print(text, flush=True)
