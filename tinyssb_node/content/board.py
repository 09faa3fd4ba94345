"""Kanban boards: the operations of many people, folded to lists and cards (docs/formats/messages.md).

Operations are applied in the app's own order, so that phones and nodes with the same operations show the same board. An
operation that is not possible, because another came first, changes nothing and is marked in the history.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Final

from tinyssb_node.content import limits as content_limits
from tinyssb_node.content import tangle
from tinyssb_node.content.chat import BoardStep, links, parse, tips_form
from tinyssb_node.content.references import feed_text, message_text, read_feed_ref, read_message_ref
from tinyssb_node.errors import PeerError
from tinyssb_node.ids import FeedId, MessageId


class Operation(StrEnum):
    """The operations on a board, in the app's spelling, with their arguments."""

    BOARD_CREATE = "board/create"
    """Name, then flags (``personal``)."""
    BOARD_RENAME = "board/rename"
    """Name."""
    COLUMN_CREATE = "column/create"
    """Name. The operation's id becomes the list's."""
    COLUMN_REMOVE = "column/remove"
    """List."""
    COLUMN_RENAME = "column/rename"
    """List, name."""
    ITEM_CREATE = "item/create"
    """List, name. The operation's id becomes the card's."""
    ITEM_REMOVE = "item/remove"
    """Card."""
    ITEM_RENAME = "item/rename"
    """Card, name."""
    ITEM_MOVE = "item/moveTo"
    """Card, list: to its end."""
    ITEM_DESCRIBE = "item/setDiscription"
    """Card, text. The spelling is the app's."""
    ITEM_COMMENT = "item/post"
    """Card, text."""
    ITEM_ASSIGN = "item/assign"
    """Card, feed."""
    ITEM_UNASSIGN = "item/unassign"
    """Card, feed."""
    ITEM_COLOR = "item/color"
    """Card, colour by its CSS name."""
    INVITE = "invite"
    """Feed. Phones show a board to its members only."""
    INVITE_ACCEPT = "invite/accept"
    """None; the invitation is among `BoardStep.previous`."""
    INVITE_DECLINE = "invite/decline"
    """The same."""
    LEAVE = "leave"
    """None."""


DEFAULT_COLOR: Final = "black"
"""Colour of a card that was never changed."""


@dataclass(frozen=True, slots=True)
class PlacedOperation:
    """One operation with its id and author, for `fold`."""

    id: MessageId
    author: FeedId
    step: BoardStep


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on a card."""

    id: MessageId
    author: FeedId
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A card."""

    id: MessageId
    """The operation that created it."""
    name: str
    column: MessageId
    description: str
    color: str
    """By its CSS name."""
    assignees: tuple[FeedId, ...]
    comments: tuple[Comment, ...]
    removed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A list of cards."""

    id: MessageId
    """The operation that created it."""
    name: str
    items: tuple[Card, ...]
    """In the order shown, without removed ones."""
    removed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardChange:
    """A line of a board's history."""

    id: MessageId
    author: FeedId
    operation: str
    text: str
    """The change, without its author, unescaped: ``moved "milk" from "to do" to "done"``. Names are cut."""
    applied: bool
    """False: it was not possible, and *text* says why."""


@dataclass(frozen=True, slots=True)
class Invitation:
    """A person who is invited to a board and has not answered."""

    feed: FeedId
    messages: tuple[MessageId, ...]
    """The operations that invited them: an answer follows one of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KanbanBoard:
    """A board after all its operations."""

    id: MessageId
    name: str
    flags: tuple[str, ...]
    columns: tuple[Column, ...]
    """Those not removed, in the order shown."""
    removed_columns: tuple[Column, ...]
    """With the cards still in them: left there, or moved there concurrently."""
    removed_items: tuple[Card, ...]
    members: tuple[FeedId, ...]
    """The creator, and all who accepted an invitation and did not leave. Operations of others count all the same."""
    invitations: tuple[Invitation, ...]
    history: tuple[BoardChange, ...]
    """The oldest first."""
    tips: tuple[MessageId, ...]
    """The predecessors of a new operation."""


def create_step(name: str, flags: Sequence[str] = ()) -> BoardStep:
    """Return the message that creates a board; its id will be the board's."""
    return BoardStep(board=None, operation=Operation.BOARD_CREATE, args=(name, *flags))


def make_operation(board: KanbanBoard, operation: Operation, *args: str | MessageId | FeedId) -> BoardStep:
    """Return the message that does *operation* on *board*, after all known operations; ids are written as the app
    does."""
    return BoardStep(
        board=board.id,
        previous=tips_form(board.tips),
        operation=operation,
        args=tuple(_spelled(arg) for arg in args),
    )


def answer_step(board: KanbanBoard, feed: FeedId, *, accept: bool) -> BoardStep | None:
    """Return the message by which *feed* answers the invitation to *board*; None if there is none."""
    asked = next((invitation.messages for invitation in board.invitations if invitation.feed == feed), ())
    if not asked:
        return None
    operation = Operation.INVITE_ACCEPT if accept else Operation.INVITE_DECLINE
    others = [id_ for id_ in tips_form(board.tips) if id_ != asked[-1]]
    previous = (asked[-1], *others[: content_limits.TIPS_WRITTEN_MAX - 1])
    return BoardStep(board=board.id, previous=previous, operation=operation)


def _spelled(arg: str | MessageId | FeedId) -> str:
    if isinstance(arg, MessageId):
        return message_text(arg)
    return feed_text(arg) if isinstance(arg, FeedId) else arg


def read_step(id_: MessageId, author: FeedId, content: bytes) -> PlacedOperation | None:
    """Return the operation that *content* is; None if it is not an operation on a board."""
    message = parse(content)
    return PlacedOperation(id_, author, message) if isinstance(message, BoardStep) else None


def in_app_order(steps: Iterable[PlacedOperation]) -> list[PlacedOperation]:
    """Return *steps* in the app's order: by the longest path back to the first, then by the id in base64.

    Operations with a missing predecessor are left out.
    """
    by_id = {one.id: one for one in steps}
    previous = {}
    for id_, one in by_id.items():
        place = links(one.step, one.author)
        if place is not None:
            previous[id_] = place.previous
    ranks: dict[MessageId, int] = {}
    for id_ in tangle.canonical_order(previous):
        ranks[id_] = 1 + max((ranks[one] for one in previous[id_]), default=-1)
    return [by_id[id_] for id_ in sorted(ranks, key=lambda id_: (ranks[id_], message_text(id_)))]


def fold(root: MessageId, steps: Iterable[PlacedOperation]) -> KanbanBoard:
    """Return the board that *root* created, from its operations in any order.

    An operation with a missing predecessor, or on another board, is left out. Nothing is raised: an impossible
    operation becomes a line of the history.
    """
    folding = _Folding(root)
    followed: set[MessageId] = set()
    done = in_app_order(one for one in steps if one.id == root or _continues(one.step, root))
    for one in done:
        followed.update(ref for ref in one.step.previous if isinstance(ref, MessageId))
        folding.apply(one)
    if len(done) > 1:
        followed.add(root)
    return folding.board(tuple(sorted(one.id for one in done if one.id not in followed)))


def _continues(step: BoardStep, root: MessageId) -> bool:
    return step.board == root and step.operation != Operation.BOARD_CREATE


@dataclass(slots=True)
class _Card:
    name: str
    column: MessageId
    description: str = ""
    color: str = DEFAULT_COLOR
    assignees: dict[FeedId, None] = field(default_factory=dict)
    comments: list[Comment] = field(default_factory=list)
    removed: bool = False


@dataclass(slots=True)
class _List:
    name: str
    cards: dict[MessageId, None] = field(default_factory=dict)
    """In their order; a dict, so that a card is removed in constant time."""
    removed: bool = False


class _Folding:
    """A board while operations are applied to it."""

    def __init__(self, root: MessageId) -> None:
        self._root = root
        self._name = ""
        self._flags: tuple[str, ...] = ()
        self._lists: dict[MessageId, _List] = {}
        self._cards: dict[MessageId, _Card] = {}
        self._members: dict[FeedId, None] = {}
        self._invited: dict[FeedId, list[MessageId]] = {}
        self._history: list[BoardChange] = []

    def apply(self, one: PlacedOperation) -> None:
        """Apply *one*, and write it into the history, or why it was not possible."""
        try:
            text = self.HANDLERS.get(one.step.operation, _unknown)(self, one)
            applied = True
        except _ImpossibleError as error:
            text, applied = str(error), False
        self._history.append(
            BoardChange(
                id=one.id, author=one.author, operation=one.step.operation, text=text, applied=applied
            )
        )

    def board(self, tips: tuple[MessageId, ...]) -> KanbanBoard:
        """Return the board so far."""
        items = {id_: _item(id_, card) for id_, card in self._cards.items()}
        columns = [
            Column(id=id_, name=one.name, items=tuple(items[card] for card in one.cards), removed=one.removed)
            for id_, one in self._lists.items()
        ]
        return KanbanBoard(
            id=self._root,
            name=self._name,
            flags=self._flags,
            columns=tuple(column for column in columns if not column.removed),
            removed_columns=tuple(column for column in columns if column.removed),
            removed_items=tuple(item for item in items.values() if item.removed),
            members=tuple(self._members),
            invitations=tuple(Invitation(feed, tuple(asked)) for feed, asked in self._invited.items()),
            history=tuple(self._history),
            tips=tips,
        )

    # --- lists and cards named by operations

    def _list(self, one: PlacedOperation, index: int) -> tuple[MessageId, _List]:
        id_ = read_message_ref(_argument(one, index))
        column = self._lists.get(id_) if isinstance(id_, MessageId) else None
        if not isinstance(id_, MessageId) or column is None:
            raise _ImpossibleError("named a list that is not on this board")
        return id_, column

    def _card(self, one: PlacedOperation) -> tuple[MessageId, _Card]:
        id_ = read_message_ref(_argument(one, 0))
        card = self._cards.get(id_) if isinstance(id_, MessageId) else None
        if not isinstance(id_, MessageId) or card is None:
            raise _ImpossibleError("named a card that is not on this board")
        return id_, card

    # --- operations

    def _create(self, one: PlacedOperation) -> str:
        self._name, self._flags = _argument(one, 0), one.step.args[1:]
        self._members[one.author] = None
        return f"created the board {_quoted(self._name)}"

    def _rename(self, one: PlacedOperation) -> str:
        old, self._name = self._name, _argument(one, 0)
        return f"renamed the board {_quoted(old)} to {_quoted(self._name)}"

    def _create_list(self, one: PlacedOperation) -> str:
        self._lists[one.id] = _List(_argument(one, 0))
        return f"created the list {_quoted(_argument(one, 0))}"

    def _remove_list(self, one: PlacedOperation) -> str:
        _, column = self._list(one, 0)
        if column.removed:
            raise _ImpossibleError(f"removed the list {_quoted(column.name)}, which was removed before")
        column.removed = True
        return f"removed the list {_quoted(column.name)}"

    def _rename_list(self, one: PlacedOperation) -> str:
        _, column = self._list(one, 0)
        old, column.name = column.name, _argument(one, 1)
        return f"renamed the list {_quoted(old)} to {_quoted(column.name)}"

    def _create_card(self, one: PlacedOperation) -> str:
        id_, column = self._list(one, 0)
        self._cards[one.id] = _Card(_argument(one, 1), id_)
        column.cards[one.id] = None
        return f"created the card {_quoted(_argument(one, 1))} in {_quoted(column.name)}"

    def _remove_card(self, one: PlacedOperation) -> str:
        id_, card = self._card(one)
        column = self._lists[card.column]
        if card.removed:
            raise _ImpossibleError(f"removed the card {_quoted(card.name)}, which was removed before")
        card.removed = True
        del column.cards[id_]
        return f"removed the card {_quoted(card.name)} from {_quoted(column.name)}"

    def _rename_card(self, one: PlacedOperation) -> str:
        _, card = self._card(one)
        old, card.name = card.name, _argument(one, 1)
        return f"renamed the card {_quoted(old)} to {_quoted(card.name)}"

    def _move_card(self, one: PlacedOperation) -> str:
        id_, card = self._card(one)
        target_id, target = self._list(one, 1)
        source = self._lists[card.column]
        if card.removed:
            raise _ImpossibleError(f"moved the card {_quoted(card.name)}, which was removed before")
        del source.cards[id_]
        target.cards[id_] = None
        card.column = target_id
        return f"moved {_quoted(card.name)} from {_quoted(source.name)} to {_quoted(target.name)}"

    def _describe_card(self, one: PlacedOperation) -> str:
        _, card = self._card(one)
        card.description = _argument(one, 1)
        return f"described {_quoted(card.name)}: {_quoted(card.description)}"

    def _comment_card(self, one: PlacedOperation) -> str:
        _, card = self._card(one)
        card.comments.append(Comment(one.id, one.author, _argument(one, 1)))
        return f"wrote on {_quoted(card.name)}: {_quoted(_argument(one, 1))}"

    def _assign_card(self, one: PlacedOperation) -> str:
        _, card = self._card(one)
        feed = _person(one, 1)
        if len(card.assignees) >= content_limits.BOARD_PEOPLE_MAX:
            raise _ImpossibleError(f"gave {_quoted(card.name)} to more people than a set has feeds")
        card.assignees[feed] = None
        return f"gave {_quoted(card.name)} to {feed.hex()}"

    def _unassign_card(self, one: PlacedOperation) -> str:
        _, card = self._card(one)
        feed = _person(one, 1)
        card.assignees.pop(feed, None)
        return f"took {_quoted(card.name)} from {feed.hex()}"

    def _color_card(self, one: PlacedOperation) -> str:
        _, card = self._card(one)
        card.color = _argument(one, 1)
        return f"made {_quoted(card.name)} {_quoted(card.color)}"

    def _invite(self, one: PlacedOperation) -> str:
        feed = _person(one, 0)
        if feed in self._members:
            raise _ImpossibleError(f"invited {feed.hex()}, who is a member")
        if feed not in self._invited and len(self._invited) >= content_limits.BOARD_PEOPLE_MAX:
            raise _ImpossibleError("invited more people than a set has feeds")
        self._invited.setdefault(feed, []).append(one.id)
        return f"invited {feed.hex()}"

    def _accept(self, one: PlacedOperation) -> str:
        self._answer(one)
        self._members[one.author] = None
        return "accepted the invitation"

    def _decline(self, one: PlacedOperation) -> str:
        self._answer(one)
        return "declined the invitation"

    def _answer(self, one: PlacedOperation) -> None:
        """Remove the invitation that *one* answers and follows."""
        if set(one.step.previous).isdisjoint(self._invited.get(one.author, ())):
            raise _ImpossibleError("answered an invitation that there is not")
        del self._invited[one.author]

    def _leave(self, one: PlacedOperation) -> str:
        self._members.pop(one.author, None)
        self._invited.pop(one.author, None)
        return "left"

    HANDLERS: ClassVar[dict[str, Callable[["_Folding", PlacedOperation], str]]] = {
        Operation.BOARD_CREATE: _create,
        Operation.BOARD_RENAME: _rename,
        Operation.COLUMN_CREATE: _create_list,
        Operation.COLUMN_REMOVE: _remove_list,
        Operation.COLUMN_RENAME: _rename_list,
        Operation.ITEM_CREATE: _create_card,
        Operation.ITEM_REMOVE: _remove_card,
        Operation.ITEM_RENAME: _rename_card,
        Operation.ITEM_MOVE: _move_card,
        Operation.ITEM_DESCRIBE: _describe_card,
        Operation.ITEM_COMMENT: _comment_card,
        Operation.ITEM_ASSIGN: _assign_card,
        Operation.ITEM_UNASSIGN: _unassign_card,
        Operation.ITEM_COLOR: _color_card,
        Operation.INVITE: _invite,
        Operation.INVITE_ACCEPT: _accept,
        Operation.INVITE_DECLINE: _decline,
        Operation.LEAVE: _leave,
    }


class _ImpossibleError(PeerError):
    """An operation that is not possible; the message says why, as the end of a sentence about its author."""


def _unknown(_folding: _Folding, one: PlacedOperation) -> str:
    raise _ImpossibleError(f"did something that is not known here: {_quoted(one.step.operation)}")


def _argument(one: PlacedOperation, index: int) -> str:
    if index >= len(one.step.args):
        raise _ImpossibleError("left out what or how")
    return one.step.args[index]


def _person(one: PlacedOperation, index: int) -> FeedId:
    feed = read_feed_ref(_argument(one, index))
    if not isinstance(feed, FeedId):
        raise _ImpossibleError(f"named somebody who has no feed: {_quoted(_argument(one, index))}")
    return feed


def _item(id_: MessageId, card: _Card) -> Card:
    return Card(
        id=id_,
        name=card.name,
        column=card.column,
        description=card.description,
        color=card.color,
        assignees=tuple(card.assignees),
        comments=tuple(card.comments),
        removed=card.removed,
    )


def _quoted(text: str) -> str:
    """Return *text* for a line of the history, cut, so that a long name is not repeated by every short operation on
    it."""
    most = 60  # enough to recognise it
    return f'"{text}"' if len(text) <= most else f'"{text[:most]}…"'
