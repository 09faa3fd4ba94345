"""Which packets and pairs of clocks are chosen, against plain counting."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_sink import limits
from spark_sink.clocks.shared_packets import likely_pairs, shared_packets, telling
from spark_sink.clocks.sightings import Clocks, Sightings


def some(seed: int, number: int, packets: int) -> list[tuple[int, int, bool, int]]:
    """Packets seen: hash, clock, whether it was sent, and when."""
    random = Random(seed)
    return [
        (
            random.randrange(packets),
            min(random.randrange(9), random.randrange(9), 6),
            random.random() < 0.2,
            random.randrange(9),
        )
        for _ in range(number)
    ]


SEEN = st.builds(some, st.integers(0, 2**32), st.integers(0, 400), st.integers(1, 60))
NODES = [0, 0, 1, 1, 2, 3, 4]
"""Two nodes have two clocks each: those are not compared with each other."""


def sightings(rows: list[tuple[int, int, bool, int]]) -> Sightings:
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    hash_, clock, sent, t_us = columns
    return Sightings(
        np.array(hash_, np.int64), np.array(clock, np.int64), np.array(sent, bool), np.array(t_us, np.int64)
    )


def clocks() -> Clocks:
    number = np.zeros(len(NODES), np.int64)
    return Clocks(np.array(NODES), number, number, number, number)


@given(SEEN)
def test_what_was_seen_too_often_tells_nothing(rows: list[tuple[int, int, bool, int]]) -> None:
    often = Counter((hash_, clock) for hash_, clock, _, _ in set(rows))
    wanted = {row for row in rows if often[row[:2]] <= limits.REPEATS_MAX}
    found = telling(sightings(rows))
    columns = (found.hash, found.clock, found.sent, found.t_us)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == sorted(
        wanted, key=lambda row: (row[0], row[1], row[3], row[2])
    )


@pytest.mark.parametrize("at_a_time", [1, 7, 2_000_000])
@given(rows=SEEN)
def test_pairs_are_counted_however_many_at_a_time(
    at_a_time: int, rows: list[tuple[int, int, bool, int]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "PAIRS_AT_A_TIME", at_a_time)
        found = likely_pairs(shared_packets(sightings(rows), len(NODES)), clocks())
    expected = counted(rows)
    assert set(zip(found.left.tolist(), found.right.tolist(), strict=True)) == set(expected)
    worths = [expected[pair] for pair in zip(found.left.tolist(), found.right.tolist(), strict=True)]
    for better, worse in pairwise(worths):
        assert better >= worse or worse - better < Fraction(1, 1_000_000)


def counted(rows: list[tuple[int, int, bool, int]]) -> dict[tuple[int, int], Fraction]:
    """Pairs that share enough, and what their packets are worth."""
    often = Counter((hash_, clock) for hash_, clock, _, _ in set(rows))
    holders: dict[int, set[int]] = {}
    for (hash_, clock), count in often.items():
        if count <= limits.REPEATS_MAX:
            holders.setdefault(hash_, set()).add(clock)
    number: Counter[tuple[int, int]] = Counter()
    worth: dict[tuple[int, int], Fraction] = {}
    for some in holders.values():
        for left, right in combinations(sorted(some), 2):
            if NODES[left] != NODES[right]:
                number[left, right] += 1
                worth[left, right] = worth.get((left, right), Fraction()) + Fraction(1, len(some))
    return {pair: worth[pair] for pair, count in number.items() if count >= limits.MATCHES_MIN}
