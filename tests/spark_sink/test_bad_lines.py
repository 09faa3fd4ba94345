"""Of lines that are no records the same ones are listed, and as many are counted, however reading is cut."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import Mock

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_sink import limits, line_parser, segment_reader
from spark_sink.bad_lines import Row, bounded, lines_of, more
from spark_sink.log_files import LocalLogFiles
from spark_sink.partial_tables import read_task
from spark_sink.partials.combine import combine
from spark_sink.partials.records import COLUMNS
from spark_sink.partials.reduce import reduce
from spark_sink.planner import Planner
from spark_sink.segments import SegmentPart, pack_tasks
from spark_sink.serving.connect import open_for_writing
from spark_sink.serving.merge import merge
from spark_sink.serving.names import NameNumbers
from spark_sink.stream_offset import parse_offset, serialize_offset
from tests.spark_sink.logs import T0_US, NodeLog, line, node_name
from tests.spark_sink.memory_files import MemoryFiles
from tests.spark_sink.serving.batches import batch

LISTED = 3


@pytest.fixture(autouse=True, scope="module")
def few() -> Iterator[None]:
    """Few lines are listed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "BAD_LINES_LISTED", LISTED)
        yield


def expected(rows: list[Row]) -> list[Row]:
    """Return the rows to be kept of *rows*, each of which stands for a line."""
    by_path = defaultdict(list)
    for row in sorted(rows):
        by_path[row[0]].append(row)
    found = []
    for path, some in by_path.items():
        found += some[:LISTED]
        if len(some) > LISTED:
            found.append(
                (path, some[LISTED][1], f"and {len(some) - LISTED} more from here on in this file", "")
            )
    return found


PLACES = st.sets(st.tuples(st.sampled_from("ab"), st.integers(0, 20)), max_size=20)


@given(PLACES, st.data())
def test_parts_may_be_put_together_in_any_order(places: set[tuple[str, int]], data: st.DataObject) -> None:
    rows = [(path, byte, f"reason {byte}", "text") for path, byte in places]
    parts = [[row] for row in data.draw(st.permutations(rows))]
    while len(parts) > 1:
        other = parts.pop(data.draw(st.integers(0, len(parts) - 1)))
        parts.append([*bounded([*parts.pop(), *other])])
    assert [row for part in parts for row in bounded(part)] == expected(rows)


def test_how_many_a_row_stands_for() -> None:
    assert [lines_of(reason) for reason in (more(7), "not JSON", "and so on")] == [7, 1, 1]


def test_of_two_rows_of_one_place_the_first_counts() -> None:
    assert [*bounded([("a", 1, "x", ""), ("a", 1, "y", "")])] == [("a", 1, "x", "")]


def record(offset: int) -> bytes:
    header = {"v": 1, "node": node_name(0), "boot": 1, "offset": offset, "t_us": T0_US, "mono_us": 0}
    return line({**header, "kind": "stop"})


def test_no_record_is_shorter_than_the_least_size() -> None:
    header = {"v": 1, "node": node_name(0), "boot": 0, "offset": 0, "t_us": 0, "kind": ""}
    assert len(line(header)) >= limits.RECORD_SIZE_MIN


KINDS: list[Callable[[int], bytes]] = [
    record,
    lambda _: b"\n",
    lambda offset: b"\n" * (offset % 150),
    lambda _: b"x" * 100 + b"\n",
    lambda _: b"y" * 63 + b"\n",
    lambda _: b"z" * 5000 + b"\n",
]


@settings(deadline=None, max_examples=25)
@given(st.lists(st.sampled_from(KINDS), max_size=120), st.data())
def test_however_logs_are_cut_the_same_is_told(
    kinds: list[Callable[[int], bytes]], data: st.DataObject
) -> None:
    text = record(0) + b"".join(make(place + 1) for place, make in enumerate(kinds)) + record(999)
    path = f"logs/{node_name(0)}/00000001-000000000000.jsonl"
    bad: list[Row] = []
    byte = 0
    for found in text.splitlines(keepends=True):
        if not found.startswith(b"{"):
            reason = "not JSON" if len(found) <= limits.LINE_SIZE_MAX else "longer than 4096 bytes"
            bad.append((path, byte, reason, found.decode().strip()[: limits.BAD_TEXT_MAX]))
        byte += len(found)
    files, offset = MemoryFiles({path: text}), parse_offset(serialize_offset({}))
    planner = Planner(files)
    records = number = 0
    with TemporaryDirectory() as folder, open_for_writing(f"{folder}/db.sqlite") as database:
        names = NameNumbers(database)
        while True:
            planner.refresh()
            end = planner.advance(offset, data.draw(st.sampled_from([None, 300, 5_000])))
            if end == offset:
                break
            parts = planner.parts(offset, end)
            made = reduced(files, parts, data.draw(st.sampled_from([200, 4_000, 10**9])))
            records += sum(made["boots"]["records"].to_pylist()) if "boots" in made else 0
            assert merge(database, names, batch(number, {}, bad_lines=made.get("bad_lines")))
            offset, number = end, number + 1
        assert sorted(database.rows("SELECT path, byte, reason, text FROM bad_lines")) == expected(bad)
    assert records == kinds.count(record) + 2


def reduced(files: MemoryFiles, parts: Iterable[SegmentPart], task_size: int) -> dict[str, pa.Table]:
    """Return the partials that the tasks of a batch make."""
    shape = line_parser.Projection(COLUMNS)
    return combine(
        part
        for task in pack_tasks(parts, task_size)
        for part in reduce(segment_reader.read_parts(files, task, shape))
    )


def test_a_million_empty_lines_cost_little_and_make_few_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the tasks already: the driver could not hold them all."""
    log = NodeLog(tmp_path, node_name(0))
    log.start(0)
    size = log.path.stat().st_size
    log.raw(b"\n" * 2**20)
    log.add("stop", reason="told")
    slow = Mock(wraps=line_parser.parse_slow)
    monkeypatch.setattr(line_parser, "parse_slow", slow)
    planner = Planner(LocalLogFiles(str(tmp_path)))
    planner.refresh()
    parts = read_task(str(tmp_path), "", planner.parts({}, planner.advance({}, None)))
    assert sum(len(table) for name, table in parts if name == "bad_lines") < 100
    assert slow.call_count < 1_000
    made = combine(parts)
    assert made["boots"]["records"].to_pylist() == [2]
    (*_, last) = made["bad_lines"].to_pylist()
    assert (last["byte"], lines_of(last["reason"])) == (size + LISTED, 2**20 - LISTED)
