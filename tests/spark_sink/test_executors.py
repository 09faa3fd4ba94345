"""Derivation on executors: the same tables as in one process, in both databases, and when Spark fails."""

import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest

from spark_sink import limits, session
from spark_sink.errors import DatabaseFailedError
from spark_sink.executors import Executors, SparkExecutors, TasksFailedError
from spark_sink.refresh import Refresh
from spark_sink.serving.connect import open_for_writing
from spark_sink.settings import Settings
from spark_sink.spark_stream import SparkEngine
from tests.spark_sink.serving.conftest import name, server
from tests.spark_sink.test_any_order import Stream, logs

__all__ = ("name", "server")  # fixtures

pytestmark = pytest.mark.spark


class Watched(SparkExecutors):
    """Executors, and how many items they did."""

    def __init__(self, spark: Any) -> None:
        self.told: list[str] = []
        self.done = 0
        super().__init__(spark, self.told.append)

    def map(self, function: Callable[..., Any], items: Any) -> Iterator[Any]:
        for made in super().map(function, items):
            self.done += 1
            yield made


def merged(database: Any) -> Stream:
    stream = Stream(database)
    stream.files.data.update(logs())
    while stream.batch(None, 10**9):
        pass
    return stream


@cache
def alone() -> tuple[Any, ...]:
    """Tables that one process made in one go."""
    with TemporaryDirectory() as folder, open_for_writing(f"{folder}/db.sqlite") as database:
        return merged(database).finish()


def on(executors: Executors, stream: Stream, name: str) -> None:
    lock = threading.Lock()
    stream.refresh = Refresh(stream.database, lock, lambda: stream.number, executors=executors, name=name)


def test_executors_make_the_tables_of_one_process(
    spark: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SIGHTS_AT_A_TIME", 1)
    with open_for_writing(name) as database:
        executors = Watched(spark)
        stream = merged(database)
        on(executors, stream, name)
        assert stream.refresh.run_pass()
        assert executors.done > 4, "more than one job, which has two tasks a core"
        assert stream.finish() == alone()
    assert executors.told == []


def test_little_work_starts_no_job(spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "db.sqlite")
    with open_for_writing(path) as database:
        executors = Watched(spark)
        stream = merged(database)
        on(executors, stream, path)
        assert stream.finish() == alone()
    assert executors.done == 0


def test_the_driver_does_what_tasks_fail_to_do(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SIGHTS_AT_A_TIME", 1)
    with open_for_writing(str(tmp_path / "db.sqlite")) as database:
        executors = Watched(spark)
        stream = merged(database)
        on(executors, stream, str(tmp_path / "elsewhere.sqlite"))
        assert stream.finish() == alone()
    assert executors.done == 0
    for told, what in zip(executors.told, ("estimate clocks", "derive hours"), strict=True):
        assert told.startswith(f"Executors could not {what}: There is no database at")


def square(number: int) -> int:
    if number == 13:
        raise DatabaseFailedError("the database", "thirteen")
    return number * number


def test_results_come_in_order(spark: Any) -> None:
    work = Watched(spark)
    assert list(work.map(square, range(11))) == [number * number for number in range(11)]
    assert list(work.map(square, [])) == []
    with pytest.raises(TasksFailedError, match="Using the database failed: thirteen"):
        list(work.map(square, [1, 13]))


@pytest.mark.parametrize("master", ["local[2]", "spark://host:7077"])
@pytest.mark.parametrize("database", ["/srv/db.sqlite", "postgresql://host/db"])
def test_executors_of_other_machines_reach_no_file(tmp_path: Path, master: str, database: str) -> None:
    spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(master=master))
    settings = Settings(logs=str(tmp_path), database=database)
    reached = master == "local[2]" or database != "/srv/db.sqlite"
    assert (SparkEngine(spark, settings, print).executors is not None) is reached


def test_a_cluster_without_workers_is_said(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ALONE_S", 0.0)
    monkeypatch.setattr(session, "has_workers", lambda _spark: False)
    work = Watched(spark)
    assert list(work.map(square, [3])) == [9]
    assert set(work.told) == {session.ALONE}
