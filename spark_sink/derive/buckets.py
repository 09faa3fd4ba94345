"""Delays counted in logarithmic buckets, 16 to a factor of two (docs/reference/analytics.md, "Delays")."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from spark_sink.arrays import Ints

PER_DOUBLING: Final = 16
"""Buckets to a factor of two: of long delays each is 4.4 % wide, and the whole of a year has 560."""
UNIT_US: Final = 1_000
"""Well below this all buckets are 45 µs wide: clocks cannot be corrected more precisely."""
NEGATIVE: Final = -1
"""The bucket of delays below 0, which clocks that are not quite right make of very short ones."""

_LOWS_US: Final = np.array(
    [math.ceil(UNIT_US * (2 ** (bucket / PER_DOUBLING) - 1)) for bucket in range(PER_DOUBLING * 53)], np.int64
)


def bucket_of(delay_us: Ints) -> Ints:
    """Return the bucket of each delay: floor(16 · log₂(1 + delay / 1 ms)), or `NEGATIVE`."""
    return np.searchsorted(_LOWS_US, delay_us, "right").astype(np.int64) - 1


def bucket_low_us(bucket: Ints) -> Ints:
    """Return the shortest delay of each bucket, microseconds; it ends at that of the next one. `NEGATIVE` is at 0."""
    return np.asarray(_LOWS_US[np.minimum(np.maximum(bucket, 0), len(_LOWS_US) - 1)])


def percentiles_us(buckets: Sequence[int], counts: Sequence[int], shares: Sequence[float]) -> list[float]:
    """Return the delays that *shares* of all do not exceed, microseconds; each bucket is taken as evenly filled.

    The same bucket may come several times, in any order. Without any counts, the list is empty.
    """
    if not sum(counts):
        return []
    kinds, places = np.unique(np.asarray(buckets, np.int64), return_inverse=True)
    summed = np.cumsum(np.bincount(places, np.asarray(counts, np.float64)))
    ends = np.stack([bucket_low_us(kinds), bucket_low_us(kinds + 1)], axis=1).astype(np.float64)
    found = []
    for share in shares:
        rank = share * summed[-1]
        place = min(int(np.searchsorted(summed, rank)), len(kinds) - 1)
        before = summed[place - 1] if place else 0.0
        low_us, high_us = ends[place]
        found.append(float(low_us + (high_us - low_us) * (rank - before) / (summed[place] - before)))
    return found
