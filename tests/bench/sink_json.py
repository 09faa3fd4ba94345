"""How fast Spark's own JSON source reads logs, with no analytics: ``python -m tests.bench.sink_json LOGS``.

All fields of the schema, no sink. The session is like the job's. Prints one JSON object of lists of seconds:
``process``, from its start to the end of the first round, ``first``, that round alone, and by way of reading those of
the rounds after it.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spark_sink import schema
from spark_sink.session import make_session

THREADS = 2
MEMORY_MB = 1024
"""The default of `tinyssb-sink`."""


def columns() -> str:
    """Every field of a record."""
    return schema.ddl([field.name for field in schema.FIELDS])


def by_batch(spark: Any, logs: str) -> None:
    """Read all as a table."""
    frame = spark.read.schema(columns()).option("recursiveFileLookup", True).json(logs)
    frame.write.format("noop").mode("overwrite").save()


def by_stream(spark: Any, logs: str) -> None:
    """Read all as a stream that ends."""
    frame = spark.readStream.schema(columns()).option("recursiveFileLookup", True).json(logs)
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = frame.writeStream.format("noop").option("checkpointLocation", checkpoint)
        writer.trigger(availableNow=True).start().awaitTermination()


WAYS: dict[str, Callable[[Any, str], None]] = {"batch": by_batch, "stream": by_stream}


def measure(logs: str, rounds: int, ways: list[str], began: float) -> dict[str, list[float]]:
    """Seconds; *began* is when the process did."""
    spark = make_session(threads=THREADS, memory_mb=MEMORY_MB)
    found: dict[str, list[float]] = {"process": [], "first": []}
    for way in ways:
        found[way] = []
        for number in range(rounds + 1):
            started = time.perf_counter()
            WAYS[way](spark, logs)
            ended = time.perf_counter()
            if not found["process"]:
                found["process"].append(ended - began)
                found["first"].append(ended - started)
            if number:
                found[way].append(ended - started)
    spark.stop()
    return found


def main() -> None:
    """Measure, print."""
    began = time.perf_counter()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--way", action="append", choices=list(WAYS))
    options = parser.parse_args()
    found = measure(str(options.logs), options.rounds, options.way or list(WAYS), began)
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
