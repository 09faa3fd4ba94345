"""The source of logs inside Spark: it grows, is cut, breaks and goes on."""

from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pytest

from spark_sink.errors import OptionError
from spark_sink.log_files import LocalLogFiles
from spark_sink.partial_tables import read_task
from spark_sink.planner import Planner
from spark_sink.source import READ, Options, unpacked
from spark_sink.stream_offset import serialize_offset_text
from tests.spark_sink.logs import NodeLog, mesh, node_name

pytestmark = pytest.mark.spark
Batch: TypeAlias = list[tuple[str, pa.Table]]


class Follower:
    """Runs one stream again and again, as a job that is restarted."""

    def __init__(self, spark: Any, logs: Path, folder: Path) -> None:
        self.spark, self.logs, self.folder = spark, logs, folder
        self.batches: list[Batch] = []

    def read(self, **options: Any) -> list[Batch]:
        """The new batches' tables."""
        before = len(self.batches)
        stream = self.spark.readStream.format("tinyssb-partials").options(**options)

        def note(batch: Any, _: int) -> None:
            self.batches.append(unpacked(batch.toArrow()))

        writer = stream.load(str(self.logs)).writeStream.foreachBatch(note)
        query = writer.option("checkpointLocation", str(self.folder)).trigger(availableNow=True).start()
        query.awaitTermination()
        return self.batches[before:]


@pytest.fixture
def follower(spark: Any, logs: Path, tmp_path: Path) -> Follower:
    return Follower(spark, logs, tmp_path / "checkpoint")


def records(batches: list[Batch]) -> list[tuple[str, int, int]]:
    """Node, boot, and how many records, of each task."""
    return [
        (row["node"], row["boot"], row["records"])
        for batch in batches
        for part, table in batch
        if part == "boots"
        for row in table.to_pylist()
    ]


def sizes(batch: Batch) -> list[int]:
    """Bytes that each task read."""
    return [size for part, table in batch if part == READ for size in table["bytes"].to_pylist()]


def planned(logs: Path) -> Planner:
    planner = Planner(LocalLogFiles(str(logs)))
    planner.refresh()
    return planner


def test_each_record_is_read_once_while_logs_grow_rotate_and_restart(follower: Follower, logs: Path) -> None:
    one, two = NodeLog(logs, node_name(1)), NodeLog(logs, node_name(2))
    for _ in range(5):
        one.add("face_down", face="f", reason="x")
    assert records(follower.read()) == [(one.node, 1, 5)]
    assert records(follower.read()) == []
    torn = one.stamp("face_down", face="f", reason="torn in two")
    text = str(torn).replace("'", '"').encode() + b"\n"
    one.raw(text[:30])
    two.start(2)
    assert records(follower.read()) == [(two.node, 1, 1)]
    one.raw(text[30:])
    one.rotate()
    one.add("face_up", face="f", spec="s")
    one.restart()
    one.start(1)
    assert sorted(records(follower.read())) == [(one.node, 1, 2), (one.node, 2, 1)]


def test_batches_and_tasks_stay_within_their_bytes_and_lose_nothing(follower: Follower, logs: Path) -> None:
    written = mesh(logs, nodes=3, posts=30)
    batches = follower.read(maxBytesPerBatch=20_000, maxBytesPerTask=3_000)
    assert len(batches) > 2
    assert sum(count for _, _, count in records(batches)) == sum(len(log.records) for log in written)
    assert all(sum(sizes(batch)) <= 20_000 for batch in batches)
    assert max(size for batch in batches for size in sizes(batch)) <= 3_000


def test_a_query_without_a_checkpoint_begins_where_it_is_told(follower: Follower, logs: Path) -> None:
    log = NodeLog(logs, node_name(1))
    log.start(1)
    offset = serialize_offset_text(planned(logs).advance({}, None))
    log.add("face_up", face="f", spec="s")
    assert records(follower.read(startingOffset=offset)) == [(log.node, 1, 1)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "path is ''"),
        ({"path": "x", "startingOffset": "[1]"}, r"startingOffset is .\[1\]., but must be an offset"),
        ({"path": "x", "startingOffset": '{"version": 2}'}, "must be an offset"),
        ({"path": "x", "maxBytesPerBatch": "-1"}, "maxBytesPerBatch is '-1'"),
        (
            {"path": "x", "maxBytesPerTask": "0"},
            "maxBytesPerTask is '0', but must be a whole number of bytes, 1",
        ),
    ],
)
def test_options_are_checked(options: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Options.parse(options).start()


def test_tasks_reduce_records_and_hand_out_tables(follower: Follower, logs: Path) -> None:
    log, *_ = mesh(logs, nodes=2, posts=4)
    log.raw(b"null\n")
    (found,) = follower.read()
    planner = planned(logs)
    parts = planner.parts({}, planner.advance({}, None))
    expected = read_task(str(logs), "", parts)
    assert sizes(found) == [sum(part.size for part in parts)]
    found = [(part, table) for part, table in found if part != READ]
    assert [part for part, _ in found] == [part for part, _ in expected]
    assert all(table.equals(other) for (_, table), (_, other) in zip(found, expected, strict=True))
    assert "bad_lines" in dict(found)
