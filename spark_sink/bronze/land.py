"""``tinyssb-sink land``: from the nodes' logs to bronze (docs/formats/bronze.md).

The planner says which records of which segments come next. Tasks of an engine write them into new files, and the driver
commits these with the offset, batch by batch. Rounds follow each other slowly: each makes a file or two, and readers
like few.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow as pa

from spark_sink import limits, runner, session
from spark_sink.bronze.manifests import BronzeFolder
from spark_sink.bronze.writer import whole_tasks, write_task
from spark_sink.errors import OptionError
from spark_sink.executors import Executors, SparkExecutors, TasksFailedError
from spark_sink.job import ReadDiagnostics
from spark_sink.log_files import LogFiles, open_files
from spark_sink.planner import Planner
from spark_sink.process_pool import ProcessExecutors, ProcessPool
from spark_sink.segment_choice import ProbeCache, choose
from spark_sink.segments import Segment, SegmentPart
from spark_sink.settings import (
    LOCAL,
    LOCAL_ENGINE,
    SPARK_ENGINE,
    check_engine,
    check_least,
    check_logs,
    check_spark,
)
from spark_sink.stream_offset import (
    BootProgress,
    StreamOffset,
    covers,
    parse_offset_text,
    serialize_offset_text,
)

_HOUR_S: Final = 3_600


@dataclass(frozen=True, slots=True, kw_only=True)
class LandSettings:
    """Landing: from which logs into which bronze."""

    logs: str
    """Folder with the nodes' event logs, or ``s3://bucket/prefix``."""
    bronze: Path
    """Folder of the bronze, made if missing; on a cluster, one that all machines share."""
    engine: str = SPARK_ENGINE
    """The runner of tasks, `SPARK_ENGINE` or `LOCAL_ENGINE`."""
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
        check_engine(self.engine, self.master, self.ui_port)
        check_spark(bytes_per_batch=self.bytes_per_batch, threads=self.threads, memory_mb=self.memory_mb)

    def report_path(self) -> Path:
        """Return the path for a long report of a failure."""
        return Path(f"{self.bronze}.failure.txt")


@dataclass(frozen=True, slots=True)
class _Batch:
    """A batch whose tasks are at work."""

    place: StreamOffset
    """How far each log is read with it."""
    size: int
    """Bytes of log."""
    tasks: int


class LandJob:
    """One round: everything that is there, into a bronze."""

    def __init__(self, executors: Executors, settings: LandSettings, folder: BronzeFolder) -> None:
        """*folder* is held by `BronzeFolder.writing`."""
        self._executors = executors
        self._settings = settings
        self._folder = folder
        self._planner = Planner(open_files(settings.logs, settings.endpoint))
        self._sides = ReadDiagnostics(self._planner)
        self._planned: deque[_Batch] = deque()
        self.rows = 0
        """Rows landed so far."""

    def run(self, stopped: Sequence[int] = (), counted: Callable[[], object] = lambda: None) -> None:
        """Land, until *stopped* has an item. *counted* is called after each batch. While one is committed, tasks of the
        next are at work.

        Raises SinkError, TasksFailedError; OSError.
        """
        self._folder.clean()
        self._planned.clear()
        write = partial(write_task, self._settings.logs, self._settings.endpoint, self._folder.staging)
        made: list[pa.Table] = []
        for found in self._executors.map(write, self._tasks(stopped)):
            made.append(found)
            if len(made) == self._planned[0].tasks:
                self._commit(self._planned.popleft(), pa.concat_tables(made))
                made.clear()
                counted()

    def _tasks(self, stopped: Sequence[int]) -> Iterator[tuple[SegmentPart, ...]]:
        """Plan batch after batch, and yield their tasks. Raises SinkError; OSError."""
        last = self._folder.last()
        place = {} if last is None else parse_offset_text(last.offset)
        self._planner.refresh()
        while not stopped:
            end = self._planner.advance(place, self._settings.bytes_per_batch)
            if end == place:
                return
            parts = self._planner.parts(place, end)
            tasks = whole_tasks(parts, limits.TASK_SIZE) or [()]
            self._planned.append(_Batch(end, sum(part.size for part in parts), len(tasks)))
            yield from tasks
            place = end

    def _commit(self, batch: _Batch, files: pa.Table) -> None:
        """Raises OSError."""
        self._folder.commit(serialize_offset_text(batch.place), files)
        self.rows += sum(files.column("rows").to_pylist())
        self._sides.look(batch.place, batch.size)

    def __str__(self) -> str:
        """Say how much has been read."""
        return str(self._sides)


def land(settings: LandSettings, tell: Callable[[str], None]) -> int:
    """Land logs, once or until SIGINT or SIGTERM. Returns the exit code. Raises SinkError; OSError."""
    settings.check()
    open_files(
        settings.logs, settings.endpoint
    ).listing()  # a fault in the folders is reported before Java is started
    folder = BronzeFolder(settings.bronze)
    with folder.writing(), _engine(settings, tell) as started, runner.stop_signals() as stopped:
        while True:
            begin_s = time.monotonic()
            with started() as executors:
                _round(executors, settings, folder, tell, stopped)
            while not (stopped or settings.once) and time.monotonic() < begin_s + settings.every_s:
                time.sleep(0.2)
            if stopped:
                tell(runner.STOPPED)
            if stopped or settings.once:
                return 0


@contextmanager
def _engine(
    settings: LandSettings, tell: Callable[[str], None]
) -> Iterator[Callable[[], AbstractContextManager[Executors]]]:
    """Start Spark, and stop it at the end; processes of this machine run for a round. Yields what a round begins with.

    Raises UnavailableError.
    """
    tell(f"Starting to land {settings.logs} in {settings.bronze} …")
    if settings.engine == LOCAL_ENGINE:
        yield partial(_processes, settings.threads, tell)
        return
    spark = session.make_session(
        master=settings.master,
        threads=settings.threads,
        memory_mb=settings.memory_mb,
        ui_port=settings.ui_port,
    )
    session.announce_ui(spark, tell)
    try:
        yield lambda: nullcontext(SparkExecutors(spark, tell))
    finally:
        with runner.without_java():
            spark.stop()


@contextmanager
def _processes(count: int, tell: Callable[[str], None]) -> Iterator[Executors]:
    """Start processes when there is work, and end them."""
    with ProcessPool(count) as pool:
        yield ProcessExecutors(pool, tell)


def _round(
    executors: Executors,
    settings: LandSettings,
    folder: BronzeFolder,
    tell: Callable[[str], None],
    stopped: Sequence[int],
) -> None:
    """Land everything that is there, and delete what is due. Raises SinkError; OSError."""
    job = LandJob(executors, settings, folder)
    progress = runner.ProgressReport(tell, lambda: str(job))
    progress.begin(once=True)

    def attempt() -> None:
        with runner.restartable("Landing", settings):
            try:
                job.run(stopped, progress.counted)
            except TasksFailedError:
                if not stopped:  # a signal to the whole process group, as from systemd, ends Java, too
                    raise

    runner.with_restarts(attempt, progress, tell)
    progress.look()
    deleted = len(delete_landed(settings, folder, time.time())) if settings.delete else 0
    forgotten = 0 if settings.forget_days is None else folder.forget(settings.forget_days, time.time())
    tell(f"Landed {job.rows} rows. Deleted {deleted} segments and {forgotten} days of the bronze.")


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
