"""Both engines on one machine, in turns: how fast a backfill is, and how long a record takes to its row."""

import threading
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spark_sink.serving.connect import open_for_reading
from spark_sink.settings import LOCAL_ENGINE, SPARK_ENGINE
from tests.bench import sink_logs
from tests.bench.figure import Figure
from tests.bench.sink_logs import LiveMesh
from tests.bench.sink_pixels import START_S, delays_s, percentile
from tests.bench.sink_process import Run, Sink, backfill

ENGINES: Final = (LOCAL_ENGINE, SPARK_ENGINE)
ROUNDS: Final = 2
"""Of each measurement and engine; the best counts."""
NODES: Final = 100
HOURS: Final = 84
"""Half a week: a million records."""
RATE: Final = 1_000.0
"""Records a second of the live mesh."""
WARM_S: Final = 15.0
WATCH_S: Final = 30.0
LOOK_S: Final = 0.005
"""Between two looks at the database."""


@dataclass(frozen=True, slots=True)
class Live:
    """A mesh that is followed for a while."""

    delays_s: list[float]
    """From the line of a publication to its row, seen by another connection; sorted."""
    used: float
    """Processor time of all processes, seconds of a second."""


class Watcher(threading.Thread):
    """Notes when the number of published entries in the database has become another one, and which."""

    def __init__(self, database: Path, before: int) -> None:
        """*before*: published entries that were there already."""
        super().__init__()
        self._database = str(database)
        self._before = before
        self._ended = threading.Event()
        self.seen: list[tuple[float, int]] = []

    def run(self) -> None:
        """Look again and again."""
        with closing(open_for_reading(self._database)) as reader:
            while not self._ended.wait(LOOK_S):
                ((count,),) = reader.rows("SELECT sum(newest) FROM feed_totals")
                number = int(str(count or 0)) - self._before
                if not self.seen or self.seen[-1][1] != number:
                    self.seen.append((time.time(), number))

    def end(self) -> None:
        """Look no more."""
        self._ended.set()
        self.join()


def live(folder: Path, engine: str) -> Live:
    """Follow a new mesh with `run`."""
    logs = folder / "logs"
    return follow(LiveMesh(logs, RATE), logs, folder / "live.sqlite", engine)


def follow(
    mesh: LiveMesh,
    logs: Path,
    database: Path,
    engine: str,
    *,
    before: int = 0,
    warm_s: float = WARM_S,
    watch_s: float = WATCH_S,
) -> Live:
    """Follow a mesh that is about to begin with `run`. *before*: published entries that the database has already."""
    with Sink(["run", str(logs), "--db", str(database), "--engine", engine]) as job:
        job.wait_for("Reading", START_S)
        mesh.start()
        watcher = Watcher(database, before)
        watcher.start()
        try:
            time.sleep(warm_s)
            since_s, used_s = time.time(), job.used_s()
            time.sleep(watch_s)
            used = (job.used_s() - used_s) / (time.time() - since_s)
            time.sleep(WARM_S / 3)  # what was written last is to be seen, too
        finally:
            mesh.end()
            watcher.end()
    return Live(delays_s(watcher.seen, mesh.published_s, since_s, since_s + watch_s), used)


def figures(folder: Path) -> list[Figure]:
    """Measure both, in turns."""
    logs = folder / "logs"
    events = sink_logs.write(logs, nodes=NODES, hours=HOURS)
    runs: dict[str, list[Run]] = {engine: [] for engine in ENGINES}
    lives: dict[str, list[Live]] = {engine: [] for engine in ENGINES}
    for number in range(ROUNDS):
        for engine in ENGINES:
            name = f"{engine}-{number}"
            runs[engine].append(backfill(logs, folder / f"{name}.sqlite", "--engine", engine))
            (folder / name).mkdir()
            lives[engine].append(live(folder / name, engine))
    found = [
        figure for engine in ENGINES for figure in _of_engine(engine, events, runs[engine], lives[engine])
    ]
    best = {engine: min(percentile(each.delays_s, 0.5) for each in lives[engine]) for engine in ENGINES}
    work = {engine: min(run.cores.whole for run in runs[engine]) for engine in ENGINES}
    return [
        *found,
        Figure("processor time of a backfill, local / Spark", work[LOCAL_ENGINE] / work[SPARK_ENGINE], "×"),
        Figure("median delay, local / Spark", best[LOCAL_ENGINE] / best[SPARK_ENGINE], "×"),
    ]


def _of_engine(engine: str, events: int, runs: list[Run], lives: list[Live]) -> list[Figure]:
    run = min(runs, key=lambda each: each.working_s)
    followed = min(lives, key=lambda each: percentile(each.delays_s, 0.5))
    memory = run.memory
    name = f"`{engine}`"
    return [
        Figure(
            f"{name}: backfill of {events / 1e6:.2f} M events, whole process",
            events / min(each.seconds for each in runs),
            "events/s",
        ),
        Figure(f"{name}: without its start", events / run.working_s, "events/s"),
        Figure(f"{name}: of that reading, merging", run.reading_s, "s"),
        Figure(f"{name}: from start to reading", min(each.start_s for each in runs), "s"),
        Figure(f"{name}: processor time, all processes", min(each.cores.whole for each in runs), "s"),
        Figure(f"{name}: most memory, all processes", memory.driver + memory.java + memory.workers, "MiB"),
        Figure(
            f"{name}: event → row at 1,000 events/s, p50", 1_000 * percentile(followed.delays_s, 0.5), "ms"
        ),
        Figure(
            f"{name}: event → row at 1,000 events/s, p95", 1_000 * percentile(followed.delays_s, 0.95), "ms"
        ),
        Figure(
            f"{name}: processor while it follows them", 100 * min(each.used for each in lives), "% of a core"
        ),
        Figure(f"{name}: entries watched for it", len(followed.delays_s), ""),
    ]
