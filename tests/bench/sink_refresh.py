"""Cost of one refresh after a day of history and after a month; then each view's first answer, and a thousand events a
second.

``python -m tests.bench.sink_refresh DATABASE`` measures the refresh of one database, which with its mesh comes from
`sink_state`: adds a minute of the mesh some times, and prints one JSON object, seconds of each part and MiB.
"""

import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from spark_sink.page.reader import VIEWS, ReconnectingReader
from spark_sink.page.scope import Question
from spark_sink.refresh import Refresh
from spark_sink.serving.connect import open_for_reading, open_for_writing
from tests import needs
from tests.bench import sink_latency, sink_state, sink_views
from tests.bench.figure import Figure
from tests.spark_sink.serving.server import running_server

MINUTE_US: Final = 60_000_000
ROUNDS: Final = 5
STEP_US: Final = 6_000_000
"""Between two passes by the clock of the job: alerts are due each time, the estimate of clocks is not."""
DAYS: Final = 30
RATIO_MAX: Final = 1.5
LOCK_MAX_S: Final = 1.0
MEMORY_MAX_MIB: Final = 700.0


class TimedLock:
    """A lock that notes how long it was held."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since_s = 0.0
        self.longest_s = 0.0

    def __enter__(self) -> None:
        self._lock.acquire()
        self._since_s = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.longest_s = max(self.longest_s, time.perf_counter() - self._since_s)
        self._lock.release()


def timed(work: Callable[[], Any]) -> float:
    """Seconds that it takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def measure(path: Path) -> dict[str, float]:
    """Medians of the parts of a refresh, after a first pass that works in what came since the job before."""
    mesh = sink_state.load_mesh(path)
    page = ReconnectingReader(str(path))
    rounds: list[tuple[float, ...]] = []
    with open_for_writing(str(path)) as database:
        state, lock = sink_state.State(database, mesh), TimedLock()
        wall_us = [mesh.now_us]
        refresh = Refresh(database, lock, lambda: wall_us[0])  # type: ignore[arg-type] # all that it uses of a lock
        for number in range(ROUNDS + 1):
            batch, _ = state.prepare(MINUTE_US)
            wall_us[0] += STEP_US
            with lock:
                merged_s = timed(lambda batch=batch: state.merge(batch))  # type: ignore[misc] # a lambda's default
            passed_s = timed(refresh.run_pass)
            summed_s = timed(lambda: page.ask("summary", Question()))
            rounds.append((merged_s, passed_s, summed_s))
            if not number:
                lock.longest_s = 0.0
    page.close()
    sink_state.mesh_of(path).unlink()  # the database went on without it
    return {
        "refresh": statistics.median(map(sum, rounds[1:])),
        "lock": lock.longest_s,
        "memory": peak_mib(),
    }


def peak_mib() -> float:
    """The most memory of this process; what the kernel reports as used has the parent's in it, too."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1024


def views(path: Path) -> dict[str, Question]:
    """All views with their usual questions: the last day, and some node, feed and message."""
    reader = open_for_reading(str(path))
    ((node,),) = reader.rows("SELECT node FROM nodes WHERE node_no = 7")
    ((feed, seq),) = reader.rows(
        "SELECT f.feed, t.newest FROM feed_totals t JOIN feeds f ON f.feed_no = t.feed_no ORDER BY t.feed_no LIMIT 1"
    )
    ((last_us,),) = reader.rows("SELECT max(hour_us) FROM steps")
    reader.close()
    assert isinstance(seq, int)
    assert isinstance(last_us, int)
    named = {
        "node": Question(name=str(node)),
        "feed": Question(name=str(feed)),
        "message": Question(name=str(feed), seq=seq),
    }
    earlier = {"heatmap, 5 h ago": Question(at_us=last_us - 5 * sink_state.HOUR_US)}
    return {view: named.get(view, Question()) for view in VIEWS if view != "summary"} | earlier


def figures(folder: Path) -> list[Figure]:
    """Make both meshes, and measure each in a process of its own; then what is to be seen of the longer one."""
    found = {}
    for days in (1, DAYS):
        path = folder / f"{days}.sqlite"
        sink_state.make(path, days)
        found[days] = in_process(path)
    questions = views(path)
    rows = table(found[1], found[DAYS])
    answered = sink_views.first_answers(str(path), questions)
    rows += sink_views.table(answered, sink_views.cold_answer_ms(str(path), questions))
    if needs.postgres("initdb"):
        with running_server() as server:
            sink_views.copy(path, server.url("bench"))
            rows += sink_views.postgres_table(sink_views.first_answers(server.url("bench"), questions))
    return rows + sink_latency.figures(folder, path)


def in_process(path: Path) -> dict[str, float]:
    """Measure a database in a new process, so that its memory counts alone."""
    words = [sys.executable, "-m", "tests.bench.sink_refresh", str(path)]
    ran = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
    told: dict[str, float] = json.loads(ran.stdout)
    return told


def table(day: dict[str, float], month: dict[str, float]) -> list[Figure]:
    """Figures of a mesh after a day and after a month."""
    name, ratio = f"{sink_state.NODES:,} nodes", month["refresh"] / day["refresh"]
    lock, memory = month["lock"], month["memory"]
    return [
        Figure(f"{name}, one refresh after 1 day", day["refresh"], "s"),
        Figure(f"{name}, one refresh after {DAYS} days", month["refresh"], "s"),
        Figure("ratio of the two", ratio, "×", f"at most {RATIO_MAX:g}", ratio <= RATIO_MAX),
        Figure("longest hold of the database", lock, "s", f"at most {LOCK_MAX_S:g} s", lock <= LOCK_MAX_S),
        Figure(
            "memory of the process",
            memory,
            "MiB",
            f"at most {MEMORY_MAX_MIB:g} MiB",
            memory <= MEMORY_MAX_MIB,
        ),
    ]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(Path(sys.argv[1]))) + "\n")
