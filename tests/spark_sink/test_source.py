"""The tinyssb source inside Spark: it grows, is cut, breaks and goes on."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from spark_sink import schema, segment_reader
from spark_sink.errors import OptionError
from spark_sink.line_parser import Projection
from spark_sink.log_files import LocalLogFiles
from spark_sink.partials.reduce import reduce
from spark_sink.planner import Planner
from spark_sink.source import READ, Options, TinyssbDataSource
from spark_sink.stream_offset import serialize_offset
from tests.spark_sink.logs import NodeLog, mesh, node_name

pytestmark = pytest.mark.spark
COLUMNS = ("node", "boot", "offset", "bad_path", "bad_byte", "bad_reason")


class Follower:
    """Runs one stream again and again, as a job that is restarted."""

    def __init__(self, spark: Any, logs: Path, folder: Path) -> None:
        self.spark, self.logs, self.folder = spark, logs, folder
        self.batches: list[list[Any]] = []

    def read(self, **options: Any) -> list[list[Any]]:
        """The new batches' rows."""
        before = len(self.batches)
        stream = self.spark.readStream.format("tinyssb").schema(schema.ddl(COLUMNS)).options(**options)

        def note(batch: Any, _: int) -> None:
            self.batches.append(batch.collect())

        writer = stream.load(str(self.logs)).writeStream.foreachBatch(note)
        query = writer.option("checkpointLocation", str(self.folder)).trigger(availableNow=True).start()
        query.awaitTermination()
        return self.batches[before:]


@pytest.fixture
def follower(spark: Any, logs: Path, tmp_path: Path) -> Follower:
    return Follower(spark, logs, tmp_path / "checkpoint")


def names(batches: list[list[Any]]) -> list[tuple[str, int, int]]:
    return [(row.node, row.boot, row.offset) for batch in batches for row in batch if row.node]


def test_each_record_is_read_once_while_logs_grow_rotate_and_restart(follower: Follower, logs: Path) -> None:
    one, two = NodeLog(logs, node_name(1)), NodeLog(logs, node_name(2))
    for _ in range(5):
        one.add("face_down", face="f", reason="x")
    assert len(names(follower.read())) == 5
    assert names(follower.read()) == []
    torn = one.stamp("face_down", face="f", reason="torn in two")
    text = str(torn).replace("'", '"').encode() + b"\n"
    one.raw(text[:30])
    two.start(2)
    assert names(follower.read()) == [(two.node, 1, 0)]
    one.raw(text[30:])
    one.rotate()
    one.add("face_up", face="f", spec="s")
    one.restart()
    one.start(1)
    assert sorted(names(follower.read())) == [(one.node, 1, 5), (one.node, 1, 6), (one.node, 2, 0)]


def test_batches_stay_within_their_bytes_and_lose_nothing(follower: Follower, logs: Path) -> None:
    written = mesh(logs, nodes=3, posts=30)
    batches = follower.read(maxBytesPerBatch=20_000, maxBytesPerTask=3_000)
    assert len(batches) > 2
    expected = sorted((r["node"], r["boot"], r["offset"]) for log in written for r in log.records)
    assert sorted(names(batches)) == expected
    shortest = 150
    assert all(len(batch) <= 20_000 / shortest for batch in batches)


def test_bad_lines_are_rows_with_their_place(follower: Follower, logs: Path) -> None:
    log = NodeLog(logs, node_name(1))
    log.add("face_up", face="f", spec="s")
    log.raw(b"null\n")
    log.add("face_up", face="f", spec="s")
    (rows,) = follower.read()
    assert sorted(row.offset for row in rows if row.node) == [0, 1]
    (bad,) = [row for row in rows if not row.node]
    assert (bad.bad_path, bad.bad_reason) == (str(log.path), "not a JSON object")
    assert bad.bad_byte == log.path.read_bytes().index(b"null")


def test_retention_of_what_was_read_is_fine(follower: Follower, logs: Path) -> None:
    log = NodeLog(logs, node_name(1))
    log.add("face_up", face="f", spec="s")
    follower.read()
    old = log.path
    log.rotate()
    log.add("face_up", face="f", spec="s")
    old.unlink()
    assert names(follower.read()) == [(log.node, 1, 1)]


def test_segments_may_come_late_and_in_any_order(follower: Follower, logs: Path) -> None:
    log = NodeLog(logs, node_name(1))
    paths = []
    for _ in range(3):
        log.start(1) if log.offset == 0 else log.add("face_up", face="f", spec="s")
        paths.append(log.path)
        log.rotate()
    hidden = [path.rename(path.with_suffix(".later")) for path in paths[:2]]
    assert names(follower.read()) == [(log.node, 1, 2)]
    for path, late in zip(paths[1::-1], hidden[::-1], strict=True):
        late.rename(path)
        assert names(follower.read()) == [(log.node, 1, int(path.stem[9:]))]


def test_a_query_without_a_checkpoint_begins_where_it_is_told(
    follower: Follower, spark: Any, logs: Path, tmp_path: Path
) -> None:
    log = NodeLog(logs, node_name(1))
    log.start(1)
    planner = Planner(LocalLogFiles(str(logs)))
    planner.refresh()
    offset = json.dumps(serialize_offset(planner.advance({}, None)))
    log.add("face_up", face="f", spec="s")
    assert names(follower.read(startingOffset=offset)) == [(log.node, 1, 1)]
    rows = spark.read.format("tinyssb").option("startingOffset", offset).load(str(logs)).collect()
    assert [row.offset for row in rows] == [1]


def test_a_batch_reader_reads_all_there_is(spark: Any, logs: Path) -> None:
    written = mesh(logs, nodes=2, posts=4)
    frame = spark.read.format("tinyssb").load(str(logs))
    assert frame.columns == [field.name for field in schema.COLUMNS]
    assert frame.count() == sum(len(log.records) for log in written)


def test_a_column_that_is_none_is_refused(spark: Any, logs: Path) -> None:
    with pytest.raises(Exception, match="schema is 't_us string'"):
        spark.read.format("tinyssb").schema("t_us string").load(str(logs)).count()


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


def test_the_source_has_one_schema() -> None:
    assert TinyssbDataSource.name() == "tinyssb"
    assert TinyssbDataSource({}).schema().count(",") == len(schema.COLUMNS) - 1


def test_partials_are_reduced_in_the_tasks_and_come_as_tables(spark: Any, logs: Path) -> None:
    log, *_ = mesh(logs, nodes=2, posts=4)
    log.raw(b"null\n")
    frame = spark.read.format("tinyssb-partials").load(str(logs))
    assert frame.schema.simpleString() == "struct<part:string,rows:binary>"
    found = [(row.part, pa.ipc.open_stream(bytes(row.rows)).read_all()) for row in frame.collect()]
    shape = Projection([field.name for field in schema.COLUMNS])
    planner = Planner(LocalLogFiles(str(logs)))
    planner.refresh()
    parts = planner.parts({}, planner.advance({}, None))
    expected = list(reduce(segment_reader.read_parts(LocalLogFiles(str(logs)), parts, shape)))
    sizes = [table["bytes"].to_pylist() for part, table in found if part == READ]
    assert sizes == [[sum(part.size for part in parts)]]
    found = [(part, table) for part, table in found if part != READ]
    assert [part for part, _ in found] == [part for part, _ in expected]
    assert all(table.equals(other) for (_, table), (_, other) in zip(found, expected, strict=True))
    assert "bad_lines" in dict(found)
