"""Requests about boards, which everybody in the mesh can read and change."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.routing import Route

from tinyssb_node.content.board import (
    BoardChange,
    Card,
    Column,
    KanbanBoard,
    Operation,
    answer_step,
    create_step,
    make_operation,
)
from tinyssb_node.content.chat import BoardStep, serialize
from tinyssb_node.errors import BadRequestError, ProblemError
from tinyssb_node.ids import FeedId, MessageId
from tinyssb_node.screens.session import NodeSession
from tinyssb_node.web import limits
from tinyssb_node.web.errors import CostlyMessageError, PageNotFoundError
from tinyssb_node.web.page_service import PageService
from tinyssb_node.web.request_fields import body_of, feed_of, message_id_of, once_of, text_of
from tinyssb_node.web.responses import json_route
from tinyssb_node.web.shapes import PeopleIndex, Shape, author_shape
from tinyssb_node.web.views import people_of

_FIELDS: Final[dict[Operation, tuple[str, ...]]] = {
    Operation.BOARD_RENAME: ("name",),
    Operation.COLUMN_CREATE: ("name",),
    Operation.COLUMN_REMOVE: ("list",),
    Operation.COLUMN_RENAME: ("list", "name"),
    Operation.ITEM_CREATE: ("list", "name"),
    Operation.ITEM_REMOVE: ("card",),
    Operation.ITEM_RENAME: ("card", "name"),
    Operation.ITEM_MOVE: ("card", "list"),
    Operation.ITEM_DESCRIBE: ("card", "text"),
    Operation.ITEM_COMMENT: ("card", "text"),
    Operation.ITEM_ASSIGN: ("card", "person"),
    Operation.ITEM_UNASSIGN: ("card", "person"),
    Operation.INVITE: ("person",),
    Operation.LEAVE: (),
}
"""Operations that the page offers, each with its arguments."""

Argument = str | MessageId | FeedId


@dataclass(frozen=True, slots=True)
class BoardDraft:
    """A change of a board that a page requests to publish."""

    board: MessageId
    operation: Operation
    arguments: tuple[Argument, ...]
    once: str
    """The page's own id for it: the same id again is the same change, whose reply was lost."""
    agreed: bool = False
    """The user saw the cost of a long text, and wants to publish it."""


def board_routes(service: PageService) -> list[Route]:
    """Return the routes of boards."""

    async def board(request: Request) -> Shape:
        id_ = message_id_of(request.query_params.get("board"))
        return await service.read(lambda node: board_shape(_find(node, id_), node))

    async def create(request: Request) -> Shape:
        body = await body_of(request)
        name, once = _named(body.get("name")), once_of(body)
        return await service.once(once, lambda node: create_board(node, name))

    async def change(request: Request) -> Shape:
        draft = draft_of(await body_of(request))
        return await service.once(draft.once, lambda node: change_board(node, draft))

    async def answer(request: Request) -> Shape:
        body = await body_of(request)
        id_, accept, once = message_id_of(body.get("board")), body.get("accept") is True, once_of(body)
        return await service.once(once, lambda node: answer_invitation(node, id_, accept=accept))

    return [
        json_route("/api/boards", lambda _request: service.read(list_boards)),
        json_route("/api/board", board),
        json_route("/api/board/new", create, "POST"),
        json_route("/api/board/change", change, "POST"),
        json_route("/api/board/answer", answer, "POST"),
    ]


def draft_of(body: dict[str, object]) -> BoardDraft:
    """Parse the change of a board in a request. Raises BadRequestError."""
    name, given = body.get("operation"), body.get("arguments")
    operation = next((one for one in _FIELDS if one == name), None)
    if operation is None:
        raise BadRequestError(f"`operation` must be one of {', '.join(_FIELDS)}.")
    fields = _FIELDS[operation]
    if not isinstance(given, list) or len(given) != len(fields):
        raise BadRequestError(f"`arguments` must be a list of {len(fields)}.")
    return BoardDraft(
        message_id_of(body.get("board")),
        operation,
        tuple(_argument(field, value) for field, value in zip(fields, given, strict=True)),
        once_of(body),
        body.get("agreed") is True,
    )


def _argument(field: str, value: object) -> Argument:
    if field in {"list", "card"}:
        return message_id_of(value)
    if field == "person":
        return feed_of(value)
    return _named(value) if field == "name" else text_of({field: value}, field, limits.TEXT_MAX).strip()


def _named(value: object) -> str:
    name = " ".join(text_of({"name": value}, "name", limits.TITLE_MAX).split())
    if not name:
        raise BadRequestError("A name is missing.")
    return name


def list_boards(node: NodeSession) -> Shape:
    """Return the boards that our user works on, then those of others."""
    rows = [
        {
            "id": row.id.hex(),
            "name": row.name[: limits.TITLE_MAX],
            "items": row.items,
            "last_us": row.last_us,
            "ours": row.ours,
        }
        for row in node.catalog.boards()
    ]
    return {"rows": rows}


def create_board(node: NodeSession, name: str) -> Shape:
    """Begin a board. Raises as the client does."""
    return {"board": node.publish(serialize(create_step(name))).id}


def change_board(node: NodeSession, draft: BoardDraft) -> Shape:
    """Publish a change of a board. Raises ProblemError, CostlyMessageError, and as the client does."""
    node.catch_up()
    board = _find(node, draft.board)
    _require_things(board, draft)
    return _publish(node, make_operation(board, draft.operation, *draft.arguments), agreed=draft.agreed)


def answer_invitation(node: NodeSession, board: MessageId, *, accept: bool) -> Shape:
    """Accept or decline an invitation to a board. Raises ProblemError, and as the client does."""
    node.catch_up()
    step = answer_step(_find(node, board), node.own, accept=accept)
    if step is None:
        raise PageNotFoundError(
            "Nobody invites you to this board now.", "You can read and change it all the same."
        )
    return _publish(node, step, agreed=True)


def _find(node: NodeSession, board: MessageId) -> KanbanBoard:
    """Return a board. Raises PageNotFoundError."""
    try:
        return node.board(board)
    except ProblemError as error:
        raise PageNotFoundError(
            "This board does not exist here.", "Choose one from the list of boards."
        ) from error


def _publish(node: NodeSession, step: BoardStep, *, agreed: bool) -> Shape:
    content = serialize(step)
    if not agreed and (question := node.cost_question(node.packets_of(content))):
        raise CostlyMessageError(" ".join(f"{line.rstrip('.')}." for line in question))
    row = node.publish(content)
    return {"id": row.id, "packets": 1 + row.chunks}


def _require_things(board: KanbanBoard, draft: BoardDraft) -> None:
    """Check that lists and cards are still there: an operation on others would be sent for nothing.

    Raises PageNotFoundError.
    """
    known = {column.id for column in board.columns}
    known |= {item.id for column in (*board.columns, *board.removed_columns) for item in column.items}
    if any(isinstance(one, MessageId) and one not in known for one in draft.arguments):
        raise PageNotFoundError(
            "This list or card was removed meanwhile. Nothing was sent.", "Look at the board."
        )


def board_shape(board: KanbanBoard, node: NodeSession) -> Shape:
    """Return a board as the page shows it: of a large one the first lists and cards."""
    known, own = people_of(node), node.own
    columns = [
        column for column in (*board.columns, *board.removed_columns) if column.items or not column.removed
    ]
    came_us = {row.id: row.committed_us for row in node.catalog.operations(board.id)}
    return {
        "id": board.id.hex(),
        "name": board.name[: limits.TITLE_MAX],
        "members": [author_shape(feed, known) for feed in board.members[: limits.BOARD_SHOWN_MAX]],
        "member": own in board.members,
        "invited": any(one.feed == own for one in board.invitations),
        "columns": [_column_shape(column, known) for column in columns[: limits.BOARD_SHOWN_MAX]],
        "whole": _is_whole(columns),
        "history": [
            {**_change_shape(one, known), "committed_us": came_us.get(one.id)}
            for one in reversed(board.history[-limits.ROWS :])
        ],
    }


def _is_whole(columns: Sequence[Column]) -> bool:
    """Return whether the page shows all of a board."""
    return len(columns) <= limits.BOARD_SHOWN_MAX and all(
        len(column.items) <= limits.BOARD_SHOWN_MAX
        and all(len(item.comments) <= limits.ROWS for item in column.items)
        for column in columns
    )


def _column_shape(column: Column, known: PeopleIndex) -> Shape:
    return {
        "id": column.id.hex(),
        "name": column.name[: limits.TITLE_MAX],
        "removed": column.removed,
        "items": [_card_shape(item, known) for item in column.items[: limits.BOARD_SHOWN_MAX]],
    }


def _card_shape(item: Card, known: PeopleIndex) -> Shape:
    comments = [one for one in item.comments if not known.blocked(one.author)]
    return {
        "id": item.id.hex(),
        "name": item.name[: limits.TITLE_MAX],
        "description": item.description[: limits.TEXT_MAX],
        "assignees": [author_shape(feed, known) for feed in item.assignees[: limits.BOARD_SHOWN_MAX]],
        "comments": [
            {
                "id": one.id.hex(),
                "author": author_shape(one.author, known),
                "text": one.text[: limits.TEXT_MAX],
            }
            for one in comments[-limits.ROWS :]
        ],
    }


def _change_shape(change: BoardChange, known: PeopleIndex) -> Shape:
    return {
        "author": author_shape(change.author, known),
        "text": change.text[: limits.TITLE_MAX],
        "applied": change.applied,
    }
