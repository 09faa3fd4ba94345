"""Sentences in answers are in the language of the page that asks, also when others ask in theirs."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.web.asking import ask
from tests.web.fake import GROUP, FakeNode, serving, with_group

STANDING = {
    "de-CH,de;q=0.9": "schreiben in ",
    "uk": "пишете в ",
    "it, fr;q=0.5": "écrivez dans ",
    "en-GB,de": "write in ",
    "": "write in ",
}


def standing(address: str, language: str) -> str:
    found = ask(address, f"/api/group?group={GROUP}", headers={"accept-language": language})
    return str(found.json["standing"])


@pytest.mark.parametrize(("language", "words"), STANDING.items())
def test_sentences_are_in_the_language_of_the_page(language: str, words: str) -> None:
    with serving(with_group(FakeNode())) as address:
        assert standing(address, language).startswith(words)


def test_requests_at_one_time_speak_each_its_own() -> None:
    asked = [*STANDING] * 6
    with serving(with_group(FakeNode())) as address, ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda language: standing(address, language), asked)
        assert all(one.startswith(STANDING[language]) for one, language in zip(found, asked, strict=True))


def test_errors_are_in_the_language_of_the_page() -> None:
    with serving(FakeNode()) as address:
        found = [
            ask(address, "/api/group?group=none", headers={"accept-language": language}).json["message"]
            for language in ("uk-UA, en;q=0.5", "de", "en")
        ]
    assert found == [
        "Ідентифікатор групи має 40 шістнадцяткових цифр.",
        "Die Id einer Gruppe hat 40 Hexadezimalziffern.",
        "The id of a group has 40 hexadecimal digits.",
    ]
