"""Messages in the user's language, from gettext catalogues that are read as translators write them (.po).

Messages are English in the code, and name their translations. Data for programs and logs stay English
(docs/decisions/0081-languages.md); for errors see ``error_texts``."""

import json
import os
import re
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache
from gettext import c2py
from pathlib import Path
from typing import Final

CATALOGUES: Final = Path(__file__).parent / "catalogues"
"""A folder for each language, with catalogues for the page, for the node's other programs, and for errors."""
LANGUAGES: Final = tuple(sorted(path.name for path in CATALOGUES.iterdir() if path.is_dir()))
"""Codes (ISO 639-1) of the languages besides English."""
_LINE: Final = re.compile(r'(?:(msg\S+) )?(".*")')
_PLURAL: Final = re.compile(r"plural=([^;\n]+)")
FORMS: Final = 200
"""Numbers whose plural forms a page gets: after them, the last two digits decide in all languages that we have."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Translations into one language."""

    messages: Mapping[str, tuple[str, ...]]
    """Forms by message: one form, or all plural forms."""
    plural: str = "n != 1"
    """Which form a number needs, as an expression of C (gettext's Plural-Forms)."""

    group: str = ","
    """Between thousands."""
    point: str = "."
    """Between whole numbers and their parts."""

    def form(self, text: str, count: int | None = None) -> str | None:
        """Return the translation of a message, in the form that *count* things need; None if there is none."""
        forms = self.messages.get(text)
        if forms is None or count is None:
            return None if forms is None else forms[0]
        return forms[c2py(self.plural)(count)]

    def as_json(self) -> bytes:
        """Return the catalogue as the page reads it."""
        choose = c2py(self.plural)
        messages = {text: forms if len(forms) > 1 else forms[0] for text, forms in self.messages.items()}
        content = {"forms": "".join(str(choose(n)) for n in range(FORMS)), "messages": messages}
        return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def parse_catalogue(text: str) -> Catalogue:
    """Parse a catalogue (.po). Messages without a translation are left out, and those that are marked as fuzzy."""
    messages: dict[str, tuple[str, ...]] = {}
    for block in text.split("\n\n"):
        fields: dict[str, str] = {}
        name = ""
        for line in block.splitlines():
            if found := _LINE.fullmatch(line):
                name = found[1] or name
                fields[name] = fields.get(name, "") + json.loads(found[2])
        forms = tuple(text for field, text in fields.items() if field.startswith("msgstr"))
        if forms and all(forms) and "\n#, fuzzy" not in f"\n{block}":
            messages[fields["msgid"]] = forms
    header = messages.pop("", ("",))[0]
    found = _PLURAL.search(header)
    return Catalogue(messages, found[1].strip()) if found else Catalogue(messages)


def language_of(tags: Iterable[str]) -> str | None:
    """Return the first of the languages *tags*, such as `de-CH` or `de_CH.UTF-8`, that we have; None for English."""
    codes = (re.split(r"[-_.@;]", tag.strip().lower(), maxsplit=1)[0] for tag in tags)
    found = next((code for code in codes if code in LANGUAGES or code == "en"), "en")
    return None if found == "en" else found


def environment_language() -> str | None:
    """Return the language that the environment asks for (POSIX, 8.2); None for English."""
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    return language_of([next(filter(None, map(os.environ.get, names)), "")])


_ENGLISH: Final = Catalogue({})
_GROUPS: Final = {"de": ".", "es": ".", "fr": " ", "uk": " "}
_spoken: ContextVar[str | None] = ContextVar("spoken", default=None)


def read_catalogue(language: str, domain: str) -> Catalogue:
    """Return a catalogue of a language: of the page, of errors, or of the node's other texts."""
    found = parse_catalogue((CATALOGUES / language / f"{domain}.po").read_text("utf-8"))
    return replace(found, group=_GROUPS[language], point=",")


@cache
def _catalogue(language: str | None) -> Catalogue:
    return _ENGLISH if language is None else read_catalogue(language, "node")


def speak(language: str | None) -> None:
    """Set the language of messages from now on, in this context (PEP 567): None is English, as at the start."""
    _spoken.set(language)


def spoken_language() -> str | None:
    """Return the language of messages in this context; None is English."""
    return _spoken.get()


def message(text: str) -> str:
    """Return *text*: it marks a message of a table, which `t` translates when it is shown."""
    return text


def t(text: str, /, **values: object) -> str:
    """Return a message in the language that is spoken, with *values* in the places that are named so."""
    found = _catalogue(_spoken.get()).form(text) or text
    return found.format(**values) if values else found


def tn(count: int, one: str, many: str, /, **values: object) -> str:
    """Return the form of a message that *count* things need; `{n}` is the number itself."""
    found = _catalogue(_spoken.get()).form(one, count) or (one if count == 1 else many)
    return found.format(n=number(count), **values)


def number(count: int) -> str:
    """Return a whole number, with marks between thousands."""
    return f"{count:,}".replace(",", _catalogue(_spoken.get()).group)


def decimal(value: float, digits: int) -> str:
    """Return a number with *digits* behind the decimal mark."""
    return f"{value:.{digits}f}".replace(".", _catalogue(_spoken.get()).point)
