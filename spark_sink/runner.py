"""Process of a job: it reports progress, stops the job in order, and explains its failures."""

import math
import re
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import count
from types import FrameType
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from spark_sink import errors, limits, session
from spark_sink.executors import Executors, TasksFailedError
from spark_sink.job import Job, RefreshThread
from spark_sink.log_files import open_files
from spark_sink.refresh import Refresh
from spark_sink.serving.connect import open_for_writing
from spark_sink.serving.database import Database
from spark_sink.settings import LOCAL_ENGINE, Settings, StreamSettings, no_spark

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

Ended = TypeVar("Ended")
STOPPED: Final = "Stopped. All records that were counted are kept; the next run continues from there."
"""Message after a signal asked to end."""
_POLL_S: Final = 0.5
_OURS: Final = re.compile(r"spark_sink\.errors\.([A-Za-z]+Error): ([^\n]+)")


def run(settings: Settings, *, once: bool, tell: Callable[[str], None]) -> int:
    """Fill the database: from everything that is there (*once*), or until SIGINT or SIGTERM. Returns the exit code.

    Raises SinkError.
    """
    settings.check()
    # A fault in the folders is reported before Java is started, which takes seconds.
    if not settings.is_bronze:
        open_files(settings.logs, settings.endpoint).listing()
    with _started(settings, tell) as engine, open_for_writing(settings.database) as database:
        work = Job(settings, database, engine.executors)
        reading = engine.read(work, database, once=once)
        if not once:
            return follow_logs(work.refresh, reading, settings)
        if reading.watch():
            return 0
        tell("All logs are read. Deriving the tables that take all logs together.")
        with _refreshing(settings):
            work.refresh.run_to_end(lambda done, todo: tell(f"{done:8d} of {todo} hours"))
        tell("Done.")
        return 0


class Reading(Protocol):
    """Reading that an engine has begun."""

    def watch(self) -> bool:
        """Wait until all is read, or a signal asks to end it, which is what is returned. Raises SinkError."""
        ...

    def stop(self) -> None:
        """End it, from another thread."""
        ...


class Engine(Protocol):
    """Runner of a batch's tasks."""

    @property
    def executors(self) -> Executors | None:
        """Return what can derive hours; None: the job does it alone."""
        ...

    def read(self, job: Job, database: Database, *, once: bool) -> Reading:
        """Begin to read. Raises SinkError."""
        ...


def _started(settings: Settings, tell: Callable[[str], None]) -> AbstractContextManager[Engine]:
    """Only the engine that is used is loaded: Spark may be missing."""
    if settings.engine == LOCAL_ENGINE:
        from spark_sink import local_stream  # noqa: PLC0415 - as above

        return local_stream.started(settings, tell)
    session.require_java()
    try:
        from spark_sink import spark_stream  # noqa: PLC0415 - as above
    except ImportError as error:
        raise no_spark() from error
    return spark_stream.started(settings, tell)


def follow_logs(refresh: Refresh, reading: Reading, settings: Settings) -> int:
    """Read on and on, and keep derived tables fresh beside it. Raises SinkError."""
    refresher = RefreshThread(refresh, reading.stop)
    refresher.start()
    try:
        reading.watch()
    finally:
        refresher.stop()
    with _refreshing(settings):
        if refresher.error is not None:
            raise refresher.error
    return 0


@contextmanager
def _refreshing(settings: Settings) -> Iterator[None]:
    """Turn any error that ends a refresh into one with a message for users. Raises SinkError."""
    try:
        yield
    except errors.SinkError:
        raise
    except Exception as error:
        details = settings.report_path()
        details.write_text("".join(traceback.format_exception(error)))
        reason = "".join(traceback.format_exception_only(error)).strip()
        raise errors.InternalError(
            f"Deriving the tables that take all logs together failed by a fault of this program: {reason}. The whole "
            f"report is in {details}. All records that were counted are kept, but the derived tables are no longer "
            "updated. Please report this fault."
        ) from error


class Startable(Protocol):
    """A stream that can be started."""

    def start(self, *, once: bool) -> "StreamingQuery":
        """Start it."""
        ...

    def progress(self) -> str:
        """Say how much has been read."""
        ...


class SupervisedQuery:
    """The stream; started again if Spark gave it up for a cause that may have passed."""

    def __init__(
        self,
        work: "Startable",
        settings: StreamSettings,
        tell: Callable[[str], None],
        has_workers: Callable[[], bool],
        *,
        once: bool,
    ) -> None:
        self._work = work
        self._settings = settings
        self._tell = tell
        self._has_workers = has_workers
        self._once = once
        self._stopped = False
        self.query = work.start(once=once)
        """The query at work."""

    def stop(self) -> None:
        """End the query at work, and begin none again."""
        self._stopped = True
        self.query.stop()

    def watch(self) -> bool:
        """Wait until all is read, or a signal asks to end it, which is what is returned. Raises SinkError."""
        progress = QueryProgress(self._tell, self._has_workers, self._work.progress)
        progress.begin(once=self._once)
        starts = count()

        def attempt() -> bool:
            if next(starts):
                self.query = self._work.start(once=self._once)
                if self._stopped:
                    self.query.stop()
            progress.follow(self.query)
            return watch_query(self.query, self._settings, progress)

        return with_restarts(attempt, progress, self._tell)


def with_restarts(
    attempt: Callable[[], Ended], progress: "ProgressReport", tell: Callable[[str], None]
) -> Ended:
    """Return what *attempt* returns; after a failure that may pass, try again, some times. Raises SinkError."""
    left = limits.QUERY_STARTS_MAX
    while True:
        progress.any = False
        try:
            return attempt()
        except errors.JobFailedError as error:
            left = limits.QUERY_STARTS_MAX if progress.any else left - 1
            if left <= 0 or not error.may_pass:
                raise
            tell(f"{error} It is started again now.")


@contextmanager
def restartable(what: str, settings: StreamSettings) -> Iterator[None]:
    """Turn an error that is not the sink's own into one that is, with a report, after which *what* may begin again.

    Raises SinkError.
    """
    try:
        yield
    except errors.SinkError:
        raise
    except Exception as error:
        details = settings.report_path()
        details.write_text(error.report if isinstance(error, TasksFailedError) else traceback.format_exc())
        raise errors.JobFailedError(what, details, may_pass=True) from error


def watch_query(query: "StreamingQuery", settings: StreamSettings, progress: "QueryProgress") -> bool:
    """Wait until the query ends or a signal asks to end it, which is what is returned. Raises SinkError."""
    from pyspark.errors import StreamingQueryException  # noqa: PLC0415 - as above

    failures: tuple[type[Exception], ...] = (StreamingQueryException, *_java_gone())
    with stop_signals() as stopped:
        try:
            while not query.awaitTermination(_POLL_S):  # type: ignore[arg-type] # seconds may be a fraction
                progress.look()
                if stopped:
                    query.stop()
            progress.look()
        except failures as error:
            # A signal to the whole process group, as from systemd, ends Java too, and Java does not wait for us.
            if not stopped:
                may_pass = isinstance(error, StreamingQueryException)  # else Spark itself no longer runs
                raise plain(str(error), settings, may_pass=may_pass) from error
    if stopped:
        progress.tell(STOPPED)
    return bool(stopped)


def _java_gone() -> tuple[type[Exception], ...]:
    """Return the errors that calls of Java raise after Java ended."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - as above

    return Py4JError, ConnectionError


@contextmanager
def without_java() -> Iterator[None]:
    """Pass over errors of a Java that has ended."""
    with suppress(*_java_gone()):
        yield


@contextmanager
def stop_signals() -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM instead of dying of them: a batch is better finished than done again."""
    stopped: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        stopped.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class ProgressReport:
    """Reports of progress: each time reading has advanced, but not all the time."""

    def __init__(self, tell: Callable[[str], None], read: Callable[[], str]) -> None:
        """*read* says how much has been read."""
        self.tell = tell
        self._read = read
        self._is_new = False
        self._due_s = 0.0
        self.any = False
        """True once a batch was counted."""

    def begin(self, *, once: bool) -> None:
        """Report that reading begins, of everything that is there (*once*), or on and on."""
        self.tell("Reading everything that is there." if once else "Reading. Stop with Ctrl-C.")

    def counted(self) -> None:
        """Note that a batch was counted, and report it unless there was a report just before."""
        self.any = self._is_new = True
        if time.monotonic() >= self._due_s:
            self.look()

    def look(self) -> None:
        """Report what has been counted since the last report."""
        if self._is_new:
            self.tell(self._read())
            self._is_new = False
            self._due_s = time.monotonic() + _POLL_S


class QueryProgress(ProgressReport):
    """The same of a query of Spark, and the cause if it does not start."""

    def __init__(
        self, tell: Callable[[str], None], has_workers: Callable[[], bool], read: Callable[[], str]
    ) -> None:
        super().__init__(tell, read)
        self._has_workers = has_workers

    def follow(self, query: "StreamingQuery") -> None:
        """Look at this query from now on."""
        self._query = query
        self._alone_at_s = time.monotonic() + limits.ALONE_S
        self._told = -1

    def look(self) -> None:
        """Look once."""
        progress = self._query.lastProgress
        if progress is None and self._told < 0 and time.monotonic() > self._alone_at_s:
            self._alone_at_s = math.inf
            if not self._has_workers():
                self.tell(session.ALONE)
        if progress is None or progress["batchId"] <= self._told or progress["numInputRows"] == 0:
            return
        self._told = int(progress["batchId"])
        self.any = self._is_new = True
        super().look()


def plain(text: str, settings: StreamSettings, *, may_pass: bool = False) -> errors.SinkError:
    """Explain in one sentence what stopped the stream; Spark's own report goes into a file."""
    if ours := _OURS.search(text):
        error = errors.SinkError(ours[2])
        error.exit_code = getattr(errors, ours[1], errors.SinkError).exit_code
        return error
    details = settings.report_path()
    details.write_text(text)
    return errors.JobFailedError("Spark", details, may_pass=may_pass)
