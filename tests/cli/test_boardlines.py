"""Boards as lines, and which list or card is meant."""

from dataclasses import replace

import pytest
import wcwidth

from tests.catalog.fake import ANA, BOB, HOSTILE_TEXT, small_mesh
from tinyssb_node.cli.boardlines import (
    board_lines,
    card_lines,
    find_card,
    find_list,
    find_thing,
)
from tinyssb_node.content.board import Card, Column, Comment, KanbanBoard
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.ids import MessageId
from tinyssb_node.screens.people import DisplayNames

NAMES = DisplayNames(small_mesh().people(), {BOB})


def id_(number: int) -> MessageId:
    return MessageId(bytes([number]) * 20)


def item(number: int, name: str, column: int) -> Card:
    return Card(
        id=id_(number),
        name=name,
        column=id_(column),
        description=HOSTILE_TEXT,
        color="black",
        assignees=(ANA, BOB),
        comments=(Comment(id_(99), BOB, HOSTILE_TEXT),),
        removed=False,
    )


def column(number: int, name: str, *items: Card) -> Column:
    return Column(id=id_(number), name=name, items=items, removed=False)


BOARD = KanbanBoard(
    id=id_(1),
    name="Hut",
    flags=(),
    columns=(
        column(2, "To do", item(0x21, "Wood", 2), item(0x22, "wood", 2)),
        column(3, "Wood"),
        column(4, HOSTILE_TEXT, item(0x23, HOSTILE_TEXT, 4)),
    ),
    removed_columns=(column(5, "Old", item(0x24, "Left", 5)),),
    removed_items=(),
    members=(ANA,),
    invitations=(),
    history=(),
    tips=(id_(1),),
)


def test_things_are_found_by_name_and_by_digits() -> None:
    assert find_list(BOARD, "to DO").id == id_(2)
    assert find_list(BOARD, "wood").id == id_(3)
    assert find_card(BOARD, "2121").id == id_(0x21)
    assert find_thing(BOARD, "0404").id == id_(4)
    with pytest.raises(ProblemError, match="2 items of the board match 'wood': 21212121, 22222222") as caught:
        find_card(BOARD, "wood")
    assert caught.value.exit_code is ExitCode.USAGE
    with pytest.raises(ProblemError, match="3 items of the board match 'wood'") as caught:
        find_thing(BOARD, "wood")
    assert caught.value.exit_code is ExitCode.USAGE
    for nothing in ("", "left", "\x1b[2J"):
        with pytest.raises(ProblemError) as caught:
            find_card(BOARD, nothing)
        assert caught.value.message.startswith("The board has no card '")
        assert caught.value.exit_code is ExitCode.MISSING
        assert "\x1b" not in caught.value.message


@pytest.mark.parametrize("width", [24, 80, None])
def test_no_line_is_wider_than_the_terminal(width: int | None) -> None:
    for lines in (
        board_lines(BOARD, NAMES, width),
        *(card_lines(one, NAMES, width) for one in BOARD.columns[2].items),
    ):
        for line in lines:
            assert 0 <= wcwidth.wcswidth(line) <= (width or 200)
            assert "\n" not in line


def test_a_board_says_what_it_has() -> None:
    text = "\n".join(board_lines(BOARD, NAMES, None))
    assert text.startswith(f"Hut  (01010101)\nmembers: me {ANA.hex()[:8]}\n\nTo do  (02020202)\n")
    assert f"  21212121  Wood – me {ANA.hex()[:8]}, Bob from the hut {BOB.hex()[:8]} (1 comment)" in text
    assert "Wood  (03030303)\n  (no cards)" in text
    assert text.endswith("1 card is on removed lists.")
    two = replace(BOARD, removed_columns=BOARD.removed_columns * 2, members=())
    assert "\n".join(board_lines(two, NAMES, None)).endswith("2 cards are on removed lists.")
