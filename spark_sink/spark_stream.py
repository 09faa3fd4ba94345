"""The engine ``spark``: it runs the tasks of batches of logs, and streams a bronze, on this machine or on a cluster."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from spark_sink import limits, runner, session
from spark_sink.bronze.footer import count_pieces
from spark_sink.bronze.stream import CountedFiles, known_records, query_id, read_stream, unpacked
from spark_sink.errors import SinkError
from spark_sink.executors import SparkExecutors
from spark_sink.job import Job, ReadBatch
from spark_sink.log_stream import LogReading, Made, ReadTask, Task
from spark_sink.serving.address import is_address, shown
from spark_sink.serving.database import Database
from spark_sink.settings import Settings
from spark_sink.stream_offset import StreamOffset

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


class SparkEngine:
    """Spark, started."""

    def __init__(self, spark: "SparkSession", settings: Settings, tell: Callable[[str], None]) -> None:
        self._spark = spark
        self._settings = settings
        self._tell = tell
        self._tasks = SparkExecutors(spark, tell)
        self.executors = self._tasks if self._tasks.are_here or is_address(settings.database) else None
        """Executors that can open the database: a server; or a file, where they are on this machine."""

    def read(self, job: Job, database: Database, *, once: bool) -> "runner.Reading":
        """Begin to read, for everything that is there (*once*), or on and on. Raises SinkError."""
        if not self._settings.is_bronze:
            return LogReading(job, self._settings, SparkTasks(self._tasks), self._tell, once=once)
        stream = BronzeStream(self._spark, self._settings, job, database)
        return runner.SupervisedQuery(
            stream, self._settings, self._tell, lambda: session.has_workers(self._spark), once=once
        )


@contextmanager
def started(settings: Settings, tell: Callable[[str], None]) -> Iterator[SparkEngine]:
    """Start Spark, and stop it at the end. Raises UnavailableError."""
    tell(f"Starting Spark to read {settings.logs} into {shown(settings.database)} …")
    spark = session.make_session(
        master=settings.master,
        threads=settings.threads,
        memory_mb=settings.memory_mb,
        ui_port=settings.ui_port,
    )
    session.announce_ui(spark, tell)
    try:
        yield SparkEngine(spark, settings, tell)
    finally:
        with runner.without_java():
            spark.stop()


class SparkTasks:
    """A job of Spark for each batch of logs (`log_stream.BatchTasks`)."""

    def __init__(self, executors: SparkExecutors) -> None:
        self._executors = executors
        self._jobs = ThreadPoolExecutor(1, "batches")
        self.at_a_time = executors.at_a_time

    def start(self, read: ReadTask, tasks: Sequence[Task], size: int) -> Made:  # noqa: ARG002 - as PoolTasks.start
        """Start *tasks* as a job."""
        return self._executors.start(self._jobs, read, tasks)

    def rest(self) -> None:
        """Do nothing: Spark ends workers that have nothing to do."""


class BronzeStream:
    """Streams over a bronze, by Spark's own source of Parquet files, whose checkpoint is the list of files read."""

    def __init__(self, spark: "SparkSession", settings: Settings, job: Job, database: Database) -> None:
        """Raises SinkError for a checkpoint that another database was filled from: files would be left out."""
        self._spark = spark
        self._settings = settings
        self._job = job
        self._files = CountedFiles(Path(settings.logs))
        self._batches = 0
        rows = database.rows("SELECT query FROM batches")
        known = query_id(spark, settings.checkpoint)
        if rows and known is not None and rows[0][0] != known:
            raise SinkError(
                f"{shown(settings.database)} was not filled last from the checkpoint {settings.checkpoint}; both were "
                "left as they are. Delete the checkpoint and start again: the database knows which records it counts, "
                "so nothing is counted twice or skipped. Or name another one with --checkpoint."
            )

    def start(self, *, once: bool) -> "StreamingQuery":
        """Start one, of what the database does not count. Raises DatabaseFailedError."""
        number, place = self._job.begin()
        self._place: StreamOffset = place
        writer = (
            read_stream(
                self._spark, self._settings.logs, self._settings.bytes_per_batch, known_records(place)
            )
            .writeStream.foreachBatch(partial(self._add, number))
            .option("checkpointLocation", self._settings.checkpoint)
        )
        when = {"availableNow": True} if once else {"processingTime": f"{limits.BRONZE_LOOK_S} seconds"}
        return writer.trigger(**when).start()

    def progress(self) -> str:
        """Say how much has been read."""
        return f"{self._batches} batches of the bronze read"

    def _add(self, number: int, rows: "DataFrame", batch_id: int) -> None:
        """Count the records that the files of a batch name. Raises DamagedDataError, OSError."""
        begin_ns = time.perf_counter_ns()
        parts = unpacked(rows.toArrow())
        pieces, read_bytes, newest_ns = self._files.pieces(parts)
        self._place = count_pieces(self._place, pieces)
        query = query_id(self._spark, self._settings.checkpoint)
        assert query is not None  # Spark writes it before a batch
        batch = ReadBatch(
            query=query,
            number=batch_id,
            parts=parts,
            place=self._place,
            oddities=None,
            begin_ns=begin_ns,
            bytes=read_bytes,
            behind_bytes=self._files.behind_bytes(newest_ns),
        )
        self._job.add(number, batch)
        self._batches += 1
