"""Rows of the catalog as JSON: the output of every `--json` (docs/reference/cli.md). Texts are unescaped."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tinyssb_node.catalog.rows import BoardRow, ConversationRow, MessageRow, PersonRow
from tinyssb_node.ids import FeedId
from tinyssb_node.screens.group_conversations import GroupConversation
from tinyssb_node.screens.people import DisplayNames

if TYPE_CHECKING:
    from tinyssb_node.content.board import BoardChange, Card, Column, KanbanBoard


def message_json(row: MessageRow, names: DisplayNames) -> dict[str, object]:
    """Return a message; bytes in hexadecimal, times in microseconds since 1970."""
    return {
        **_columns(row, "id", "feed", "seq"),
        "name": names.name(row.feed),
        **_columns(
            row,
            "own",
            "kind",
            "conversation",
            "private",
            "tangle",
            "previous",
            "placed",
            "order",
            "missing",
            "older_missing",
        ),
        **_columns(
            row,
            "committed_us",
            "said_us",
            "order_us",
            "doubtful",
            "text",
            "cut",
            "voice_size",
            "size",
            "chunks",
            "chunks_held",
        ),
    }


def conversation_json(row: ConversationRow, names: DisplayNames) -> dict[str, object]:
    """Return a conversation with its latest message."""
    title = {"title": row.title} if isinstance(row, GroupConversation) else {}
    return {
        "name": row.name,
        **title,
        "members": _people(row.members, names),
        "messages": row.messages,
        "last": None if row.last is None else message_json(row.last, names),
    }


def person_json(row: PersonRow) -> dict[str, object]:
    """Return a person."""
    first = _columns(row, "feed", "alias", "said", "own", "entries", "last_us")
    return {**first, **_columns(row, "blocked", "blocked_by", "list_followed")}


def board_row_json(row: BoardRow) -> dict[str, object]:
    """Return a board in a list of boards."""
    return _columns(row, "id", "name", "items", "operations", "last_us")


def board_json(board: KanbanBoard, names: DisplayNames) -> dict[str, object]:
    """Return a whole board."""
    return {
        "id": board.id.hex(),
        "name": board.name,
        "members": _people(board.members, names),
        "invited": _people((invitation.feed for invitation in board.invitations), names),
        "lists": [_column_json(column, names) for column in board.columns],
        "removed_lists": [_column_json(column, names) for column in board.removed_columns],
        "removed_cards": [item_json(item, names) for item in board.removed_items],
    }


def _column_json(column: Column, names: DisplayNames) -> dict[str, object]:
    cards = [item_json(item, names) for item in column.items]
    return {"id": column.id.hex(), "name": column.name, "cards": cards}


def item_json(item: Card, names: DisplayNames) -> dict[str, object]:
    """Return a card."""
    return {
        "id": item.id.hex(),
        "name": item.name,
        "list": item.column.hex(),
        "description": item.description,
        "color": item.color,
        "assigned": _people(item.assignees, names),
        "comments": [
            {"id": one.id.hex(), "feed": one.author.hex(), "name": names.name(one.author), "text": one.text}
            for one in item.comments
        ],
    }


def change_json(change: BoardChange, names: DisplayNames) -> dict[str, object]:
    """Return a line of a board's history."""
    return {
        "id": change.id.hex(),
        "feed": change.author.hex(),
        "name": names.name(change.author),
        "operation": change.operation,
        "text": change.text,
        "applied": change.applied,
    }


def _people(feeds: Iterable[FeedId], names: DisplayNames) -> list[dict[str, object]]:
    return [{"feed": feed.hex(), "name": names.name(feed)} for feed in feeds]


def _columns(row: object, *names: str) -> dict[str, object]:
    return {name: _plain(getattr(row, name)) for name in names}


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return value.hex()
    return [_plain(one) for one in value] if isinstance(value, tuple) else value


class JsonLines:
    """Formatter of messages as lines for programs, as ``chatlines.ChatFormatter`` is for people."""

    def __init__(self, names: DisplayNames) -> None:
        self.names = names

    def rename(self, names: DisplayNames) -> None:
        """Show authors by *names* from now on."""
        self.names = names

    def message(self, row: MessageRow, _where: str = "") -> Iterator[str]:
        """Yield the line of a message."""
        yield json.dumps(message_json(row, self.names))

    waiting = message
    found = message
