"""Buckets of delays, against their definition and against the delays themselves."""

import math

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from spark_sink.derive.buckets import NEGATIVE, bucket_low_us, bucket_of, percentiles_us

DELAYS = st.integers(0, 2**50)


def test_buckets_are_where_the_database_has_them() -> None:
    """Frozen: rows are in databases."""
    delays_us = [-(2**62), -1, 0, 44, 45, 999, 1_000, 1_000_000, 3_600_000_000, 2**62]
    assert bucket_of(np.array(delays_us)).tolist() == [-1, -1, 0, 0, 1, 15, 16, 159, 348, 832]


@given(DELAYS)
@example(44)
@example(45)
def test_a_bucket_is_the_logarithm(delay_us: int) -> None:
    exact = 16 * math.log2(1 + delay_us / 1_000)
    bucket = int(bucket_of(np.array([delay_us]))[0])
    assert bucket == math.floor(exact) or abs(exact - round(exact)) < 1e-9
    low_us, next_us = (int(bucket_low_us(np.array([number]))[0]) for number in (bucket, bucket + 1))
    assert low_us <= delay_us < next_us


@given(st.lists(DELAYS, min_size=1, max_size=50), st.floats(0.01, 1))
def test_percentiles_are_within_a_bucket_of_the_truth(delays_us: list[int], share: float) -> None:
    buckets = bucket_of(np.array(delays_us)).tolist()
    found_us = percentiles_us(buckets, [1] * len(buckets), [share])[0]
    true_us = sorted(delays_us)[math.ceil(share * len(delays_us) - 1e-9) - 1]
    low_us, next_us = bucket_low_us(bucket_of(np.array([true_us])) + np.array([0, 1])).tolist()
    assert low_us <= found_us <= next_us


def test_counts_are_weights_in_any_order() -> None:
    assert percentiles_us([16, 0, 16], [1, 2, 1], [0.25, 0.5, 0.75, 1]) == [22.5, 45, 1044.5, 1089]
    assert percentiles_us([NEGATIVE, 16], [3, 1], [0.5, 1]) == [0, 1089]
    assert percentiles_us([], [], [0.5]) == []
    assert percentiles_us([3], [0], [0.5]) == []
