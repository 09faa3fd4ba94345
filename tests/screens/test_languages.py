"""Catalogues as translators write them, and as the page gets them."""

import json

from tinyssb_node.screens.languages import LANGUAGES, Catalogue, parse_catalogue

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


def test_german_is_there() -> None:
    assert "de" in LANGUAGES
