"""Every clock's offset and drift against a reference, by least squares over all that the clocks saw together."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np

from spark_sink import limits
from spark_sink.arrays import Floats, Ints
from spark_sink.clocks.clock_groups import ClockGroup, LinksByClock, groups, links, neighbours
from spark_sink.clocks.matches import Matches
from spark_sink.clocks.shared_packets import likely_pairs, shared_packets
from spark_sink.clocks.sightings import Clocks, Sightings

# The work grows with the cube. Libraries share larger matrices out over threads, which takes thirty times as long if
# other programs use the cores, too.
_CLOCKS_AT_ONCE: Final = 32
_PPM: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Estimates:
    """Errors of clocks, a value for each clock. They are random errors; constant delays are not in them."""

    reference: Ints
    """Index of the clock that is the reference of this group of clocks."""
    at_us: Ints
    """The time, by this clock, at which `offset_us` holds: the middle of its matches."""
    offset_us: Floats
    """Offset against the reference, positive if ahead, microseconds."""
    offset_error_us: Floats
    """Standard error of that at `at_us`, microseconds."""
    drift_ppm: Floats
    """Drift against the reference, positive if faster, microseconds per second."""
    drift_error_ppm: Floats
    """Standard error of that."""
    covariance_us_ppm: Floats
    """Covariance of offset and drift."""
    matches: Ints
    """Shared transmissions it is known by, each counted once per partner; 0 where it is its own reference and alone."""


def estimate(clocks: Clocks, seen: Sightings) -> Estimates:
    """Return offset and drift of every one of *clocks*, whatever order the sightings come in.

    Clocks that share enough transmissions, directly or through others, are a group and have the same reference. A
    clock that shares nothing is its own.
    """
    packets = shared_packets(seen, len(clocks))
    near = neighbours(links(packets, likely_pairs(packets, clocks), len(clocks)))
    count = len(clocks)
    offset, offset_error, drift, drift_error, covariance = np.zeros((5, count))
    at_us, matches = clocks.base_us + clocks.from_mono_us, np.zeros(count, np.int64)
    found = Estimates(np.arange(count), at_us, offset, offset_error, drift, drift_error, covariance, matches)
    for group in groups(near):
        _solve(group, near, found)
    return found


@dataclass(slots=True)
class _State:
    """Estimates of a group's clocks, by their index in it."""

    ahead_us: Ints
    middle_us: Ints
    """The middle of its matches, by this clock."""
    up_us: Floats
    """Correction still to be added in the middle, after `ahead_us` was subtracted."""
    up_ppm: Floats
    """And for each second away from it."""
    covariance: Floats
    """Covariance matrix of these two, for each clock."""


@dataclass(frozen=True, slots=True)
class _Equations:
    """Equations: by the first guess a transmission's two times differ by `rest_us`, and either clock was there."""

    begin: Ints
    """Row at which each link begins."""
    ends: Ints
    """Places in the group of each link's two clocks."""
    count: Ints
    rest_us: Floats
    left_s: Floats
    right_s: Floats
    weights: Floats

    def residuals_us(self, state: _State) -> Floats:
        """Return the residuals of `rest_us`."""
        up_us = np.repeat(state.up_us[self.ends], self.count, axis=0)
        up_ppm = np.repeat(state.up_ppm[self.ends], self.count, axis=0)
        left = up_us[:, 0] + up_ppm[:, 0] * self.left_s
        return np.asarray(self.rest_us + left - up_us[:, 1] - up_ppm[:, 1] * self.right_s)


def _solve(group: ClockGroup, near: LinksByClock, found: Estimates) -> None:
    """Fill in how wrong each clock of a group is, by `_CLOCKS_AT_ONCE` at a time, from the reference outwards."""
    place = {clock: index for index, clock in enumerate(group.clocks)}
    size = len(group.clocks)
    state = _State(
        np.array(group.ahead_us, np.int64),
        np.array([_middle_us(clock, near) for clock in group.clocks], np.int64),
        np.zeros(size),
        np.zeros(size),
        np.zeros((size, 2, 2)),
    )
    parents = [place[parent] for parent in group.parents]
    for begin in range(1, size, _CLOCKS_AT_ONCE):
        end = min(begin + _CLOCKS_AT_ONCE, size)
        links = {
            (min(index, place[other]), max(index, place[other])): link
            for index in range(begin, end)
            for other, link in near[group.clocks[index]].items()
            if place[other] < end
        }
        _solve_some(range(begin, end), _rows(list(links.values()), place, state), state)
        _add_parents_errors(range(begin, end), parents, state)
    clocks, covariance = np.array(group.clocks), state.covariance
    found.reference[clocks] = group.clocks[0]
    found.at_us[clocks] = state.middle_us
    found.offset_us[clocks] = state.ahead_us - state.up_us
    found.offset_error_us[clocks] = np.sqrt(covariance[:, 0, 0])
    found.drift_ppm[clocks] = (1 / (1 + state.up_ppm * _PPM) - 1) / _PPM
    found.drift_error_ppm[clocks] = np.sqrt(covariance[:, 1, 1])
    found.covariance_us_ppm[clocks] = covariance[:, 0, 1]
    found.matches[clocks] = [sum(map(len, near[clock].values())) for clock in group.clocks]


def _middle_us(clock: int, near: LinksByClock) -> int:
    times = [link.left_us if link.left == clock else link.right_us for link in near[clock].values()]
    return (min(int(some.min()) for some in times) + max(int(some.max()) for some in times)) // 2


def _rows(links: Sequence[Matches], place: dict[int, int], state: _State) -> _Equations:
    ends = np.array([(place[link.left], place[link.right]) for link in links], np.int64)
    count = np.array([len(link) for link in links], np.int64)
    left, right = np.repeat(ends[:, 0], count), np.repeat(ends[:, 1], count)
    left_us = np.concatenate([link.left_us for link in links])
    right_us = np.concatenate([link.right_us for link in links])
    rest_us = (left_us - state.ahead_us[left]) - (right_us - state.ahead_us[right])
    return _Equations(
        begin=np.cumsum(count) - count,
        ends=ends,
        count=count,
        rest_us=rest_us.astype(np.float64),
        left_s=(left_us - state.middle_us[left]).astype(np.float64) * _PPM,
        right_s=(right_us - state.middle_us[right]).astype(np.float64) * _PPM,
        weights=np.concatenate([link.weights for link in links]),
    )


def _solve_some(clocks: range, rows: _Equations, state: _State) -> None:
    """Solve for *clocks*, those before them being known, each round with less trust in what lies far off.

    Of the 12 rounds of least squares, half have either weight; both settle within five.
    """
    size = len(clocks)
    some = slice(clocks.start, clocks.stop)
    noise_us = _noise_us(rows.residuals_us(state))
    covariance: Floats = np.zeros((2 * size, 2 * size))
    for round_ in range(12):
        left_over = rows.residuals_us(state)
        far = np.abs(left_over) / noise_us
        trust = _huber(far) if round_ < 6 else _tukey(far)
        normal, wanted = _normal(rows, left_over, rows.weights * trust / noise_us**2, clocks)
        drifts = np.arange(1, 2 * size, 2)
        # Before anything is measured, a drift has a standard deviation of 50 ppm: that of a cheap quartz.
        normal[drifts, drifts] += 1 / 50.0**2
        wanted[drifts] -= state.up_ppm[some] / 50.0**2
        covariance = np.asarray(np.linalg.inv(normal), np.float64)
        step = covariance @ wanted
        state.up_us[some] += step[0::2]
        state.up_ppm[some] += step[1::2]
        noise_us = _noise_us(rows.residuals_us(state))
    for index, clock in enumerate(clocks):
        state.covariance[clock] = covariance[2 * index : 2 * index + 2, 2 * index : 2 * index + 2]


def _normal(rows: _Equations, left_over: Floats, weights: Floats, clocks: range) -> tuple[Floats, Floats]:
    """Return normal equations of *clocks*: offset and drift of each, one after the other."""
    design = np.stack([np.ones_like(rows.left_s), rows.left_s, -np.ones_like(rows.right_s), -rows.right_s])
    weighted = design * weights
    size = 2 * len(clocks)
    normal, wanted = np.zeros((size + 1, size + 1)), np.zeros(size + 1)
    ends = rows.ends - clocks.start
    places = np.stack([2 * ends[:, 0], 2 * ends[:, 0] + 1, 2 * ends[:, 1], 2 * ends[:, 1] + 1])
    places = np.where(places < 0, size, places)
    for i, j in product(range(4), range(4)):
        np.add.at(normal, (places[i], places[j]), np.add.reduceat(weighted[i] * design[j], rows.begin))
    for i in range(4):
        np.add.at(wanted, places[i], -np.add.reduceat(weighted[i] * left_over, rows.begin))
    return normal[:size, :size], wanted[:size]


def _add_parents_errors(clocks: range, parents: Sequence[int], state: _State) -> None:
    """Add to the errors of *clocks* those of the one solved before that they hang on; its errors are theirs too."""
    for clock in clocks:
        known = parents[clock]
        while known >= clocks.start:
            known = parents[known]
        away_us = (state.middle_us[clock] - state.ahead_us[clock]) - (
            state.middle_us[known] - state.ahead_us[known]
        )
        move = np.array([[1.0, float(away_us) * _PPM], [0.0, 1.0]])
        state.covariance[clock] += move @ state.covariance[known] @ move.T


def _noise_us(residuals_us: Floats) -> float:
    """Return standard deviation by the median of absolute values, which outliers do not move."""
    # At least 100 µs: no time stamp is taken exactly at the end of a packet.
    return max(100.0, 1.4826 * float(np.median(np.abs(residuals_us))))


def _huber(far: Floats) -> Floats:
    return np.minimum(1.0, limits.HUBER / np.maximum(far, 1e-9))


def _tukey(far: Floats) -> Floats:
    return np.asarray(np.where(far < limits.TUKEY, (1 - (far / limits.TUKEY) ** 2) ** 2, 0.0))
