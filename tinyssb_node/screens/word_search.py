"""Search for words in messages that are in no index. Pure."""

import json
import re
import unicodedata
from typing import Final

from tinyssb_node.catalog.rows import MessageKind, MessageRow
from tinyssb_node.screens.people import DisplayNames

_CHARACTERS_MAX: Final = 1_000
"""Characters of a search that count, and below words: as of the catalog's search."""
_WORDS_MAX: Final = 32
_WORD: Final = re.compile(r"\w+")


class WordSearch:
    """Words that a message must all have, or longer words that begin so; accents and case do not matter."""

    def __init__(self, words: str) -> None:
        wanted = _plain(words[:_CHARACTERS_MAX]).split()[:_WORDS_MAX]
        self._beginnings = [word for word in wanted if _WORD.fullmatch(word)]
        # Words with signs in them, such as emoji, are matched literally.
        self._literal = [word for word in wanted if not _WORD.fullmatch(word)]

    def matches(self, row: MessageRow, names: DisplayNames) -> bool:
        """Return whether a text, or the name of a file, has all the words; nothing of blocked people is found, nor
        changes of a group."""
        if row.kind not in {MessageKind.TEXT, MessageKind.FILE} or names.is_blocked(row.feed):
            return False
        text = _plain(_file_name(row.text) if row.kind is MessageKind.FILE else row.text)
        words = _WORD.findall(text)
        return (
            bool(self._beginnings or self._literal)
            and all(any(word.startswith(one) for word in words) for one in self._beginnings)
            and all(one in text for one in self._literal)
        )


def _file_name(about: str) -> str:
    try:
        return str(json.loads(about)["name"])
    except (ValueError, KeyError, TypeError):
        return ""


def _plain(text: str) -> str:
    """Return *text* without accents and case."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in letters if not unicodedata.combining(char))
