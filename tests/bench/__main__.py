"""Run the measurements, print them, and write docs/reference/benchmarks.md."""

import argparse
import importlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.bench import machine
from tests.bench.figure import Figure

FOLDER = Path(__file__).parent
PAGE = machine.ROOT / "docs/reference/benchmarks.md"
INTRODUCTION = """\
# Benchmarks

Written by `make bench`, never by hand. Each figure is of one run on the machine below; other machines, and busier
ones, give others. Ratios are of two things measured in the same run.
"""


def names() -> list[str]:
    """The measurements there are."""
    return sorted(path.stem.removeprefix("bench_") for path in FOLDER.glob("bench_*.py"))


def measure(name: str) -> list[Figure]:
    """Run one of them."""
    figures: list[Figure] = importlib.import_module(f"tests.bench.bench_{name}").run()
    return figures


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """*rows* as a table that reads well as plain text, too."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    cells = [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines]
    cells.insert(1, ["-" * width for width in widths])
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def figures_table(figures: Sequence[Figure]) -> str:
    """The figures, one a row."""
    rows = [(figure.name, figure.measured, figure.target or "–", figure.verdict) for figure in figures]
    return table(("figure", "measured", "must reach", "reached"), rows)


def page(described: Mapping[str, str], figures: Sequence[Figure]) -> str:
    """The whole of docs/reference/benchmarks.md."""
    rows = list(described.items())
    return f"{INTRODUCTION}\n## Machine\n\n{table(('', ''), rows)}\n## Figures\n\n{figures_table(figures)}"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure. Returns 1 if something that must be reached was not."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--only", choices=names(), help="run this one, and leave the page as it is")
    only = parser.parse_args(argv).only
    described = machine.describe()
    figures: list[Figure] = []
    for name in [only] if only else names():
        print(f"· Measuring: {name}", flush=True)
        figures += measure(name)
    print(figures_table(figures), end="")
    if not only:
        PAGE.parent.mkdir(parents=True, exist_ok=True)
        PAGE.write_text(page(described, figures), "utf-8")
        print(f"Written to {PAGE.relative_to(machine.ROOT)}.")
    return 0 if all(figure.ok for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
