"""Ages of hours of logs: which hours are so old that their single packets need not be kept."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from spark_sink.arrays import Ints
from spark_sink.derive.facts import HOUR_US
from spark_sink.derive.mesh_time import Corrections, boot_times

NONE_US: Final = -(2**62)
"""Before all times."""


@dataclass(frozen=True, slots=True)
class PacketAges:
    """Hours of logs, a value each."""

    old: Ints
    """1: so long before the newest record of any related clock that no figure needs its packets any more."""
    by_reading: Ints
    """1: its clock gives no reliable age; the time when it was read does."""
    low_us: Ints
    high_us: Ints
    """First and last mesh time of its records that is not in the future; if there is none, low is above high."""


def packet_ages(
    clocks: Corrections, hours: Ints, boots: pa.Table, keep_us: int, latest_us: int
) -> PacketAges:
    """Return how old hours of logs are: columns node_no, boot, and the hour by that node's clock.

    Times later than *latest_us* in mesh time come from clocks that are ahead.

    A group of related clocks is its own measure: a clock that was never set shows 1970, and so may all of a mesh. A
    clock related to no other does not show when its log was written: a log that is still to come may correct it. The
    same log may relate a smaller group to the largest one. So all groups but the largest are also measured by when they
    were read.
    """
    node_no, boot, hour_us = hours
    count = len(hour_us)
    found = boot_times(clocks, boots)
    counts = (found.until_us <= latest_us) & (found.mesh != boots["node_no"].to_numpy())
    groups, place = np.unique(found.mesh[counts], return_inverse=True)
    since_us = np.full(len(groups) + 1, NONE_US)
    # Two hours more: figures of an hour need the hour before, and clocks differ.
    np.maximum.at(since_us, place, found.until_us[counts] - keep_us - 2 * HOUR_US)
    spans = clocks.spans(node_no, boot, hour_us, hour_us + HOUR_US - 1)
    past = spans.high_us <= latest_us
    low_us, high_us = np.full(count, -NONE_US), np.full(count, NONE_US)
    np.minimum.at(low_us, spans.asked[past], spans.low_us[past])
    np.maximum.at(high_us, spans.asked[past], spans.high_us[past])
    tells = (spans.again == 0) | np.isin(spans.asked, spans.asked[spans.again == 0], invert=True)
    known = np.isin(spans.mesh, groups)
    young = spans.high_us >= since_us[np.where(known, np.searchsorted(groups, spans.mesh), len(groups))]
    largest = groups[np.bincount(place).argmax()] if len(groups) else NONE_US
    old, by_reading = np.ones(count, np.int64), np.zeros(count, np.int64)
    old[spans.asked[tells & young]] = 0
    by_reading[spans.asked[tells & (~past | (spans.mesh != largest))]] = 1
    return PacketAges(old, by_reading, low_us, high_us)
