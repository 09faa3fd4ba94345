"""Requests about people: names that the user gives, blocks, the user's own name."""

from typing import Any

import pytest

from tests.catalog.fake import ANA, BOB, CYD, EVE, make_person
from tests.web.asking import ask, post
from tests.web.fake import FakeNode, serving


def rows_of(address: str) -> dict[str, dict[str, Any]]:
    return {row["feed"]: row for row in ask(address, "/api/people").json["rows"]}


def test_a_person_is_named_and_the_name_removed_again() -> None:
    node = FakeNode()
    with serving(node) as address:
        assert (rows_of(address)[CYD.hex()]["given"], rows_of(address)[BOB.hex()]["given"]) == (
            None,
            "Bob from the hut",
        )
        answer = post(address, "/api/person/name", {"feed": CYD.hex(), "name": "  Cyd  "})
        assert (answer.status, answer.json["name"]) == (200, "Cyd")
        row = rows_of(address)[CYD.hex()]
        assert (row["name"], row["given"], row["alone"]) == ("Cyd", "Cyd", True)
        assert post(address, "/api/person/name", {"feed": CYD.hex(), "name": " "}).json["name"] is None
        assert rows_of(address)[CYD.hex()]["given"] is None


def test_a_person_is_blocked_and_shown_again() -> None:
    node = FakeNode()
    with serving(node) as address:
        assert post(address, "/api/person/block", {"feed": BOB.hex(), "blocked": True}).status == 200
        assert rows_of(address)[BOB.hex()]["blocked"]
        authors = {row["author"]["feed"] for row in ask(address, "/api/messages").json["rows"]}
        assert BOB.hex() not in authors
        assert post(address, "/api/person/block", {"feed": BOB.hex(), "blocked": False}).status == 200
        assert not rows_of(address)[BOB.hex()]["blocked"]


def test_a_block_by_the_list_of_another_person_names_them() -> None:
    node = FakeNode()
    node.catalog.all_people[EVE] = make_person(EVE, "Eve", blocked=True, blocked_by=(BOB,))
    with serving(node) as address:
        assert [by["name"] for by in rows_of(address)[EVE.hex()]["blocked_by"]] == ["Bob from the hut"]


def test_our_own_name_is_published_once() -> None:
    node = FakeNode()
    with serving(node) as address:
        for _ in range(2):
            answer = post(address, "/api/alias", {"name": "Ana K.", "once": "once-0001"})
            assert answer.status == 200
        assert rows_of(address)[ANA.hex()]["said"] == "Ana K."
    assert node.said == [{"alias": "Ana K."}]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/person/name", {"feed": BOB.hex()}),
        ("/api/person/name", {"feed": BOB.hex(), "name": "x" * 65}),
        ("/api/person/name", {"feed": "xyz", "name": "x"}),
        ("/api/person/block", {"feed": BOB.hex()}),
        ("/api/person/block", {"feed": BOB.hex(), "blocked": 1}),
        ("/api/person/block", {"feed": ANA.hex(), "blocked": True}),
        ("/api/alias", {"name": "x"}),
        ("/api/alias", {"name": "x" * 65, "once": "once-0001"}),
    ],
)
def test_what_is_no_change_of_a_person_is_refused(path: str, body: dict[str, object]) -> None:
    node = FakeNode()
    with serving(node) as address:
        answer = post(address, path, body)
        assert (answer.status, answer.json["message"][-1]) == (400, ".")
    assert node.said == []
    assert not node.catalog.all_people[ANA].blocked
