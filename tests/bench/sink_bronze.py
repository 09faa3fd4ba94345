"""Landing and reading bronze, beside Spark's own JSON source over the same logs.

``python -m tests.bench.sink_bronze LOGS BRONZE --rounds 3 stream bronze …`` measures these ways in one session, one
after the other in each round, and prints one JSON object: seconds by way, the first of them cold.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from spark_sink import schema
from spark_sink.bronze.land import LandJob, LandSettings
from spark_sink.bronze.manifests import BronzeFolder
from spark_sink.executors import Executors, SparkExecutors
from spark_sink.process_pool import ProcessExecutors, ProcessPool
from spark_sink.session import make_session
from tests.bench import sink_logs
from tests.bench.figure import Figure
from tests.bench.sink_json import MEMORY_MB, THREADS, by_stream, columns

NODES: Final = 100
HOURS: Final = 168
"""A week: two million records."""
ROUNDS: Final = 3
"""In a session; the first is left out."""
READ_MIN: Final = 2.0
LAND_MIN: Final = 1.3
PAIRS: Final = {
    "bronze as a stream, all columns / Spark's JSON stream": ("bronze", "stream", READ_MIN),
    "land / Spark's JSON source and Parquet files": ("land", "write", LAND_MIN),
    "land without Spark / Spark's JSON source and Parquet files": ("processes", "write", LAND_MIN),
}
"""Comparisons: our way, Spark's, and how many times as fast ours must be."""


def by_bronze(spark: Any, _logs: str, bronze: str) -> None:
    """Read all bronze as a stream that ends."""
    frame = spark.readStream.schema(
        f"{schema.ddl([field.name for field in schema.COLUMNS])}, file BIGINT, day DATE"
    )
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = frame.parquet(bronze).writeStream.format("noop").option("checkpointLocation", checkpoint)
        writer.trigger(availableNow=True).start().awaitTermination()


def by_write(spark: Any, logs: str, _bronze: str) -> None:
    """Read all as a table, and write it as Parquet files."""
    frame = spark.read.schema(columns()).option("recursiveFileLookup", True).json(logs)
    with tempfile.TemporaryDirectory(dir=Path(logs).parent) as folder:
        frame.write.mode("overwrite").option("compression", "zstd").parquet(folder)


def by_land(spark: Any, logs: str, _bronze: str) -> None:
    """Land all in a new folder."""
    with tempfile.TemporaryDirectory(dir=Path(logs).parent) as root:
        land(SparkExecutors(spark, print), logs, Path(root))


def by_processes(_spark: Any, logs: str, _bronze: str) -> None:
    """The same without Spark."""
    with tempfile.TemporaryDirectory(dir=Path(logs).parent) as root, ProcessPool(THREADS) as pool:
        land(ProcessExecutors(pool, print), logs, Path(root))


def land(executors: Executors, logs: str, root: Path) -> None:
    """Land all."""
    folder = BronzeFolder(root)
    with folder.writing():
        settings = LandSettings(logs=logs, bronze=root, once=True)
        LandJob(executors, settings, folder).run()


WAYS: Final[dict[str, Callable[[Any, str, str], None]]] = {
    "stream": lambda spark, logs, _bronze: by_stream(spark, logs),
    "bronze": by_bronze,
    "write": by_write,
    "land": by_land,
    "processes": by_processes,
}


def measure(logs: Path, bronze: Path, rounds: int, *ways: str) -> dict[str, list[float]]:
    """Measure in a process of its own."""
    words = [
        sys.executable,
        "-m",
        "tests.bench.sink_bronze",
        str(logs),
        str(bronze),
        "--rounds",
        str(rounds),
        *ways,
    ]
    found: dict[str, list[float]] = json.loads(
        subprocess.run(words, check=True, capture_output=True, text=True).stdout
    )
    return found


def figures(folder: Path) -> list[Figure]:
    """The same records in hourly segments and in large ones; each way cold, in a new process, and warm."""
    hourly, large = folder / "hourly", folder / "large"
    events = sink_logs.write(hourly, nodes=NODES, hours=HOURS)
    sink_logs.join_segments(hourly, large)
    found: list[Figure] = []
    for logs, size in ((large, "segments of 4 MiB"), (hourly, "hourly segments")):
        bronze = folder / f"{logs.name}-bronze"
        spark = make_session(threads=THREADS, memory_mb=MEMORY_MB)
        land(SparkExecutors(spark, print), str(logs), bronze)
        spark.stop()
        cold = {way: measure(logs, bronze, 1, way)[way][0] for way in WAYS}
        warm = {way: min(seconds[1:]) for way, seconds in measure(logs, bronze, ROUNDS, *WAYS).items()}
        name = f"{events / 1e6:.2f} M events ({NODES} nodes × {HOURS} h), {size}"
        for state, seconds in (("warm", warm), ("cold", cold)):
            found += compare(f"{name}, {state}", events, seconds, must=state == "warm")
    return found


def compare(name: str, events: int, seconds: dict[str, float], *, must: bool) -> list[Figure]:
    """Rates by way, and the ratios of those that belong together."""
    found = []
    for what, (ours, theirs, least) in PAIRS.items():
        ratio = seconds[theirs] / seconds[ours]
        found += [
            Figure(f"{name}: {way}", events / took, "events/s")
            for way, took in zip(what.split(" / "), (seconds[ours], seconds[theirs]), strict=True)
        ]
        target = f"at least {least:g} ×" if must else ""
        found.append(Figure(f"ratio, {ours}", ratio, "×", target, ratio >= least or not must))
    return found


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs")
    parser.add_argument("bronze")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("ways", nargs="+", choices=list(WAYS))
    options = parser.parse_args()
    spark = make_session(threads=THREADS, memory_mb=MEMORY_MB)
    found: dict[str, list[float]] = {way: [] for way in options.ways}
    for _ in range(options.rounds):
        for way in options.ways:
            began = time.perf_counter()
            WAYS[way](spark, options.logs, options.bronze)
            found[way].append(time.perf_counter() - began)
    spark.stop()
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
