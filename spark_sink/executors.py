"""Functions over many items, run by an engine: an item is a task."""

import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import pyarrow as pa

from spark_sink import limits, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Item = TypeVar("Item")
Made = TypeVar("Made")
_WAVES: Final = 2
"""Tasks of a job for each core: their results wait in the driver while the next job runs."""
_OURS: Final = re.compile(r"spark_sink\.errors\.\w+Error: ([^\n]+)")


class TasksFailedError(Exception):
    """Tasks that did not come to their end: the reason in a line, and the whole report if there is more."""

    def __init__(self, reason: str, report: str = "") -> None:
        super().__init__(reason, report)
        self.report = report or reason

    def __str__(self) -> str:
        return str(self.args[0])


class Executors(Protocol):
    """Runner of tasks."""

    @property
    def tell(self) -> Callable[[str], None]:
        """Return the function for what users should know."""
        ...

    @property
    def at_a_time(self) -> int:
        """Return how many tasks run at a time."""
        ...

    def map(self, function: Callable[[Item], Made], items: Iterable[Item]) -> Iterator[Made]:
        """Yield what *function* makes of each item, in order. Raises TasksFailedError."""
        ...


class SparkExecutors:
    """The executors of a Spark session."""

    def __init__(self, spark: "SparkSession", tell: Callable[[str], None]) -> None:
        """*tell* is called with what users should know."""
        self._spark = spark
        self.tell: Final = tell

    @property
    def are_here(self) -> bool:
        """True if they are on this machine."""
        return str(self._spark.sparkContext.master).startswith("local")

    @property
    def at_a_time(self) -> int:
        """Return how many tasks run at a time, as far as Spark knows."""
        return int(self._spark.sparkContext.defaultParallelism)

    def map(self, function: Callable[[Item], Made], items: Iterable[Item]) -> Iterator[Made]:
        """Yield what *function* makes of each item, in order. While some results are used, the next are made.

        The function is named by its module, so it has to be installed where the executors are. Raises TasksFailedError.
        """
        waiting = iter(items)
        size = _WAVES * self.at_a_time
        with ThreadPoolExecutor(1, "executors") as jobs:
            made = self.start(jobs, function, list(islice(waiting, size)))
            while found := made():
                made = self.start(jobs, function, list(islice(waiting, size)))
                yield from found

    def start(
        self, jobs: ThreadPoolExecutor, function: Callable[[Item], Made], items: Sequence[Item]
    ) -> Callable[[], list[Made]]:
        """Start one job of Spark from a thread of *jobs*, with a task an item. What is returned waits for the results,
        in order, and raises TasksFailedError."""
        job = jobs.submit(self._run, function, items)
        return lambda: [pickle.loads(one) for one in self._waited(job)]  # noqa: S301 - made by our own tasks

    def _waited(self, made: Future[list[bytes]]) -> list[bytes]:
        """Wait for a job, and say so if the cluster has no worker for it. Raises TasksFailedError."""
        try:
            return made.result(limits.ALONE_S)
        except TimeoutError:
            if not session.has_workers(self._spark):
                self.tell(session.ALONE)
            return made.result()

    def _run(self, function: Callable[[Item], Any], items: Sequence[Item]) -> list[bytes]:
        """Run one job, and return packed results in order."""
        if not items:
            return []
        try:
            rows = self._spark.range(0, len(items), 1, len(items))
            found = rows.mapInArrow(partial(_task, function, items), "place long, made binary").toArrow()
        except Exception as error:  # whatever Spark raises: the driver can do the work, too
            ours = _OURS.search(str(error))
            reason = ours[1] if ours else str(error).strip().partition("\n")[0]
            raise TasksFailedError(reason, str(error)) from error
        return list(found.sort_by("place")["made"].to_pylist())


def _task(
    function: Callable[[Item], Any], items: Sequence[Item], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Run in a task."""
    for batch in batches:
        for place in batch.column(0).to_pylist():
            made = pickle.dumps(function(items[place]), pickle.HIGHEST_PROTOCOL)
            yield pa.RecordBatch.from_arrays(
                [pa.array([place], pa.int64()), pa.array([made], pa.binary())], ["place", "made"]
            )
