"""The engine ``local``: tasks run in this process if a batch is small, else in a few others, without Java and Spark."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from spark_sink import limits
from spark_sink.job import Job
from spark_sink.log_stream import LogReading, Made, ReadTask, Task
from spark_sink.process_pool import ProcessExecutors, ProcessPool
from spark_sink.serving.address import shown
from spark_sink.serving.database import Database
from spark_sink.settings import Settings


class LocalEngine:
    """Processes of this machine."""

    def __init__(self, pool: ProcessPool, settings: Settings, tell: Callable[[str], None]) -> None:
        self._pool = pool
        self._settings = settings
        self._tell = tell
        self.executors = ProcessExecutors(pool, tell)
        """Executors that can open the database."""

    def read(self, job: Job, database: Database, *, once: bool) -> LogReading:  # noqa: ARG002 - as SparkEngine.read
        """Begin to read, for everything that is there (*once*), or on and on."""
        return LogReading(job, self._settings, PoolTasks(self._pool), self._tell, once=once)


@contextmanager
def started(settings: Settings, tell: Callable[[str], None]) -> Iterator[LocalEngine]:
    """Start nothing yet: processes start when they are needed, and are ended at the end."""
    tell(f"Starting to read {settings.logs} into {shown(settings.database)} …")
    with ProcessPool(settings.threads) as pool:
        yield LocalEngine(pool, settings, tell)


class PoolTasks:
    """Tasks in the processes of a pool, or here (`log_stream.BatchTasks`)."""

    def __init__(self, pool: ProcessPool) -> None:
        self._pool = pool
        self.at_a_time = pool.size

    def start(self, read: ReadTask, tasks: Sequence[Task], size: int) -> Made:
        """Start *tasks*; those of a small batch run in this process, once somebody waits for them."""
        if size <= limits.SMALL_BATCH:
            return lambda: [read(task) for task in tasks]
        running = [self._pool.submit(read, task) for task in tasks]
        return lambda: [task.result() for task in running]

    def rest(self) -> None:
        """End processes that have nothing to do."""
        self._pool.rest()
