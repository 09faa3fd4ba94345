"""Sentences of errors in the reader's language.

An error is English where it is raised, in logs, in `--json` and on the control socket. Where it is shown to a person,
its text is recognised by the message that it was made from (`errors.po`), and what stands in the places of that message
is put into the translation (docs/decisions/0128-errors-in-the-readers-language.md)."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from tinyssb_node.screens.languages import read_catalogue, spoken_language

PROSE: Final = frozenset(
    {
        "advice", "awaited", "done", "error", "harm", "held", "holder", "problems", "reason", "rest", "stopped",
        "strerror", "what", "which", "whose",
    }
)  # fmt: skip
"""Places that hold words for people: a sentence is translated only if what stands there is, too."""
SYSTEM_REASONS: Final = (
    "Disk quota exceeded",
    "File exists",
    "Input/output error",
    "Is a directory",
    "No space left on device",
    "No such file or directory",
    "Not a directory",
    "Permission denied",
    "Read-only file system",
    "timed out",
    "the connection was closed",
)
"""Reasons that operating systems give most (glibc's strerror)."""
TEXT_MAX: Final = 1_000
"""Characters of a text that is translated: the longest message has 400, and names and paths stand in its places. A text
may quote what a stranger sent, so its cost is bounded."""
_DEPTH_MAX: Final = 3
"""Sentences within sentences: an error of the node within one of the page has a reason of the system in it."""
PLACE: Final = re.compile(r"\{(\w+)\}")
"""A place in a message, with its name."""


@dataclass(frozen=True, slots=True)
class _Message:
    pattern: re.Pattern[str]
    """Its English texts match this."""
    translation: str


def translated(text: str) -> str:
    """Return a text of an error in the language that is spoken; as it is if any part of it has no translation."""
    language = spoken_language()
    if language is None or len(text) > TEXT_MAX:
        return text
    return _find(language, text, _DEPTH_MAX) or text


def _find(language: str, text: str, depth: int) -> str | None:
    """Return the translation of a text; None if it has none. Errors of lower layers begin small and have no full stop:
    ``LocalError.message`` makes sentences of them."""
    stem = text.removesuffix(".")
    small = stem[:1].lower() + stem[1:]
    for tried, begun, ended in ((text, False, ""), (stem, False, "."), (small, True, ".")):
        if (found := _find_exact(language, tried, depth)) is not None:
            return (found[:1].upper() + found[1:] if begun else found) + (ended if stem != text else "")
    return None


def _find_exact(language: str, text: str, depth: int) -> str | None:
    if not depth:
        return None
    for message in _messages(language):
        if (match := message.pattern.fullmatch(text)) is not None:
            values = match.groupdict()
            prose = {
                name: _find(language, value, depth - 1)
                for name, value in values.items()
                if name in PROSE and value
            }
            if None not in prose.values():
                return message.translation.format(**(values | prose))
    return None


@cache
def _messages(language: str) -> tuple[_Message, ...]:
    """Return the messages of a language: those with the most text of their own first."""
    found = read_catalogue(language, "errors").messages
    ordered = sorted(found, key=lambda text: -len(PLACE.sub("", text)))
    return tuple(_Message(_pattern_of(text), found[text][0]) for text in ordered)


def _pattern_of(text: str) -> re.Pattern[str]:
    """Return what texts look like that were made from a message.

    A place ends where the message first goes on, and nothing else is tried (atomic groups); the last one ends with the
    text. So the time grows with the length of a text, not with a power of it.
    """
    begin, *rest = PLACE.split(text)
    pattern, seen = re.escape(begin), set[str]()
    for number in range(0, len(rest), 2):
        place, after = rest[number], re.escape(rest[number + 1])
        value = f"(?P={place})" if place in seen else f"(?P<{place}>.*?)"
        seen.add(place)
        ends = r"\Z" if number + 2 == len(rest) else ""
        pattern += f"(?>{value}{after}{ends})"
    return re.compile(pattern, re.DOTALL)
