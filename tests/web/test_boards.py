"""Requests about boards: begun, changed and read by several people."""

from itertools import count
from typing import Any

import pytest

from tests.catalog.fake import ANA, BOB, CYD, EVE, make_person
from tests.web.asking import Answer, ask, post
from tests.web.fake import FakeNode, serving
from tinyssb_node.content.board import Operation, make_operation
from tinyssb_node.ids import MessageId
from tinyssb_node.web import limits

NOTHING = "00" * 20
NUMBERS = count(1)


def begun(address: str, name: str = "Hut work") -> str:
    """Begin a board; returns its id."""
    answer = post(address, "/api/board/new", {"name": name, "once": "once-0000"})
    assert answer.status == 200, answer.body
    return str(answer.json["board"])


def board_of(address: str, board: str) -> dict[str, Any]:
    return ask(address, f"/api/board?board={board}").json


def change(address: str, board: str, operation: str, *arguments: str, **more: object) -> Answer:
    """Change a board; each change is another one."""
    body = {
        "board": board,
        "operation": operation,
        "arguments": list(arguments),
        "once": f"once-{next(NUMBERS):04}",
    }
    return post(address, "/api/board/change", body | more)


def test_a_board_is_begun_filled_and_changed() -> None:
    node = FakeNode()
    with serving(node) as address:
        board = begun(address, "  Hut \n work ")
        assert begun(address, "  Hut \n work ") == board, "the same request again is the same board"
        todo, done = (change(address, board, "column/create", name).json["id"] for name in ("To do", "Done"))
        wood = change(address, board, "item/create", todo, "Split wood").json["id"]
        change(address, board, "item/post", wood, "The axe is\nin the shed")
        change(address, board, "item/setDiscription", wood, "Enough for a week")
        change(address, board, "item/assign", wood, BOB.hex())
        assert change(address, board, "item/moveTo", wood, done).json["packets"] >= 1
        change(address, board, "board/rename", "Work")
        change(address, board, "column/rename", done, "Finished")
        change(address, board, "item/rename", wood, "Wood")
        found = board_of(address, board)
        (listed,) = [row for row in ask(address, "/api/boards").json["rows"] if row["id"] == board]
    assert (found["name"], found["whole"], found["member"], found["invited"]) == ("Work", True, True, False)
    assert [(one["name"], len(one["items"])) for one in found["columns"]] == [("To do", 0), ("Finished", 1)]
    (card,) = found["columns"][1]["items"]
    assert (card["name"], card["description"]) == ("Wood", "Enough for a week")
    assert [one["name"] for one in card["assignees"]] == ["Bob from the hut"]
    assert [(one["text"], one["author"]["own"]) for one in card["comments"]] == [
        ("The axe is\nin the shed", True)
    ]
    assert found["history"][0]["text"] == 'renamed the card "Split wood" to "Wood"'
    assert (listed["name"], listed["items"], listed["ours"]) == ("Work", 1, True)


def test_cards_of_a_removed_list_can_be_moved() -> None:
    node = FakeNode()
    with serving(node) as address:
        board = begun(address)
        todo, done = (change(address, board, "column/create", name).json["id"] for name in ("To do", "Done"))
        wood = change(address, board, "item/create", todo, "Wood").json["id"]
        assert change(address, board, "column/remove", todo).status == 200
        shown = board_of(address, board)["columns"]
        assert [(one["name"], one["removed"]) for one in shown] == [("Done", False), ("To do", True)]
        assert change(address, board, "item/moveTo", wood, done).status == 200
        (left,) = board_of(address, board)["columns"]
    assert [card["id"] for card in left["items"]] == [wood]


def test_what_is_no_longer_there_is_not_changed() -> None:
    """An operation on it would cost airtime, and have no effect on any node."""
    node = FakeNode()
    with serving(node) as address:
        board = begun(address)
        todo = change(address, board, "column/create", "To do").json["id"]
        wood = change(address, board, "item/create", todo, "Wood").json["id"]
        assert change(address, board, "item/remove", wood).status == 200
        sent = len(node.steps)
        assert change(address, board, "item/post", wood, "Too late").status == 404
        assert change(address, board, "item/create", NOTHING, "Nowhere").status == 404
        assert change(address, NOTHING, "column/create", "Nowhere").status == 404
    assert len(node.steps) == sent


def test_invitations_are_sent_and_answered() -> None:
    node = FakeNode()
    with serving(node) as address:
        board = begun(address)
        assert change(address, board, "leave").status == 200
        assert not board_of(address, board)["member"]
        answer = {"board": board, "accept": True, "once": "answer-1"}
        assert post(address, "/api/board/answer", answer).status == 404
        id_ = MessageId.from_hex(board)
        node.do(BOB, make_operation(node.board(id_), Operation.INVITE, ANA))
        assert board_of(address, board)["invited"]
        assert post(address, "/api/board/answer", answer | {"once": "answer-2"}).status == 200
        found = board_of(address, board)
        assert (found["member"], found["invited"]) == (True, False)
        assert change(address, board, "invite", CYD.hex()).status == 200


def test_comments_of_blocked_people_are_hidden() -> None:
    node = FakeNode()
    with serving(node) as address:
        board = begun(address)
        todo = change(address, board, "column/create", "To do").json["id"]
        wood = change(address, board, "item/create", todo, "Wood").json["id"]
        id_, card = MessageId.from_hex(board), MessageId.from_hex(wood)
        node.do(EVE, make_operation(node.board(id_), Operation.ITEM_COMMENT, card, "Burn it all"))
        assert len(board_of(address, board)["columns"][0]["items"][0]["comments"]) == 1
        node.catalog.all_people[EVE] = make_person(EVE, "Eve", blocked=True)
        assert board_of(address, board)["columns"][0]["items"][0]["comments"] == []


def test_a_long_text_is_sent_after_its_author_agreed() -> None:
    node = FakeNode()
    with serving(node) as address:
        board = begun(address)
        todo = change(address, board, "column/create", "To do").json["id"]
        wood = change(address, board, "item/create", todo, "Wood").json["id"]
        sent = len(node.steps)
        refused = change(address, board, "item/post", wood, "x" * 3_000)
        assert (refused.status, refused.json["code"], len(node.steps)) == (409, "costly", sent)
        assert change(address, board, "item/post", wood, "x" * 3_000, agreed=True).status == 200
    assert len(node.steps) == sent + 1


def test_of_a_huge_board_the_page_shows_the_beginning_and_says_so() -> None:
    node = FakeNode()
    with serving(node) as address:
        board = begun(address)
        id_ = MessageId.from_hex(board)
        for number in range(limits.BOARD_SHOWN_MAX + 1):
            node.do(EVE, make_operation(node.board(id_), Operation.COLUMN_CREATE, f"{number} " + "x" * 9_000))
        answer = ask(address, f"/api/board?board={board}")
    assert (answer.json["whole"], len(answer.json["columns"])) == (False, limits.BOARD_SHOWN_MAX)
    assert len(answer.body) < 100_000


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/board/new", {"name": " ", "once": "once-0001"}),
        ("/api/board/new", {"name": "x" * 201, "once": "once-0001"}),
        ("/api/board/new", {"name": "x"}),
        ("/api/board/answer", {"board": "x", "once": "once-0001"}),
        ("/api/board/change", {"board": NOTHING, "operation": "item/burn", "arguments": [], "once": "once-0001"}),
        ("/api/board/change", {"board": NOTHING, "operation": "leave", "arguments": ["x"], "once": "once-0001"}),
        ("/api/board/change", {"board": NOTHING, "operation": "leave", "arguments": None, "once": "once-0001"}),
        ("/api/board/change", {"board": NOTHING, "operation": ["leave"], "arguments": [], "once": "once-0001"}),
        ("/api/board/change", {"board": NOTHING, "operation": "invite", "arguments": [7], "once": "once-0001"}),
        ("/api/board/change", {"board": NOTHING, "operation": "item/remove", "arguments": ["x"], "once": "once-0001"}),
        ("/api/board/change", {"board": NOTHING, "operation": "column/create", "arguments": [""], "once": "once-0001"}),
        ("/api/board/change", {"board": 7, "operation": "leave", "arguments": [], "once": "once-0001"}),
    ],
)  # fmt: skip
def test_what_is_no_change_of_a_board_is_refused(path: str, body: dict[str, object]) -> None:
    node = FakeNode()
    with serving(node) as address:
        answer = post(address, path, body)
        assert (answer.status, answer.json["message"][-1]) == (400, ".")
    assert node.steps == []
