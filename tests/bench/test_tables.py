"""The page of benchmarks, and its tables."""

from hypothesis import given
from hypothesis import strategies as st

from tests.bench import tables
from tests.bench.figure import Figure, digits

_WORDS = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12)


@given(st.dictionaries(_WORDS, _WORDS, max_size=5))
def test_sections_come_back_from_the_page_they_were_put_into(written: dict[str, str]) -> None:
    page = tables.page("# All\n\nWords.\n", {heading: f"{text}\n" for heading, text in written.items()})
    assert page.startswith("# All\n")
    assert tables.sections(page) == {heading: f"{text}\n" for heading, text in written.items()}


def test_headings_within_a_section_stay_in_it() -> None:
    page = tables.page("# All\n", {"Gossip": "One.\n\n### More\n\nTwo.\n", "Node": "Three.\n"})
    assert list(tables.sections(page)) == ["Gossip", "Node"]
    assert "### More" in tables.sections(page)["Gossip"]


def test_a_section_names_the_machine_in_lines_that_can_be_read() -> None:
    text = tables.section({"processor": "Z80", "memory": "48 KiB", "system": "x" * 100}, "| a |\n\n")
    assert text.startswith("Measured on: processor Z80; memory 48 KiB; system\nxxx")
    assert text.endswith("x.\n\n| a |\n")


def test_columns_are_as_wide_as_what_is_in_them() -> None:
    assert tables.table(("a", "long name"), [("wide cell", "b")]) == (
        "| a         | long name |\n| --------- | --------- |\n| wide cell | b         |\n"
    )


def test_figures_say_whether_they_are_good_enough() -> None:
    lines = tables.figures_table(
        [
            Figure("fast", 1_234, "x/s", "at least 1", ok=True),
            Figure("slow", 0.5, "", "at most 0.1", ok=False),
        ]
    ).splitlines()
    assert "1,234 x/s" in lines[2]
    assert lines[2].endswith("| yes     |")
    assert "| 0.5 " in lines[3]
    assert "**no**" in lines[3]


def test_three_digits() -> None:
    assert [digits(value) for value in (12_345.6, 100.0, 99.96, 1.23456, 0.00012345)] == [
        "12,346",
        "100",
        "100",
        "1.23",
        "0.000123",
    ]
