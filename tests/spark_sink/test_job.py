"""The job: whatever kills it and whenever, each record is counted once, and derived rows are those of all records."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, cast

import pytest

from spark_sink import job
from spark_sink.errors import BusyError, SinkError
from spark_sink.log_files import LocalLogFiles
from spark_sink.planner import Planner
from spark_sink.serving.connect import open_for_writing
from spark_sink.serving.merge import merge
from spark_sink.settings import Settings, default_checkpoint
from tests.spark_sink import contents
from tests.spark_sink.logs import NodeLog, Record, feed_name, mesh
from tests.spark_sink.partials import oracle

pytestmark = pytest.mark.spark


class PowerCutError(Exception):
    """The fault by which tests break the job."""


def settings_for(logs: Path, **more: Any) -> Settings:
    database = str(logs.parent / "serving.sqlite")
    return Settings(logs=str(logs), database=database, checkpoint=default_checkpoint(database), **more)


def read_all(spark: Any, settings: Settings) -> None:
    with open_for_writing(settings.database) as database:
        work = job.Job(spark, settings, database)
        work.start(once=True).awaitTermination()
        work.refresh.run_to_end()


def break_batch_one(monkeypatch: pytest.MonkeyPatch, *, after_commit: bool) -> None:
    """Let the power go when the second batch is merged, or just after."""

    def breaking(database: Any, names: Any, batch: Any) -> bool:
        if batch.batch_id == 1 and not after_commit:
            raise PowerCutError
        merged = merge(database, names, batch)
        if batch.batch_id == 1:
            raise PowerCutError
        return merged

    monkeypatch.setattr(job, "merge", breaking)


def records_of(logs: list[NodeLog]) -> list[Record]:
    return [record for log in logs for record in log.records]


def check(settings: Settings, records: list[Record]) -> None:
    """Every fact against the plain count, and nothing left to do."""
    facts, derived = contents.read(settings.database)
    assert facts == oracle.facts(records)
    assert contents.rows(settings.database, "SELECT records FROM batches") == [(len(records),)]
    assert contents.rows(settings.database, "SELECT count(*) FROM dirty") == [(0,)]
    entries = [record for record in records if record["kind"] == "entry"]
    assert sum(row[3] for row in derived["progress"]) == len(entries)


def test_all_logs_are_counted_and_later_growth_is_added(spark: Any, logs: Path) -> None:
    written = mesh(logs, nodes=3, posts=12)
    written[0].add("set", feed=feed_name(1), count=1, state="0" * 64)
    written[0].add("fork", feed=feed_name(1), seq=1, held="a" * 40, other="b" * 40)
    written[1].raw(b"nonsense\n")
    settings = settings_for(logs, bytes_per_batch=6_000)
    read_all(spark, settings)
    check(settings, records_of(written))
    written[2].add("stop", reason="signal")
    read_all(spark, settings)
    check(settings, records_of(written))
    found = contents.rows(settings.database, "SELECT reason, text FROM bad_lines")
    assert found == [("not JSON", "nonsense")]


def test_what_comes_later_and_in_another_order_makes_the_same_tables(spark: Any, tmp_path: Path) -> None:
    whole, late = tmp_path / "whole" / "logs", tmp_path / "late" / "logs"
    written = mesh(whole, nodes=3, posts=30)
    read_all(spark, settings_for(whole))
    segments = sorted(path.relative_to(whole) for path in whole.rglob("*.jsonl"))
    assert len(segments) > 6
    for some in (segments[1::2], segments[::2]):
        for segment in some:
            (late / segment).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(whole / segment, late / segment)
        read_all(spark, settings_for(late))
    check(settings_for(late), records_of(written))
    assert contents.read(settings_for(late).database) == contents.read(settings_for(whole).database)
    assert contents.rows(settings_for(late).database, "SELECT * FROM gaps") == []


def test_a_deleted_checkpoint_neither_doubles_nor_skips(spark: Any, logs: Path) -> None:
    written = mesh(logs, nodes=2, posts=8)
    settings = settings_for(logs)
    read_all(spark, settings)
    shutil.rmtree(settings.checkpoint)
    written[1].add("stop", reason="signal")
    read_all(spark, settings)
    check(settings, records_of(written))


@pytest.mark.parametrize("after_commit", [False, True])
def test_a_failure_on_either_side_of_the_commit_counts_nothing_twice(
    spark: Any, logs: Path, monkeypatch: pytest.MonkeyPatch, after_commit: bool
) -> None:
    written = mesh(logs, nodes=2, posts=8)
    settings = settings_for(logs, bytes_per_batch=4_000)
    break_batch_one(monkeypatch, after_commit=after_commit)
    with pytest.raises(Exception, match="PowerCutError"):
        read_all(spark, settings)
    monkeypatch.undo()
    read_all(spark, settings)
    check(settings, records_of(written))


@pytest.mark.parametrize("cut_again", [False, True])
def test_a_folder_that_is_away_when_a_planned_batch_is_read_again_is_counted_once_it_is_back(
    spark: Any, logs: Path, monkeypatch: pytest.MonkeyPatch, cut_again: bool
) -> None:
    """As with a disk that is not mounted after a power cut. *cut_again*: after the batch that missed it, too."""
    written = mesh(logs, nodes=3, posts=8)
    settings = settings_for(logs, bytes_per_batch=9_000)

    def break_batch(database: Any, names: Any, batch: Any) -> bool:
        if batch.batch_id == 1 and batch.missing:
            assert merge(database, names, batch)
            raise PowerCutError
        if batch.batch_id == 1:
            raise PowerCutError
        return merge(database, names, batch)

    monkeypatch.setattr(job, "merge", break_batch)
    with pytest.raises(Exception, match="PowerCutError"):
        read_all(spark, settings)
    folder = next(
        path for path in sorted(logs.rglob("*.jsonl")) if path.name.endswith("000000000000.jsonl")
    ).parent
    away = folder.rename(logs.parent / "not-mounted")
    if cut_again:
        with pytest.raises(Exception, match="PowerCutError"):
            read_all(spark, settings)
    monkeypatch.undo()
    read_all(spark, settings)
    missing = contents.rows(settings.database, "SELECT reason FROM bad_lines")
    assert missing
    assert all("were not there when they were to be read" in reason for (reason,) in missing)
    counted = contents.rows(settings.database, "SELECT records FROM batches")
    assert 0 < counted[0][0] < len(records_of(written))
    away.rename(folder)
    read_all(spark, settings)
    check(settings, records_of(written))
    assert contents.rows(settings.database, "SELECT * FROM gaps") == []


def test_how_much_is_behind_falls_between_two_looks(logs: Path) -> None:
    mesh(logs, nodes=2, posts=4)
    size = sum(path.stat().st_size for path in logs.rglob("*.jsonl"))
    sides = job.ReadDiagnostics(Planner(LocalLogFiles(str(logs))))
    seen = []
    for read_bytes in (0, 100, size):
        sides.look({}, read_bytes)
        seen.append(sides.behind_bytes)
    assert seen == [size, size - 100, 0]


def _killed(arguments: list[str], database: str, batches: int) -> bool:
    """Start the command; kill it and its Java once *batches* are in the database. False if it ended before."""
    with subprocess.Popen(
        arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    ) as run:
        while run.poll() is None:
            if _batches(database) >= batches:
                os.killpg(run.pid, signal.SIGKILL)
                return True
            time.sleep(0.01)
        assert run.stderr is not None
        assert run.returncode == 0, run.stderr.read().decode()
        return False


def _batches(database: str) -> int:
    if not Path(database).exists():
        return 0
    try:
        found = contents.rows(database, "SELECT max(batch_id) FROM batches")
    except sqlite3.OperationalError:
        return 0  # its tables are being made
    return 0 if found[0][0] is None else int(found[0][0]) + 1


@pytest.mark.slow
def test_killed_and_restarted_each_event_is_counted_once(logs: Path) -> None:
    written = mesh(logs, nodes=3, posts=20)
    settings = settings_for(logs)
    command = [sys.executable, "-m", "spark_sink.cli", "backfill", str(logs), "--db", settings.database]
    command += ["--batch-bytes", "8000", "--memory-mb", "512"]
    assert _killed(command, settings.database, 1)
    assert _killed(command, settings.database, 2)
    assert not _killed(command, settings.database, 10**6)
    check(settings, records_of(written))


@pytest.fixture
def settings(logs: Path) -> Settings:
    return settings_for(logs)


def test_a_second_job_is_turned_away(settings: Settings) -> None:
    with (
        open_for_writing(settings.database),
        pytest.raises(BusyError, match="Another tinyssb-sink is filling"),
        open_for_writing(settings.database),
    ):
        pass


def test_a_checkpoint_of_another_database_is_left_alone(spark: Any, logs: Path, settings: Settings) -> None:
    mesh(logs, nodes=1, posts=2)
    read_all(spark, settings)
    other = settings_for(logs.parent / "other" / "logs")
    Path(other.logs).mkdir(parents=True)
    mesh(Path(other.logs), nodes=1, posts=2)
    read_all(spark, other)
    crossed = Settings(logs=settings.logs, database=settings.database, checkpoint=other.checkpoint)
    with pytest.raises(SinkError, match="was not filled from the checkpoint"):
        read_all(spark, crossed)


def test_a_foreign_checkpoint_is_told_of_without_the_password(logs: Path, tmp_path: Path) -> None:
    (tmp_path / "metadata").write_text('{"id": "one"}')

    class Filled:
        def rows(self, sql: str) -> list[tuple[str]]:
            return [("another",)] if "batches" in sql else []

    database = "postgresql://ana:secret@db.example.org/mesh"
    settings = Settings(logs=str(logs), database=database, checkpoint=str(tmp_path))
    with pytest.raises(SinkError, match=r"db\.example\.org/mesh") as refused:
        job.Job(cast("Any", None), settings, cast("Any", Filled()))
    assert "secret" not in str(refused.value)
