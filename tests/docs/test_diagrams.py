"""Diagrams: pictures made from their sources as they are now, which can be read on a phone and without eyes."""

import re
from pathlib import Path

import pytest

from tests.architecture.sources import files, markdown_files, name_of
from tests.docs import diagrams

WIDTH_MAX_PT = 450
"""Width of a diagram with letters of 12 points, which on a phone of 390 pixels are then nine pixels high."""
ALT_WORDS_MIN = 30
SOURCES = [path for path in files() if path.parent == diagrams.FOLDER and path.suffix == ".dot"]
PICTURES = [path for path in files() if path.parent == diagrams.FOLDER and path.suffix == ".svg"]


def test_each_picture_was_made_from_its_source_as_it_is_now() -> None:
    assert [name_of(path) for path in SOURCES if not diagrams.is_current(path)] == []  # `make diagrams`
    assert [path.stem for path in PICTURES] == [path.stem for path in SOURCES]


def test_a_change_of_a_source_is_noticed(tmp_path: Path) -> None:
    source = tmp_path / "a.dot"
    source.write_text("digraph { a -> b }\n", "utf-8")
    assert not diagrams.is_current(source)
    source.with_suffix(".svg").write_text(f"<svg/>\n{diagrams.mark(source)}\n", "utf-8")
    assert diagrams.is_current(source)
    source.write_text("digraph { a -> c }\n", "utf-8")
    assert not diagrams.is_current(source)


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.stem)
def test_a_diagram_can_be_read_on_a_phone_and_on_a_dark_page(picture: Path) -> None:
    text = picture.read_text("utf-8")
    width = re.search(r'<svg width="(\d+)pt"', text)
    assert width is not None
    assert int(width[1]) <= WIDTH_MAX_PT
    assert '<polygon fill="white"' in text  # its background


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.stem)
def test_a_page_shows_each_diagram_and_says_what_it_shows(picture: Path) -> None:
    image = re.compile(rf"!\[([^\]]*)\]\((?:[\w./]*/)?diagrams/{picture.name}\)")
    alts = [alt for page in markdown_files() for alt in image.findall(page.read_text("utf-8"))]
    assert alts != []
    assert [alt for alt in alts if len(alt.split()) < ALT_WORDS_MIN] == []


def test_no_page_has_a_diagram_of_box_characters() -> None:
    boxes = re.compile("[│┌└▶▼─]{2}")
    assert [name_of(path) for path in markdown_files() if boxes.search(path.read_text("utf-8"))] == []
