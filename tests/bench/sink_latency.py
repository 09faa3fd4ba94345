"""From a line in a log to rows: a thousand events a second of a thousand nodes, after a month of history."""

import time
from contextlib import closing
from pathlib import Path
from typing import Final

from spark_sink.serving.connect import open_for_reading
from tests.bench.figure import Figure
from tests.bench.sink_engines import ENGINES, RATE, Live, follow
from tests.bench.sink_logs import LiveMesh
from tests.bench.sink_pixels import SECONDS, WARM_S, percentile
from tests.spark_sink.logs import node_name

DELAY_MAX_S: Final = 1.0
_PUBLISHED: Final = """
    SELECT n.node, t.newest FROM node_names n JOIN feed_totals t ON t.feed_no = n.feed_no
"""


def figures(folder: Path, database: Path) -> list[Figure]:
    """Let all nodes of a database go on, a thousand records a second together, with one engine after the other."""
    found = []
    for number, engine in enumerate(ENGINES):
        live = delays(folder / f"live-{engine}", database, engine, boot=2 + number)
        name = f"event → row at 1,000 events/s, 1,000 nodes, a month of history, `{engine}`"
        p95 = percentile(live.delays_s, 0.95)
        found += [
            Figure(f"{name}, p50", percentile(live.delays_s, 0.5), "s"),
            Figure(f"{name}, p95", p95, "s", f"at most {DELAY_MAX_S:g} s", p95 <= DELAY_MAX_S),
            Figure("processor while it follows them", 100 * live.used, "% of a core"),
            Figure("entries watched for it", len(live.delays_s), ""),
        ]
    return found


def delays(
    logs: Path, database: Path, engine: str, *, boot: int, warm_s: float = WARM_S, watch_s: float = SECONDS
) -> Live:
    """Measure how long each entry takes from its line to its row."""
    with closing(open_for_reading(str(database))) as reader:
        newest = {str(node): int(str(seq)) for node, seq in reader.rows(_PUBLISHED)}
        ((count,),) = reader.rows("SELECT count(*) FROM nodes")
        ((last_us,),) = reader.rows("SELECT max(last_us) FROM boots")
        ((before,),) = reader.rows("SELECT sum(newest) FROM feed_totals")
    assert isinstance(count, int)
    seqs = [newest.get(node_name(number), 0) for number in range(count)]
    ago_us = time.time_ns() // 1_000 - int(str(last_us)) - 60_000_000
    mesh = LiveMesh(logs, RATE, seqs, boot=boot, ago_us=ago_us)
    return follow(mesh, logs, database, engine, before=int(str(before)), warm_s=warm_s, watch_s=watch_s)
