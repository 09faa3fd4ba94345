"""Sketches: exact up to their capacity, and never wrong where it counts."""

import random
import time
from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.replication.test_galois import product
from tinyssb_node import limits
from tinyssb_node.replication.sketch import combine, decode, find_subset, sketch_of

FULL = limits.SKETCH_CAPACITY
numbers = st.integers(1, 2**32 - 1)
number_sets = st.sets(numbers, max_size=60).map(frozenset)
TIME_MAX_S = 0.5
"""For what takes 10 ms on an idle machine, both together: tests share theirs."""


def power(number: int, exponent: int) -> int:
    return reduce(product, [number] * exponent)


def some(count: int, seed: int = 0) -> list[int]:
    entropy = random.Random(seed)
    return [entropy.randrange(1, 2**32) for _ in range(count)]


@pytest.mark.parametrize(
    ("number", "sketch"),
    [
        (1, "01000000" * 4),
        (876_209_144, "f8e3393415c7f1e2"),
        (34_494_274, "42570e02cfa3415e9f66c14eab703582"),
    ],
    ids=str,
)
def test_known_sketches(number: int, sketch: str) -> None:
    expected = bytes.fromhex(sketch)
    assert sketch_of([number], len(expected) // 4) == expected


@settings(max_examples=20)
@given(st.sets(numbers, max_size=5), st.integers(1, 6))
def test_a_sketch_is_the_sums_of_odd_powers(members: set[int], capacity: int) -> None:
    sums = [reduce(int.__xor__, (power(number, 2 * k + 1) for number in members), 0) for k in range(capacity)]
    assert sketch_of(members, capacity) == b"".join(total.to_bytes(4, "little") for total in sums)


@given(number_sets, number_sets)
def test_the_xor_of_sketches_is_the_sketch_of_the_difference(
    left: frozenset[int], right: frozenset[int]
) -> None:
    assert combine(sketch_of(left), sketch_of(right)) == sketch_of(left ^ right)


@given(number_sets, st.integers(0, FULL))
def test_the_beginning_of_a_sketch_is_a_smaller_one(members: frozenset[int], capacity: int) -> None:
    assert sketch_of(members)[: 4 * capacity] == sketch_of(members, capacity)
    assert combine(sketch_of(members), sketch_of((), capacity)) == sketch_of(members, capacity)


@settings(deadline=None)
@given(number_sets, st.sets(numbers, max_size=13), st.sets(numbers, max_size=13))
def test_differences_on_both_sides_are_found(both: frozenset[int], mine: set[int], theirs: set[int]) -> None:
    left, right = both | mine, both | theirs
    assert decode(combine(sketch_of(left), sketch_of(right))) == left ^ right


@settings(deadline=None)
@given(st.integers(0, FULL).flatmap(lambda c: st.tuples(st.just(c), st.sets(numbers, max_size=c))))
def test_any_capacity_is_used_up(case: tuple[int, set[int]]) -> None:
    capacity, members = case[0], frozenset(case[1])
    assert decode(sketch_of(members, capacity)) == members


@settings(deadline=None)
@given(st.sets(numbers, min_size=FULL + 1, max_size=255))
def test_more_than_the_capacity_is_not_mistaken_for_less(members: set[int]) -> None:
    assert decode(sketch_of(members)) is None


@settings(deadline=None)
@given(st.integers(0, FULL).flatmap(lambda capacity: st.binary(min_size=4 * capacity, max_size=4 * capacity)))
def test_any_bytes_are_a_sketch_of_what_they_give_or_give_nothing(sketch: bytes) -> None:
    found = decode(sketch)
    if found is not None:
        assert sketch_of(found, len(sketch) // 4) == sketch


@settings(deadline=None)
@given(st.sets(numbers, max_size=60), st.data())
def test_a_selection_of_ours_is_found_however_large(members: set[int], data: st.DataObject) -> None:
    selection = frozenset(number for number in sorted(members) if data.draw(st.booleans()))
    assert find_subset(sketch_of(selection), members) == selection


def test_any_selection_of_a_full_set_is_found() -> None:
    members = some(limits.SET_MAX)
    for count in (0, 1, 100, 200, 254, 255):
        assert find_subset(sketch_of(members[:count]), members) == frozenset(members[:count])


@settings(deadline=None)
@given(st.sets(numbers, max_size=40), st.data())
def test_what_is_not_ours_makes_no_selection(members: set[int], data: st.DataObject) -> None:
    strangers = data.draw(
        st.sets(numbers.filter(lambda number: number not in members), min_size=1, max_size=5)
    )
    selection = [number for number in sorted(members) if data.draw(st.booleans())]
    assert find_subset(sketch_of([*selection, *strangers]), members) is None


def test_a_small_sketch_cannot_tell_many_apart() -> None:
    assert find_subset(sketch_of(some(20)[:10], 2), some(100)) is None
    assert find_subset(b"", some(1)) is None
    assert find_subset(b"", []) == frozenset()


HARD = {
    "noise": random.Random(7).randbytes(104),
    "noise but the end": bytes(52) + random.Random(8).randbytes(52),
    "ones": b"\xff" * 104,
    "the last sum only": bytes(103) + b"\x01",
    "the first sum only": b"\x01" + bytes(103),
    "as many as there can be": sketch_of(some(26)),
    "one more": sketch_of(some(27)),
    "close together": sketch_of(range(1, 27)),
    "far too many": sketch_of(some(255)),
}


@pytest.mark.parametrize("sketch", HARD.values(), ids=HARD.keys())
def test_nothing_takes_long(sketch: bytes) -> None:
    members = some(limits.SET_MAX, 9)
    began = time.process_time()
    decode(sketch)
    find_subset(sketch, members)
    assert time.process_time() - began < TIME_MAX_S
