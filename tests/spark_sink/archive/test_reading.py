"""Reading of an archive, of segments, or of both: each record is read once, and none is missed."""

import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_sink import limits, segment_reader
from spark_sink.archive.compact import CompactOptions, CompactSummary, compact
from spark_sink.archive.rows import read_archived
from spark_sink.line_parser import Projection
from spark_sink.log_files import LocalLogFiles, ObjectStoreLogFiles
from spark_sink.planner import Planner
from spark_sink.segment_choice import ProbeCache, choose
from spark_sink.segments import SegmentPart, segment_name
from spark_sink.stream_offset import Gap, gaps
from tests.spark_sink.logs import T0_US, line
from tests.spark_sink.memory_files import MemoryFiles
from tests.spark_sink.test_planner import A, B, Reader

HOUR_US = 3_600_000_000
NOW_S = 4e9
"""Later than anything was written."""


def text(
    node: str, boot: int, first: int, end: int, *, step_us: int = 5 * HOUR_US, last: str = "mark"
) -> bytes:
    """Records *first* to *end* - 1: five a day."""
    found = b""
    for offset in range(first, end):
        kind = "start" if offset == 0 else last if offset == end - 1 else "mark"
        fields: dict[str, Any] = {"name": "n", "feed": node * 4, "clean": True} if kind == "start" else {}
        fields |= {"reason": "x"} if kind == "stop" else {}
        times = {"t_us": T0_US + offset * step_us, "mono_us": offset}
        found += line({"v": 1, "node": node, "boot": boot, "offset": offset, **times, "kind": kind, **fields})
    return found


def write(root: Path, node: str, boot: int, first: int, data: bytes) -> Path:
    path = root / node / segment_name(boot, first)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def compacted(
    root: Path, *, delete: bool = True, forget_days: int | None = None, archive: str = "archive"
) -> CompactSummary:
    return compact(
        CompactOptions(
            root / "logs", root / archive, NOW_S, older_than_h=0, delete=delete, forget_days=forget_days
        )
    )


def reader(root: Path) -> Reader:
    return Reader(LocalLogFiles(str(root)))  # type: ignore[arg-type] # files by their shape


@st.composite
def logs(draw: st.DrawFn) -> dict[tuple[str, int, int], bytes]:
    """Segments by node, boot and first offset."""
    found = {}
    for node in (A, B):
        for boot in range(1, draw(st.integers(1, 2)) + 1):
            first = 0
            sizes = [draw(st.integers(2, 9)), *draw(st.lists(st.integers(1, 9), max_size=3))]
            for place, size in enumerate(sizes):
                is_last = place == len(sizes) - 1
                step_us = draw(st.sampled_from([0, HOUR_US, 9 * HOUR_US, -200 * HOUR_US]))
                end = first + size
                found[node, boot, first] = text(
                    node, boot, first, end, step_us=step_us, last="stop" if is_last else "mark"
                )
                first = end
    return found


@settings(max_examples=60, deadline=None)
@given(logs(), st.data())
def test_archived_or_not_each_record_is_read_once(
    segments: dict[tuple[str, int, int], bytes], data: st.DataObject
) -> None:
    root = Path(tempfile.mkdtemp())
    try:
        (root / "logs").mkdir()
        stream = reader(root)
        arrivals = [
            (place, cut)
            for place, whole in segments.items()
            for cut in [*data.draw(st.lists(st.integers(0, len(whole)), max_size=1)), len(whole)]
        ]
        for place, cut in data.draw(st.permutations(arrivals)):
            path = root / "logs" / place[0] / segment_name(*place[1:])
            if not path.exists() or path.stat().st_size <= cut:
                write(root / "logs", *place, segments[place][:cut])
            if data.draw(st.booleans()):
                compacted(root, delete=data.draw(st.booleans()))
            for _ in range(data.draw(st.integers(0, 2))):
                bytes_max = data.draw(st.one_of(st.none(), st.integers(1, 3000)))
                task_size = data.draw(st.sampled_from([100, 999, 10**6]))
                stream.batch(bytes_max, task_size=task_size, crash=data.draw(st.booleans()))
            if data.draw(st.integers(0, 4)) == 0:
                stream.restart()
        compacted(root)
        stream.all()
        read = Counter((row["node"], row["boot"], row["offset"]) for row in stream.rows if row["node"])
        written = sum(whole.count(b"\n") for whole in segments.values())
        assert set(read.values()) <= {1}
        assert len(read) == written
        assert stream.bad() == []
        assert gaps(stream.offset) == []
        assert stream.reasons() == []
        assert stream.planner.bytes_behind(stream.offset) == 0
        again = reader(root).all()
        assert Counter((row["node"], row["boot"], row["offset"]) for row in again.rows) == read
    finally:
        shutil.rmtree(root)


def test_what_was_read_in_part_before_it_was_archived_goes_on_there(tmp_path: Path) -> None:
    write(tmp_path / "logs", A, 1, 0, text(A, 1, 0, 9))
    write(tmp_path / "logs", A, 1, 9, text(A, 1, 9, 11))
    stream = reader(tmp_path)
    stream.batch(400)
    assert 0 < len(stream.read()) < 9
    assert compacted(tmp_path).deleted == 1
    stream.restart()
    assert sorted(stream.all().read()) == [(1, offset) for offset in range(11)]
    assert stream.bad() == []


def test_bad_lines_are_told_of_the_archive_as_of_the_segment(tmp_path: Path) -> None:
    junk = b"null\n" + b"x" * 9000 + b"\n\n"
    data = junk + text(A, 1, 0, 6) + junk + text(A, 1, 4, 9) + junk
    write(tmp_path / "logs", A, 1, 0, data)
    write(tmp_path / "logs", A, 1, 9, text(A, 1, 9, 10))
    write(tmp_path / "logs", B, 1, 0, junk)
    write(tmp_path / "logs", B, 1, 7, text(B, 1, 7, 8))
    before = reader(tmp_path).all()
    assert compacted(tmp_path).deleted == 2
    after = reader(tmp_path).all()
    key = sorted
    assert key(map(repr, after.rows)) == key(map(repr, before.rows))
    assert len(before.bad()) == 14


@pytest.mark.parametrize("damage", ["foreign", "cut", "empty", "newer", "rows"])
def test_a_file_that_is_none_of_an_archive_is_an_oddity_and_the_rest_is_read(
    tmp_path: Path, damage: str
) -> None:
    write(tmp_path / "logs", A, 1, 0, text(A, 1, 0, 4, step_us=1))
    write(tmp_path / "logs", A, 1, 4, text(A, 1, 4, 6))
    compacted(tmp_path)
    (good,) = (tmp_path / "archive").glob("day=*/*.parquet")
    strange = good.with_name("strange.parquet")
    match damage:
        case "foreign":
            pq.write_table(pa.table({"a": [1]}), strange)
        case "cut":
            strange.write_bytes(good.read_bytes()[:-9])
        case "empty":
            strange.touch()
        case "newer":
            table = pq.read_table(good, partitioning=None)
            footer = (
                pq.read_metadata(good).metadata[b"tinyssb.archive"].replace(b'"version":1', b'"version":2')
            )
            pq.write_table(table.replace_schema_metadata({b"tinyssb.archive": footer}), strange)
        case _:
            table = pq.read_table(good, partitioning=None)
            pq.write_table(table.slice(1), strange)
    stream = reader(tmp_path).all()
    assert sorted(stream.read()) == [(1, offset) for offset in range(6)]
    ((where, why),) = stream.reasons()
    assert where == str(strange)
    assert "not a readable file of an archive" in why


def test_damaged_pages_are_a_row_that_says_what_is_lost(tmp_path: Path) -> None:
    write(tmp_path / "logs", A, 1, 0, text(A, 1, 0, 4, step_us=1))
    write(tmp_path / "logs", A, 1, 4, text(A, 1, 4, 6))
    compacted(tmp_path)
    (file,) = (tmp_path / "archive").glob("day=*/*.parquet")
    data = bytearray(file.read_bytes())
    data[40:2000] = bytes(1960)
    file.write_bytes(data)
    stream = reader(tmp_path).all()
    assert stream.read() == [(1, 4), (1, 5)]
    (why,) = stream.bad()
    assert f"records 0 to 3 of boot 1 of node {A} are lost" in why


def test_a_day_that_is_gone_is_a_gap(tmp_path: Path) -> None:
    write(tmp_path / "logs", A, 1, 0, text(A, 1, 0, 20))
    write(tmp_path / "logs", A, 1, 20, text(A, 1, 20, 21))
    assert compacted(tmp_path).deleted == 1
    days = sorted((tmp_path / "archive").glob("day=*"))
    assert len(days) == 5
    whole = reader(tmp_path).all()
    shutil.rmtree(days[1])
    stream = reader(tmp_path).all()
    ((node, boot, first, end),) = [
        (gap.node, gap.boot, gap.first_offset, gap.next_offset) for gap in gaps(stream.offset)
    ]
    assert (node, boot) == (A, 1)
    assert end is not None
    assert sorted(stream.read()) == [(1, offset) for offset in range(21) if not first <= offset < end]
    assert stream.reasons() == []
    whole.planner.refresh()
    assert not whole.batch()
    assert whole.reasons() == []


def test_a_segment_that_was_deleted_after_planning_is_read_from_the_archive(tmp_path: Path) -> None:
    write(tmp_path / "logs", A, 1, 0, text(A, 1, 0, 9))
    write(tmp_path / "logs", A, 1, 9, text(A, 1, 9, 10))
    files = LocalLogFiles(str(tmp_path))
    planner = Planner(files)
    planner.refresh()
    end = planner.advance({}, None)
    parts, lost = planner.parts({}, end)
    assert not lost
    assert compacted(tmp_path).deleted == 1
    shape = Projection(["offset", "bad_reason"])
    rows = [
        row
        for batch in segment_reader.read_parts(LocalLogFiles(str(tmp_path)), parts, shape)
        for row in batch.to_pylist()
    ]
    assert sorted(row["offset"] for row in rows) == list(range(10))


def test_a_segment_that_vanishes_half_read_goes_on_in_the_archive_behind_the_last_record_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spark_sink.limits.BLOCK_SIZE", 700)
    write(tmp_path / "logs", A, 1, 0, text(A, 1, 0, 30))
    write(tmp_path / "logs", A, 1, 30, text(A, 1, 30, 31))
    files = LocalLogFiles(str(tmp_path))
    (segment, _) = files.listing()[A]
    part = SegmentPart(A, segment, 0, segment.size, -1, 30)
    batches = segment_reader.read_parts(files, [part], Projection(["offset", "bad_reason"]))
    found = next(batches).to_pylist()
    assert 0 < len(found) < 30
    assert compacted(tmp_path).deleted == 1
    found += [row for batch in batches for row in batch.to_pylist()]
    assert found == [{"offset": offset, "bad_reason": None} for offset in range(30)]


def test_records_of_an_archive_that_another_segment_brings_are_left_out(tmp_path: Path) -> None:
    write(tmp_path / "logs", A, 1, 0, text(A, 1, 0, 9, step_us=1))
    write(tmp_path / "logs", A, 1, 9, text(A, 1, 9, 10))
    assert compacted(tmp_path).deleted == 1
    files = LocalLogFiles(str(tmp_path))
    (archived,) = [segment for segment in files.listing()[A] if segment.pieces]
    part = SegmentPart(A, archived, 0, archived.size, after=1, before=6)
    found = [
        row["offset"]
        for batch in read_archived(files, [part], Projection(["offset"]))
        for row in batch.to_pylist()
    ]
    assert found == [2, 3, 4, 5]


@pytest.mark.parametrize("archive", ["a-archive", "z-archive"])
def test_of_a_segment_and_its_archived_copy_the_archive_is_read(tmp_path: Path, archive: str) -> None:
    path = write(tmp_path / "logs", A, 1, 0, text(A, 1, 0, 9))
    write(tmp_path / "logs", A, 1, 9, text(A, 1, 9, 10))
    compacted(tmp_path, delete=False, archive=archive)
    files = LocalLogFiles(str(tmp_path))
    listed = files.listing()[A]
    sizes = [segment.size for segment in listed if segment.first == 0]
    assert sizes == [path.stat().st_size] * 2
    choice = choose(files, ProbeCache(), A, listed, {})
    assert [bool(segment.pieces) for segment in choice.segments[1]] == [True, False]
    assert choice.oddities == ()


def test_footers_are_read_once(tmp_path: Path) -> None:
    write(tmp_path / "logs", A, 1, 0, text(A, 1, 0, 9))
    write(tmp_path / "logs", A, 1, 9, text(A, 1, 9, 10))
    compacted(tmp_path)
    files = MemoryFiles({str(path): path.read_bytes() for path in tmp_path.rglob("*.parquet")})
    stream = Reader(files).all()
    before = files.reads
    assert stream.read() == [(1, offset) for offset in range(9)]
    for _ in range(3):
        assert not stream.batch()
    assert files.reads == before


def test_a_boot_that_was_set_up_anew_is_not_mixed_with_the_one_that_is_archived(tmp_path: Path) -> None:
    write(tmp_path / "logs", A, 1, 0, text(A, 1, 0, 3))
    write(tmp_path / "logs", A, 1, 3, text(A, 1, 3, 4))
    compacted(tmp_path)
    anew = text(A, 1, 0, 9).replace(b'"n"', b'"m"')
    write(tmp_path / "logs" / "new", A, 1, 0, anew)
    write(tmp_path / "logs" / "new", A, 1, 9, text(A, 1, 9, 12))
    write(tmp_path / "logs" / "new", A, 1, 12, text(A, 1, 12, 13))
    done = compacted(tmp_path)
    assert (done.segments, done.kept, done.deleted) == (0, 1, 0)
    ((_, why),) = reader(tmp_path).all().reasons()
    assert "set up again" in why


def test_gaps_know_what_is_archived(tmp_path: Path) -> None:
    write(tmp_path / "logs", A, 1, 5, text(A, 1, 5, 9))
    write(tmp_path / "logs", A, 1, 9, text(A, 1, 9, 10))
    compacted(tmp_path)
    assert gaps(reader(tmp_path).all().offset) == [Gap(A, 1, 0, 5)]


def test_a_long_segment_is_cut_into_pieces_that_are_read_one_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "PIECE_ROWS", 4)
    monkeypatch.setattr("spark_sink.limits.BLOCK_SIZE", 700)
    write(tmp_path / "logs", A, 1, 0, text(A, 1, 0, 40, step_us=1))
    write(tmp_path / "logs", A, 1, 40, text(A, 1, 40, 41))
    compacted(tmp_path)
    stream = reader(tmp_path)
    stream.batch(1)
    assert 0 < len(stream.read()) < 20
    assert sorted(stream.all().read()) == [(1, offset) for offset in range(41)]


def test_an_archive_in_an_object_store_is_read_as_from_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "logs", A, 1, 0, text(A, 1, 0, 9))
    write(tmp_path / "logs", A, 1, 9, text(A, 1, 9, 10))
    compacted(tmp_path)
    (tmp_path / "archive" / "day=2025-10-09" / "strange.parquet").touch()
    objects = ObjectStoreLogFiles(pa.fs.LocalFileSystem(), str(tmp_path), "")
    stream = Reader(objects).all()  # type: ignore[arg-type] # files by their shape
    assert sorted(stream.read()) == [(1, offset) for offset in range(10)]
    assert [path for path, _ in stream.reasons()] == [
        str(tmp_path / "archive" / "day=2025-10-09" / "strange.parquet")
    ]
    assert reader(tmp_path).files.listing() == objects.listing()
