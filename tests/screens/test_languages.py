"""Catalogues as translators write them, and as the page gets them."""

import json
from collections.abc import Iterator
from contextvars import copy_context

import pytest

from tinyssb_node.screens.languages import (
    LANGUAGES,
    Catalogue,
    decimal,
    environment_language,
    language_of,
    message,
    number,
    parse_catalogue,
    speak,
    t,
    tn,
)

TEXT = r"""# A comment
msgid ""
msgstr ""
"Language: uk\n"
"Plural-Forms: nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);\n"

#: web/static/words.js
#, python-brace-format
msgid "{n} packet"
msgid_plural "{n} packets"
msgstr[0] "{n} пакет"
msgstr[1] "{n} пакети"
msgstr[2] "{n} пакетів"

#. Said to someone who is called “Bob”.
msgid "Says \"hello\" "
"over two lines\n"
msgstr "Вітає "
"«привіт»\n"

#, fuzzy
msgid "Similar"
msgstr "Схоже"

msgid "Not yet"
msgstr ""
"""


def test_a_catalogue_is_read() -> None:
    found = parse_catalogue(TEXT)
    assert found.messages == {
        "{n} packet": ("{n} пакет", "{n} пакети", "{n} пакетів"),
        'Says "hello" over two lines\n': ("Вітає «привіт»\n",),
    }
    assert found.plural.startswith("(n%10==1 && ")


def test_the_page_gets_texts_and_the_form_of_each_number() -> None:
    found = json.loads(parse_catalogue(TEXT).as_json())
    assert found["messages"]["{n} packet"] == ["{n} пакет", "{n} пакети", "{n} пакетів"]
    assert found["messages"]['Says "hello" over two lines\n'] == "Вітає «привіт»\n"
    assert [found["forms"][n] for n in (0, 1, 2, 4, 5, 11, 12, 21, 22, 25, 101, 111, 122)] == list(
        "2011222012021"
    )
    assert len(found["forms"]) == 200


def test_a_catalogue_without_a_header_has_two_forms() -> None:
    assert parse_catalogue('msgid "Yes"\nmsgstr "Ja"\n') == Catalogue({"Yes": ("Ja",)}, "n != 1")


@pytest.fixture
def german() -> Iterator[None]:
    """German is spoken."""
    speak("de")
    yield
    speak(None)


@pytest.mark.usefixtures("german")
def test_messages_are_in_the_language_that_is_spoken() -> None:
    assert t("There are no unread messages.") == "Es gibt keine ungelesenen Nachrichten."
    assert t("group {name}", name="{odd} name") == "Gruppe {odd} name"
    assert [tn(n, "{n} packet", "{n} packets") for n in (1, 2, 12_345)] == [
        "1 Paket",
        "2 Pakete",
        "12.345 Pakete",
    ]
    assert (number(1_234_567), decimal(0.25, 1)) == ("1.234.567", "0,2")
    assert t("no such message") == "no such message"
    assert t(message("everybody")) == "alle"


def test_without_a_language_they_are_english() -> None:
    assert t("group {name}", name="x") == "group x"
    assert [tn(n, "{n} packet", "{n} packets") for n in (0, 1, 12_345)] == [
        "0 packets",
        "1 packet",
        "12,345 packets",
    ]
    assert (number(1_234_567), decimal(0.25, 1)) == ("1,234,567", "0.2")


def test_each_request_speaks_its_own_language() -> None:
    here, there = copy_context(), copy_context()
    here.run(speak, "de")
    there.run(speak, "uk")
    assert [one.run(t, "everybody") for one in (here, there)] == ["alle", "усі"]
    assert t("everybody") == "everybody"


@pytest.mark.parametrize(
    ("tags", "language"),
    [
        (["de_CH.UTF-8"], "de"),
        (["uk"], "uk"),
        (["de_DE@euro"], "de"),
        (["C.UTF-8"], None),
        (["POSIX"], None),
        ([""], None),
        ([], None),
        (["it-IT", " fr-CH;q=0.9", "en;q=0.8", "de"], "fr"),
        (["it", "en-GB;q=0.5", "de"], None),
        (["../../etc"], None),
    ],
)
def test_the_first_language_that_is_there_is_chosen(tags: list[str], language: str | None) -> None:
    assert language_of(tags) == language


def test_the_environment_chooses_as_posix_says(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    assert environment_language() is None
    monkeypatch.setenv("LANG", "de_DE.UTF-8")
    assert environment_language() == "de"
    monkeypatch.setenv("LC_MESSAGES", "es_ES.UTF-8")
    assert environment_language() == "es"
    monkeypatch.setenv("LC_ALL", "C")
    assert environment_language() is None


def test_there_are_four_languages_besides_english() -> None:
    assert LANGUAGES == ("de", "es", "fr", "uk")
