"""Keys of rows that several columns identify together."""

from typing import Final

import numpy as np

from spark_sink.arrays import Ints

_MOST: Final = 2**62


def keys(*columns: Ints) -> Ints:
    """Return a number for each row: equal for equal values, and in the order of the rows by *columns*."""
    key: Ints = np.zeros(len(columns[0]), np.int64)
    if not len(key):
        return key
    size = 1
    for column in columns:
        low, span = int(column.min()), int(column.max()) - int(column.min()) + 1
        if size * span > _MOST:
            known, key = np.unique(key, return_inverse=True)
            distinct, numbers = np.unique(column, return_inverse=True)
            key = key * len(distinct) + numbers
            size = len(known) * len(distinct)
        else:
            key = key * span + (column - low)
            size *= span
    return key


def grouped(*columns: Ints) -> tuple[list[Ints], Ints]:
    """Return the distinct rows, column by column and in order, and for each row its index among them."""
    _, first, place = np.unique(keys(*columns), return_index=True, return_inverse=True)
    return [column[first] for column in columns], place


def last_before(wanted: Ints, wanted_us: Ints, known: Ints, known_us: Ints) -> Ints:
    """Return for each of *wanted* keys, the place of the same one in *known* that is the last not after its time, else
    −1.

    Of several at the same time it is the last in *known*.
    """
    key, time_us = np.concatenate([known, wanted]), np.concatenate([known_us, wanted_us])
    order = np.lexsort((time_us, key))
    place = np.where(order < len(known), np.arange(len(order)), -1)
    last = np.maximum.accumulate(place) if len(place) else place
    found: Ints = np.full(len(wanted), -1)
    asking = np.flatnonzero(order >= len(known))
    asking = asking[last[asking] >= 0]
    which = order[last[asking]]
    same = known[which] == key[order[asking]]
    found[order[asking[same]] - len(known)] = which[same]
    return found
