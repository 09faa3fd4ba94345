"""Reading logs: following them, beginning again after a failure, and what each engine needs for it."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spark_sink import limits, log_stream, runner
from spark_sink.errors import DatabaseFailedError, JobFailedError
from spark_sink.job import Job
from spark_sink.partial_tables import read_task
from spark_sink.process_pool import ProcessPool
from spark_sink.serving.connect import open_for_writing
from spark_sink.settings import LOCAL_ENGINE, Settings
from tests.spark_sink import contents
from tests.spark_sink.logs import NodeLog, mesh, node_name
from tests.spark_sink.partials import oracle


def settings_for(logs: Path, **more: Any) -> Settings:
    return Settings(logs=str(logs), database=str(logs.parent / "db"), engine=LOCAL_ENGINE, **more)


def check(settings: Settings, written: list[NodeLog]) -> None:
    facts, _ = contents.read(settings.database)
    assert facts == oracle.facts([record for log in written for record in log.records])


def test_neither_spark_nor_java_is_needed(logs: Path) -> None:
    written = mesh(logs, nodes=2, posts=4)
    settings = settings_for(logs)
    words = ["backfill", settings.logs, "--db", settings.database, "--engine", "local"]
    script = (
        "import sys; sys.modules.update(dict.fromkeys(['pyspark', 'py4j'])); from spark_sink.cli import main;"
        f"sys.exit(main({words}))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"} | {"PATH": ""}
    command = [sys.executable, "-c", script]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (ended.returncode, ended.stderr) == (0, "")
    check(settings, written)


def run_locally(_request: pytest.FixtureRequest, settings: Settings, tell: Callable[[str], None]) -> None:
    assert runner.run(settings, once=False, tell=tell) == 0


def run_with_spark(request: pytest.FixtureRequest, settings: Settings, tell: Callable[[str], None]) -> None:
    from spark_sink.spark_stream import SparkEngine  # needs pyspark, which may be missing

    engine = SparkEngine(request.getfixturevalue("spark"), settings, tell)
    with open_for_writing(settings.database) as database:
        job = Job(settings, database, engine.executors)
        assert runner.follow_logs(job.refresh, engine.read(job, database, once=False), settings) == 0


@pytest.mark.parametrize("run", [run_locally, pytest.param(run_with_spark, marks=pytest.mark.spark)])
def test_it_follows_the_logs_until_it_is_told_to_end(
    request: pytest.FixtureRequest, logs: Path, run: Callable[..., None]
) -> None:
    """Each report of all being read brings new records, in the log, in a new one and in a new segment."""
    written = mesh(logs, nodes=2, posts=2)
    new = NodeLog(logs, node_name(7))
    written.append(new)

    def in_a_new_segment() -> None:
        written[1].rotate()
        written[1].add("stop", reason="signal")

    steps: list[Callable[[], object]] = [
        lambda: written[0].add("face_up", face="f", spec="s"),
        in_a_new_segment,
        lambda: new.start(7),
        lambda: signal.raise_signal(signal.SIGTERM),
    ]
    told: list[str] = []

    def tell(text: str) -> None:
        told.append(text)
        if "100 %" in text:
            steps.pop(0)()

    settings = settings_for(logs)
    run(request, settings, tell)
    assert told[-1].startswith("Stopped. All records that were counted are kept")
    check(settings, written)


class Broken:
    """A task that fails some times."""

    def __init__(self, times: int, error: Exception) -> None:
        self._left = times
        self._error = error

    def __call__(self, *arguments: Any) -> Any:
        self._left -= 1
        if self._left >= 0:
            raise self._error
        return read_task(*arguments)


@pytest.mark.parametrize("error", [FileNotFoundError("gone"), ValueError("no digits")])
def test_a_batch_that_fails_is_planned_again(
    logs: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    written = mesh(logs, nodes=2, posts=4)
    told: list[str] = []
    monkeypatch.setattr(log_stream, "read_task", Broken(limits.QUERY_STARTS_MAX - 1, error))
    settings = settings_for(logs)
    assert runner.run(settings, once=True, tell=told.append) == 0
    again = [text for text in told if text.endswith("It is started again now.")]
    assert len(again) == limits.QUERY_STARTS_MAX - 1
    assert all(text.startswith("Reading stopped; the report is in") for text in again)
    assert str(error) in Path(f"{settings.database}.failure.txt").read_text()
    check(settings, written)


def test_what_fails_each_time_ends_the_job(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mesh(logs, nodes=2, posts=4)
    monkeypatch.setattr(log_stream, "read_task", Broken(10, ValueError("no digits")))
    with pytest.raises(JobFailedError, match=r"Reading stopped; .*db\.failure\.txt") as failed:
        runner.run(settings_for(logs), once=True, tell=lambda _text: None)
    assert failed.value.exit_code == 70


@pytest.mark.spark
def test_what_fails_in_tasks_of_spark_each_time_ends_the_job(
    spark: Any, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spark_sink.spark_stream import SparkEngine  # needs pyspark, which may be missing

    mesh(logs, nodes=2, posts=4)
    monkeypatch.setattr(log_stream, "read_task", Broken(10, FileNotFoundError("gone")))
    settings, told = settings_for(logs), list[str]()
    with open_for_writing(settings.database) as database:
        engine = SparkEngine(spark, settings, told.append)
        reading = engine.read(Job(settings, database), database, once=True)
        with pytest.raises(JobFailedError, match="Reading stopped"):
            reading.watch()
        assert database.rows("SELECT * FROM batches") == []
    assert sum(text.endswith("It is started again now.") for text in told) == limits.QUERY_STARTS_MAX - 1
    assert "FileNotFoundError: gone" in Path(f"{settings.database}.failure.txt").read_text()


def test_what_the_sink_itself_says_ends_the_job_at_once(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mesh(logs, nodes=2, posts=4)
    monkeypatch.setattr(log_stream, "read_task", Broken(1, DatabaseFailedError("db", "disk full")))
    with pytest.raises(DatabaseFailedError, match="disk full"):
        runner.run(settings_for(logs), once=True, tell=lambda _text: None)


def test_a_process_that_is_killed_costs_a_batch_and_no_record(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by the kernel, when there is no memory left."""
    written = mesh(logs, nodes=3, posts=20)
    monkeypatch.setattr(limits, "SMALL_BATCH", 3_000)
    submit = ProcessPool.submit
    left = [os._exit]

    def killing(pool: Any, function: Any, item: Any) -> Any:
        return submit(pool, left.pop(), 9) if left else submit(pool, function, item)

    monkeypatch.setattr(ProcessPool, "submit", killing)
    told: list[str] = []
    settings = settings_for(logs, bytes_per_batch=12_000)
    assert runner.run(settings, once=True, tell=told.append) == 0
    assert sum("It is started again now" in text for text in told) == 1
    check(settings, written)
