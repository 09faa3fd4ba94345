"""Run the measurements, print them, and write docs/reference/benchmarks.md."""

import argparse
import importlib
import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.bench import machine, tables
from tests.bench.figure import Findings

FOLDER = Path(__file__).parent
PAGE = machine.ROOT / "docs/reference/benchmarks.md"
SEEDS = 10
"""Runs for each figure that depends on luck."""
KILLS = 50
"""How often the sink's job is killed."""
LONG = frozenset({"sink"})
"""Measurements that take so long that they are run by name only."""
SINK_PARTS = ("rates", "engines", "bronze", "large", "history", "pixels", "paint", "kills")
"""Measurements of the sink (bench_sink describes each)."""
INTRODUCTION = """\
# Benchmarks

`make bench` writes this page; do not edit it by hand. `make bench-gossip` and `make bench-sink` replace only their own
sections; the latter takes an hour, and `make bench` leaves it out.
Each figure is of the machine named above it; other machines, and busier ones, give other figures. Ratios compare two
things measured in the same run.
"""


def names() -> list[str]:
    """The measurements there are."""
    return sorted(path.stem.removeprefix("bench_") for path in FOLDER.glob("bench_*.py"))


def measure(name: str, options: Mapping[str, Any]) -> Iterator[Findings]:
    """Run one of them with those of the options that it takes; what is found comes as soon as it is."""
    run = importlib.import_module(f"tests.bench.bench_{name}").run
    taken = inspect.signature(run).parameters
    found = run(**{key: value for key, value in options.items() if key in taken})
    if isinstance(found, list):
        yield Findings(found, tables.figures_table(found))
    elif isinstance(found, Findings):
        yield found
    else:
        yield from found


def write(heading: str, text: str) -> None:
    """Put *text* into the page as the section under *heading*; the others stay as they are."""
    written = tables.sections(PAGE.read_text("utf-8")) if PAGE.exists() else {}
    written[heading] = text
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(tables.page(INTRODUCTION, dict(sorted(written.items()))), "utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    """Measure. Returns 1 if something that must be reached was not."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--only", choices=names(), help="run this one, and write its section only")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"runs for each figure of luck ({SEEDS})")
    parser.add_argument("--print", dest="keep", action="store_true", help="leave the page as it is")
    parser.add_argument("--kills", type=int, default=KILLS, help=f"of the sink's job ({KILLS})")
    parser.add_argument(
        "--parts", nargs="+", default=SINK_PARTS, choices=SINK_PARTS, help="of the sink's section"
    )
    arguments = parser.parse_args(argv)
    for name in ("seeds", "kills"):
        if getattr(arguments, name) < 1:
            parser.error(f"--{name} takes 1 or more")
    described = machine.describe()
    ok = True
    for name in [arguments.only] if arguments.only else sorted(set(names()) - LONG):
        print(f"· Measuring: {name}", flush=True)
        for found in measure(name, vars(arguments)):
            print(tables.figures_table(found.figures), flush=True)
            ok = ok and all(figure.ok for figure in found.figures)
            if not arguments.keep:
                write(found.heading or name.capitalize(), tables.section(described, found.body))
                print(f"Written to {PAGE.relative_to(machine.ROOT)}.")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
