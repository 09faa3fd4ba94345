"""Boards as lines of a terminal, and the search for their lists and cards."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeVar

from tinyssb_node.content.board import Card, Column, KanbanBoard
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.ids import FeedId, MessageId
from tinyssb_node.screens import limits
from tinyssb_node.screens.chatlines import SHORT_MESSAGE, short
from tinyssb_node.screens.people import DisplayNames, alike
from tinyssb_node.screens.safetext import one_line, wrapped

_LINE_CELLS: Final = 200  # where other programs read: a title is never cut there, an attack is
Thing = TypeVar("Thing", Column, Card, Column | Card)


def find_list(board: KanbanBoard, text: str) -> Column:
    """Return the list that *text* names. Raises ProblemError."""
    return _find(board.columns, text, "list")


def find_card(board: KanbanBoard, text: str) -> Card:
    """Return the card that *text* names. Raises ProblemError."""
    return _find([item for column in board.columns for item in column.items], text, "card")


def find_thing(board: KanbanBoard, text: str) -> Column | Card:
    """Return the list or card that *text* names. Raises ProblemError."""
    items = [item for column in board.columns for item in column.items]
    things: list[Column | Card] = [*board.columns, *items]
    return _find(things, text, "list or card")


def _find(things: Sequence[Thing], text: str, what: str) -> Thing:
    digits, word = text.lower(), alike(text)
    named = [thing for thing in things if word and alike(thing.name) == word]
    found = named or [thing for thing in things if digits and thing.id.hex().startswith(digits)]
    typed = one_line(text, limits.NAME_CELLS)
    if not found:
        raise ProblemError(
            f"The board has no {what} '{typed}'.",
            "See its lists and cards, with ids: tinyssb board show BOARD",
            exit_code=ExitCode.MISSING,
        )
    if len(found) > 1:
        ids = ", ".join(short(thing.id) for thing in found[: limits.NAMES_TOLD_MAX])
        raise ProblemError(
            f"{len(found)} items of the board match '{typed}': {ids}.",
            "Type the first digits of its id instead.",
            exit_code=ExitCode.USAGE,
        )
    return found[0]


def board_lines(board: KanbanBoard, names: DisplayNames, width: int | None) -> Iterator[str]:
    """Format a board: its lists one below the other, one line for each card."""
    most = width or _LINE_CELLS
    yield _headed(board.name, board.id, most)
    if board.members:
        yield one_line("members: " + _named(board.members, names), most)
    for column in board.columns:
        yield ""
        yield _headed(column.name, column.id, most)
        for item in column.items:
            yield f"  {short(item.id)}  {one_line(_card(item, names), most - 12)}"
        if not column.items:
            yield "  (no cards)"
    left = sum(len(column.items) for column in board.removed_columns)
    if left:
        yield ""
        count = "1 card is" if left == 1 else f"{left} cards are"
        yield one_line(f"{count} on removed lists.", most)


def _headed(name: str, id_: MessageId, most: int) -> str:
    """Return a name with its id behind it."""
    return f"{one_line(name, most - SHORT_MESSAGE - 4)}  ({short(id_)})"


def _card(item: Card, names: DisplayNames) -> str:
    parts = [item.name]
    if item.assignees:
        parts.append("– " + _named(item.assignees, names))
    if item.comments:
        parts.append(f"({len(item.comments)} comment{'s' if len(item.comments) != 1 else ''})")
    return " ".join(parts)


def card_lines(item: Card, names: DisplayNames, width: int | None) -> Iterator[str]:
    """Format a card with its description and comments."""
    most = width or _LINE_CELLS
    yield _headed(item.name, item.id, most)
    if item.assignees:
        yield one_line("assigned to: " + _named(item.assignees, names), most)
    if item.description:
        yield from (f"  {line}" for line in wrapped(item.description, most - 2, limits.MESSAGE_LINES_MAX))
    for comment in item.comments:
        yield ""
        yield one_line(f"{short(comment.id)}  {names.of(comment.author)}", most)
        yield from (f"  {line}" for line in wrapped(comment.text, most - 2, limits.MESSAGE_LINES_MAX))


def _named(feeds: Iterable[FeedId], names: DisplayNames) -> str:
    return ", ".join(names.of(feed) for feed in feeds)
