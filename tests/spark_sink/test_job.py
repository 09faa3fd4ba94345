"""The job: whatever kills it and whenever, each record is counted once."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from spark_sink import job, tables, upserts
from spark_sink.errors import BusyError, ForeignCheckpointError
from spark_sink.settings import Settings, default_checkpoint
from tests.spark_sink import oracle
from tests.spark_sink.logs import NodeLog, Record, feed_name, mesh

pytestmark = pytest.mark.spark


class PowerCutError(Exception):
    """What the tests break the job with."""


def settings_for(logs: Path, **more: Any) -> Settings:
    database = logs.parent / "serving.sqlite"
    return Settings(logs=logs, database=database, checkpoint=default_checkpoint(database), **more)


def read_all(spark: Any, settings: Settings) -> None:
    with job.open_database(settings) as connection:
        job.start(spark, settings, connection, once=True).awaitTermination()


def records_of(logs: list[NodeLog]) -> list[Record]:
    return [record for log in logs for record in log.records]


def check(database: Path, records: list[Record]) -> None:
    """Every table against the plain count."""
    connection = tables.open_for_reading(database)

    def rows(sql: str) -> set[tuple[Any, ...]]:
        return set(connection.execute(sql).fetchall())

    assert rows("SELECT * FROM events_count") == oracle.events_count(records)
    assert rows("SELECT * FROM traffic") == oracle.traffic(records)
    assert rows("SELECT * FROM frontier") == oracle.frontier(records)
    assert rows("SELECT node, feed, behind FROM behind") == oracle.behind(records)
    assert rows("SELECT node, feed, seq, delay_us FROM delays") == oracle.delays(records)
    assert rows("SELECT * FROM links") == oracle.links(records)
    assert rows("SELECT rows FROM batches") == {(len(records),)}
    connection.close()


def test_all_logs_are_counted_and_later_growth_is_added(spark: Any, logs: Path) -> None:
    written = mesh(logs, nodes=3, posts=12)
    written[0].add("set", feed=feed_name(1), count=1, state="0" * 64)
    written[0].add("fork", feed=feed_name(1), seq=1, held="a" * 40, other="b" * 40)
    written[1].raw(b"nonsense\n")
    settings = settings_for(logs, bytes_per_batch=6_000)
    read_all(spark, settings)
    check(settings.database, records_of(written))
    written[2].add("stop", reason="signal")
    read_all(spark, settings)
    check(settings.database, records_of(written))
    connection = tables.open_for_reading(settings.database)
    assert connection.execute("SELECT count(*) FROM sets").fetchone() == (1,)
    assert connection.execute("SELECT count(*) FROM forks").fetchone() == (1,)
    assert connection.execute("SELECT reason, text FROM bad_lines").fetchall() == [("not JSON", "nonsense")]
    running = connection.execute("SELECT running FROM nodes WHERE node = ?", (written[2].node,)).fetchone()
    assert running == (0,)
    connection.close()


@pytest.mark.parametrize("after_commit", [False, True])
def test_a_failure_on_either_side_of_the_commit_counts_nothing_twice(
    spark: Any, logs: Path, monkeypatch: pytest.MonkeyPatch, after_commit: bool
) -> None:
    written = mesh(logs, nodes=2, posts=8)
    settings = settings_for(logs, bytes_per_batch=4_000)
    add = upserts.add

    def break_batch_one(connection: sqlite3.Connection, batch: upserts.Batch) -> bool:
        if batch.batch_id == 1 and not after_commit:
            raise PowerCutError
        added = add(connection, batch)
        if batch.batch_id == 1:
            raise PowerCutError
        return added

    monkeypatch.setattr(upserts, "add", break_batch_one)
    with pytest.raises(Exception, match="PowerCutError"):
        read_all(spark, settings)
    monkeypatch.undo()
    read_all(spark, settings)
    check(settings.database, records_of(written))


def _killed(arguments: list[str], database: Path, batches: int) -> bool:
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


def _batches(database: Path) -> int:
    if not database.exists():
        return 0
    connection = sqlite3.connect(database, timeout=5)
    try:
        row = connection.execute("SELECT max(batch_id) FROM batches").fetchone()
    except sqlite3.OperationalError:
        return 0  # its tables are being made
    finally:
        connection.close()
    return 0 if row[0] is None else int(row[0]) + 1


def test_killed_and_restarted_each_event_is_counted_once(logs: Path) -> None:
    written = mesh(logs, nodes=3, posts=20)
    settings = settings_for(logs)
    command = [sys.executable, "-m", "spark_sink.cli", "backfill", str(logs), "--db", str(settings.database)]
    command += ["--batch-bytes", "8000", "--memory-mb", "512"]
    assert _killed(command, settings.database, 1)
    assert _killed(command, settings.database, 2)
    assert not _killed(command, settings.database, 10**6)
    check(settings.database, records_of(written))


@pytest.fixture
def settings(logs: Path) -> Settings:
    return settings_for(logs)


def test_a_second_job_is_turned_away(settings: Settings) -> None:
    with (
        job.open_database(settings),
        pytest.raises(BusyError, match="Another tinyssb-sink is filling"),
        job.open_database(settings),
    ):
        pass


def test_a_database_of_another_checkpoint_is_left_alone(settings: Settings) -> None:
    with job.open_database(settings) as connection:
        upserts.add(connection, upserts.Batch("somebody's", 0, {}, 1))
    with (
        pytest.raises(ForeignCheckpointError, match="was not filled from the checkpoint"),
        job.open_database(settings),
    ):
        pass
