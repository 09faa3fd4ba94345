"""The job is killed at random points, and must end with the tables that it ends with undisturbed."""

import json
import random
import sys
from itertools import cycle
from pathlib import Path
from typing import Any, Final

from tests.bench import sink_logs
from tests.bench.figure import Figure
from tests.bench.sink_engines import ENGINES
from tests.bench.sink_process import READING, Run, Sink, backfill
from tests.spark_sink import contents
from tests.spark_sink.logs import Record
from tests.spark_sink.partials import oracle

NODES: Final = 12
HOURS: Final = 8
BATCH_BYTES: Final = 150_000
"""Small, so that there are some twenty batches to be killed in."""
START_S: Final = 120.0
"""The time that Spark has to start."""
Tables = tuple[dict[str, Any], dict[str, Any]]


def records(logs: Path) -> list[Record]:
    """All there are."""
    return [json.loads(line) for path in logs.glob("*/*.jsonl") for line in path.read_bytes().splitlines()]


def differing(found: Tables, wanted: Tables) -> list[str]:
    """Names of facts and derived tables that are not as they should be."""
    names = []
    for some, others in zip(found, wanted, strict=True):
        names += [name for name in sorted(some.keys() | others.keys()) if some.get(name) != others.get(name)]
    return names


def unfinished(database: Path) -> int:
    """Hours that are still to be derived."""
    return int(contents.rows(database, "SELECT count(*) FROM dirty")[0][0])


def kill_once(logs: Path, database: Path, engine: str, after_s: float) -> bool:
    """Kill the job so long after it began to read; whether it was still at it."""
    with Sink(["backfill", str(logs), "--db", str(database), *_options(engine)]) as sink:
        sink.wait_for(READING, START_S)
        killed = not sink.ended(after_s)
        sink.kill()
    return killed


def _options(engine: str) -> list[str]:
    return ["--batch-bytes", str(BATCH_BYTES), "--engine", engine]


def figures(folder: Path, kills: int) -> list[Figure]:
    """Kill so often, each time from an empty database, engines in turns, and look at what comes of it."""
    logs = folder / "logs"
    sink_logs.write(logs, nodes=NODES, hours=HOURS)
    facts = oracle.facts(records(logs))
    calm = {engine: folder / f"calm-{engine}.sqlite" for engine in ENGINES}
    whole: dict[str, Run] = {engine: backfill(logs, path, *_options(engine)) for engine, path in calm.items()}
    wanted = facts, contents.read(calm[ENGINES[0]])[1]
    chance = random.Random(1)
    equal, early = 0, 0
    wrong = {name for path in calm.values() for name in differing(contents.read(path), wanted)}
    for number, engine in zip(range(kills), cycle(ENGINES), strict=False):
        database = folder / f"killed-{number}.sqlite"
        # Until it works: one that was done already was not killed at all.
        while not kill_once(logs, database, engine, chance.uniform(0, whole[engine].working_s)):
            early += 1
            database = folder / f"killed-{number}-{early}.sqlite"
        backfill(logs, database, *_options(engine))
        differ = differing(contents.read(database), wanted)
        wrong.update(differ)
        equal += not differ and not unfinished(database)
        sys.stderr.write(f"  killed {number + 1:3d} of {kills} times, {equal} times all was equal after it\n")
    return [
        Figure("killed at random points", kills, "times"),
        Figure(
            "all tables as the oracle's and as an undisturbed run's after it",
            equal,
            "times",
            f"{kills} times",
            equal == kills and not wrong,
        ),
        *(Figure(f"it differed: {name}", 1, "", "never", ok=False) for name in sorted(wrong)),
    ]
