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
        "id": row.id.hex(),
        "feed": row.feed.hex(),
        "seq": row.seq,
        "name": names.name(row.feed),
        "own": row.own,
        "kind": row.kind.value,
        "conversation": row.conversation,
        "private": row.private,
        "tangle": None if row.tangle is None else row.tangle.hex(),
        "previous": _hex(row.previous),
        "placed": row.placed,
        "missing": _hex(row.missing),
        "committed_us": row.committed_us,
        "said_us": row.said_us,
        "text": row.text,
        "cut": row.cut,
        "voice_size": row.voice_size,
        "size": row.size,
        "chunks": row.chunks,
        "chunks_held": row.chunks_held,
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
    return {
        "feed": row.feed.hex(),
        "alias": row.alias,
        "said": row.said,
        "own": row.own,
        "entries": row.entries,
        "last_us": row.last_us,
        "blocked": row.blocked,
        "blocked_by": [feed.hex() for feed in row.blocked_by],
        "list_followed": row.list_followed,
    }


def board_row_json(row: BoardRow) -> dict[str, object]:
    """Return a board in a list of boards."""
    return {
        "id": row.id.hex(),
        "name": row.name,
        "items": row.items,
        "operations": row.operations,
        "last_us": row.last_us,
    }


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


def _hex(ids: Iterable[bytes]) -> list[str]:
    return [one.hex() for one in ids]


class JsonLines:
    """Formatter of messages as lines for programs, as ``chatlines.ChatFormatter`` is for people."""

    def __init__(self, names: DisplayNames) -> None:
        self.names = names

    def rename(self, names: DisplayNames) -> None:
        """Show authors by *names* from now on."""
        self.names = names

    def message(self, row: MessageRow) -> Iterator[str]:
        """Yield the line of a message."""
        yield json.dumps(message_json(row, self.names))

    waiting = message
    found = message
