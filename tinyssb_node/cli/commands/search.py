"""`search`: full-text search of messages."""

import argparse
import sys

from tinyssb_node.screens import limits
from tinyssb_node.screens.chatlines import ChatFormatter
from tinyssb_node.screens.languages import t
from tinyssb_node.screens.message_commands import open_node
from tinyssb_node.screens.options import CommandParsers, add_json, add_network, positive
from tinyssb_node.screens.safetext import wrapped
from tinyssb_node.screens.screen import width
from tinyssb_node.screens.talkjson import JsonLines

_FOUND = 20
"""Messages shown by default: a screen."""


def add(commands: CommandParsers) -> None:
    """Define the command."""
    parser = commands.add(
        "search",
        search,
        more="Private messages that you can read are searched, too; those of groups only while the daemon runs.",
    )
    parser.add_argument(
        "words", metavar="WORD", nargs="+", help="a word, or the beginning of one; all must occur"
    )
    parser.add_argument(
        "--limit",
        type=positive,
        default=_FOUND,
        metavar="N",
        help=f"show the N best matches, and the N latest in groups (default: {_FOUND})",
    )
    add_network(parser)
    add_json(parser)


def search(arguments: argparse.Namespace) -> int:
    """Show the messages that have all the words, the best match first."""
    with open_node(arguments) as talk:
        words, limit = " ".join(arguments.words), min(arguments.limit, limits.CHAT_LAST_MAX)
        rows, in_groups = talk.search(words, limit)
        names = talk.names()
    if not in_groups:
        words_ = t(
            "Private groups are not searched: the daemon has their keys, and is not running or is too old."
        )
        text = f"tinyssb: {words_}"
        columns = width()
        print("\n".join([text] if columns is None else wrapped(text, columns, 6)), file=sys.stderr)
    if arguments.json:
        lines: JsonLines | ChatFormatter = JsonLines(names)
    else:
        lines = ChatFormatter(names, width())
        lines.fit(rows)
        if not rows:
            print(t("No message has all these words."))
    for row in rows:
        for line in lines.found(row):
            print(line)
    return 0
