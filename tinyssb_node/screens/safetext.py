"""Text of strangers, made safe for a terminal. Every text of theirs that is printed passes here, once.

The result moves no cursor, reverses no line, hides nothing and has a bounded width, whatever the input. Widths are
upper bounds: a terminal may draw less, where it joins emoji or letters, but never more.
"""

import unicodedata
from collections.abc import Iterator
from typing import Final

from tinyssb_node.screens import limits

NEWLINE: Final = "⏎"
"""Stands for a line break where there is one line."""
ELLIPSIS: Final = "…"
"""Stands for removed text."""
CARRIER: Final = "◌"
"""Carries marks without a letter, and stands for marks beyond the bound: Unicode's own sign for this."""

_JOINERS: Final = frozenset("\u200c\u200d")
"""Zero width, but letters of Persian and Hindi, and families of emoji, need them."""
_VOWELS: Final = (range(0x1160, 0x1200), range(0xD7B0, 0xD800))
"""Parts of Korean syllables that terminals draw onto the character before."""
_GROWING: Final = frozenset("\ufe0f\U0001171e")
"""Marks that may widen their character: the first requests the emoji form, the second did so in older tables."""
INVISIBLE: Final = frozenset("\u115f\u3164\uffa0\u2800\U0001d159")
"""Characters that are letters or symbols to Unicode and invisible to readers."""
_LATER_EMOJI: Final = range(0x1F000, 0x1FB00)
"""Blocks in which Unicode adds emoji every year; Python's tables know those of its own year."""
_WIDE_SINCE: Final = (
    range(0x2630, 0x2638),
    range(0x268A, 0x2690),
    range(0x4DC0, 0x4E00),
    range(0x1D300, 0x1D377),
    range(0x1F1E6, 0x1F200),
)
"""Symbols that Unicode 16 made wide, and the letters that form flags in pairs."""
HAPPENED: Final = "◆"
"""Stands before a change of a group: these are the program's words, not a person's."""
NO_HAPPENING: Final = "◇"
"""Replaces it in all texts and names of people, so that no one can fake a change."""
_IN_NAMES: Final = frozenset(f"-_.'’·?!(){ELLIPSIS}")
"""Punctuation that does not end a name."""
_QUOTES: Final = frozenset('"„〝〞〟＂')
"""Quotation marks besides those that Unicode has in pairs."""
_MARKS: Final = frozenset({"Mn", "Me", "Mc"})
_UNPRINTABLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def safe(text: str) -> str:
    """Return *text* with harmful characters made visible; line breaks stay."""
    return "".join(glyph for glyph, _ in _glyphs(text))


def one_line(text: str, cells: int | None = None) -> str:
    """Return *text* in one line, of at most *cells* cells; an ellipsis stands where it was cut.

    The time depends on *cells*, not on the length of *text*.
    """
    if cells is None:
        return safe(text).replace("\n", NEWLINE)
    taken: list[str] = []
    used = fitting = 0
    for glyph, width in _glyphs(text):
        used += width
        if used > cells:
            return "".join(taken[:fitting]) + ELLIPSIS if cells > 0 else ""
        taken.append(NEWLINE if glyph == "\n" else glyph)
        if used < cells:
            fitting = len(taken)
    return "".join(taken)


def apart(name: str, cells: int) -> str:
    """Return *name* in one line, to stand among others: in quotation marks if a sign in it could pass for its end.

    At most *cells* cells, and two for the marks.
    """
    shown = one_line(name, cells).replace(HAPPENED, NO_HAPPENING)
    if all(char in _IN_NAMES or not unicodedata.category(char).startswith("P") for char in shown):
        return shown
    inner = "".join("'" if _is_quote(char) else char for char in shown)
    return f'"{inner}"'


def wrapped(text: str, cells: int, lines_max: int) -> list[str]:
    """Split *text* into lines of at most *cells* cells, at spaces if possible.

    Return at least one line and at most *lines_max*: the last one then ends in an ellipsis.
    """
    assert cells >= 2  # so that a wide character fits; with its marks it can take seven
    assert lines_max >= 1
    lines: list[str] = []
    for line in _lines(text, cells):
        if len(lines) == lines_max:
            lines[-1] = _with_ellipsis(lines[-1], cells)
            break
        lines.append(line)
    return lines


def cells(text: str) -> int:
    """Return how many cells *text* takes at most, once it is safe."""
    if text.isascii() and text.isprintable():
        return len(text)
    return sum(width for _, width in _glyphs(text))


def padded(text: str, width: int) -> str:
    """Pad safe *text* with spaces to *width* cells."""
    return text + " " * (width - cells(text))


def _with_ellipsis(line: str, width: int) -> str:
    return one_line(line, width - 1).removesuffix(ELLIPSIS) + ELLIPSIS


def _lines(text: str, width: int) -> Iterator[str]:
    """Yield lines of at most *width* cells: whole words, and pieces of longer words."""
    line: list[str] = []
    used = 0
    space: int | None = None
    """Where in *line* the last space is."""
    for glyph, size in _glyphs(text):
        if glyph == "\n":
            yield "".join(line)
            line, used, space = [], 0, None
            continue
        if used + size > width and glyph == " ":
            yield "".join(line)
            line, used, space = [], 0, None
            continue
        if used + size > width and space is not None:
            yield "".join(line[:space])
            line = line[space + 1 :]
            used, space = cells("".join(line)), None
        if used + size > width:
            yield "".join(line)
            line, used = [], 0
        if glyph == " ":
            space = len(line)
        line.append(glyph)
        used += size
    yield "".join(line)


def _glyphs(text: str) -> Iterator[tuple[str, int]]:
    """Yield indivisible units, each with its width: a character with its marks."""
    if text.isascii() and text.isprintable():
        yield from ((char, 1) for char in text)
        return
    glyph, width, marks = "", 0, 0
    for char in text:
        category = unicodedata.category(char)
        if _is_mark(char, category):
            if not glyph or glyph in " \n":
                yield from [(glyph, width)] if glyph else []
                glyph, width = CARRIER, 1
            marks += 1
            if marks <= limits.SAFETEXT_MARKS_MAX:
                glyph, width = glyph + char, width + _growth(char, category, width)
            elif marks == limits.SAFETEXT_MARKS_MAX + 1:
                glyph, width = glyph + CARRIER, width + 1
            continue
        if glyph:
            yield glyph, width
        (glyph, width), marks = _visible(char, category), 0
        if len(glyph) > 1:
            yield from ((part, 1) for part in glyph[:-1])
            glyph, width = glyph[-1], 1
    if glyph:
        yield glyph, width


def _is_mark(char: str, category: str) -> bool:
    """Return whether *char* is drawn onto the character before it."""
    return category in _MARKS or char in _JOINERS or (category == "Lo" and _is_vowel(char))


def _is_quote(char: str) -> bool:
    return char in _QUOTES or unicodedata.category(char) in {"Pi", "Pf"}


def _is_vowel(char: str) -> bool:
    return any(ord(char) in some for some in _VOWELS)


def _growth(char: str, category: str, width: int) -> int:
    """Return by how many cells a mark may widen its character."""
    return int(category in {"Mc", "Lo"} or (char in _GROWING and width == 1))


def _visible(char: str, category: str) -> tuple[str, int]:
    """Return any character but a mark: as it is, as a space, or escaped."""
    code = ord(char)
    if " " <= char < "\x7f" or char == "\n":
        return char, 1
    if category == "Zs" or char == "\t":
        return " ", 1
    if category == "Cn" and code in _LATER_EMOJI:
        return char, 2
    if category in _UNPRINTABLE or char in INVISIBLE:
        escaped = char.encode("unicode_escape", "surrogatepass").decode()
        return escaped, len(escaped)
    wide = unicodedata.east_asian_width(char) in {"W", "F"} or any(code in some for some in _WIDE_SINCE)
    return char, 2 if wide else 1
