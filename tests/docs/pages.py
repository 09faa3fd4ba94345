"""The pages of text, taken apart."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.architecture.sources import ROOT, markdown_files, name_of

_FENCE = re.compile(r"^ *```(\w*)$")
_HEADING = re.compile(r"^#+ +(.*)$")
_LINK = re.compile(r"!?\[[^\]]*\]\(([^()\s]+(?:\([^()\s]*\))?)\)")


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a page and what stands there."""

    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{name_of(self.path)}:{self.line} {self.text}"


def _lines(path: Path) -> Iterator[tuple[str | None, Place]]:
    """Each line with the language of the code block it is in, None outside of any."""
    block: str | None = None
    for number, text in enumerate(path.read_text("utf-8").splitlines(), 1):
        fence = _FENCE.match(text)
        if fence:
            block = fence[1] if block is None else None
        else:
            yield block, Place(path, number, text)


def links() -> Iterator[Place]:
    """Every link and image, wherever it leads."""
    for path in markdown_files():
        for block, place in _lines(path):
            if block is None:
                for target in _LINK.findall(re.sub(r"`[^`]*`", "", place.text)):
                    yield Place(path, place.line, target)


def anchors(path: Path) -> set[str]:
    """Return the anchors that a link into *path* may name, as GitHub makes them from headings."""
    headings = (_HEADING.match(place.text) for block, place in _lines(path) if block is None)
    return {
        re.sub(r"[^\w\- ]", "", heading[1].lower()).replace(" ", "-")
        for heading in headings
        if heading is not None
    }


def shell_commands(program: str) -> Iterator[tuple[Place, list[str]]]:
    """Every call of *program* in a shell block, with its words."""
    for path in markdown_files():
        for block, place in _lines(path):
            if block != "sh":
                continue
            words = shlex.split(place.text, comments=True)
            if words[:1] == ["sudo"]:
                del words[0]
            if words[:1] == [program]:
                yield place, words[1:]


def inline_commands(program: str) -> Iterator[tuple[Place, list[str]]]:
    """Every mention of a command of *program* in running text, such as `tinyssb faces`."""
    for path in markdown_files():
        for block, place in _lines(path):
            if block is None:
                for code in re.findall(rf"`(?:sudo )?{program} ([^`]+)`", place.text):
                    yield Place(path, place.line, code), code.split()


def read(name: str) -> str:
    """The page *name*."""
    return (ROOT / name).read_text("utf-8")
