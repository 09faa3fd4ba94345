"""Performance of the analytics: rates beside plain reading, event to pixel, the page, and the state after a kill."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests import needs
from tests.bench import (
    machine,
    sink_bronze,
    sink_engines,
    sink_kills,
    sink_paint,
    sink_pixels,
    sink_rates,
    sink_refresh,
    tables,
)
from tests.bench.figure import Figure, Findings
from tests.browser.conftest import ARGUMENTS

TITLES = {
    "rates": "backfill of two million events",
    "engines": "the two engines",
    "bronze": "bronze",
    "large": "backfill of twenty million",
    "history": "a long history",
    "pixels": "from event to pixel",
    "paint": "the page",
    "kills": "kills",
}
"""By part. ``large`` takes some ten minutes and 10 GB of disk, ``history`` half
an hour and 10 GB, ``kills`` half an hour."""
NOTES = {
    "rates": """\
The logs are bulk logs ([how](sim.md#logs-in-bulk)). `tinyssb-sink backfill` runs as a user would run it, with 2 tasks
and 1 GiB for Java, into SQLite, and ends when no hour is left to be derived; the better of two runs counts. Spark's own
JSON source reads the same files by batch, with all fields of the schema, discards the rows, and has the same settings.
Both run first in a new process. The last rows are of a warm session, which has read the files before, and has compiled
and cached everything it needs.""",
    "engines": """\
[Both engines](sink.md#which-engine) take turns on one machine, each with 2 tasks at a time, twice; the best counts.
*Backfill* reads bulk logs into SQLite and ends when no hour is left to be derived. *Event → row*: ten nodes append to
their logs, with a tenth of the records publications, and `run` follows them, with refreshes beside it. A publication
has its row when another connection sees the database count it, in looks 5 ms apart; all of 30 s are watched, after a
warm-up of 15 s. Processor time is that of the job, of Java and of all Python workers.""",
    "bronze": """\
The same logs. Spark's JSON source reads them with all fields of the schema: as a stream that discards
the rows, and as a table that is written as Parquet files. The same session lands them, and reads bronze with all
columns by Spark's own Parquet source. *Cold* is the first time in a new process, Spark's start not counted; *warm* the
best of two rounds in one session, in which the ways take turns.""",
    "large": """\
The rate is that of one run. Most memory is the peak that the kernel reports (`VmHWM`); Java has a heap of 1 GiB.""",
    "history": """\
1,000 nodes in a ring that each hear six, with 1,000 feeds: an hour has two adverts of each node, and four entries that
reach all. Databases of 1 and of 30 days are made from columns of records by the job's own code, without logs and Spark.
Then a minute of the mesh is added at a time, in a new process. A *refresh* is its merge, a pass that derives its hours,
changes and alerts, and the summary that open pages get; the median of five. Clocks are estimated less often, and not in
it. *First answer* is what a client of the real server waits for a view of which nothing was kept, over a connection of
its own, compressed: the least of three. PostgreSQL has a copy of the same database. At last all nodes go on, each a
record a second, and `run` reads them: each entry is watched until it is counted in the database.""",
    "pixels": """\
Ten nodes append to their logs, with a tenth of the records publications; `run`, `serve`, Chromium and the writer share
the cores. The measurement watches the number of entries on the overview: an entry is seen when the first frame is drawn
with a number that includes it. It covers all entries of 60 s, after a warm-up of 30 s.""",
    "paint": """\
A synthetic mesh of 50 nodes and 200 feeds over a day, all 10,000 cells of the heat map, the real server on loopback, an
empty browser cache; medians of five. *First paint* is Chromium's own; *figures drawn* is when the first numbers of the
mesh are shown. *Main thread* is the total work of the page's main thread from a change in the database to the next
frames.""",
    "kills": """\
Each time `tinyssb-sink backfill`, with both engines in turns, starts on an empty database, is killed with all its
processes (SIGKILL) at a random moment of its work, and is run again to the end. Facts must then equal the counts of a
simple program, record by record, and derived tables those of an undisturbed run.""",
}
"""How each is measured."""


def run(kills: int, parts: Sequence[str]) -> Iterator[Findings]:
    """Measure these parts, each a section of its own."""
    folder = machine.ROOT / ".bench"
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="sink-") as name:
        for part, figures in measure(Path(name), kills, parts):
            yield Findings(figures, body(part, figures), f"Sink: {TITLES[part]}")


def measure(folder: Path, kills: int, parts: Sequence[str]) -> Iterator[tuple[str, list[Figure]]]:
    """The figures of each part."""
    small_rate = None
    if "rates" in parts:
        figures, small_rate = sink_rates.figures(_made(folder, "rates"))
        yield "rates", figures
    if "engines" in parts:
        yield "engines", sink_engines.figures(_made(folder, "engines"))
    if "bronze" in parts:
        yield "bronze", sink_bronze.figures(_made(folder, "bronze"))
    if "large" in parts:
        yield "large", sink_rates.large_figures(_made(folder, "large"), small_rate)
    if "history" in parts:
        yield "history", sink_refresh.figures(_made(folder, "history"))
    looks: dict[str, Callable[[Browser, Path], list[Figure]]] = {
        "pixels": sink_pixels.figures,
        "paint": sink_paint.figures,
    }
    for part, look in looks.items():
        if part in parts:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=needs.chromium(), args=list(ARGUMENTS))
                yield part, look(browser, _made(folder, part))
                browser.close()
    if "kills" in parts:
        yield "kills", sink_kills.figures(_made(folder, "kills"), kills)


def body(part: str, figures: list[Figure]) -> str:
    """Format one part: how it was measured, and a table."""
    return f"{NOTES[part]}\n\n{tables.figures_table(figures)}"


def _made(folder: Path, name: str) -> Path:
    made = folder / name
    made.mkdir()
    return made
