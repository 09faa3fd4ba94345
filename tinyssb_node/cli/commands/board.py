"""`board`: kanban boards that several people share."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence

from tinyssb_node.cli.boardlines import board_lines, card_lines, find_card, find_list, find_thing
from tinyssb_node.content.board import Card, Operation
from tinyssb_node.ids import FeedId, MessageId
from tinyssb_node.screens import limits
from tinyssb_node.screens.chatlines import local_minute, short
from tinyssb_node.screens.message_commands import describe_published, open_node, text_given
from tinyssb_node.screens.options import CommandParsers, add_actions, add_json, add_network, add_yes
from tinyssb_node.screens.render import local_time, print_json, table
from tinyssb_node.screens.safetext import one_line
from tinyssb_node.screens.screen import width
from tinyssb_node.screens.talkjson import board_json, board_row_json, change_json, item_json

_HELP = {
    "board": "a board: its name, or some digits of its id",
    "list": "a list of the board: its name, or some digits of its id",
    "card": "a card of the board: its name, or some digits of its id",
    "thing": "a card or a list of the board",
    "person": "a person: a name, or the beginning of a feed id",
    "name": "a name",
    "text": "a text; `-` reads it from standard input",
    "color": "a colour by its name in CSS, such as `teal`",
}
_CHANGES = {
    "rename": ("BOARD_RENAME", ("board", "name"), "rename a board"),
    "add-list": ("COLUMN_CREATE", ("board", "name"), "add a list to a board"),
    "add": ("ITEM_CREATE", ("board", "list", "name"), "add a card to a list"),
    "move": ("ITEM_MOVE", ("board", "card", "list"), "move a card to the end of a list"),
    "comment": ("ITEM_COMMENT", ("board", "card", "text"), "write a comment on a card"),
    "describe": ("ITEM_DESCRIBE", ("board", "card", "text"), "describe a card"),
    "assign": ("ITEM_ASSIGN", ("board", "card", "person"), "assign a card to a person"),
    "unassign": ("ITEM_UNASSIGN", ("board", "card", "person"), "undo the assignment of a card to a person"),
    "color": ("ITEM_COLOR", ("board", "card", "color"), "colour a card"),
    "invite": (
        "INVITE",
        ("board", "person"),
        "invite a person to a board; phones show a board to its members only",
    ),
    "leave": ("LEAVE", ("board",), "leave a board"),
}
"""One operation for each action: its name in ``content.board.Operation``, its arguments, a summary."""


def add(commands: CommandParsers) -> None:
    """Define the command."""
    parser = commands.add(
        "board",
        list_boards,
        more="Without an action it lists the boards; that, `show` and `history` work without the daemon.",
    )
    add_network(parser)
    add_json(parser)
    add_action = add_actions(parser)
    action = add_action("show", show, "show a board, or one of its cards")
    _add_arguments(action, ("board",))
    action.add_argument("card", metavar="CARD", nargs="?", help=_HELP["card"])
    _add_arguments(
        add_action("history", history, "list the operations on a board, the latest last"), ("board",)
    )
    _add_arguments(add_action("new", new, "create a board"), ("name",))
    for name, (operation, words, summary) in _CHANGES.items():
        action = add_action(name, change, summary)
        action.set_defaults(operation=operation, words=words)
        _add_arguments(action, words)
        if "text" in words:
            add_yes(action)
    _add_arguments(add_action("remove", remove, "remove a card or a list from a board"), ("board", "thing"))
    _add_arguments(add_action("accept", answer, "accept an invitation to a board"), ("board",))
    _add_arguments(add_action("decline", answer, "decline an invitation to a board"), ("board",))


def _add_arguments(action: argparse.ArgumentParser, words: Sequence[str]) -> None:
    for word in words:
        action.add_argument(word, metavar=word.upper(), help=_HELP[word])
    action.set_defaults(action=action.prog.split()[-1])


def list_boards(arguments: argparse.Namespace) -> int:
    """List all boards."""
    with open_node(arguments) as talk:
        rows = talk.catalog.boards()
    if arguments.json:
        return print_json(board_row_json(row) for row in rows)
    listed = [
        (
            short(row.id),
            one_line(row.name, limits.TITLE_CELLS),
            row.items,
            row.operations,
            local_time(row.last_us),
        )
        for row in rows
    ]
    print(table(("BOARD", "NAME", "CARDS", "OPERATIONS", "LATEST"), listed))
    return 0


def show(arguments: argparse.Namespace) -> int:
    """Show a board, or one card with everything on it."""
    with open_node(arguments) as talk:
        board, names = talk.find_board(arguments.board), talk.names()
    card = None if arguments.card is None else find_card(board, arguments.card)
    if arguments.json:
        return print_json([board_json(board, names) if card is None else item_json(card, names)])
    for line in board_lines(board, names, width()) if card is None else card_lines(card, names, width()):
        print(line)
    return 0


def history(arguments: argparse.Namespace) -> int:
    """List the operations on a board."""
    with open_node(arguments) as talk:
        board, names = talk.find_board(arguments.board), talk.names()
        came_us = {row.id: row.committed_us for row in talk.catalog.operations(board.id)}
    for done in board.history:
        when_us = came_us.get(done.id, 0)
        if arguments.json:
            print(json.dumps({**change_json(done, names), "committed_us": when_us}))
            continue
        refused = "" if done.applied else "(no effect) "
        when = " ".join(local_minute(when_us))
        who = names.shown(done.author)
        print(f"{when}  {short(done.id)}  {who}  {refused}{one_line(done.text, limits.CHANGE_CELLS)}")
    return 0


def new(arguments: argparse.Namespace) -> int:
    """Create a board."""
    with open_node(arguments) as talk:
        return describe_published(arguments, "Created the board", talk.new_board(arguments.name))


def change(arguments: argparse.Namespace) -> int:
    """Apply one operation to a board."""
    with open_node(arguments) as talk:
        board = talk.find_board(arguments.board)
        readers: dict[str, Callable[[str], str | MessageId | FeedId]] = {
            "card": lambda text: find_card(board, text).id,
            "list": lambda text: find_list(board, text).id,
            "person": lambda text: talk.find_person(text).feed,
            "text": text_given,
        }
        words = arguments.words[1:]
        values = [readers.get(word, str)(getattr(arguments, word)) for word in words]
        row = talk.change_board(board.id, Operation[arguments.operation], *values)
    return describe_published(arguments, "Published", row)


def remove(arguments: argparse.Namespace) -> int:
    """Remove a card or a list from a board."""
    with open_node(arguments) as talk:
        board = talk.find_board(arguments.board)
        thing = find_thing(board, arguments.thing)
        operation = Operation.ITEM_REMOVE if isinstance(thing, Card) else Operation.COLUMN_REMOVE
        row = talk.change_board(board.id, operation, thing.id)
    return describe_published(arguments, "Published", row)


def answer(arguments: argparse.Namespace) -> int:
    """Accept or decline an invitation."""
    with open_node(arguments) as talk:
        board = talk.find_board(arguments.board)
        row = talk.answer_invitation(board.id, accept=arguments.action == "accept")
    return describe_published(arguments, "Published", row)
