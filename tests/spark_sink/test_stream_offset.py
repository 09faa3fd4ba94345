"""Offsets of a stream as intervals: joined, told apart, written down and read again."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_sink import limits
from spark_sink.errors import ConfigurationError, SinkError
from spark_sink.stream_offset import (
    Advance,
    BootProgress,
    Gap,
    Interval,
    Tail,
    gaps,
    holes,
    join_runs,
    parse_offset,
    parse_offset_text,
    serialize_offset_text,
    step_on,
)

COUNT = st.integers(0, 10**12)
TAILS = st.builds(Tail, COUNT, COUNT, st.sampled_from(["", "0a1b2c3d"]))
RUNS = st.builds(Interval, COUNT, COUNT, st.one_of(st.none(), TAILS))
BOOTS = st.builds(
    BootProgress,
    st.sampled_from(["", "0a1b2c3d"]),
    st.sampled_from([None, True, False]),
    st.booleans(),
    st.lists(RUNS, max_size=2).map(tuple),
)
OFFSETS = st.dictionaries(st.sampled_from("abc"), st.dictionaries(st.integers(1, 99), BOOTS, max_size=2))


@given(OFFSETS)
def test_an_offset_comes_back_as_it_was(offset: Any) -> None:
    assert parse_offset_text(serialize_offset_text(offset)) == offset


@pytest.mark.parametrize("version", [1, 3])
def test_an_offset_of_another_version_says_what_broke_it_and_how_to_go_on(version: int) -> None:
    with pytest.raises(ConfigurationError, match=f"written by version {version}") as raised:
        parse_offset({"version": version, "nodes": {}})
    assert "with a new database" in str(raised.value)
    assert isinstance(raised.value, SinkError)


PIECES = st.integers(1, 12).flatmap(lambda count: st.permutations(range(count)))


@given(PIECES, st.data())
def test_segments_in_any_order_end_as_one_run(order: list[int], data: st.DataObject) -> None:
    boot = BootProgress()
    sizes = dict.fromkeys((10 * piece for piece in order), 100)
    for piece in order:
        cuts = sorted(data.draw(st.sets(st.integers(1, 9), max_size=2)))
        for low, high in zip([0, *cuts], [*cuts, 10], strict=True):
            boot = step_on(boot, Advance(10 * piece, 10 * low, 10 * high, 10 * piece + high, False))
            boot = join_runs(boot, sizes)
    last = 10 * (len(order) - 1)
    assert boot.runs == (Interval(0, last + 10, Tail(last, 100)),)


def test_runs_stay_apart_while_the_first_ones_segment_is_not_read_to_its_end() -> None:
    boot = BootProgress(runs=(Interval(0, 10, Tail(0, 90)), Interval(10, 20, Tail(10, 100))))
    assert join_runs(boot, {0: 100, 10: 100}) == boot
    assert join_runs(boot, {10: 100}).runs == (Interval(0, 20, Tail(10, 100)),)


def test_a_boot_that_stopped_needs_no_tail() -> None:
    boot = step_on(BootProgress(), Advance(0, 0, 100, 10, True, ("print", True)))
    assert join_runs(boot, {0: 100}) == BootProgress("print", True, True, (Interval(0, 10, None),))
    assert join_runs(boot, {0: 101}) == boot


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9))), st.integers(0, 30), st.integers(0, 30))
def test_holes_are_what_nothing_covers(known: list[tuple[int, int]], first: int, size: int) -> None:
    intervals = [(low, low + count) for low, count in known]
    covered = {place for low, high in intervals for place in range(low, high)}
    found = holes(first, first + size, intervals)
    assert [place for low, high in found for place in range(low, high)] == sorted(
        set(range(first, first + size)) - covered
    )


def run(first: int, end: int) -> Interval:
    return Interval(first, end, Tail(first, 1))


@pytest.mark.parametrize(
    ("boots", "expected"),
    [
        ({1: BootProgress(runs=(run(0, 5),))}, []),
        ({1: BootProgress(runs=(run(2, 5), run(7, 9)))}, [(1, 0, 2), (1, 5, 7)]),
        ({1: BootProgress(runs=(run(0, 5), run(5, 9)))}, []),
        ({2: BootProgress(clean=True, runs=(run(0, 5),))}, [(1, 0, None)]),
        (
            {1: BootProgress(runs=(run(0, 5),)), 2: BootProgress(clean=True, runs=(run(0, 1),))},
            [(1, 5, None)],
        ),
        ({1: BootProgress(runs=(run(0, 5),)), 2: BootProgress(clean=False, runs=(run(0, 1),))}, []),
        (
            {
                1: BootProgress(stopped=True, runs=(run(0, 5),)),
                2: BootProgress(clean=True, runs=(run(0, 1),)),
            },
            [],
        ),
        ({1: BootProgress(runs=(run(0, 5),)), 2: BootProgress(runs=(run(3, 4),))}, [(2, 0, 3)]),
    ],
)
def test_gaps_are_what_later_records_are_known_of(boots: Any, expected: list[Any]) -> None:
    assert gaps({"n": boots}) == [Gap("n", *gap) for gap in expected]


def test_a_wrong_number_of_a_boot_does_not_make_a_hundred_million_gaps() -> None:
    found = gaps({"n": {1: BootProgress(runs=(run(0, 1),)), 99_999_999: BootProgress(runs=(run(0, 1),))}})
    assert len(found) == limits.GAPS_PER_NODE_MAX
    assert found[-1] == Gap("n", 99_999_998, 0, None)
