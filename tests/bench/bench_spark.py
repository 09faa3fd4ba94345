"""How fast the sink's source is: ``python -m tests.bench.bench_spark`` prints its figures as one JSON object.

The source is measured against Spark's own JSON file source over the same files, same columns, same session, rounds in
turn; both hand out rows. Delay is from appending a record to its batch being visible to another connection to the
serving database, refreshes going on beside it.
"""

import argparse
import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spark_sink import job, schema
from spark_sink.serving.connect import open_for_reading, open_for_writing
from spark_sink.serving.database import Reader
from spark_sink.session import make_session
from spark_sink.settings import Settings
from spark_sink.spark_stream import LogStream
from tests.bench.figure import Figure
from tests.spark_sink.logs import NodeLog, bulk_records, line, node_name, write_bulk

ROUNDS = 4
"""Rounds per source; the first one warms up and is not counted."""
LIVE_NODES = 10
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


class _Writer(threading.Thread):
    """Appends records at a steady rate; remembers when each clock value was written."""

    def __init__(self, folder: Path, rate: int, stop_at: float) -> None:
        super().__init__()
        self._logs = [NodeLog(folder, node_name(number)) for number in range(LIVE_NODES)]
        self._rate = rate
        self._stop_at = stop_at
        for number, log in enumerate(self._logs):
            log.start(number)

    def run(self) -> None:
        sources = [bulk_records(log, 10**9, number) for number, log in enumerate(self._logs)]
        begun, written = time.time(), 0
        while (now := time.time()) < self._stop_at:
            due = int((now - begun) * self._rate)
            for index in range(written, due):
                log = self._logs[index % LIVE_NODES]
                log.t_us = time.time_ns() // 1000 - 1_000
                log.raw(line(next(sources[index % LIVE_NODES])))
            written = max(written, due)
            time.sleep(0.005)


def delays_ms(spark: Any, folder: Path, rate: int, seconds: int) -> dict[str, Any]:
    """Append to visible to another connection, in milliseconds; the first third warms up and is not counted."""
    logs = folder / "live"
    writer = _Writer(logs, rate, time.time() + seconds)
    database = str(folder / "live.sqlite")
    settings = Settings(logs=str(logs), database=database)
    found: list[float] = []
    with open_for_writing(database) as written:
        work = job.Job(settings, written)
        query = LogStream(spark, settings, work).start(once=False)
        refresher = job.RefreshThread(work.refresh, query.stop)
        refresher.start()
        writer.start()
        reader = open_for_reading(database)
        warm_until = time.time() + seconds / 3
        try:
            _watch(reader, writer, rate, warm_until, found)
        finally:
            query.stop()
            refresher.stop()
            reader.close()
            writer.join()
    found.sort()
    return {
        "rate_per_s": rate,
        "samples": len(found),
        "p50_ms": round(found[len(found) // 2]),
        "p95_ms": round(found[len(found) * 95 // 100]),
        "max_ms": round(found[-1]),
    }


def _watch(
    reader: Reader, writer: threading.Thread, rate: int, warm_until: float, found: list[float]
) -> None:
    """Look each 20 ms. What was appended since the newest record seen before has become visible since.

    Records come at a steady rate, so one is taken for every 1/rate seconds between the two.
    """
    seen_us = 0
    while writer.is_alive():
        ((last_us,),) = reader.rows("SELECT max(last_us) FROM boots")
        now_us = time.time_ns() // 1000
        newest_us = last_us if isinstance(last_us, int) else 0
        if newest_us > seen_us > 0 and time.time() > warm_until:
            found += [(now_us - t_us) / 1000 for t_us in range(seen_us, newest_us, 1_000_000 // rate)]
        seen_us = max(seen_us, newest_us)
        time.sleep(0.02)


def figures(events: int, rate: int, seconds: int) -> dict[str, Any]:
    """Measure all."""
    spark = make_session(threads=2, memory_mb=1024)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = {
            "hourly_segments": source_rates(spark, folder, events, HOURLY_BYTES),
            "busy_segments": source_rates(spark, folder, events, BUSY_BYTES),
            "append_to_visible": delays_ms(spark, folder, rate, seconds),
        }
    spark.stop()
    return found


def run() -> list[Figure]:
    """Return the figures that `python -m tests.bench` writes."""
    found = figures(events=500_000, rate=1_000, seconds=60)
    hourly, busy, delay = found["hourly_segments"], found["busy_segments"], found["append_to_visible"]
    return [
        Figure("Spark source, hourly segments of LoRa nodes", hourly["tinyssb_events_per_s"], "events/s"),
        Figure("Spark's own JSON source, same files and columns", hourly["json_events_per_s"], "events/s"),
        Figure("ratio of the two", hourly["ratio"], "×", "at least 1.3 ×", hourly["ratio"] >= 1.3),
        Figure("Spark source, segments of 4 MiB", busy["tinyssb_events_per_s"], "events/s"),
        Figure("Spark's own JSON source, same files and columns", busy["json_events_per_s"], "events/s"),
        Figure("ratio of the two", busy["ratio"], "×"),
        Figure("event appended to visible, 1,000 events/s, p50", delay["p50_ms"], "ms"),
        Figure(
            "event appended to visible, 1,000 events/s, p95",
            delay["p95_ms"],
            "ms",
            "at most 1,500 ms",
            delay["p95_ms"] <= 1_500,
        ),
    ]


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=500_000)
    parser.add_argument("--rate", type=int, default=1_000)
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    found = figures(options.events, options.rate, options.seconds)
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
