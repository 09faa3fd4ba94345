"""How fast the sink's source is: ``python -m tests.bench.bench_spark`` prints its figures as one JSON object.

The source is measured against Spark's own JSON file source over the same files, same columns, same session, rounds in
turn; both hand out rows. How long a record takes to its row is in `sink_engines`.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spark_sink import schema
from spark_sink.session import make_session
from tests.bench.figure import Figure
from tests.spark_sink.logs import write_bulk

ROUNDS = 4
"""Rounds per source; the first one warms up and is not counted."""
COLUMNS = (
    "node", "boot", "offset", "t_us", "kind", "name", "feed", "face", "seq", "id", "size", "chunks", "origin",
    "packet", "length", "hash", "verdict", "rssi_dbm", "snr_db", "airtime_us", "count", "state", "held", "other",
)  # fmt: skip
"""Columns for a reader who looks at everything that the air carried."""
HOURLY_BYTES = 100_000
"""Bytes that a node on a LoRa channel writes in the hour after which it closes a segment: a record each ten seconds."""
BUSY_BYTES = 4 * 2**20
"""Segments of nodes that are busy on faster links, and close them for their size."""


def _stream_seconds(load: Callable[[], Any], folder: Path) -> float:
    started = time.perf_counter()
    query = (
        load()
        .writeStream.format("noop")
        .option("checkpointLocation", str(folder))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return time.perf_counter() - started


def source_rates(spark: Any, folder: Path, events: int, segment_bytes: int) -> dict[str, Any]:
    """Records per second of our source and of the built-in one."""
    logs = folder / f"segments-{segment_bytes}"
    size = write_bulk(logs, events=events, nodes=10, segment_bytes=segment_bytes)
    bad = [field.name for field in schema.BAD_FIELDS]

    def ours() -> Any:
        stream = spark.readStream.format("tinyssb").schema(schema.ddl((*COLUMNS, *bad)))
        return stream.option("maxBytesPerBatch", 0).load(str(logs))

    def builtin() -> Any:
        return (
            spark.readStream.schema(schema.ddl(COLUMNS)).option("recursiveFileLookup", True).json(str(logs))
        )

    seconds: dict[str, list[float]] = {"tinyssb": [], "json": []}
    for number in range(ROUNDS):
        for name, load in (("tinyssb", ours), ("json", builtin)):
            seconds[name].append(_stream_seconds(load, folder / f"{name}-{segment_bytes}-{number}"))
    middle = {name: statistics.median(values[1:]) for name, values in seconds.items()}
    return {
        "events": events,
        "bytes": size,
        "segments": sum(1 for _ in logs.glob("*/*.jsonl")),
        "seconds": seconds,
        "tinyssb_events_per_s": round(events / middle["tinyssb"]),
        "json_events_per_s": round(events / middle["json"]),
        "ratio": round(middle["json"] / middle["tinyssb"], 2),
    }


def figures(events: int) -> dict[str, Any]:
    """Measure all."""
    spark = make_session(threads=2, memory_mb=1024)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = {
            "hourly_segments": source_rates(spark, folder, events, HOURLY_BYTES),
            "busy_segments": source_rates(spark, folder, events, BUSY_BYTES),
        }
    spark.stop()
    return found


def run() -> list[Figure]:
    """Return the figures that `python -m tests.bench` writes."""
    found = figures(events=500_000)
    hourly, busy = found["hourly_segments"], found["busy_segments"]
    return [
        Figure("Spark source, hourly segments of LoRa nodes", hourly["tinyssb_events_per_s"], "events/s"),
        Figure("Spark's own JSON source, same files and columns", hourly["json_events_per_s"], "events/s"),
        Figure("ratio of the two", hourly["ratio"], "×", "at least 1.3 ×", hourly["ratio"] >= 1.3),
        Figure("Spark source, segments of 4 MiB", busy["tinyssb_events_per_s"], "events/s"),
        Figure("Spark's own JSON source, same files and columns", busy["json_events_per_s"], "events/s"),
        Figure("ratio of the two", busy["ratio"], "×"),
    ]


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=500_000)
    options = parser.parse_args()
    found = figures(options.events)
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
