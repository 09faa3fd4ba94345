"""Text for a terminal: nothing in it moves a cursor, hides, turns around, or is wider than it may be."""

import re
import unicodedata
from pathlib import Path

import pytest
import wcwidth
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.catalog.fake import HOSTILE_NAME, HOSTILE_TEXT
from tinyssb_node.screens import limits
from tinyssb_node.screens.safetext import (
    CARRIER,
    ELLIPSIS,
    INVISIBLE,
    apart,
    cells,
    one_line,
    padded,
    safe,
    wrapped,
)

WIDEST = 7
"""Cells of the widest glyph: a wide character, four marks that each widen it, and the sign for further ones."""
TEXTS = st.one_of(
    st.text(max_size=60),
    st.text("a \n\t\x1b\x9b\r\u202e\u2066\u200b\u200d\ufe0f\u0301\u0336\u0903漢🏔☰👩\ud800", max_size=60),
)
WIDE = "漢" * 10_000
WORDS = Path(__file__).parents[2] / "tinyssb_node" / "web" / "static" / "words.js"


def drawn(text: str) -> int:
    """How many cells a terminal draws; -1 if something in it is no character to be drawn."""
    return wcwidth.wcswidth(text)


def test_every_character_is_drawn_and_no_wider_than_said() -> None:
    """Of large blocks in which all characters are alike, some."""
    codes = [*range(0x3400), *range(0x3400, 0x110000, 97), *range(0xA000, 0xAC00), *range(0xD700, 0x20000)]
    wrong = []
    for code in codes:
        for text in (chr(code), "a" + chr(code)) if code != ord("\n") else ():
            shown = safe(text)
            if not 0 < drawn(shown) <= cells(shown) or (shown != text and safe(shown) != shown):
                wrong.append((hex(code), shown))
    assert wrong == []


@given(TEXTS)
def test_nothing_harmful_is_left(text: str) -> None:
    shown = safe(text)
    assert {unicodedata.category(char) for char in shown} <= {
        *(
            "Lu",
            "Ll",
            "Lt",
            "Lm",
            "Lo",
            "Mn",
            "Mc",
            "Me",
            "Nd",
            "Nl",
            "No",
            "Pc",
            "Pd",
            "Ps",
            "Pe",
            "Pi",
            "Pf",
            "Po",
        ),
        *("Sm", "Sc", "Sk", "So", "Zs"),
    } | {unicodedata.category(char) for char in "\n\u200d" if char in shown} | {
        "Cn" for char in shown if 0x1F000 <= ord(char) < 0x1FB00
    }
    assert safe(shown) == shown
    shown.encode()


@given(TEXTS, st.integers(-1, 30))
def test_a_line_is_one_line_of_bounded_width(text: str, most: int) -> None:
    line = one_line(text, most)
    assert "\n" not in line
    assert drawn(line) <= cells(line) <= max(0, most)
    assert line == one_line(text) or (line.endswith(ELLIPSIS) and cells(one_line(text)) > most) or most <= 0
    assert one_line(line, most) == line
    if cells(one_line(text)) <= most:
        assert line == one_line(text)


@example("⺀\u0903\u0903\u0903\u0903\u0903", WIDEST, 2)
@given(TEXTS, st.integers(WIDEST, 30), st.integers(1, 6))
def test_wrapping_loses_nothing_but_spaces(text: str, width: int, lines_max: int) -> None:
    lines = wrapped(text, width, lines_max)
    assert 1 <= len(lines) <= lines_max
    assert all(drawn(line) <= cells(line) <= width and "\n" not in line for line in lines)
    everything = wrapped(text, width, 10_000)
    assert "".join("".join(everything).split()) == "".join(safe(text).split())
    assert lines == everything or (lines[:-1] == everything[: lines_max - 1] and lines[-1].endswith(ELLIPSIS))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("grüezi, Ζεύς, שלום, สวัสดี, नमस्ते", "grüezi, Ζεύς, שלום, สวัสดี, नमस्ते"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u200bb\ufeff", "a\\u200bb\\ufeff"),
        ("five\u00a0o'clock\there", "five o'clock here"),
        ("one\ntwo", "one⏎two"),
        ("e" + "\u0336" * 200, "e" + "\u0336" * limits.SAFETEXT_MARKS_MAX + CARRIER),
        ("\u0301x", CARRIER + "\u0301x"),
        ("👨\u200d👩\u200d👧 🏔\ufe0f", "👨\u200d👩\u200d👧 🏔\ufe0f"),
        ("\U0001fae9", "\U0001fae9"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_becomes_of_it(text: str, shown: str) -> None:
    assert one_line(text) == shown


def test_ten_thousand_wide_glyphs_are_cut_and_wrapped() -> None:
    assert one_line(WIDE, 20) == "漢" * 9 + ELLIPSIS
    assert one_line(WIDE, 21) == "漢" * 10 + ELLIPSIS
    assert wrapped(WIDE, 9, 3) == ["漢" * 4, "漢" * 4, "漢" * 4 + ELLIPSIS]
    assert cells(WIDE) == 20_000


def test_long_texts_are_read_only_as_far_as_they_are_shown() -> None:
    class Counted(str):
        __slots__ = ()
        read = 0

        def __iter__(self):
            for char in super().__iter__():
                Counted.read += 1
                yield char

    assert len(one_line(Counted(WIDE), 20)) == 10
    assert Counted.read < 20
    Counted.read = 0
    wrapped(Counted(WIDE), 20, 5)
    assert Counted.read < 100


@given(TEXTS | st.text("ab ,;:\"'“”„«»，、/&", max_size=12), st.integers(1, 20))
def test_a_name_among_others_ends_where_it_seems_to(name: str, width: int) -> None:
    shown = apart(name, width)
    assert cells(shown) <= width + 2
    assert drawn(shown) <= width + 2
    inner = shown
    if shown.startswith('"'):
        assert shown.endswith('"')
        inner = shown[1:-1]
        assert not any(unicodedata.category(char) in {"Pi", "Pf"} for char in inner)
    else:
        assert not set(shown) & set(",;:，、/&")
    assert '"' not in inner


def test_the_page_shows_what_is_not_seen_by_number_as_terminals_do() -> None:
    pattern = re.search(r"const HIDDEN = /(\[.*\])/gu;", WORDS.read_text("utf-8"))
    assert pattern
    hidden = re.compile(re.sub(r"\\u\{(\w+)\}", lambda found: f"\\U{found[1]:0>8}", pattern[1]))
    assert [char for char in INVISIBLE | {"\u1160", "\u200b", "\u202e"} if not hidden.fullmatch(char)] == []


def test_words_are_kept_whole() -> None:
    assert wrapped("the bridge is out\n\nnorth side", 10, 9) == ["the bridge", "is out", "", "north side"]
    assert wrapped("", 10, 3) == [""]
    assert padded("漢", 4) == "漢  "
    assert padded("abc", 2) == "abc"


@given(st.integers(2, 60))
@settings(max_examples=20)
def test_the_hostile_sample_stays_in_its_lines(width: int) -> None:
    for text in (HOSTILE_TEXT, HOSTILE_NAME):
        for line in wrapped(text, width, 50):
            assert drawn(line) <= width
            assert "\x1b" not in line
