"""How fast logs become tables, beside Spark's own JSON source over the same files; and whether that is linear."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.bench import sink_logs
from tests.bench.figure import Figure
from tests.bench.sink_process import Run, backfill

NODES: Final = 100
HOURS: Final = 168
"""A week: two million records."""
LARGE_NODES: Final = 1_000
"""With the same week twenty million."""
LARGE_HOURS: Final = 17
"""Of the large mesh, two million."""
RATIO_MIN: Final = 0.5
LINEAR_MIN: Final = 0.9
MEMORY_MAX_MIB: Final = 2_560
"""Java's heap is a GiB and Spark's own code and buffers half as much again; the driver holds a batch's tables."""


@dataclass(frozen=True, slots=True)
class Json:
    """Seconds that Spark's JSON source took for the same files."""

    process: float
    """From the start of the process to the end of the first reading."""
    first: float
    """That reading alone, Spark's start not counted: as cold as a backfill is."""
    batch: float
    """By batch, the best of some in a warm session."""
    stream: float
    """By stream, likewise; infinite if it was not tried."""


def read_json(logs: Path, *ways: str) -> Json:
    """Measure it, in a process of its own."""
    words = [word for way in ways for word in ("--way", way)]
    command = [sys.executable, "-m", "tests.bench.sink_json", str(logs), *words]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    best = {way: min(found.get(way) or [float("inf")]) for way in ("batch", "stream")}
    return Json(found["process"][0], found["first"][0], best["batch"], best["stream"])


def figures(folder: Path) -> tuple[list[Figure], float]:
    """Two million events, in hourly segments and in large ones; and the rate of the former, events a second."""
    logs = folder / "week"
    events = sink_logs.write(logs, nodes=NODES, hours=HOURS)
    name = f"{events / 1e6:.2f} M events ({NODES} nodes × 1 week)"
    plain = read_json(logs)
    runs = [backfill(logs, folder / f"week-{number}.sqlite") for number in range(2)]
    found = compare_runs(f"{name}, hourly segments", events, runs, plain, must=True)
    joined = folder / "joined"
    sink_logs.join_segments(logs, joined)
    large = [backfill(joined, folder / f"joined-{number}.sqlite") for number in range(2)]
    found += compare_runs(f"{name}, segments of 4 MiB", events, large, read_json(joined), must=False)
    return found, events / min(run.working_s for run in runs)


def compare_runs(name: str, events: int, runs: Sequence[Run], plain: Json, *, must: bool) -> list[Figure]:
    run = min(runs, key=lambda each: each.working_s)
    whole = min(each.seconds for each in runs)
    target = f"at least {RATIO_MIN} ×" if must else ""
    of_process, of_work = plain.process / whole, plain.first / run.working_s
    return [
        Figure(f"{name}: backfill, whole process", events / whole, "events/s"),
        Figure("Spark's JSON source, whole process", events / plain.process, "events/s"),
        Figure("ratio of whole processes", of_process, "×", target, of_process >= RATIO_MIN or not must),
        Figure(f"{name}: backfill, without Spark's start", events / run.working_s, "events/s"),
        Figure("of that reading, merging", run.reading_s, "s"),
        Figure("and what takes all logs together", run.deriving_s, "s"),
        Figure("share of the work in Python that Spark's tasks do", run.cores.share, "%"),
        Figure("Spark's JSON source, without Spark's start", events / plain.first, "events/s"),
        Figure("ratio without Spark's start", of_work, "×", target, of_work >= RATIO_MIN or not must),
        Figure("Spark's JSON source, batch, again in a warm session", events / plain.batch, "events/s"),
        Figure("Spark's JSON source, stream, again in a warm session", events / plain.stream, "events/s"),
    ]


def large_figures(folder: Path, small_rate: float | None) -> list[Figure]:
    """Twenty million events against two million: of the same mesh, and of a smaller one if its rate is given."""
    short = folder / "short"
    few = sink_logs.write(short, nodes=LARGE_NODES, hours=LARGE_HOURS)
    shorter = backfill(short, folder / "short.sqlite")
    logs = folder / "large"
    events = sink_logs.write(logs, nodes=LARGE_NODES, hours=HOURS)
    run = backfill(logs, folder / "large.sqlite")
    rate = events / run.working_s
    ratio = rate / (few / shorter.working_s)
    memory = run.memory.driver + run.memory.java
    name = f"{events / 1e6:.1f} M events ({LARGE_NODES} nodes × 1 week)"
    short_name = f"{few / 1e6:.2f} M events ({LARGE_NODES} nodes × {LARGE_HOURS} h)"
    linear, bounded = f"at least {LINEAR_MIN} ×", f"at most {MEMORY_MAX_MIB} MiB"
    of_small = (
        []
        if small_rate is None
        else [Figure(f"and to that of {NODES} nodes × 1 week", rate / small_rate, "×")]
    )
    return [
        Figure(f"{name}: backfill, without Spark's start", rate, "events/s"),
        Figure("of that reading, merging", run.reading_s, "s"),
        Figure("and what takes all logs together", run.deriving_s, "s"),
        Figure("share of the work in Python that Spark's tasks do", run.cores.share, "%"),
        Figure(f"its rate to that of {short_name}", ratio, "×", linear, ratio >= LINEAR_MIN),
        *of_small,
        Figure("most memory, Python driver", run.memory.driver, "MiB"),
        Figure("most memory, Java", run.memory.java, "MiB"),
        Figure("the two together", memory, "MiB", bounded, memory <= MEMORY_MAX_MIB),
        Figure("most memory, Spark's Python workers together", run.memory.workers, "MiB"),
    ]
