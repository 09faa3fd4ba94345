"""Boards: what the app makes of the same operations, in any order of arrival, and what people do at once."""

import json
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinyssb_node.content import limits as content_limits
from tinyssb_node.content.board import (
    DEFAULT_COLOR,
    KanbanBoard,
    Operation,
    PlacedOperation,
    answer_step,
    create_step,
    fold,
    in_app_order,
    make_operation,
)
from tinyssb_node.content.chat import BoardStep, parse, serialize
from tinyssb_node.content.references import feed_text, message_text, read_feed_ref, read_message_ref
from tinyssb_node.ids import FeedId, MessageId

VECTORS = Path(__file__).parents[1] / "vectors"
CASES = json.loads((VECTORS / "messages/boards.json").read_text())["cases"]
ANA, BO, CY = (FeedId(bytes([n]) * 32) for n in (1, 2, 3))
ROOT = MessageId(b"\xff" * 20)


def id_of(text: str) -> MessageId:
    found = read_message_ref(text)
    assert isinstance(found, MessageId)
    return found


def feed_of(text: str) -> FeedId:
    found = read_feed_ref(text)
    assert isinstance(found, FeedId)
    return found


# --- the app's own results


def steps_of(case: dict[str, Any]) -> list[PlacedOperation]:
    board = id_of(case["board"])
    return [
        PlacedOperation(
            id_of(one["id"]),
            feed_of(one["author"]),
            BoardStep(
                board=None if one["id"] == case["board"] else board,
                previous=tuple(map(id_of, one["previous"])),
                operation=one["command"][0],
                args=tuple(one["command"][1:]),
            ),
        )
        for one in case["operations"]
    ]


def as_the_app_says(board: KanbanBoard) -> dict[str, object]:
    def column(one: Any) -> list[object]:
        return [message_text(one.id), one.name, [message_text(item.id) for item in one.items]]

    items = [item for one in (*board.columns, *board.removed_columns) for item in one.items]
    return {
        "name": board.name,
        "members": [feed_text(feed) for feed in board.members],
        "pending": {feed_text(one.feed): list(map(message_text, one.messages)) for one in board.invitations},
        "columns": [column(one) for one in board.columns],
        "removed_columns": sorted(column(one) for one in board.removed_columns),
        "items": {
            message_text(item.id): [
                item.name,
                message_text(item.column),
                [feed_text(feed) for feed in item.assignees],
                [[feed_text(one.author), one.text] for one in item.comments],
                item.description,
                item.color,
                item.removed,
            ]
            for item in (*items, *board.removed_items)
        },
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{len(case['operations'])} operations")
def test_the_app_and_we_show_the_same_board(case: dict[str, Any]) -> None:
    steps = steps_of(case)
    assert [message_text(one.id) for one in in_app_order(steps)] == case["order"]
    board = fold(id_of(case["board"]), steps)
    assert as_the_app_says(board) == case["expect"]
    assert sorted(map(message_text, board.tips)) == sorted(case["tips"])
    assert [change.id for change in board.history] == list(map(id_of, case["order"]))


@settings(deadline=None)
@given(st.sampled_from(CASES), st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter(case: dict[str, Any], random: Random) -> None:
    steps = steps_of(case)
    random.shuffle(steps)
    assert as_the_app_says(fold(id_of(case["board"]), [*steps, *steps[:3]])) == case["expect"]


@settings(deadline=None)
@given(st.sampled_from(CASES), st.randoms(use_true_random=False))
def test_what_follows_something_missing_waits(case: dict[str, Any], random: Random) -> None:
    steps = steps_of(case)
    held = [one for one in steps if random.random() < 0.8]
    placed = {one.id for one in in_app_order(held)}
    by_id = {one.id: one for one in held}
    for one in held:
        follows = set(one.step.previous) if one.id != id_of(case["board"]) else set()
        assert (one.id in placed) == (follows <= placed)
    assert [one.id for one in in_app_order(by_id[id_] for id_ in placed)] == [
        one.id for one in in_app_order(held)
    ]


# --- operations


class Desk:
    """A person who works on a board and publishes with the product's own functions."""

    def __init__(self, name: str = "Hut") -> None:
        self.steps = [PlacedOperation(ROOT, ANA, create_step(name))]

    def board(self, without: Iterable[MessageId] = ()) -> KanbanBoard:
        missing = set(without)
        return fold(ROOT, [one for one in self.steps if one.id not in missing])

    def does(
        self,
        operation: Operation,
        *args: str | MessageId | FeedId,
        author: FeedId = ANA,
        without: Iterable[MessageId] = (),
    ) -> MessageId:
        return self.adds(make_operation(self.board(without), operation, *args), author)

    def adds(self, message: BoardStep, author: FeedId) -> MessageId:
        id_ = MessageId(len(self.steps).to_bytes(20, "big"))
        read = parse(serialize(message))
        assert read == message
        self.steps.append(PlacedOperation(id_, author, message))
        return id_


def names(board: KanbanBoard) -> dict[str, list[str]]:
    return {column.name: [item.name for item in column.items] for column in board.columns}


def last(board: KanbanBoard) -> tuple[str, bool]:
    return board.history[-1].text, board.history[-1].applied


def test_a_board_from_its_beginning() -> None:
    desk = Desk()
    todo = desk.does(Operation.COLUMN_CREATE, "to do")
    done = desk.does(Operation.COLUMN_CREATE, "done")
    wood = desk.does(Operation.ITEM_CREATE, todo, "wood", author=BO)
    soup = desk.does(Operation.ITEM_CREATE, todo, "soup")
    assert names(desk.board()) == {"to do": ["wood", "soup"], "done": []}
    desk.does(Operation.ITEM_MOVE, wood, done)
    assert last(desk.board()) == ('moved "wood" from "to do" to "done"', True)
    desk.does(Operation.ITEM_DESCRIBE, soup, "with beans")
    desk.does(Operation.ITEM_COMMENT, soup, "no beans left", author=BO)
    desk.does(Operation.ITEM_ASSIGN, soup, BO)
    desk.does(Operation.ITEM_COLOR, soup, "red")
    desk.does(Operation.ITEM_RENAME, soup, "stew")
    board = desk.board()
    assert names(board) == {"to do": ["stew"], "done": ["wood"]}
    card = board.columns[0].items[0]
    assert (card.description, card.color, card.assignees) == ("with beans", "red", (BO,))
    assert [(one.author, one.text) for one in card.comments] == [(BO, "no beans left")]
    assert board.columns[1].items[0].color == DEFAULT_COLOR
    assert board.tips == (desk.steps[-1].id,)
    desk.does(Operation.ITEM_UNASSIGN, soup, BO)
    desk.does(Operation.ITEM_REMOVE, wood)
    desk.does(Operation.COLUMN_RENAME, todo, "kitchen")
    desk.does(Operation.COLUMN_REMOVE, done)
    desk.does(Operation.BOARD_RENAME, "Big hut")
    board = desk.board()
    assert (board.name, names(board)) == ("Big hut", {"kitchen": ["stew"]})
    assert [item.name for item in board.removed_items] == ["wood"]
    assert [column.name for column in board.removed_columns] == ["done"]
    assert all(change.applied for change in board.history)


def test_two_who_move_one_card_at_once_leave_it_once() -> None:
    desk = Desk()
    columns = [desk.does(Operation.COLUMN_CREATE, name) for name in ("a", "b", "c")]
    card = desk.does(Operation.ITEM_CREATE, columns[0], "card")
    first = desk.does(Operation.ITEM_MOVE, card, columns[1])
    second = desk.does(Operation.ITEM_MOVE, card, columns[2], author=BO, without=[first])
    board = desk.board()
    assert sorted(item for items in names(board).values() for item in items) == ["card"]
    assert board.tips == tuple(sorted((first, second)))


def test_a_card_that_was_moved_into_a_list_that_went_is_not_lost() -> None:
    desk = Desk()
    here, there = (desk.does(Operation.COLUMN_CREATE, name) for name in ("here", "there"))
    card = desk.does(Operation.ITEM_CREATE, here, "card")
    gone = desk.does(Operation.COLUMN_REMOVE, there)
    desk.does(Operation.ITEM_MOVE, card, there, author=BO, without=[gone])
    board = desk.board()
    assert [item.name for item in board.removed_columns[0].items] == ["card"]
    desk.does(Operation.ITEM_MOVE, card, here)
    assert names(desk.board()) == {"here": ["card"]}


@pytest.mark.parametrize("operation", [Operation.ITEM_REMOVE, Operation.ITEM_MOVE])
def test_what_somebody_removed_meanwhile_takes_nothing_else_along(operation: Operation) -> None:
    """The app removes the last card of the list in that case; a card that nobody touched must stay."""
    desk = Desk()
    here, there = (desk.does(Operation.COLUMN_CREATE, name) for name in ("here", "there"))
    card = desk.does(Operation.ITEM_CREATE, here, "card")
    desk.does(Operation.ITEM_CREATE, here, "other")
    gone = desk.does(Operation.ITEM_REMOVE, card)
    args = (card, there) if operation is Operation.ITEM_MOVE else (card,)
    desk.does(operation, *args, author=BO, without=[gone])
    board = desk.board()
    assert names(board) == {"here": ["other"], "there": []}
    assert sum(not change.applied for change in board.history) == 1


def test_a_list_that_two_remove_is_removed_once() -> None:
    desk = Desk()
    column = desk.does(Operation.COLUMN_CREATE, "a")
    desk.does(Operation.COLUMN_CREATE, "b")
    gone = desk.does(Operation.COLUMN_REMOVE, column)
    desk.does(Operation.COLUMN_REMOVE, column, author=BO, without=[gone])
    assert names(desk.board()) == {"b": []}
    assert last(desk.board()) == ('removed the list "a", which was removed before', False)


def test_an_invitation_is_answered_once_and_one_may_leave() -> None:
    desk = Desk()
    desk.does(Operation.INVITE, BO)
    desk.does(Operation.INVITE, CY)
    desk.does(Operation.INVITE, BO)
    board = desk.board()
    assert board.members == (ANA,)
    assert [(one.feed, len(one.messages)) for one in board.invitations] == [(BO, 2), (CY, 1)]
    accept = answer_step(board, BO, accept=True)
    decline = answer_step(board, CY, accept=False)
    assert accept is not None
    assert decline is not None
    assert answer_step(board, ANA, accept=True) is None
    desk.adds(accept, BO)
    desk.adds(decline, CY)
    board = desk.board()
    assert (board.members, board.invitations) == ((ANA, BO), ())
    desk.adds(accept, BO)
    assert last(desk.board()) == ("answered an invitation that there is not", False)
    desk.does(Operation.INVITE, BO)
    assert last(desk.board())[1] is False
    desk.does(Operation.LEAVE, author=BO)
    assert desk.board().members == (ANA,)


def test_an_answer_names_the_invitation_among_many_tips() -> None:
    desk = Desk()
    before = [one.id for one in desk.steps[1:]]
    invitation = desk.does(Operation.INVITE, BO)
    for number in range(12):
        before = [one.id for one in desk.steps[2:]]
        desk.does(Operation.COLUMN_CREATE, str(number), without=before)
    answer = answer_step(desk.board(), BO, accept=True)
    assert answer is not None
    assert answer.previous[0] == invitation
    assert len(answer.previous) == content_limits.TIPS_WRITTEN_MAX


def test_an_operation_that_names_nothing_before_it_follows_the_board() -> None:
    desk = Desk()
    first = desk.adds(BoardStep(board=ROOT, operation=Operation.COLUMN_CREATE, args=("a",)), BO)
    assert names(desk.board()) == {"a": []}
    assert desk.board().tips == (first,)


def test_a_card_and_a_board_have_people_for_a_set_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content_limits, "BOARD_PEOPLE_MAX", 1)
    desk = Desk()
    card = desk.does(Operation.ITEM_CREATE, desk.does(Operation.COLUMN_CREATE, "a"), "card")
    for feed in (BO, CY):
        desk.does(Operation.ITEM_ASSIGN, card, feed)
        desk.does(Operation.INVITE, feed)
    board = desk.board()
    assert board.columns[0].items[0].assignees == (BO,)
    assert [one.feed for one in board.invitations] == [BO]
    assert [change.operation for change in board.history if not change.applied] == ["item/assign", "invite"]


@pytest.mark.parametrize(
    ("operation", "args"),
    [
        (Operation.COLUMN_CREATE, ()),
        (Operation.COLUMN_REMOVE, ("x",)),
        (Operation.COLUMN_RENAME, (message_text(ROOT), "x")),
        (Operation.ITEM_CREATE, (message_text(ROOT), "x")),
        (Operation.ITEM_CREATE, ()),
        (Operation.ITEM_REMOVE, ("",)),
        (Operation.ITEM_MOVE, (message_text(ROOT), message_text(ROOT))),
        (Operation.ITEM_ASSIGN, ("x", "y")),
        (Operation.INVITE, ("nobody",)),
        (Operation.INVITE, ()),
        (Operation.INVITE_ACCEPT, ()),
        (Operation.INVITE_DECLINE, ()),
        (Operation.BOARD_RENAME, ()),
        ("board/burn", ("down",)),
        ("", ()),
    ],
)
def test_what_cannot_be_done_is_told_and_changes_nothing(operation: str, args: Sequence[str]) -> None:
    desk = Desk()
    before = desk.board()
    desk.adds(BoardStep(board=ROOT, previous=(ROOT,), operation=operation, args=tuple(args)), BO)
    after = desk.board()
    assert last(after)[1] is False
    assert last(after)[0]
    assert as_the_app_says(after) == as_the_app_says(before)


def test_only_the_root_creates_the_board() -> None:
    other = PlacedOperation(
        MessageId(bytes(20)), BO, BoardStep(board=ROOT, operation=Operation.BOARD_CREATE, args=("mine",))
    )
    assert fold(ROOT, [*Desk("ours").steps, other]).name == "ours"


def test_a_board_whose_beginning_is_missing_is_empty() -> None:
    desk = Desk()
    desk.does(Operation.COLUMN_CREATE, "a")
    board = fold(ROOT, desk.steps[1:])
    assert (board.name, board.columns, board.history, board.tips) == ("", (), (), ())
    assert fold(ROOT, []).tips == ()


ANY_ARGS = st.lists(
    st.sampled_from([message_text(MessageId(n.to_bytes(20, "big"))) for n in range(8)])
    | st.sampled_from([feed_text(ANA), feed_text(BO)])
    | st.text(max_size=5),
    max_size=3,
).map(tuple)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([ANA, BO, CY]),
            st.sampled_from([*map(str, Operation), "x"]),
            ANY_ARGS,
            st.lists(st.integers(0, 12), max_size=3),
        ),
        max_size=12,
    )
)
def test_whatever_people_send_is_folded(made: list[tuple[FeedId, str, tuple[str, ...], list[int]]]) -> None:
    steps = list(Desk().steps)
    for number, (author, operation, args, follows) in enumerate(made):
        previous = tuple(MessageId(n.to_bytes(20, "big")) for n in follows)
        one = BoardStep(board=ROOT, previous=previous, operation=operation, args=args)
        steps.append(PlacedOperation(MessageId(number.to_bytes(20, "big")), author, one))
    board = fold(ROOT, steps)
    shown = [item.id for column in (*board.columns, *board.removed_columns) for item in column.items]
    assert len(shown) == len(set(shown))
    assert len(board.history) <= len(steps)
    assert fold(ROOT, reversed(steps)) == board


def test_a_long_name_is_not_repeated_by_every_short_operation() -> None:
    desk = Desk()
    column = desk.does(Operation.COLUMN_CREATE, "x" * 100_000)
    for _ in range(5):
        desk.does(Operation.ITEM_CREATE, column, "card")
    assert max(len(change.text) for change in desk.board().history) < 200


def test_ten_thousand_operations_on_one_list_take_a_moment() -> None:
    column, other = (MessageId(bytes([n]) * 20) for n in (1, 2))
    steps = [
        PlacedOperation(ROOT, ANA, create_step("big")),
        PlacedOperation(
            column, ANA, BoardStep(board=ROOT, previous=(ROOT,), operation="column/create", args=("a",))
        ),
        PlacedOperation(
            other, ANA, BoardStep(board=ROOT, previous=(column,), operation="column/create", args=("b",))
        ),
    ]
    for number in range(10_000):
        id_ = MessageId(b"\x03" + number.to_bytes(19, "big"))
        if number < 5_000:
            one = BoardStep(
                board=ROOT, previous=(other,), operation="item/create", args=(message_text(column), "c")
            )
        else:
            card = message_text(MessageId(b"\x03" + (number - 5_000).to_bytes(19, "big")))
            follows = (steps[-5_000].id,)
            one = BoardStep(
                board=ROOT, previous=follows, operation="item/moveTo", args=(card, message_text(other))
            )
        steps.append(PlacedOperation(id_, BO, one))
    before = time.process_time()
    board = fold(ROOT, steps)
    assert time.process_time() - before < 3
    assert [len(one.items) for one in board.columns] == [0, 5_000]
