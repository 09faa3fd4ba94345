"""Matches: transmissions that two clocks both saw, separated from packets that only look alike.

The same hash may have been sent by several nodes, or often, so a hash in two logs is only a candidate. Candidates of
one transmission differ by the clocks' offset and drift, and lie on a line; the others lie anywhere.
"""

import heapq
from dataclasses import dataclass
from typing import Final

import numpy as np

from spark_sink import limits
from spark_sink.arrays import Floats, Ints, count_up
from spark_sink.clocks.shared_packets import SharedPackets

_STEEPEST: Final = 2 * limits.DRIFT_MAX_PPM / 1_000_000
"""Steepest line: one clock as fast as possible, the other as slow."""


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """Transmissions that two clocks saw, both times of each in microseconds."""

    left: int
    right: int
    """Places of the clocks in `Clocks`."""
    left_us: Ints
    right_us: Ints
    weights: Floats
    """Weight of each: of *k* clocks that saw a packet, only *k* - 1 of the k (k - 1) / 2 differences are
    independent."""

    def __len__(self) -> int:
        return len(self.weights)


@dataclass(frozen=True, slots=True)
class Line:
    """A difference between clocks that grows evenly: ``at_zero + slope * x``."""

    slope: float
    at_zero: float
    count: int
    """Points within the tolerance of it."""


def match(packets: SharedPackets, left: int, right: int) -> Matches | None:
    """Match what two clocks saw of the same transmissions; None if too few points lie on one line."""
    ours, theirs = _common(packets, left, right)
    ours, theirs = _first_candidates(packets, ours, theirs)
    one, other, run = _candidates(packets, ours, theirs)
    once = packets.seen.sent[one] & packets.seen.sent[other]
    one, other, run = one[~once], other[~once], run[~once]
    looked_at = int((np.bincount(run, minlength=1) > 0).sum())
    # At least a quarter must be of one transmission; by chance it is a few percent.
    least = max(limits.MATCHES_MIN, round(0.25 * looked_at))
    if len(one) < least:
        return None
    left_us, right_us = packets.seen.t_us[one], packets.seen.t_us[other]
    middle_us = (left_us.min() + left_us.max()) // 2
    x = (left_us - middle_us).astype(np.float64)
    y = (right_us - left_us).astype(np.float64)
    line = densest_line(x, y, least)
    if line is None:
        return None
    near = np.abs(y - line.at_zero - line.slope * x) <= limits.MATCH_TOLERANCE_US
    weights = 2.0 / packets.holders[ours[run[near]]]
    return Matches(left, right, left_us[near], right_us[near], weights)


def _common(packets: SharedPackets, left: int, right: int) -> tuple[Ints, Ints]:
    ours = np.arange(packets.first[left], packets.first[left + 1])
    theirs = np.arange(packets.first[right], packets.first[right + 1])
    place = np.searchsorted(packets.packet[theirs], packets.packet[ours])
    place = np.minimum(place, len(theirs) - 1)
    both = packets.packet[theirs[place]] == packets.packet[ours]
    return ours[both], theirs[place[both]]


def _first_candidates(packets: SharedPackets, ours: Ints, theirs: Ints) -> tuple[Ints, Ints]:
    """Return as many runs as make 1,000 candidates, beginning with those that fewest clocks saw.

    With so many, noise of milliseconds averages out to less than 100 µs.
    """
    number = packets.length[ours] * packets.length[theirs]
    order = np.argsort(packets.holders[ours], kind="stable")
    before = np.cumsum(number[order]) - number[order]
    chosen = order[before < 1_000]
    return ours[chosen], theirs[chosen]


def _candidates(packets: SharedPackets, ours: Ints, theirs: Ints) -> tuple[Ints, Ints, Ints]:
    """Pair each sighting of a run with each of the other clock's; return rows of either, and the index of the
    run in *ours*."""
    wide = packets.length[theirs]
    number = packets.length[ours] * wide
    run = np.repeat(np.arange(len(ours)), number)
    within = count_up(number)
    one = packets.begin[ours][run] + within // wide[run]
    other = packets.begin[theirs][run] + within % wide[run]
    return one, other, run


def densest_line(x: Floats, y: Floats, least: int) -> Line | None:
    """Find the line with the most points within `limits.MATCH_TOLERANCE_US`, except points at the very edge.

    Returns None if no line has *least* points, or after 4,000 slopes: a second; an existing line takes about forty.

    *x* is in microseconds around 0, *y* in microseconds. This is a best-first branch and bound over slopes: the bound
    is how many points all slopes of an interval could have at most. So the first interval narrow enough holds the best
    line.
    """
    reach = max(float(np.abs(x).max()), 1.0)
    tolerance = limits.MATCH_TOLERANCE_US
    number, waiting = 0, [(-len(x), 0, 0.0, _STEEPEST)]
    while waiting and number < 4_000:
        bound, _, middle, half = heapq.heappop(waiting)
        if -bound < least:
            return None
        if half * reach <= tolerance / 16:
            return _line(x, y, middle, least)
        half /= 2
        for slope in (middle - half, middle + half):
            number += 1
            count, _ = _fullest(y - slope * x, tolerance + half * reach)
            heapq.heappush(waiting, (-count, number, slope, half))
    return None


def _line(x: Floats, y: Floats, slope: float, least: int) -> Line | None:
    """Return the line of that *slope* where points are densest, or a better one by least squares through those near it.

    None if fewer than *least* points are near either.
    """
    _, at_zero = _fullest(y - slope * x, limits.MATCH_TOLERANCE_US)
    best = Line(slope, at_zero, 0)
    for _ in range(3):  # after two rounds the points near it hardly change
        near = np.abs(y - at_zero - slope * x) <= limits.MATCH_TOLERANCE_US
        count = int(near.sum())
        if count < best.count or count == 0:
            break
        best = Line(slope, at_zero, count)
        mean_x, mean_y = x[near].mean(), y[near].mean()
        spread = ((x[near] - mean_x) ** 2).sum()
        if spread > 0:
            slope = float(((x[near] - mean_x) * (y[near] - mean_y)).sum() / spread)
        slope = max(-_STEEPEST, min(slope, _STEEPEST))
        at_zero = float(mean_y - slope * mean_x)
    return best if best.count >= least else None


def _fullest(values: Floats, tolerance: float) -> tuple[int, float]:
    """Return how many *values* fit within *tolerance* of one number at most, and the number. Sorts *values*."""
    values.sort()
    ends = values.searchsorted(values + 2 * tolerance, "right")
    counts = ends - np.arange(len(values))
    first = int(counts.argmax())
    last = int(ends[first]) - 1
    return int(counts[first]), float(values[first] + values[last]) / 2
