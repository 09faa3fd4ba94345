"""The job: whatever kills it and whenever, each record is counted once, and derived rows are those of all records."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from spark_sink import job, limits
from spark_sink.errors import BusyError, SinkError
from spark_sink.log_files import LocalLogFiles
from spark_sink.planner import Planner
from spark_sink.serving.connect import open_for_writing
from spark_sink.serving.merge import merge
from spark_sink.settings import LOCAL_ENGINE, SPARK_ENGINE, Settings
from tests.spark_sink import contents, engines
from tests.spark_sink.engines import ReadAll
from tests.spark_sink.logs import NodeLog, Record, feed_name, mesh
from tests.spark_sink.partials import oracle

ENGINES = (LOCAL_ENGINE, pytest.param(SPARK_ENGINE, marks=pytest.mark.spark))


@pytest.fixture(params=ENGINES)
def read_all(request: pytest.FixtureRequest) -> ReadAll:
    """A function that reads all logs into a database, with either engine."""
    return engines.read_all(request, request.param)


class PowerCutError(SinkError):
    """The fault by which tests break the job. Like all errors that the sink raises on purpose, it ends the stream."""


def settings_for(logs: Path, **more: Any) -> Settings:
    return Settings(logs=str(logs), database=str(logs.parent / "serving.sqlite"), **more)


def break_batch_one(monkeypatch: pytest.MonkeyPatch, *, after_commit: bool) -> None:
    """Let the power go when the second batch is merged, or just after."""

    def breaking(database: Any, names: Any, batch: Any) -> bool:
        if batch.batch_id == 1 and not after_commit:
            raise PowerCutError("PowerCutError")
        merged = merge(database, names, batch)
        if batch.batch_id == 1:
            raise PowerCutError("PowerCutError")
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


def test_all_logs_are_counted_and_later_growth_is_added(read_all: ReadAll, logs: Path) -> None:
    written = mesh(logs, nodes=3, posts=12)
    written[0].add("set", feed=feed_name(1), count=1, state="0" * 64)
    written[0].add("fork", feed=feed_name(1), seq=1, held="a" * 40, other="b" * 40)
    written[1].raw(b"nonsense\n")
    settings = settings_for(logs, bytes_per_batch=6_000)
    read_all(settings)
    check(settings, records_of(written))
    written[2].add("stop", reason="signal")
    read_all(settings)
    check(settings, records_of(written))
    found = contents.rows(settings.database, "SELECT reason, text FROM bad_lines")
    assert found == [("not JSON", "nonsense")]


def test_what_comes_later_and_in_another_order_makes_the_same_tables(tmp_path: Path) -> None:
    read_all = engines.read_locally
    whole, late = tmp_path / "whole" / "logs", tmp_path / "late" / "logs"
    written = mesh(whole, nodes=3, posts=30)
    read_all(settings_for(whole))
    segments = sorted(path.relative_to(whole) for path in whole.rglob("*.jsonl"))
    assert len(segments) > 6
    for some in (segments[1::2], segments[::2]):
        for segment in some:
            (late / segment).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(whole / segment, late / segment)
        read_all(settings_for(late))
    check(settings_for(late), records_of(written))
    assert contents.read(settings_for(late).database) == contents.read(settings_for(whole).database)
    assert contents.rows(settings_for(late).database, "SELECT * FROM gaps") == []


@pytest.mark.spark
def test_engines_take_turns_on_one_database(request: pytest.FixtureRequest, logs: Path) -> None:
    written = mesh(logs, nodes=3, posts=8)
    settings = settings_for(logs, bytes_per_batch=9_000)
    for engine in (LOCAL_ENGINE, SPARK_ENGINE, LOCAL_ENGINE, SPARK_ENGINE):
        engines.read_all(request, engine)(settings)
        check(settings, records_of(written))
        written[1].add("face_up", face="f", spec="s")
    assert contents.rows(settings.database, "SELECT * FROM bad_lines") == []


def test_large_batches_are_read_by_other_processes(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SMALL_BATCH", 3_000)
    written = mesh(logs, nodes=3, posts=20)
    settings = settings_for(logs, bytes_per_batch=12_000)
    engines.read_locally(settings)
    check(settings, records_of(written))


@pytest.mark.parametrize("after_commit", [False, True])
def test_a_failure_on_either_side_of_the_commit_counts_nothing_twice(
    read_all: ReadAll, logs: Path, monkeypatch: pytest.MonkeyPatch, after_commit: bool
) -> None:
    written = mesh(logs, nodes=2, posts=8)
    settings = settings_for(logs, bytes_per_batch=4_000)
    break_batch_one(monkeypatch, after_commit=after_commit)
    with pytest.raises(Exception, match="PowerCutError"):
        read_all(settings)
    monkeypatch.undo()
    read_all(settings)
    check(settings, records_of(written))


def test_a_folder_that_is_away_after_a_power_cut_is_counted_once_it_is_back(
    read_all: ReadAll, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a disk that is not mounted."""
    written = mesh(logs, nodes=3, posts=8)
    settings = settings_for(logs, bytes_per_batch=9_000)
    break_batch_one(monkeypatch, after_commit=False)
    with pytest.raises(Exception, match="PowerCutError"):
        read_all(settings)
    monkeypatch.undo()
    folder = next(path for path in sorted(logs.rglob("*.jsonl"))).parent
    away = folder.rename(logs.parent / "not-mounted")
    read_all(settings)
    counted = contents.rows(settings.database, "SELECT records FROM batches")
    assert 0 < counted[0][0] < len(records_of(written))
    away.rename(folder)
    read_all(settings)
    check(settings, records_of(written))
    for table in ("gaps", "bad_lines"):
        assert contents.rows(settings.database, f"SELECT * FROM {table}") == []


def test_a_stream_that_was_replaced_adds_nothing(logs: Path) -> None:
    settings = settings_for(logs)
    with open_for_writing(settings.database) as database:
        work = job.Job(settings, database)
        replaced, place = work.begin()
        work.begin()
        batch = job.ReadBatch(
            query="q", number=0, parts=[], place=place, oddities=None, begin_ns=0, bytes=0, behind_bytes=0
        )
        with pytest.raises(SinkError, match="has been replaced"):
            work.add(replaced, batch)
        assert database.rows("SELECT * FROM batches") == []


def test_how_much_is_behind_falls_between_two_looks(logs: Path) -> None:
    mesh(logs, nodes=2, posts=4)
    size = sum(path.stat().st_size for path in logs.rglob("*.jsonl"))
    planner = Planner(LocalLogFiles(str(logs)))
    planner.refresh()
    sides = job.ReadDiagnostics(planner)
    seen = []
    for read_bytes in (0, 100, size):
        sides.look({}, read_bytes)
        seen.append(sides.behind_bytes)
    assert seen == [size, size - 100, 0]


def _killed(arguments: list[str], database: str, batches: int) -> bool:
    """Start the command; kill it, and all that it started, once *batches* more are in the database. False if it ended
    before."""
    before = _batches(database)
    with subprocess.Popen(
        arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    ) as run:
        while run.poll() is None:
            if _batches(database) >= before + batches:
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
        found = contents.rows(database, "SELECT count(*) FROM batch_log")
    except sqlite3.OperationalError:
        return 0  # its tables are being made
    return int(found[0][0])


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_killed_and_restarted_each_event_is_counted_once(logs: Path, engine: str) -> None:
    written = mesh(logs, nodes=3, posts=20)
    settings = settings_for(logs)
    command = [sys.executable, "-m", "spark_sink.cli", "backfill", str(logs), "--db", settings.database]
    command += ["--batch-bytes", "8000", "--memory-mb", "512", "--engine", engine]
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
