"""Messages of the job while it waits."""

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.errors import StreamingQueryException

from spark_sink import limits
from spark_sink.errors import DatabaseFailedError, InternalError, JobFailedError
from spark_sink.runner import QueryProgress, SupervisedQuery, follow_logs
from spark_sink.settings import Settings


def settings_for(folder: Path) -> Settings:
    return Settings(logs=str(folder), database=str(folder / "db.sqlite"))


def progress(said: list[str], *, workers: bool) -> QueryProgress:
    query: Any = SimpleNamespace(lastProgress=None)
    found = QueryProgress(said.append, lambda: workers, str)
    found.follow(query)
    return found


def test_a_cluster_without_workers_is_told_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    patient = progress(said, workers=False)
    patient.look()
    assert said == []
    monkeypatch.setattr(limits, "ALONE_S", -1.0)
    waiting = progress(said, workers=False)
    waiting.look()
    waiting.look()
    assert len(said) == 1
    assert "no worker" in said[0]


def test_a_cluster_with_workers_is_only_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(limits, "ALONE_S", -1.0)
    progress(said, workers=True).look()
    assert said == []


class Query:
    """A query that ends as it is told to."""

    lastProgress = None  # noqa: N815 - Spark's name

    def __init__(self, end: Exception | None) -> None:
        self._end = end

    def awaitTermination(self, _seconds: float) -> bool:
        if self._end is not None:
            raise self._end
        return True


def read(tmp_path: Path, said: list[str], *queries: Query) -> bool:
    """Read with *queries*, one after the other."""
    left = iter(queries)
    work: Any = SimpleNamespace(start=lambda *, once: next(left), progress=str)  # noqa: ARG005 - as BronzeStream.start
    return SupervisedQuery(work, settings_for(tmp_path), said.append, lambda: True, once=True).watch()


def test_a_query_that_spark_gives_up_is_begun_again(tmp_path: Path) -> None:
    said: list[str] = []
    late = StreamingQueryException("Python worker failed to connect back.")
    assert not read(tmp_path, said, Query(late), Query(late), Query(None))
    assert [text.startswith("Spark stopped; the report is in") for text in said] == [False, True, True]
    assert "connect back" in (tmp_path / "db.sqlite.failure.txt").read_text()


def test_a_query_that_never_counts_anything_ends(tmp_path: Path) -> None:
    late = StreamingQueryException("Python worker failed to connect back.")
    with pytest.raises(JobFailedError):
        read(tmp_path, [], *[Query(late)] * limits.QUERY_STARTS_MAX)


def test_nothing_is_begun_again_without_java(tmp_path: Path) -> None:
    with pytest.raises(JobFailedError):
        read(tmp_path, [], Query(Py4JNetworkError("Answer from Java side is empty")), Query(None))


class Broken:
    """A refresh with a fault."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def run_pass(self) -> bool:
        raise self._error


class Endless:
    """A query that ends when it is stopped."""

    lastProgress = None  # noqa: N815 - Spark's name

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def awaitTermination(self, seconds: float) -> bool:
        return self._stopped.wait(seconds)

    def stop(self) -> None:
        self._stopped.set()


def follow(tmp_path: Path, error: Exception) -> int:
    query = Endless()
    work: Any = SimpleNamespace(start=lambda *, once: query, progress=str)  # noqa: ARG005 - as BronzeStream.start
    refresh: Any = Broken(error)
    settings = settings_for(tmp_path)
    reading = SupervisedQuery(work, settings, lambda _text: None, lambda: True, once=False)
    return follow_logs(refresh, reading, settings)


def test_a_refresh_that_fails_by_a_fault_ends_the_job_and_says_why(tmp_path: Path) -> None:
    with pytest.raises(InternalError, match=r"ValueError: no digits.*db\.sqlite\.failure\.txt") as caught:
        follow(tmp_path, ValueError("no digits"))
    assert caught.value.exit_code == 70
    assert "in run_pass" in (tmp_path / "db.sqlite.failure.txt").read_text()


def test_what_the_database_says_of_itself_is_said_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(DatabaseFailedError, match="disk full"):
        follow(tmp_path, DatabaseFailedError("db", "disk full"))


def test_a_query_begun_after_the_job_was_told_to_end_ends(tmp_path: Path) -> None:
    first, second = Endless(), Endless()
    left = iter([first, second])
    work: Any = SimpleNamespace(start=lambda *, once: next(left), progress=str)  # noqa: ARG005 - as BronzeStream.start
    settings = Settings(logs=str(tmp_path), database=str(tmp_path / "db.sqlite"), checkpoint=str(tmp_path))
    reading = SupervisedQuery(work, settings, lambda _text: None, lambda: True, once=False)

    def give_up(seconds: float) -> bool:
        reading.stop()
        raise StreamingQueryException("Python worker failed to connect back.")

    first.awaitTermination = give_up  # type: ignore[method-assign] # Spark gives it up meanwhile
    assert not reading.watch()
