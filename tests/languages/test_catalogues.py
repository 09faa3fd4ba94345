"""Catalogues are complete, up to date and fit their messages; no message of the page is left unextracted."""

import re
from collections.abc import Iterator
from gettext import c2py
from typing import Any

import pytest
from babel.messages.catalog import Catalog, Message

from tests.languages.extraction import DOMAINS, ROOT, messages, path_of, read, write
from tinyssb_node.screens.languages import FORMS, LANGUAGES, parse_catalogue

SCRIPTS = ROOT / "tinyssb_node/web/static"
PLACE = re.compile(r"\{\w*\}")
CALL = re.compile(r'\bt\("((?:[^"\\]|\\.)*)"|\btn\([^"]*"((?:[^"\\]|\\.)*)", "((?:[^"\\]|\\.)*)"')
BARE = re.compile(
    r"""(?:text|title|placeholder|"aria-label"): ["`](?=[^"`]*[a-z]{2})[A-Z][^"`]*["`]"""
    r"""|setText\([^,]+, ["`][A-Z][^)]*\)"""
)
"""Texts for people that are not given to the function of messages."""

every_catalogue = pytest.mark.parametrize(
    ("language", "domain"), [(language, domain) for language in LANGUAGES for domain in DOMAINS]
)


def entries(catalogue: Catalog) -> Iterator[Message]:
    """All messages, without the header."""
    return (message for message in catalogue if message.id)


def forms(value: Any) -> tuple[str, ...]:
    """The forms of a message or of its translation."""
    return (value,) if isinstance(value, str) else tuple(value)


@every_catalogue
def test_catalogues_have_the_messages_of_the_code(language: str, domain: str) -> None:
    here, there = (
        {forms(one.id) for one in entries(found)} for found in (messages(domain), read(language, domain))
    )
    assert here ^ there == set(), "type: make languages"


@every_catalogue
def test_every_message_is_translated_in_all_plural_forms(language: str, domain: str) -> None:
    catalogue = read(language, domain)
    wrong = [
        one.id
        for one in entries(catalogue)
        if one.fuzzy
        or not all(forms(one.string))
        or len(forms(one.string)) != (catalogue.num_plurals if one.pluralizable else 1)
    ]
    assert wrong == []


@every_catalogue
def test_translations_have_the_places_of_their_messages(language: str, domain: str) -> None:
    wrong = []
    for one in entries(read(language, domain)):
        wanted = set(PLACE.findall(" ".join(forms(one.id))))
        # A form for a single number may say it in a word.
        wrong += [
            form for form in forms(one.string) if set(PLACE.findall(form)) | ({"{n}"} & wanted) != wanted
        ]
    assert wrong == []


def _edges(text: str) -> tuple[bool, bool, bool]:
    """Tell if a text begins or ends with a space, and if it ends with a full stop."""
    return text[:1].isspace(), text[-1:].isspace(), text.endswith(".")


@every_catalogue
def test_translations_begin_and_end_as_their_messages(language: str, domain: str) -> None:
    wrong = [
        form
        for one in entries(read(language, domain))
        for form in forms(one.string)
        if _edges(form) != _edges(forms(one.id)[0])
    ]
    assert wrong == []


@every_catalogue
def test_the_node_reads_what_babel_reads(language: str, domain: str) -> None:
    found = parse_catalogue(path_of(language, domain).read_text("utf-8"))
    catalogue = read(language, domain)
    assert found.messages == {forms(one.id)[0]: forms(one.string) for one in entries(catalogue)}
    assert found.plural == catalogue.plural_expr


@every_catalogue
def test_catalogues_are_written_as_the_tool_writes_them(language: str, domain: str, tmp_path: Any) -> None:
    write(read(language, domain), tmp_path / "again.po")
    assert (tmp_path / "again.po").read_text("utf-8") == path_of(language, domain).read_text("utf-8")


@pytest.mark.parametrize("language", LANGUAGES)
def test_texts_for_terminals_are_of_characters_that_terminals_show(language: str) -> None:
    """A space that breaks no line would be shown by its number."""
    texts = "".join(
        form
        for domain in ("errors", "node")
        for one in entries(read(language, domain))
        for form in forms(one.string)
    )
    assert {char for char in texts if not char.isprintable()} <= {"\n"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_plural_forms_repeat_every_hundred(language: str) -> None:
    """So a page needs no more than the first 200."""
    choose = c2py(read(language, "page").plural_expr)
    assert all(choose(n) == choose(100 + n % 100) for n in range(FORMS, 20 * FORMS))


def test_the_page_offers_every_language() -> None:
    found = re.search(r"NAMES = \{(.+)\}", (SCRIPTS / "language.js").read_text("utf-8"))
    assert found is not None
    assert sorted(re.findall(r"(\w+): ", found[1])) == sorted(("en", *LANGUAGES))


def test_every_message_of_the_page_is_extracted() -> None:
    """Babel reads scripts by a grammar that it does not know in full."""
    found = {text for one in entries(messages("page")) for text in forms(one.id)}
    source = "\n".join(path.read_text("utf-8") for path in sorted(SCRIPTS.glob("*.js")))
    called = {text for call in CALL.finditer(source) for text in call.groups() if text is not None}
    assert len(called) > 300
    assert called - found == set()


def test_texts_of_the_page_are_messages() -> None:
    bare = [
        f"{path.name}: {found[0]}"
        for path in sorted(SCRIPTS.glob("*.js"))
        for found in BARE.finditer(path.read_text("utf-8"))
    ]
    assert bare == []
