"""CSV: read back by Python's own reader, and harmless in a spreadsheet."""

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_sink.errors import BadQuestionError
from spark_sink.page import limits
from spark_sink.page.csv_export import cell, sheet
from tests.spark_sink.page.asking import ask

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)


def read(body: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(body.decode(), newline="")))


ROWS = st.fixed_dictionaries(
    {"name": TEXTS, "n": st.integers(), "inner": st.fixed_dictionaries({"a": TEXTS})}
)


@given(st.lists(ROWS))
def test_cells_come_back_as_they_were_or_with_a_quote(rows: list[dict[str, object]]) -> None:
    found = read(sheet("gossip", {"nodes": rows}, None))
    assert len(found) == len(rows)
    for row, back in zip(rows, found, strict=True):
        inner = row["inner"]
        assert isinstance(inner, dict)
        for text, shown in ((row["name"], back["name"]), (inner["a"], back["inner.a"])):
            assert isinstance(text, str)
            assert shown == text or (shown == f"'{text}" and text[0] in "=+-@\t\r")
            assert not shown.startswith(("=", "+", "-", "@"))
        assert int(back["n"]) == row["n"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        (True, "1"),
        (-3, "-3"),
        (1.5, "1.5"),
        ("=1+1", "'=1+1"),
        ("-3", "'-3"),
        ("a\0b", "ab"),
        ("x" * 2_000, "x" * limits.CSV_TEXT_MAX),
    ],
)
def test_a_cell(value: object, shown: str) -> None:
    assert cell(value) == shown


def test_harmful_names_are_plain_texts(database: Path) -> None:
    answer = ask(database, "overview")
    rows = read(sheet("overview", answer, None))
    labels = [row["label"] for row in rows]
    assert '\'=HYPERLINK("http://198.51.100.1","click")' in labels
    assert "<img src=x onerror=alert(1)>" in labels
    assert len(rows) == len(answer["nodes"])


def test_other_tables_of_an_answer(database: Path) -> None:
    answer = ask(database, "overview")
    points = read(sheet("overview", answer, "convergence"))
    assert [(int(point["t_us"]), int(point["missing"])) for point in points] == answer["convergence"]
    held = read(sheet("overview", answer, "recent"))
    assert held[0]["held_by"].split(" ") == answer["recent"][0]["held_by"]
    with pytest.raises(BadQuestionError):
        sheet("overview", answer, "sentence")
    with pytest.raises(BadQuestionError):
        sheet("heatmap", ask(database, "heatmap"), "behind")


def test_the_heat_map_is_a_row_a_cell(database: Path) -> None:
    answer = ask(database, "heatmap")
    rows = read(sheet("heatmap", answer, None))
    assert len(rows) == len(answer["feeds"]) * len(answer["nodes"])
    assert sum(int(row["behind"]) for row in rows) == sum(map(sum, answer["behind"]))
    assert sum(int(row["chunks_missing"]) for row in rows) == sum(map(sum, answer["chunks_missing"]))
