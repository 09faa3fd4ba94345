"""Ranges: wherever a segment is cut, each of its lines is read once."""

import io
import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_sink import blocks, limits
from spark_sink.errors import SegmentShrunkError
from spark_sink.lines import Shape
from spark_sink.segments import ByteRange
from tests.spark_sink.logs import T0_US, line, node_name

NODE = node_name(0)
SEGMENT = "00000001-000000000000.jsonl"
SHAPE = Shape(["offset", "bad_byte", "bad_reason", "bad_text"])


def record(offset: int) -> bytes:
    header = {"v": 1, "node": NODE, "boot": 1, "offset": offset, "t_us": T0_US, "mono_us": 0, "kind": "stop"}
    return line(header)


def read(data: bytes, low: int, high: int) -> list[dict[str, Any]]:
    part = ByteRange(NODE, SEGMENT, low, high)
    return [row for batch in blocks.read_range(io.BytesIO(data), part, "p", SHAPE) for row in batch.to_pylist()]


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 12), st.lists(st.integers(0, 1500), max_size=6))
def test_any_cuts_give_all_lines_once(count: int, cuts: list[int]) -> None:
    data = b"".join(record(offset) for offset in range(count))
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    offsets = [row["offset"] for low, high in itertools.pairwise(places) for row in read(data, low, high)]
    assert offsets == list(range(count))


def test_a_repeated_record_is_noticed_across_a_cut() -> None:
    data = record(0) + record(1) + record(1) + record(2)
    cut = len(record(0) + record(1))
    rows = read(data, cut, len(data))
    assert [row["offset"] for row in rows] == [None, 2]
    assert "counted before" in rows[0]["bad_reason"]
    assert rows[0]["bad_byte"] == cut


def test_a_line_longer_than_a_block_is_one_bad_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BLOCK_SIZE", 5_000)
    data = record(0) + b"x" * 23_000 + b"\n" + record(1)
    rows = read(data, 0, len(data))
    assert [row["offset"] for row in rows] == [0, None, 1]
    assert rows[1]["bad_reason"] == "longer than 4096 bytes"
    assert rows[1]["bad_byte"] == len(record(0))


def test_blocks_smaller_than_the_range_give_all_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BLOCK_SIZE", 700)
    data = b"".join(record(offset) for offset in range(50))
    assert [row["offset"] for row in read(data, 0, len(data))] == list(range(50))


def test_the_torn_end_of_a_final_segment_is_a_bad_line() -> None:
    data = record(0) + b'{"v":1,"no'
    rows = read(data, 0, len(data))
    assert [row["bad_reason"] for row in rows] == [None, "torn: no line feed at its end"]


def test_a_file_that_ends_before_its_range_is_named() -> None:
    with pytest.raises(SegmentShrunkError, match=SEGMENT):
        read(record(0), 0, 5_000)


@pytest.mark.parametrize("before", [b"nonsense\n", b"[]\n", b'{"offset":"x"}\n', b"[" * 4000 + b"\n"])
def test_a_bad_line_before_the_range_tells_nothing(before: bytes) -> None:
    data = before + record(3)
    assert [row["offset"] for row in read(data, len(before), len(data))] == [3]
