"""Ranges: wherever a segment is cut, each of its lines is read once."""

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_sink import limits, segment_reader
from spark_sink.line_parser import Projection
from spark_sink.log_files import LocalLogFiles
from spark_sink.segments import Segment, SegmentPart
from tests.spark_sink.logs import T0_US, line, node_name

NODE = node_name(0)
SEGMENT = "00000001-000000000000.jsonl"
SHAPE = Projection(["offset", "bad_path", "bad_byte", "bad_reason", "bad_text"])


def record(offset: int, boot: int = 1) -> bytes:
    header = {
        "v": 1,
        "node": NODE,
        "boot": boot,
        "offset": offset,
        "t_us": T0_US,
        "mono_us": 0,
        "kind": "stop",
    }
    return line(header)


class Files:
    """Segments on disk, and what is read off ranges of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, *parts: tuple[str, bytes, int, int]) -> list[dict[str, Any]]:
        ranges = []
        for name, data, low, high in parts:
            (self.folder / name).write_bytes(data)
            segment = Segment(int(name[:8]), int(name[9:21]), len(data), str(self.folder))
            after = segment.first - 1 if low == 0 else None
            ranges.append(SegmentPart(NODE, segment, low, high, after, limits.OFFSET_MAX))
        files = LocalLogFiles(str(self.folder))
        return [row for batch in segment_reader.read_parts(files, ranges, SHAPE) for row in batch.to_pylist()]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 12), st.lists(st.integers(0, 1500), max_size=6))
def test_any_cuts_give_all_lines_once(
    tmp_path_factory: pytest.TempPathFactory, count: int, cuts: list[int]
) -> None:
    files = Files(tmp_path_factory.mktemp("cuts"))
    data = b"".join(record(offset) for offset in range(count))
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    rows = [files.read((SEGMENT, data, low, high)) for low, high in itertools.pairwise(places)]
    offsets = [row["offset"] for part in rows for row in part]
    assert offsets == list(range(count))


def test_a_repeated_record_is_noticed_across_a_cut(files: Files) -> None:
    data = record(0) + record(1) + record(1) + record(2)
    cut = len(record(0) + record(1))
    rows = files.read((SEGMENT, data, cut, len(data)))
    assert [row["offset"] for row in rows] == [None, 2]
    assert "counted before" in rows[0]["bad_reason"]
    assert rows[0]["bad_byte"] == cut


def test_a_line_longer_than_a_block_is_one_bad_line(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BLOCK_SIZE", 5_000)
    data = record(0) + b"x" * 23_000 + b"\n" + record(1)
    rows = files.read((SEGMENT, data, 0, len(data)))
    assert [row["offset"] for row in rows] == [0, None, 1]
    assert rows[1]["bad_reason"] == "longer than 4096 bytes"
    assert rows[1]["bad_byte"] == len(record(0))


def test_blocks_smaller_than_the_range_give_all_lines(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BLOCK_SIZE", 700)
    data = b"".join(record(offset) for offset in range(50))
    assert [row["offset"] for row in files.read((SEGMENT, data, 0, len(data)))] == list(range(50))


def test_the_torn_end_of_a_final_segment_is_a_bad_line(files: Files) -> None:
    data = record(0) + b'{"v":1,"no'
    rows = files.read((SEGMENT, data, 0, len(data)))
    assert [row["bad_reason"] for row in rows] == [None, "torn: no line feed at its end"]


def test_a_file_that_ends_before_its_range_is_a_bad_line(files: Files) -> None:
    rows = files.read((SEGMENT, record(0), 0, 5_000))
    assert [row["offset"] for row in rows if row["offset"] is not None] == [0]
    (bad,) = [row for row in rows if row["bad_path"]]
    assert bad["bad_reason"] == "the file ends here, but had 5000 bytes when reading it was planned"
    assert bad["bad_byte"] == len(record(0))


@pytest.mark.parametrize("before", [b"nonsense\n", b"[]\n", b'{"offset":"x"}\n', b"[" * 4000 + b"\n"])
def test_a_bad_line_before_the_range_tells_nothing(files: Files, before: bytes) -> None:
    data = before + record(3)
    assert [row["offset"] for row in files.read((SEGMENT, data, len(before), len(data)))] == [3]


def test_small_segments_are_read_together_and_bad_lines_keep_their_place(files: Files) -> None:
    one, two, three = record(0) + record(1), record(2) + b"null\n" + record(2), record(0, boot=2) + b'{"torn'
    parts = [
        ("00000001-000000000000.jsonl", one, 0, len(one)),
        ("00000001-000000000002.jsonl", two, 0, len(two)),
        ("00000002-000000000000.jsonl", three, 0, len(three)),
    ]
    rows = files.read(*parts)
    assert [row["offset"] for row in rows] == [0, 1, 2, None, None, 0, None]
    bad = [(row["bad_path"], row["bad_byte"]) for row in rows if row["bad_reason"]]
    second, third = (str(files.folder / name) for name, *_ in parts[1:])
    line_size = len(record(0))
    assert bad == [(second, line_size), (second, line_size + 5), (third, line_size)]


def test_a_torn_segment_does_not_spoil_the_next_one(files: Files) -> None:
    torn, whole = record(0) + b'{"torn', record(1)
    rows = files.read(
        ("00000001-000000000000.jsonl", torn, 0, len(torn)),
        ("00000001-000000000001.jsonl", whole, 0, len(whole)),
    )
    assert [row["offset"] for row in rows] == [0, None, 1]
