"""Hints never deny what is there, and let few strangers through."""

import random

from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.store.presence_filter import PresenceFilter

NOBODY = bytes(7)
numbers = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20)
MANY = [random.Random(2).getrandbits(63) for _ in range(10_000)]
"""Enough for the filter to grow."""


@given(numbers, numbers)
def test_what_is_there_is_never_denied(first: list[int], later: list[int]) -> None:
    hints = PresenceFilter(first)
    for number in (*MANY, *later):
        hints.add(number)
    for number in (*first, *MANY[::100], *later):
        there = number.to_bytes(8, signed=True)
        assert hints.may_have(there, NOBODY)
        assert hints.may_have(NOBODY, there)


def test_few_strangers_are_let_through() -> None:
    entropy = random.Random(1)
    hints = PresenceFilter(entropy.getrandbits(56) for _ in range(20_000))
    let_through = sum(hints.may_have(entropy.randbytes(7), entropy.randbytes(8)) for _ in range(5_000))
    assert let_through < 500
