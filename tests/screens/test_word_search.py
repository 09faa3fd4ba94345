"""Search for words in messages of groups."""

import dataclasses

import pytest

from tests.catalog.fake import ANA, make_message, make_person
from tinyssb_node.catalog.rows import MessageKind
from tinyssb_node.screens.people import DisplayNames
from tinyssb_node.screens.word_search import WordSearch

NAMES = DisplayNames([make_person(ANA, "Ana")])
ROW = dataclasses.replace(make_message("x", ANA, 1, "Suppe um zwölf: bring 🥖 mit!"), kind=MessageKind.TEXT)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("suppe", True),
        ("ZWOLF sup", True),
        ("🥖", True),
        ("zwölf:", True),
        ("uppe", False),
        ("suppe käse", False),
        ("", False),
        (" ", False),
    ],
)
def test_all_words_must_occur_or_begin_one(words: str, found: bool) -> None:
    assert WordSearch(words).matches(ROW, NAMES) is found


def test_changes_of_a_group_and_blocked_people_are_not_found() -> None:
    change = dataclasses.replace(ROW, kind=MessageKind.HAPPENING)
    assert not WordSearch("suppe").matches(change, NAMES)
    blocked = DisplayNames([make_person(ANA, "Ana", blocked=True)])
    assert not WordSearch("suppe").matches(ROW, blocked)


def test_files_are_found_by_their_names() -> None:
    file = dataclasses.replace(ROW, kind=MessageKind.FILE, text='{"name": "Wege-Karte.webp", "size": 3}')
    assert WordSearch("karte").matches(file, NAMES)
    assert not WordSearch("size").matches(file, NAMES)
    assert not WordSearch("karte").matches(dataclasses.replace(file, text="[1]"), NAMES)
