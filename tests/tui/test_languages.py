"""The terminal screen in other languages: it fits, and its threads speak as it does."""

from collections.abc import Iterator

import pytest

from tests.tui.node import FakeNode, usual
from tests.tui.screen import shown
from tinyssb_node.screens.languages import LANGUAGES, speak, t
from tinyssb_node.screens.safetext import cells
from tinyssb_node.tui.app import HELP
from tinyssb_node.tui.conversations_view import ConversationsView
from tinyssb_node.tui.views import FacesView, FeedsView, LogView, PeopleView

WIDTH = 60  # the narrowest terminal


@pytest.fixture(params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> Iterator[str]:
    speak(request.param)
    yield request.param
    speak(None)


@pytest.mark.parametrize("keys", [(), ("2",), ("3",), ("4",), ("5",), ("question_mark",), ("o",)])
async def test_every_view_fits(language: str, keys: tuple[str, ...]) -> None:
    async with shown(FakeNode(usual()), *keys, size=(WIDTH, 24)) as screen:
        screen.check(WIDTH)


async def test_the_screen_speaks_german() -> None:
    speak("de")
    try:
        async with shown(FakeNode(usual())) as screen:
            text = screen.text()
    finally:
        speak(None)
    assert "[1 Chat]" in text
    assert " 2 Personen " in text
    assert "w schreiben  r antworten" in text


def test_the_page_of_keys_is_no_wider_than_in_english(language: str) -> None:
    wide = max(map(cells, HELP.splitlines()))
    assert [line for line in t(HELP).splitlines() if cells(line) > wide + 1] == []


def test_the_line_of_keys_fits_a_terminal_of_eighty_columns(language: str) -> None:
    always = t("? help  q quit  1-5 views")
    views = (ConversationsView, PeopleView, FacesView, FeedsView, LogView)
    assert {
        view.__name__: cells(f" {t(view.KEYS)}  {always}")
        for view in views
        if cells(f" {t(view.KEYS)}  {always}") > 80
    } == {}
    assert cells(f" {t(ConversationsView.WRITING_KEYS)}") <= 80
