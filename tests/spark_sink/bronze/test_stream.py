"""The job on a bronze: the same tables as from the logs, each record counted once."""

import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_sink.bronze.stream import new_records
from spark_sink.errors import SinkError
from spark_sink.settings import Settings, default_checkpoint
from tests.spark_sink import contents
from tests.spark_sink.bronze.landing import Landing, files_of
from tests.spark_sink.engines import read_locally
from tests.spark_sink.engines import read_with_spark as read_all
from tests.spark_sink.logs import NodeLog, feed_name, mesh, node_name
from tests.spark_sink.test_job import break_batch_one, check, records_of
from tests.spark_sink.test_job import settings_for as settings_for_logs

pytestmark = pytest.mark.spark


def landed(logs: Path, **more: Any) -> tuple[Landing, Settings]:
    landing = Landing(logs, logs.parent / "bronze")
    landing.round(2_000, 3_000)
    database = str(logs.parent / "serving.sqlite")
    return landing, Settings(
        logs=str(landing.folder.root), database=database, checkpoint=default_checkpoint(database), **more
    )


def test_all_records_are_counted_and_later_ones_are_added(spark: Any, logs: Path) -> None:
    written = mesh(logs, nodes=3, posts=12)
    written[0].add("set", feed=feed_name(1), count=1, state="0" * 64)
    written[0].add("fork", feed=feed_name(1), seq=1, held="a" * 40, other="b" * 40)
    written[1].raw(b"nonsense\n")
    landing, settings = landed(logs, bytes_per_batch=100_000)
    read_all(spark, settings)
    check(settings, records_of(written))
    written[2].add("stop", reason="signal")
    landing.round()
    read_all(spark, settings)
    check(settings, records_of(written))
    assert contents.rows(settings.database, "SELECT reason, text FROM bad_lines") == [
        ("not JSON", "nonsense")
    ]
    assert contents.rows(settings.database, "SELECT * FROM gaps") == []
    assert contents.rows(settings.database, "SELECT sum(bytes) FROM batch_log") == [
        (sum(path.stat().st_size for path in files_of(landing.folder.root)),)
    ]
    assert contents.rows(
        settings.database, "SELECT behind_bytes FROM batch_log ORDER BY batch_id DESC LIMIT 1"
    ) == [(0,)]
    other = settings_for_logs(logs.parent / "direct" / "logs")
    shutil.copytree(logs, other.logs)
    read_locally(other)
    assert contents.read(settings.database) == contents.read(other.database)


@pytest.mark.parametrize("after_commit", [False, True])
def test_a_failure_on_either_side_of_the_commit_counts_nothing_twice(
    spark: Any, logs: Path, monkeypatch: pytest.MonkeyPatch, after_commit: bool
) -> None:
    written = mesh(logs, nodes=2, posts=8)
    _, settings = landed(logs, bytes_per_batch=100_000)
    break_batch_one(monkeypatch, after_commit=after_commit)
    with pytest.raises(Exception, match="PowerCutError"):
        read_all(spark, settings)
    monkeypatch.undo()
    read_all(spark, settings)
    check(settings, records_of(written))


def test_a_deleted_checkpoint_neither_doubles_nor_skips(spark: Any, logs: Path) -> None:
    written = mesh(logs, nodes=2, posts=8)
    landing, settings = landed(logs)
    read_all(spark, settings)
    shutil.rmtree(settings.checkpoint)
    written[1].add("stop", reason="signal")
    landing.round()
    read_all(spark, settings)
    check(settings, records_of(written))


def test_history_comes_from_bronze_and_what_follows_from_logs_and_back(spark: Any, logs: Path) -> None:
    """The database knows what is counted."""
    written = mesh(logs, nodes=3, posts=12)
    landing, settings = landed(logs)
    read_all(spark, settings)
    for log in written:
        log.add("stop", reason="signal")
    read_locally(settings_for_logs(logs))
    check(settings, records_of(written))
    shutil.rmtree(settings.checkpoint)
    landing.round()
    written[0].restart()
    written[0].start(0)
    landing.round()
    read_all(spark, settings)
    check(settings, records_of(written))
    assert contents.rows(settings.database, "SELECT * FROM bad_lines") == []


def test_a_checkpoint_of_another_database_is_left_alone(spark: Any, logs: Path) -> None:
    (log,) = mesh(logs, nodes=1, posts=2)
    _, settings = landed(logs)
    read_all(spark, settings)
    log.add("face_up", face="f", spec="s")
    read_locally(settings_for_logs(logs))
    with pytest.raises(SinkError, match="was not filled last from the checkpoint"):
        read_all(spark, settings)


def test_a_day_that_comes_long_after_later_ones_is_counted(spark: Any, logs: Path) -> None:
    log = NodeLog(logs, node_name(1))
    log.start(1)
    for _ in range(30):
        log.add("x", t_us=log.t_us + 24 * 3_600_000_000)
    landing, settings = landed(logs)
    days = landing.folder.days()
    away = days[0].rename(logs.parent / days[0].name)
    read_all(spark, settings)
    for path in away.iterdir():
        os.utime(path, (0, 0))
    away.rename(days[0])
    read_all(spark, settings)
    check(settings, records_of([log]))


def test_a_parquet_file_of_something_else_stops_the_job_with_its_name(spark: Any, logs: Path) -> None:
    mesh(logs, nodes=1, posts=2)
    landing, settings = landed(logs)
    (path,) = files_of(landing.folder.root)
    pq.write_table(pq.read_table(path, partitioning=None).replace_schema_metadata({}), path)
    with pytest.raises(Exception, match=rf"{path.name} is no file of a bronze"):
        read_all(spark, settings)


def test_only_records_that_are_not_known_are_new() -> None:
    batch = pa.RecordBatch.from_pylist(
        [
            {"node": node, "boot": boot, "offset": offset}
            for node, boot, offset in [
                ("a", 1, 0),
                ("a", 1, 1),
                ("a", 1, 5),
                ("a", 2, 0),
                (None, None, None),
                ("b", 1, 1),
            ]
        ]
    )
    assert new_records(batch, {}) is batch
    known = {("a", 1): ((0, 1), (3, 6)), ("c", 1): ((0, 9),)}
    found = new_records(batch, known).to_pylist()
    assert [tuple(row.values()) for row in found] == [
        ("a", 1, 1),
        ("a", 2, 0),
        (None, None, None),
        ("b", 1, 1),
    ]
    assert new_records(batch.slice(0, 0), known).num_rows == 0
