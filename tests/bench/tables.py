"""Tables and pages of figures, as Markdown that reads well as plain text, too."""

import re
from collections.abc import Mapping, Sequence
from textwrap import fill

from tests.bench.figure import Figure

WIDTH = 118
"""Columns of a line of text."""


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """*rows* as a table."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    cells = [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines]
    cells.insert(1, ["-" * width for width in widths])
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def figures_table(figures: Sequence[Figure]) -> str:
    """The figures, one a row."""
    rows = [(figure.name, figure.measured, figure.target or "–", figure.verdict) for figure in figures]
    return table(("figure", "measured", "must reach", "reached"), rows)


def section(described: Mapping[str, str], body: str) -> str:
    """Format the text below a measurement's heading: the machine, and *body*."""
    machine = "; ".join(f"{key} {value}" for key, value in described.items())
    return f"{fill(f'Measured on: {machine}.', WIDTH)}\n\n{body.strip()}\n"


def sections(page: str) -> dict[str, str]:
    """The sections of *page*, by heading."""
    parts = re.split(r"^## (.+)\n", page, flags=re.MULTILINE)
    return {heading: text.strip() + "\n" for heading, text in zip(parts[1::2], parts[2::2], strict=True)}


def page(introduction: str, written: Mapping[str, str]) -> str:
    """A page of sections."""
    return introduction + "".join(f"\n## {heading}\n\n{text}" for heading, text in written.items())
