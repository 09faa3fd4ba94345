"""Costs that grow with the nodes and the time of a mesh, at three sizes each: ``python -m tests.bench.sink_sizing``.

Listing and planning of segments, the offset, the hours with single packets, and the database. Seconds are those of the
processor, memory is what allocations add; for a plan of a mesh that is larger than any machine here
(docs/reference/sink.md).
"""

import resource
import sys
import tempfile
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from spark_sink.derive.clock_table import clock_rows
from spark_sink.derive.mesh_time import corrections
from spark_sink.facts_loader import records_by_node
from spark_sink.log_files import LocalLogFiles
from spark_sink.planner import Planner
from spark_sink.refresh_schedule import RefreshSchedule
from spark_sink.serving import facts as stored
from spark_sink.serving.connect import open_for_writing
from spark_sink.stream_offset import parse_offset_text, serialize_offset_text
from tests.bench import sink_state
from tests.bench.figure import Figure
from tests.spark_sink.logs import T0_US, line, node_name

SEGMENTS: Final = (10_000, 40_000, 160_000)
"""Hourly ones, of 100 nodes, 400, 1,600."""
A_NODE: Final = 100
MESHES: Final = ((50, 4), (100, 4), (100, 8))
"""Nodes and days of databases."""


def main() -> None:
    """Measure, print."""
    with tempfile.TemporaryDirectory() as folder:
        for figure in figures(Path(folder)):
            sys.stdout.write(f"{figure.name}: {figure.value:.4g} {figure.unit}\n")
            sys.stdout.flush()


def figures(folder: Path) -> Iterator[Figure]:
    """All of them."""
    for segments in SEGMENTS:
        yield from listing(folder / f"{segments}", segments)
    for nodes, days in MESHES:
        yield from database(folder / f"{nodes}-{days}.sqlite", nodes, days)


def listing(folder: Path, segments: int) -> Iterator[Figure]:
    """Segments of a record each."""
    for node in range(segments // A_NODE):
        log = folder / node_name(node)
        log.mkdir(parents=True)
        for number in range(A_NODE):
            header = {"v": 1, "node": node_name(node), "boot": 1, "offset": number, "t_us": T0_US + number}
            (log / f"00000001-{number:012d}.jsonl").write_bytes(line({**header, "mono_us": 1, "kind": "x"}))
    files = LocalLogFiles(str(folder))
    name = f"{segments:,} segments"
    first = spent(files.listing)
    yield Figure(f"{name}: listing them, each", 1e6 * first.seconds / segments, "µs")
    kept = grown(lambda: LocalLogFiles(str(folder)).listing())
    yield Figure(f"{name}: memory of the list, each", kept / segments, "bytes")
    yield Figure(
        f"{name}: listing them again, each node", 1e6 * spent(files.listing).seconds * A_NODE / segments, "µs"
    )
    planner = Planner(files)
    planner.refresh()
    plan = spent(lambda: planner.advance({}, None))
    other = Planner(files)
    other.refresh()
    kept = grown(lambda: other.advance({}, None))
    yield Figure(f"{name}: planning to read them, each", 1e6 * plan.seconds / segments, "µs")
    yield Figure(f"{name}: memory of the planner, each", kept / segments, "bytes")
    read = plan.made
    planner.advance(read, None)
    again = spent(lambda: planner.advance(read, None))
    yield Figure(
        f"{name}: seeing that all are read, each node", 1e6 * again.seconds * A_NODE / segments, "µs"
    )
    text = serialize_offset_text(read)
    yield Figure(f"{name}: the offset, each node and boot", len(text) * A_NODE / segments, "bytes")
    coded = spent(lambda: serialize_offset_text(parse_offset_text(text)))
    yield Figure(
        f"{name}: reading and writing it, each node and boot", 1e6 * coded.seconds * A_NODE / segments, "µs"
    )


def database(path: Path, nodes: int, days: int) -> Iterator[Figure]:
    """A database of a mesh."""
    sink_state.make(path, days, nodes)
    hours = nodes * 24 * days
    name = f"{nodes} nodes × {days} days"
    with open_for_writing(str(path)) as opened:
        clocks = corrections(stored.whole(opened, "clocks"))
        start = spent(lambda: RefreshSchedule(opened, threading.Lock(), lambda: 0))
        keys = start.made.hours.keys
        kept = grown(lambda: RefreshSchedule(opened, threading.Lock(), lambda: 0).hours.reach(clocks))
        yield Figure(f"{name}: finding the hours at the start, each", 1e6 * start.seconds / hours, "µs")
        yield Figure(f"{name}: memory of the hours, each", kept / hours, "bytes")
        names = {number: node_name(number) for number in np.unique(keys[:, 0]).tolist()}
        clock = spent(lambda: clock_rows(lambda: records_by_node(opened, keys), names))
        yield Figure(f"{name}: estimating clocks, each hour", 1e6 * clock.seconds / hours, "µs")
        found = opened.rows("SELECT sum(n), sum(length(rows)) FROM sights")
        ((sights, packed),) = np.array(found, np.int64).tolist()
        ((size,),) = opened.rows("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")
    assert isinstance(size, int)
    yield Figure(f"{name}: packets and arrivals of an hour", sights / hours, "")
    yield Figure(f"{name}: the database, each hour", size / hours, "bytes")
    yield Figure(f"{name}: of that single packets, which expire", packed / hours, "bytes")


@dataclass(frozen=True, slots=True)
class Spent:
    """Time of a call, and what it made."""

    seconds: float
    made: Any


def spent(work: Callable[[], Any]) -> Spent:
    """Call *work*."""
    before_s = _processor_s()
    made = work()
    return Spent(_processor_s() - before_s, made)


def grown(work: Callable[[], Any]) -> int:
    """Return the bytes that are allocated after *work*, with what it made."""
    tracemalloc.start()
    try:
        made = work()
        size, _most = tracemalloc.get_traced_memory()
        del made
        return size
    finally:
        tracemalloc.stop()


def _processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
