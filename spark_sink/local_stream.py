"""The engine ``local``: batches of logs whose tasks run in this process if they are small, else in a few others.

It needs neither Java nor Spark. Like Spark's streams it begins behind what the database counts, and a batch that fails
is planned again, with what is there then.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from uuid import uuid4

from spark_sink import limits, runner
from spark_sink.job import Job, Parts, ReadBatch, ReadDiagnostics
from spark_sink.log_files import open_files
from spark_sink.partial_tables import read_task
from spark_sink.planner import Planner
from spark_sink.process_pool import ProcessExecutors, ProcessPool
from spark_sink.segments import SegmentPart, pack_tasks
from spark_sink.serving.address import shown
from spark_sink.serving.database import Database
from spark_sink.settings import Settings
from spark_sink.stream_offset import StreamOffset


class LocalEngine:
    """Processes of this machine."""

    def __init__(self, pool: ProcessPool, settings: Settings, tell: Callable[[str], None]) -> None:
        self._pool = pool
        self._settings = settings
        self._tell = tell
        self.executors = ProcessExecutors(pool, tell)
        """Executors that can open the database."""

    def read(self, job: Job, database: Database, *, once: bool) -> "LocalReading":  # noqa: ARG002 - as SparkEngine.read
        """Begin to read, for everything that is there (*once*), or on and on."""
        return LocalReading(job, self._settings, self._pool, self._tell, once=once)


@contextmanager
def started(settings: Settings, tell: Callable[[str], None]) -> Iterator[LocalEngine]:
    """Start nothing yet: processes start when they are needed, and are ended at the end."""
    tell(f"Starting to read {settings.logs} into {shown(settings.database)} …")
    with ProcessPool(settings.threads) as pool:
        yield LocalEngine(pool, settings, tell)


@dataclass(frozen=True, slots=True)
class _Batch:
    """A batch whose tasks are running."""

    place: StreamOffset
    size: int
    tasks: Sequence[tuple[SegmentPart, ...]]
    running: Sequence[Future[Parts]]
    """Tasks in other processes; none if they are to run in this one."""
    begin_ns: int

    @property
    def is_small(self) -> bool:
        """True if it is not worth the way to another process."""
        return not self.running


class LocalReading:
    """The stream; begun again if a batch failed for a cause that may have passed."""

    def __init__(
        self, job: Job, settings: Settings, pool: ProcessPool, tell: Callable[[str], None], *, once: bool
    ) -> None:
        self._job = job
        self._settings = settings
        self._pool = pool
        self._tell = tell
        self._once = once
        self._ended = threading.Event()
        self._files = open_files(settings.logs, settings.endpoint)
        self._sides = ReadDiagnostics(self._files)
        self._read_task = partial(read_task, settings.logs, settings.endpoint)

    def stop(self) -> None:
        """End after the batch that is at work."""
        self._ended.set()

    def watch(self) -> bool:
        """Read until all is read, or a signal asks to end it, which is what is returned. Raises SinkError."""
        progress = runner.ProgressReport(self._tell, lambda: str(self._sides))
        progress.begin(once=self._once)
        with runner.stop_signals() as stopped:
            runner.with_restarts(lambda: self._attempt(progress, stopped), progress, self._tell)
        if stopped:
            self._tell(runner.STOPPED)
        return bool(stopped)

    def _attempt(self, progress: "runner.ProgressReport", stopped: Sequence[int]) -> None:
        """Read, with errors as those of a stream of Spark. Raises SinkError."""
        with runner.restartable("Reading", self._settings):
            self._read(progress, stopped)

    def _read(self, progress: "runner.ProgressReport", stopped: Sequence[int]) -> None:
        """Read and merge batch after batch. While one is merged, the next is read if there is much to read."""
        stream, place = self._job.begin()
        query, numbers = uuid4().hex, count()
        planner = Planner(self._files)
        planner.refresh()
        ahead: _Batch | None = None
        while not stopped and not self._ended.is_set():
            began_s = time.monotonic()
            if ahead is None and not self._once:
                planner.refresh()
            batch = ahead or self._plan(planner, place)
            if batch is None:
                progress.look()
                if self._once:
                    return
                self._pool.rest()
                spent_s = time.monotonic() - began_s
                self._ended.wait(max(limits.LOCAL_LOOK_S, limits.LOCAL_LOOK_SHARE * spent_s))
                continue
            place = batch.place
            parts = self._parts(batch)
            ahead = None if batch.is_small else self._plan(planner, place)
            self._sides.look(place, batch.size)
            read = ReadBatch(
                query=query,
                number=next(numbers),
                parts=parts,
                place=place,
                oddities=self._sides.oddities,
                begin_ns=batch.begin_ns,
                bytes=batch.size,
                behind_bytes=self._sides.behind_bytes,
            )
            self._job.add(stream, read)
            progress.counted()
            if batch.is_small and not self._once:
                spent_s = (time.perf_counter_ns() - batch.begin_ns) / 1e9
                self._ended.wait(min(spent_s, limits.LOCAL_REST_MAX_S))
        progress.look()

    def _plan(self, planner: Planner, place: StreamOffset) -> _Batch | None:
        """Plan the batch behind *place*, and have its tasks run if they are large; None if there is nothing to read.

        Raises OSError.
        """
        begin_ns = time.perf_counter_ns()
        end = planner.advance(place, self._settings.bytes_per_batch)
        parts = planner.parts(place, end)
        if not parts and end == place:
            return None
        size = sum(part.size for part in parts)
        share = -(-size // self._settings.threads)
        tasks = pack_tasks(parts, max(limits.LOCAL_SMALL, min(share, limits.TASK_SIZE)))
        small = size <= limits.LOCAL_SMALL
        running = [] if small else [self._pool.submit(self._read_task, task) for task in tasks]
        return _Batch(end, size, tasks, running, begin_ns)

    def _parts(self, batch: _Batch) -> Parts:
        """Return what the tasks make. Raises SinkError, TasksFailedError; OSError."""
        if batch.is_small:
            made = [self._read_task(task) for task in batch.tasks]
        else:
            made = [task.result() for task in batch.running]
        return [part for parts in made for part in parts]
