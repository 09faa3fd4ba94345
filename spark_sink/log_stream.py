"""Reading logs, with either engine: batches are planned here, and the engine runs their tasks.

Reading begins behind what the database counts. While one batch is merged, the tasks of the next are at work. A batch
that fails is planned again, with what is there then.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Protocol, TypeAlias
from uuid import uuid4

from spark_sink import limits, runner
from spark_sink.executors import TasksFailedError
from spark_sink.job import Job, Parts, ReadBatch, ReadDiagnostics
from spark_sink.log_files import open_files
from spark_sink.partial_tables import read_task
from spark_sink.planner import Planner
from spark_sink.segments import SegmentPart, pack_tasks
from spark_sink.settings import Settings
from spark_sink.stream_offset import StreamOffset

Task: TypeAlias = tuple[SegmentPart, ...]
ReadTask: TypeAlias = Callable[[Task], Parts]
Made: TypeAlias = Callable[[], Sequence[Parts]]
"""Waits for what the tasks of a batch make."""


class BatchTasks(Protocol):
    """Runner of a batch's tasks, which an engine provides."""

    @property
    def at_a_time(self) -> int:
        """Return how many tasks run at a time."""
        ...

    def start(self, read: ReadTask, tasks: Sequence[Task], size: int) -> Made:
        """Start *tasks* with *size* bytes together. What is returned raises SinkError, TasksFailedError; OSError."""
        ...

    def rest(self) -> None:
        """Note that there is nothing to read for now."""
        ...


@dataclass(frozen=True, slots=True)
class _Batch:
    """A batch whose tasks are started."""

    place: StreamOffset
    size: int
    made: Made
    begin_ns: int

    @property
    def is_small(self) -> bool:
        """True if it is done so soon that it is not worth planning the next one meanwhile."""
        return self.size <= limits.SMALL_BATCH


class LogReading:
    """The stream; begun again if a batch failed for a cause that may have passed."""

    def __init__(
        self, job: Job, settings: Settings, tasks: BatchTasks, tell: Callable[[str], None], *, once: bool
    ) -> None:
        """*once*: read only what is there when reading begins."""
        self._job = job
        self._settings = settings
        self._tasks = tasks
        self._tell = tell
        self._once = once
        self._ended = threading.Event()
        self._planner = Planner(open_files(settings.logs, settings.endpoint))
        self._sides = ReadDiagnostics(self._planner)
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
        """Read, with any fault as an error for users. Raises SinkError."""
        with runner.restartable("Reading", self._settings):
            try:
                self._read(progress, stopped)
            except TasksFailedError:
                if not stopped:  # a signal to the whole process group, as from systemd, ends Java, too
                    raise

    def _read(self, progress: "runner.ProgressReport", stopped: Sequence[int]) -> None:
        """Read and merge batch after batch. While one is merged, the next is read if there is much to read."""
        stream, place = self._job.begin()
        query, numbers = uuid4().hex, count()
        self._planner.refresh()
        ahead: _Batch | None = None
        while not stopped and not self._ended.is_set():
            began_s = time.monotonic()
            if ahead is None and not self._once:
                self._planner.refresh()
            batch = ahead or self._plan(place)
            if batch is None:
                progress.look()
                if self._once:
                    return
                self._tasks.rest()
                spent_s = time.monotonic() - began_s
                self._ended.wait(max(limits.LOOK_S, limits.LOOK_SHARE * spent_s))
                continue
            place = batch.place
            parts = [part for parts in batch.made() for part in parts]
            ahead = None if batch.is_small else self._plan(place)
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
                self._ended.wait(min(spent_s / limits.REST_SHARE, limits.REST_MAX_S))
        progress.look()

    def _plan(self, place: StreamOffset) -> _Batch | None:
        """Plan the batch behind *place*, and start its tasks; None if there is nothing to read. Raises OSError."""
        begin_ns = time.perf_counter_ns()
        end = self._planner.advance(place, self._settings.bytes_per_batch)
        parts = self._planner.parts(place, end)
        if not parts and end == place:
            return None
        size = sum(part.size for part in parts)
        share = -(-size // self._tasks.at_a_time)
        tasks = pack_tasks(parts, max(limits.SMALL_BATCH, min(share, limits.TASK_SIZE)))
        return _Batch(end, size, self._tasks.start(self._read_task, tasks, size), begin_ns)
