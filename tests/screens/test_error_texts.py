"""Errors are shown in the reader's language, as whole sentences or not at all."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.languages.extraction import read
from tinyssb_node.catalog.errors import CatalogBusyError
from tinyssb_node.errors import (
    ContentTooLongError,
    FileUnreadableError,
    ProblemError,
    StoreLockedError,
    UnknownIdentityError,
)
from tinyssb_node.screens.error_texts import PLACE, PROSE, TEXT_MAX, translated
from tinyssb_node.screens.languages import LANGUAGES, speak

ENOSPC = 28


@pytest.fixture(autouse=True)
def german() -> Iterator[None]:
    """German is spoken."""
    speak("de")
    yield
    speak(None)


def test_an_error_is_shown_in_the_language_that_is_spoken() -> None:
    error = UnknownIdentityError("{odd} name", ["home", "work"])
    assert translated(error.message) == "Hier gibt es keine Identität namens „{odd} name“."
    assert translated(error.hint) == "Es gibt home, work."
    assert translated("") == ""


def test_without_a_language_it_is_english() -> None:
    speak(None)
    assert translated("The node's daemon is not running.") == "The node's daemon is not running."


def test_errors_of_lower_layers_become_sentences_as_in_english() -> None:
    found = translated(ContentTooLongError(70_000, 65_536, 701).message)
    assert found.startswith("70000 Bytes sind zu viel für einen Eintrag, höchstens 65536 sind möglich: ")
    assert found.endswith("veröffentlichen Sie es in Teilen.")


def test_parts_of_a_sentence_are_translated_with_it() -> None:
    locked = translated(StoreLockedError(Path("/h"), None).message)
    assert locked.startswith("Den Knoten in /h benutzt schon: ein anderer Prozess. Es wurde nichts geändert.")
    full = FileUnreadableError("/f", OSError(ENOSPC, "No space left on device"))
    assert translated(full.message) == "/f ist nicht lesbar: auf dem Datenträger ist kein Platz."
    busy = CatalogBusyError(Path("/c"), "another process is writing it")
    assert "/c ist nicht lesbar: ein anderer Prozess schreibt gerade darin. Alle" in translated(busy.message)


def test_a_sentence_with_a_part_that_is_not_known_stays_english_as_a_whole() -> None:
    strange = FileUnreadableError("/f", OSError(0, "Strange things happen"))
    assert translated(strange.message) == strange.message
    assert translated(ProblemError("Nobody wrote this down.").message) == "Nobody wrote this down."


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_message_is_recognised_as_itself(language: str) -> None:
    """No other message takes its text, whatever stands in its places."""
    speak(language)
    messages = {str(one.id): str(one.string) for one in read(language, "errors") if one.id}
    known = "Permission denied"
    wrong = []
    for text, translation in messages.items():
        places = PLACE.findall(text)
        english = {name: known if name in PROSE else f"{name}-7" for name in places}
        shown = {name: messages[known] if name in PROSE else f"{name}-7" for name in places}
        if translated(text.format(**english)) != translation.format(**shown):
            wrong.append(text)
    assert wrong == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_text_costs_more_than_its_length(language: str) -> None:
    """A text may quote what a stranger sent: here what stands between the places of a message, many times."""
    speak(language)
    translated("")  # the catalogue is read once
    hostile = []
    for one in read(language, "errors"):
        words = [part for part in PLACE.split(str(one.id))[::2] if part] if one.id else []
        if len(words) > 1:
            hostile.append((words[0] + "".join(part * 30 for part in words[1:]))[: TEXT_MAX - 1] + "!")
    began_s = time.process_time()
    for text in [*hostile, ": " * (TEXT_MAX // 2), "cannot be read: " * (TEXT_MAX // 16)]:
        translated(text)
    assert time.process_time() - began_s < len(hostile) * 0.05
    assert translated(": " * TEXT_MAX) == ": " * TEXT_MAX
