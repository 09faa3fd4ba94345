"""The stream: wires source, transforms and serving database together, and nothing else."""

import fcntl
import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as f

from spark_sink import limits, schema, tables, upserts
from spark_sink.errors import BusyError, ForeignCheckpointError
from spark_sink.settings import Settings
from spark_sink.transforms import air, nodes, replication

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

COLUMNS: Final = (
    "node", "boot", "offset", "t_us", "kind", "name", "feed", "face", "seq", "id", "size", "chunks", "origin",
    "packet", "length", "hash", "verdict", "rssi_dbm", "snr_db", "airtime_us", "count", "state", "held", "other",
    "bad_path", "bad_byte", "bad_reason", "bad_text",
)  # fmt: skip
"""What the transforms look at."""

_TRANSFORMS: Final[dict[str, tuple[frozenset[str], Callable[["DataFrame"], "DataFrame"]]]] = {
    "nodes": (frozenset(), nodes.nodes),
    "frontier": (frozenset({"entry"}), replication.frontier),
    "appended": (frozenset({"entry"}), replication.appended),
    "traffic": (frozenset(air.TRAFFIC_KINDS), air.traffic),
    "sightings": (frozenset(air.PACKET_KINDS), air.sightings),
    "sets": (frozenset({"set"}), nodes.sets),
    "forks": (frozenset({"fork"}), nodes.forks),
}
"""By table: the kinds of records that it is made of (none: of any), and how."""


@contextmanager
def open_database(settings: Settings) -> Iterator[sqlite3.Connection]:
    """Open the database for the one job that may write it. Raises BusyError, ForeignCheckpointError, and as tables."""
    lock_path = settings.database.with_name(settings.database.name + ".lock")
    with lock_path.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BusyError(settings.database) from error
        connection = tables.open_for_writing(settings.database)
        try:
            _check_checkpoint(connection, settings)
            yield connection
        finally:
            connection.close()


def _check_checkpoint(connection: sqlite3.Connection, settings: Settings) -> None:
    """A database is filled from one checkpoint only: from another, everything would be counted again."""
    queries = {row[0] for row in connection.execute("SELECT query FROM batches")}
    if queries and queries != {query_id(settings.checkpoint)}:
        raise ForeignCheckpointError(settings.database, settings.checkpoint)


def query_id(checkpoint: Path) -> str | None:
    """Spark's id of the query that a checkpoint belongs to, None if there is none yet."""
    path = checkpoint / "metadata"
    if not path.exists():
        return None
    return str(json.loads(path.read_text())["id"])


def start(
    session: "SparkSession", settings: Settings, connection: sqlite3.Connection, *, once: bool
) -> "StreamingQuery":
    """Start the stream: all there is (*once*), or on and on."""
    stream = (
        session.readStream.format("tinyssb")
        .schema(schema.ddl(COLUMNS))
        .option("maxBytesPerBatch", settings.bytes_per_batch)
        .load(str(settings.logs))
    )

    threads = ThreadPoolExecutor(limits.JOBS_AT_A_TIME)

    def add(batch: "DataFrame", batch_id: int) -> None:
        query = query_id(settings.checkpoint)
        assert query is not None  # Spark writes it before the first batch
        last = upserts.last_batch(connection, query)
        if last is None or batch_id > last:
            # One partition needs no shuffles, which is what a small batch spends its time on.
            found = collect(batch if once else batch.coalesce(1), threads)
            upserts.add(connection, upserts.Batch(query, batch_id, found, time.time_ns() // 1000))

    writer = stream.writeStream.foreachBatch(add).option("checkpointLocation", str(settings.checkpoint))
    return (writer.trigger(availableNow=True) if once else writer.trigger(processingTime="0 seconds")).start()


def collect(rows: "DataFrame", threads: ThreadPoolExecutor) -> dict[str, upserts.Rows]:
    """Run the transforms over one micro-batch, which is read once.

    First which kinds of records there are, then side by side what those kinds need: each is a short job of its own,
    and most batches have nothing for half of them.
    """
    cached = rows.persist()
    try:
        counted = _rows(nodes.events_count(cached))
        kinds = {kind for kind, _, _ in counted}
        records = cached.where(f.col("bad_path").isNull())
        frames = {
            name: transform(records)
            for name, (needed, transform) in _TRANSFORMS.items()
            if not needed or needed & kinds
        }
        if None in kinds:
            frames["bad_lines"] = nodes.bad_lines(cached)
        found = dict(zip(frames, threads.map(_rows, frames.values()), strict=True))
        return {**found, "events_count": [row for row in counted if row[0] is not None]}
    finally:
        cached.unpersist()


def _rows(frame: "DataFrame") -> upserts.Rows:
    return list(zip(*(column.to_pylist() for column in frame.toArrow().columns), strict=True))
