"""The command that lands: killed at random moments, with its Java, it leaves each record in the bronze once."""

import os
import random
import signal
import subprocess
import sys
import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from spark_sink import cli, limits, session
from spark_sink.bronze import land as landing
from spark_sink.bronze.land import LandJob, LandSettings, delete_landed
from spark_sink.bronze.manifests import BronzeFolder
from spark_sink.executors import SparkExecutors
from spark_sink.process_pool import ProcessPool
from spark_sink.settings import LOCAL_ENGINE, SPARK_ENGINE
from tests.spark_sink.bronze.landing import files_of, records_in, records_of
from tests.spark_sink.logs import NodeLog, line, mesh, node_name
from tests.spark_sink.test_cli import Unstoppable
from tests.spark_sink.test_job import PowerCutError

pytestmark = pytest.mark.spark


def settings_for(logs: Path, **more: Any) -> LandSettings:
    return LandSettings(logs=str(logs), bronze=logs.parent / "bronze", once=True, **more)


def land(spark: Any, settings: LandSettings) -> BronzeFolder:
    folder = BronzeFolder(settings.bronze)
    with folder.writing():
        LandJob(SparkExecutors(spark, print), settings, folder).run()
    return folder


def test_later_growth_is_landed_and_nothing_twice(spark: Any, logs: Path) -> None:
    written = mesh(logs, nodes=3, posts=12)
    settings = settings_for(logs, bytes_per_batch=6_000)
    land(spark, settings)
    assert records_in(settings.bronze) == records_of(logs)
    before = files_of(settings.bronze)
    land(spark, settings)
    assert files_of(settings.bronze) == before
    written[2].add("stop", reason="signal")
    land(spark, settings)
    assert records_in(settings.bronze) == records_of(logs)
    assert set(before) < set(files_of(settings.bronze)), "files never change"


def break_batch_one(monkeypatch: pytest.MonkeyPatch, *, after_commit: bool) -> None:
    """Let the power go when the second batch is committed, or just after."""
    commit = BronzeFolder.commit
    numbers = count()

    def breaking(self: BronzeFolder, *batch: Any) -> None:
        number = next(numbers)
        if number == 1 and not after_commit:
            raise PowerCutError
        commit(self, *batch)
        if number == 1:
            raise PowerCutError

    monkeypatch.setattr(BronzeFolder, "commit", breaking)


@pytest.mark.parametrize("after_commit", [False, True])
def test_a_failure_on_either_side_of_the_commit_lands_nothing_twice(
    spark: Any, logs: Path, monkeypatch: pytest.MonkeyPatch, after_commit: bool
) -> None:
    mesh(logs, nodes=2, posts=8)
    settings = settings_for(logs, bytes_per_batch=4_000)
    break_batch_one(monkeypatch, after_commit=after_commit)
    with pytest.raises(PowerCutError):
        land(spark, settings)
    monkeypatch.undo()
    land(spark, settings)
    assert records_in(settings.bronze) == records_of(logs)


def test_a_folder_that_is_away_after_a_power_cut_is_landed_once_it_is_back(
    spark: Any, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mesh(logs, nodes=3, posts=8)
    settings = settings_for(logs, bytes_per_batch=9_000)
    break_batch_one(monkeypatch, after_commit=False)
    with pytest.raises(PowerCutError):
        land(spark, settings)
    monkeypatch.undo()
    folder = next(iter(sorted(logs.iterdir())))
    away = folder.rename(logs.parent / "not-mounted")
    land(spark, settings)
    landed = records_in(settings.bronze)
    assert set(landed.values()) == {1}
    assert {place for place in records_of(logs) if place[0] != folder.name} <= set(landed), "the others go on"
    away.rename(folder)
    land(spark, settings)
    assert records_in(settings.bronze) == records_of(logs)


def test_closed_segments_are_deleted_once_they_are_landed_and_old_enough(spark: Any, logs: Path) -> None:
    written = mesh(logs, nodes=2, posts=20)
    expected = records_of(logs)
    segments = sorted(logs.rglob("*.jsonl"))
    assert len(segments) > 4
    settings = settings_for(logs, delete=True, older_than_h=1)
    folder = land(spark, settings)
    now_s = time.time()
    assert delete_landed(settings, folder, now_s) == []
    newest = {max(path for path in segments if path.parent.name == log.node) for log in written}
    closed = [path for path in segments if path not in newest]
    assert sorted(delete_landed(settings, folder, now_s + 3_601)) == closed
    written[0].add("stop", reason="signal")
    land(spark, settings)
    assert records_in(settings.bronze) == expected | records_of(logs)


def test_a_closed_segment_whose_last_line_is_torn_is_kept(spark: Any, logs: Path) -> None:
    log = NodeLog(logs, node_name(1))
    log.start(1)
    torn = log.path
    lost = line(log.stamp("x"))
    log.raw(lost[:20])
    log.rotate()
    log.add("x")
    whole = log.path
    log.rotate()
    log.add("x")
    settings = settings_for(logs, delete=True, older_than_h=0)
    folder = land(spark, settings)
    assert delete_landed(settings, folder, time.time() + 1) == [whole]
    with torn.open("ab") as file:
        file.write(lost[20:])
    land(spark, settings)
    assert len(records_in(settings.bronze)) == 4
    assert delete_landed(settings, folder, time.time() + 1) == [torn]


@pytest.mark.parametrize("engine", [SPARK_ENGINE, LOCAL_ENGINE])
def test_the_command_says_what_it_did(
    spark: Any, logs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], engine: str
) -> None:
    monkeypatch.setattr(session, "make_session", lambda **_: Unstoppable(spark))
    mesh(logs, nodes=2, posts=4)
    rows = sum(records_of(logs).values())
    bronze = logs.parent / "bronze"
    assert cli.main(["land", str(logs), str(bronze), "--once", "--engine", engine]) == 0
    assert f"Landed {rows} rows. Deleted 0 segments and 0 days" in capsys.readouterr().out
    assert records_in(bronze) == records_of(logs)


@pytest.mark.parametrize(
    ("words", "message", "code"),
    [
        (["{logs}/nowhere", "{logs}/b"], "There is no folder", 1),
        (["{logs}", "{logs}/b", "--every", "0"], "--every is '0'", 78),
        (["{logs}", "{logs}/b", "--older-than", "-1"], "--older-than is '-1.0'", 78),
        (["{logs}", "{logs}/b", "--forget-days", "0"], "--forget-days is '0'", 78),
        (["s3://logs", "{logs}/b", "--delete"], "--delete is 's3://logs'", 78),
    ],
)
def test_what_is_wrong_is_said_before_java_starts(
    logs: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    message: str,
    code: int,
) -> None:
    monkeypatch.setattr(session, "make_session", lambda **_: pytest.fail("Java was started"))
    assert cli.main(["land", *(word.format(logs=logs) for word in words)]) == code
    assert message in capsys.readouterr().err


def test_tasks_that_fail_are_planned_again(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is killed leaves files that nobody committed; the next attempt lands each record once."""
    mesh(logs, nodes=3, posts=20)
    monkeypatch.setattr(limits, "TASK_SIZE", 3_000)
    settings = settings_for(logs, bytes_per_batch=12_000, engine=LOCAL_ENGINE)
    submit = ProcessPool.submit
    calls = count()

    def killing(pool: Any, function: Any, item: Any) -> Any:
        return submit(pool, os._exit, 9) if next(calls) == 2 else submit(pool, function, item)

    monkeypatch.setattr(ProcessPool, "submit", killing)
    told: list[str] = []
    assert landing.land(settings, told.append) == 0
    (again,) = [text for text in told if "It is started again now." in text]
    assert again.startswith("Landing stopped; the report is in")
    assert records_in(settings.bronze) == records_of(logs)
    assert list(BronzeFolder(settings.bronze).staging.iterdir()) == []


def _killed(command: list[str], bronze: Path, files: int, after_s: float) -> bool:
    """Start the command; kill it and its Java a moment after it began to write. False if it ended before."""
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    ) as run:
        while run.poll() is None:
            if len(list(bronze.rglob("*.parquet"))) > files:
                time.sleep(after_s)
                os.killpg(run.pid, signal.SIGKILL)
                return True
            time.sleep(0.005)
        assert run.stderr is not None
        assert run.returncode == 0, run.stderr.read().decode()
        return False


@pytest.mark.slow
@pytest.mark.parametrize("engine", [SPARK_ENGINE, LOCAL_ENGINE])
@pytest.mark.parametrize("seed", range(4))
def test_kills_at_any_moment_lose_nothing_and_double_nothing(logs: Path, seed: int, engine: str) -> None:
    chance = random.Random(seed)
    mesh(logs, nodes=3, posts=40)
    bronze = logs.parent / "bronze"
    command = [sys.executable, "-m", "spark_sink.cli", "land", str(logs), str(bronze), "--once"]
    command += ["--batch-bytes", "8000", "--memory-mb", "512", "--engine", engine]
    for _ in range(2):
        files = len(files_of(bronze))
        _killed(command, bronze, files + chance.randrange(4), chance.uniform(0, 0.3))
        assert set(records_in(bronze).values()) <= {1}
    assert not _killed(command, bronze, 10**6, 0)
    assert records_in(bronze) == records_of(logs)
