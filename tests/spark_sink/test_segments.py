"""Planning: whatever grows, is cut or deleted meanwhile, every byte is read once, in order, within the limit."""

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_sink.errors import SegmentShrunkError, SegmentVanishedError
from spark_sink.segments import (
    ByteRange,
    Lost,
    Position,
    Segment,
    advance,
    fair_shares,
    locate,
    pack,
    parse_offset,
    ranges,
    serialize_offset,
    size_before,
)

NAMES = [f"{boot:08d}-{offset:012d}.jsonl" for boot in (1, 2) for offset in (0, 50, 100)]
ONE, TWO, THREE = NAMES[:3]


class Disk:
    """Nodes' logs as sizes: they grow, rotate, and lose segments that were read."""

    def __init__(self) -> None:
        self.sizes: dict[str, list[int]] = {}

    def grow(self, node: str, size: int) -> None:
        self.sizes.setdefault(node, [0])[-1] += size

    def rotate(self, node: str) -> None:
        if len(self.sizes.setdefault(node, [0])) < len(NAMES):
            self.sizes[node].append(0)

    def listing(self) -> dict[str, list[Segment]]:
        return {
            node: [Segment(name, size) for name, size in zip(NAMES, sizes, strict=False)]
            for node, sizes in self.sizes.items()
        }


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("grow"), st.sampled_from("abc"), st.integers(1, 500)),
        st.tuples(st.just("rotate"), st.sampled_from("abc"), st.just(0)),
        st.tuples(st.just("batch"), st.just(""), st.one_of(st.none(), st.integers(1, 300))),
    ),
    max_size=40,
)


@given(STEPS)
def test_every_byte_is_read_once_and_in_order(steps: Any) -> None:
    disk = Disk()
    offset: dict[str, Position] = {}
    read: dict[str, list[tuple[str, int, int]]] = defaultdict(list)

    def batch(bytes_max: int | None) -> int:
        nonlocal offset
        listing = disk.listing()
        places, lost = locate(listing, offset)
        end = parse_offset(serialize_offset(advance(listing, places, bytes_max)))
        parts = ranges(listing, places, end)
        assert not lost
        for part in parts:
            read[part.node].append((part.segment, part.low, part.high))
        offset = dict(end)
        return sum(part.size for part in parts)

    for step, node, number in steps:
        if step == "batch":
            size = batch(number)
            assert number is None or size <= number
        else:
            disk.grow(node, number) if step == "grow" else disk.rotate(node)
    for _ in range(1000):
        if batch(300) == 0:
            break
    for node, sizes in disk.sizes.items():
        reached = dict.fromkeys(NAMES, 0)
        for segment, low, high in read[node]:
            assert low == reached[segment]
            reached[segment] = high
        assert [reached[name] for name in NAMES[: len(sizes)]] == sizes
        assert [segment for segment, _, _ in read[node]] == sorted(segment for segment, _, _ in read[node])


@given(
    st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.integers(0, 1000), min_size=1),
    st.integers(1, 2000),
)
def test_shares_are_fair(wants: dict[str, int], total: int) -> None:
    shares = fair_shares(wants, total)
    assert sum(shares.values()) == min(total, sum(wants.values()))
    assert all(shares[node] <= wants[node] for node in wants)
    hungry = [shares[node] for node in wants if shares[node] < wants[node]]
    assert all(shares[node] <= max(hungry, default=total) + 1 for node in wants)
    assert not hungry or max(hungry) - min(hungry) <= 1


@given(st.lists(st.integers(1, 300), max_size=20), st.integers(1, 100))
def test_tasks_hold_all_ranges_in_order(sizes: list[int], size_max: int) -> None:
    parts = [ByteRange("n", f"{number:03d}", 5, 5 + size) for number, size in enumerate(sizes)]
    tasks = pack(parts, size_max)
    assert all(sum(part.size for part in task) == size_max for task in tasks[:-1])
    assert not tasks or 0 < sum(part.size for part in tasks[-1]) <= size_max
    bytes_in = [(part.segment, byte) for part in parts for byte in range(part.low, part.high)]
    bytes_out = [
        (part.segment, byte) for task in tasks for part in task for byte in range(part.low, part.high)
    ]
    assert bytes_in == bytes_out


def test_a_shrunken_segment_is_named() -> None:
    with pytest.raises(SegmentShrunkError, match=f"a/{ONE} shrank to 10 bytes after 20"):
        locate({"a": [Segment(ONE, 10)]}, {"a": Position(ONE, 20)})


@pytest.mark.parametrize(
    "position",
    [
        Position(ONE, 20),
        Position(ONE, 20, next_offset=49),
        Position(ONE, 20, next_offset=51),
    ],
)
def test_a_vanished_segment_is_named_if_records_of_it_may_be_unread(position: Position) -> None:
    with pytest.raises(SegmentVanishedError, match=f"a/{ONE} vanished"):
        locate({"a": [Segment(TWO, 10)]}, {"a": position})


def test_a_vanished_folder_is_named() -> None:
    with pytest.raises(SegmentVanishedError, match=f"a/{ONE} vanished"):
        locate({"b": [Segment(TWO, 10)]}, {"a": Position(ONE, 20, next_offset=50)})


@pytest.mark.parametrize(
    ("position", "left"),
    [
        (Position(ONE, 20, next_offset=50), TWO),
        (Position(ONE, 20, next_offset=7, stopped=True), NAMES[3]),
    ],
)
def test_a_segment_deleted_after_it_was_wholly_read_is_passed_over(position: Position, left: str) -> None:
    places, lost = locate({"a": [Segment(left, 10)]}, {"a": position})
    assert places == {"a": Position(left, 0)}
    assert not lost


def test_reaching_the_end_of_a_final_segment_is_being_at_the_next() -> None:
    listing = {"a": [Segment(ONE, 10), Segment(TWO, 30, next_offset=99, stopped=True)]}
    assert advance(listing, {"a": Position(ONE, 0)}, 10) == {"a": Position(TWO, 0)}
    assert advance(listing, {"a": Position(ONE, 0)}) == {"a": Position(TWO, 30, 99, stopped=True)}


def test_forgiving_goes_on_with_what_is_left_and_says_what_is_not() -> None:
    listing = {"a": [Segment(TWO, 10)], "b": [Segment(ONE, 5), Segment(TWO, 10)]}
    start = {"a": Position(ONE, 20), "b": Position(ONE, 9), "c": Position(ONE, 1)}
    places, lost = locate(listing, start, forgive=True)
    assert places == {"a": Position(TWO, 0), "b": Position(TWO, 0)}
    assert lost == [
        Lost("a", ONE, 20, "vanished before it was read to its end"),
        Lost("b", ONE, 9, "shrank to 5 bytes after 9 had been read"),
        Lost("c", ONE, 1, "vanished before it was read to its end"),
    ]
    assert ranges(listing, places, start) == []


def test_a_planned_end_that_is_gone_after_a_restart_is_named() -> None:
    listing = {"a": [Segment(ONE, 30)]}
    with pytest.raises(SegmentShrunkError, match="shrank to 30 bytes after 40"):
        ranges(listing, {"a": Position(ONE, 0)}, {"a": Position(ONE, 40)})
    with pytest.raises(SegmentVanishedError, match=TWO):
        ranges(listing, {"a": Position(ONE, 0)}, {"a": Position(TWO, 4)})


def test_the_bytes_before_an_offset_are_those_read() -> None:
    listing = {"a": [Segment(ONE, 30), Segment(TWO, 20)], "b": [Segment(ONE, 7)]}
    assert size_before(listing, {}) == 0
    assert size_before(listing, {"a": Position(TWO, 5)}) == 35
    assert size_before(listing, {"a": Position(TWO, 20), "b": Position(ONE, 7)}) == 57
