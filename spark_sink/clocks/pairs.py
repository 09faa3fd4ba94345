"""What two clocks saw of the same transmissions, told from what only looks alike.

The same hash may have been sent by several nodes, or often, so a hash in two logs is no more than a candidate. Those
that are of one transmission differ by the clocks' offset and drift, and lie on a line; the others lie anywhere.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spark_sink import limits
from spark_sink.clocks.sightings import Clock, Moment, Seen

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_STEEPEST: Final = 2 * limits.DRIFT_MAX_PPM / 1_000_000
"""One clock as fast as can be, the other as slow."""


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """Transmissions that two clocks saw, both times of each in microseconds."""

    left: Clock
    right: Clock
    left_us: Ints
    right_us: Ints
    weights: Floats
    """What each is worth: of *k* clocks that saw a packet only *k* - 1 of the k (k - 1) / 2 differences are news."""

    def __len__(self) -> int:
        return len(self.weights)


@dataclass(frozen=True, slots=True)
class Line:
    """A difference between clocks that grows evenly: ``at_zero + slope * x``."""

    slope: float
    at_zero: float
    count: int
    """Points within the tolerance of it."""


def matches(seen: Seen) -> Iterator[Matches]:
    """What each two clocks of different nodes saw of the same transmissions, for those that have enough of it."""
    holders = _holders(seen)
    for left, right in _likely(holders):
        found = _match(left, right, seen, holders)
        if found is not None:
            yield found


def _holders(seen: Seen) -> dict[str, list[Clock]]:
    """By hash, the clocks that saw it; hashes that say little, because they are everywhere or for ever, left out."""
    holders: dict[str, list[Clock]] = defaultdict(list)
    for clock, packets in seen.items():
        for hash_, moments in packets.items():
            if len(moments) <= limits.REPEATS_MAX:
                holders[hash_].append(clock)
    return {hash_: clocks for hash_, clocks in holders.items() if len(clocks) <= limits.HOLDERS_MAX}


def _likely(holders: dict[str, list[Clock]]) -> list[tuple[Clock, Clock]]:
    """Pairs of clocks worth a look: for each clock those it shares most with, rare packets counting more."""
    shared: Counter[tuple[Clock, Clock]] = Counter()
    worth: dict[tuple[Clock, Clock], float] = defaultdict(float)
    for clocks in holders.values():
        for pair in combinations(clocks, 2):
            if pair[0].node != pair[1].node:
                shared[pair] += 1
                worth[pair] += 1 / len(clocks)
    partners: dict[Clock, list[tuple[float, tuple[Clock, Clock]]]] = defaultdict(list)
    for pair, count in shared.items():
        if count >= limits.MATCHES_MIN:
            for clock in pair:
                partners[clock].append((-worth[pair], pair))
    best = (heapq.nsmallest(limits.PARTNERS_MAX, choice) for choice in partners.values())
    return sorted({pair for choice in best for _, pair in choice})


def _match(left: Clock, right: Clock, seen: Seen, holders: dict[str, list[Clock]]) -> Matches | None:
    """What *left* and *right* saw of the same transmissions; None if too little lies on any one line."""
    rows: list[tuple[int, int, float]] = []
    shared = [hash_ for hash_ in seen[left] if hash_ in seen[right] and hash_ in holders]
    looked_at = 0
    for hash_ in sorted(shared, key=lambda hash_: (len(holders[hash_]), hash_)):
        if len(rows) >= limits.CANDIDATES_MAX:
            break
        candidates = list(_candidates(seen[left][hash_], seen[right][hash_]))
        rows += [(*pair, 2 / len(holders[hash_])) for pair in candidates]
        looked_at += bool(candidates)
    least = max(limits.MATCHES_MIN, round(limits.MATCHED_SHARE_MIN * looked_at))
    if len(rows) < least:
        return None
    left_us = np.array([row[0] for row in rows], np.int64)
    right_us = np.array([row[1] for row in rows], np.int64)
    middle_us = (left_us.min() + left_us.max()) // 2
    x = (left_us - middle_us).astype(np.float64)
    y = (right_us - left_us).astype(np.float64)
    line = densest_line(x, y, least)
    if line is None:
        return None
    near = np.abs(y - line.at_zero - line.slope * x) <= limits.MATCH_TOLERANCE_US
    weights = np.array([row[2] for row in rows])
    return Matches(left, right, left_us[near], right_us[near], weights[near])


def _candidates(left: Sequence[Moment], right: Sequence[Moment]) -> Iterator[tuple[int, int]]:
    """Times of one hash at two clocks: both heard it, or one sent and the other heard. Two sendings are never one."""
    for one in left:
        for other in right:
            if not (one.sent and other.sent):
                yield one.t_us, other.t_us


def densest_line(x: Floats, y: Floats, least: int) -> Line | None:
    """The line with the most points within `limits.MATCH_TOLERANCE_US`, but for one at the very edge.

    None if none has *least*, or after `limits.SLOPES_MAX` slopes.

    *x* in microseconds around 0, *y* in microseconds. Slopes are halved best first: how many points all the slopes of
    an interval could have at most says which to look at next, so that the first one narrow enough is the best.
    """
    reach = max(float(np.abs(x).max()), 1.0)
    tolerance = limits.MATCH_TOLERANCE_US
    number, waiting = 0, [(-len(x), 0, 0.0, _STEEPEST)]
    while waiting and number < limits.SLOPES_MAX:
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
    """The line of that *slope* where the points are densest, or a better one by least squares through those near it.

    None if there are not *least* points near either.
    """
    _, at_zero = _fullest(y - slope * x, limits.MATCH_TOLERANCE_US)
    best = Line(slope, at_zero, 0)
    for _ in range(limits.LINE_ROUNDS):
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
    """How many *values* fit within *tolerance* of some number at most, and which number."""
    ordered = np.sort(values)
    ends = np.searchsorted(ordered, ordered + 2 * tolerance, "right")
    counts = ends - np.arange(len(ordered))
    first = int(counts.argmax())
    last = int(ends[first]) - 1
    return int(counts[first]), float(ordered[first] + ordered[last]) / 2
