"""``tinyssb-sink land``: a stream from the nodes' logs to bronze (docs/formats/bronze.md).

The planner of the source says which records of which segments come next. Tasks write them into new files, and the
driver commits these with the offset, once. Rounds follow each other slowly: each makes a file or two, and readers like
few.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from spark_sink import limits, runner, session
from spark_sink.bronze.manifests import BronzeFolder
from spark_sink.bronze.writer import FILES
from spark_sink.checkpoint import StreamPlaces
from spark_sink.errors import OptionError, SinkError
from spark_sink.job import ReadDiagnostics
from spark_sink.log_files import LogFiles, open_files
from spark_sink.segment_choice import ProbeCache, choose
from spark_sink.segments import Segment
from spark_sink.settings import LOCAL, check_least, check_logs, check_spark
from spark_sink.source import LANDED, bytes_of, unpacked
from spark_sink.stream_offset import BootProgress, StreamOffset, covers, parse_offset_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_HOUR_S: Final = 3_600


@dataclass(frozen=True, slots=True, kw_only=True)
class LandSettings:
    """Landing: from which logs into which bronze."""

    logs: str
    """Folder with the nodes' event logs, or ``s3://bucket/prefix``."""
    bronze: Path
    """Folder of the bronze, made if missing; on a cluster, one that all machines share."""
    endpoint: str = ""
    """Address of an S3-compatible store."""
    once: bool = False
    """End when everything that is there is landed."""
    every_s: float = limits.LAND_EVERY_S
    """Seconds from the beginning of a round to that of the next."""
    delete: bool = False
    """Delete closed segments that are landed."""
    older_than_h: float = 24.0
    """Hours that a segment must not have changed before it is deleted: transfers take less than the default."""
    forget_days: int | None = None
    """Delete days of the bronze that are longer ago than this; None: keep them all."""
    bytes_per_batch: int = limits.BATCH_SIZE
    """Most bytes of log in one micro-batch."""
    master: str = LOCAL
    """Spark in this process, or the URL of a cluster."""
    threads: int = 2
    """Spark's tasks at a time, where it runs in this process."""
    memory_mb: int = 1024
    """Java's heap."""
    ui_port: int | None = None
    """Port of Spark's own page; None: there is none."""

    def check(self) -> None:
        """Raises NoLogsFolderError, OptionError."""
        check_logs(self.logs)
        if self.delete and "://" in self.logs:
            raise OptionError("--delete", self.logs, "used for logs in folders of this machine only")
        if not self.older_than_h >= 0:
            raise OptionError("--older-than", str(self.older_than_h), "a number of hours, 0 or more")
        check_least(
            ("--every", self.every_s, 1),
            ("--forget-days", 1 if self.forget_days is None else self.forget_days, 1),
        )
        check_spark(bytes_per_batch=self.bytes_per_batch, threads=self.threads, memory_mb=self.memory_mb)

    def report_path(self) -> Path:
        """Return the path for a long report of a failure."""
        return Path(f"{self.bronze}.failure.txt")


class LandJob:
    """The stream from logs into a bronze."""

    def __init__(self, spark: "SparkSession", settings: LandSettings, folder: BronzeFolder) -> None:
        self._spark = spark
        self._settings = settings
        self._folder = folder
        self._sides = ReadDiagnostics(open_files(settings.logs, settings.endpoint))
        self.rows = 0
        """Rows landed so far."""

    def start(self, *, once: bool) -> "StreamingQuery":
        """Start the stream for everything that is there. Raises ConfigurationError; OSError."""
        assert once  # rounds follow each other
        last = self._folder.last()
        self._places = StreamPlaces()
        return (
            self._spark.readStream.format("tinyssb-land")
            .option("staging", str(self._folder.staging))
            .option("maxBytesPerBatch", self._settings.bytes_per_batch)
            .option("endpoint", self._settings.endpoint)
            .option("startingOffset", "" if last is None else last.offset)
            .load(self._settings.logs)
            .writeStream.foreachBatch(partial(self._land, self._places))
            .option("checkpointLocation", self._places.location)
            .trigger(availableNow=True)
            .start()
        )

    def _land(self, places: StreamPlaces, rows: "DataFrame", batch_id: int) -> None:
        """Commit the files of a batch."""
        parts = unpacked(rows.toArrow())
        files = pa.concat_tables([FILES.empty_table(), *(table for part, table in parts if part == LANDED)])
        if places is not self._places:
            raise SinkError("A stream that has been replaced came with one more batch; nothing was landed.")
        offset = places.after(batch_id)
        self._folder.commit(places.name, batch_id, offset, files)
        self.rows += sum(files.column("rows").to_pylist())
        self._sides.look(parse_offset_text(offset), bytes_of(parts))

    def progress(self) -> str:
        """Say how much has been read."""
        return str(self._sides)


def land(settings: LandSettings, tell: Callable[[str], None]) -> int:
    """Land logs, once or until SIGINT or SIGTERM. Returns the exit code. Raises SinkError; OSError."""
    settings.check()
    logs = open_files(settings.logs, settings.endpoint)
    logs.listing()  # a fault in the folders is reported before Java is started
    session.require_java()
    folder = BronzeFolder(settings.bronze)
    with folder.writing():
        tell(f"Starting Spark to land {settings.logs} in {settings.bronze} …")
        spark = session.make_session(
            master=settings.master,
            threads=settings.threads,
            memory_mb=settings.memory_mb,
            ui_port=settings.ui_port,
        )
        session.announce_ui(spark, tell)
        try:
            with runner.stop_signals() as stopped:
                while True:
                    begin_s = time.monotonic()
                    if _round(spark, settings, folder, tell) or settings.once:
                        return 0
                    while not stopped and time.monotonic() < begin_s + settings.every_s:
                        time.sleep(0.2)
                    if stopped:
                        return 0
        finally:
            with runner.without_java():
                spark.stop()


def _round(
    spark: "SparkSession", settings: LandSettings, folder: BronzeFolder, tell: Callable[[str], None]
) -> bool:
    """Land everything that is there; returns whether a signal asked to end. Raises SinkError; OSError."""
    job = LandJob(spark, settings, folder)
    reading = runner.SupervisedQuery(job, settings, tell, lambda: session.has_workers(spark), once=True)
    stopped = reading.watch()
    deleted = len(delete_landed(settings, folder, time.time())) if settings.delete else 0
    forgotten = 0 if settings.forget_days is None else folder.forget(settings.forget_days, time.time())
    tell(f"Landed {job.rows} rows. Deleted {deleted} segments and {forgotten} days of the bronze.")
    return stopped


def delete_landed(settings: LandSettings, folder: BronzeFolder, now_s: float) -> list[Path]:
    """Delete closed segments of which everything is landed; returns them. Raises NoLogsFolderError; OSError."""
    last = folder.last()
    if last is None:
        return []
    offset = parse_offset_text(last.offset)
    changed_s = now_s - settings.older_than_h * _HOUR_S
    files = open_files(settings.logs)
    found = [
        path for segment in landed(files, offset) if (path := Path(segment.path)).stat().st_mtime <= changed_s
    ]
    for path in found:
        path.unlink()
    return found


def landed(files: LogFiles, offset: StreamOffset) -> Iterator[Segment]:
    """Yield segments that have a successor in their folder and were read to their end, as they are now.

    Raises NoLogsFolderError; OSError.
    """
    for node, segments in files.listing().items():
        newest = {segment.folder: segment for segment in segments}
        boots = offset.get(node, {})
        for number, chosen in choose(files, ProbeCache(), node, segments, boots).segments.items():
            boot = boots.get(number, BootProgress())
            tails = {run.tail.segment: run.tail for run in boot.runs if run.tail is not None}
            for segment in chosen:
                tail = tails.get(segment.first)
                is_read = covers(boot, segment.first) if tail is None else tail.byte >= segment.size
                if is_read and newest[segment.folder] is not segment:
                    yield segment
