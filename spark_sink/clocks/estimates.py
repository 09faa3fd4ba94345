"""Every clock's offset and drift against a reference, by least squares over all that the clocks saw together."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from spark_sink import limits
from spark_sink.clocks.pairs import Floats, Matches, matches
from spark_sink.clocks.sightings import Clock, Sighting, by_clock

_PPM: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Estimate:
    """How wrong a clock is. Errors are standard errors of chance; they do not know of delays that are always there."""

    clock: Clock
    reference: Clock
    """Whose time is taken for right in this group of clocks."""
    at_us: int
    """Where `offset_us` holds, by this clock: the middle of what it is known by."""
    offset_us: float
    """How far it is ahead of the reference, microseconds."""
    offset_error_us: float
    """Standard error of that at `at_us`, microseconds."""
    drift_ppm: float
    """How much faster than the reference it runs, microseconds a second."""
    drift_error_ppm: float
    """Standard error of that."""
    covariance_us_ppm: float
    """Covariance of offset and drift."""
    matches: int
    """Shared transmissions it is known by, each counted once per partner."""

    def reference_us(self, t_us: int) -> int:
        """What the reference showed when this clock showed *t_us*."""
        slowed = self.drift_ppm * _PPM / (1 + self.drift_ppm * _PPM)
        return t_us - round(self.offset_us + slowed * (t_us - self.at_us))

    def error_us(self, t_us: int) -> float:
        """Standard error of `reference_us`, microseconds: it grows away from `at_us`."""
        away_s = (t_us - self.at_us) * _PPM
        variance = (
            self.offset_error_us**2
            + 2 * away_s * self.covariance_us_ppm
            + (away_s * self.drift_error_ppm) ** 2
        )
        return math.sqrt(max(0.0, variance))


def estimate(sightings: Iterable[Sighting]) -> list[Estimate]:
    """Offset and drift of every clock that saw anything, in order of clocks, whatever order the *sightings* come in.

    Clocks that share enough transmissions, directly or through others, are a group; its reference is the one known by
    the most. A clock that shares nothing is its own reference.
    """
    seen = by_clock(sightings)
    links = list(matches(seen))
    found: list[Estimate] = []
    for group in _groups(seen, links):
        members = set(group)
        found += _solve(group, [link for link in links if link.left in members])
    first_us = {clock: min(times[0].t_us for times in packets.values()) for clock, packets in seen.items()}
    known = {one.clock for one in found}
    found += [_alone(clock, at_us) for clock, at_us in first_us.items() if clock not in known]
    return sorted(found, key=lambda one: one.clock)


def _alone(clock: Clock, at_us: int) -> Estimate:
    return Estimate(clock, clock, at_us, 0.0, 0.0, 0.0, 0.0, 0.0, 0)


def _groups(clocks: Iterable[Clock], links: Sequence[Matches]) -> list[list[Clock]]:
    """Clocks of which each shares something with another of the group: the reference first, then outwards.

    Each next one is that which shares the most with one that is there already.
    """
    known_by: Counter[Clock] = Counter()
    near: dict[Clock, dict[Clock, int]] = defaultdict(dict)
    for link in links:
        for one, other in ((link.left, link.right), (link.right, link.left)):
            known_by[one] += len(link)
            near[one][other] = len(link)
    groups = []
    left = {clock for clock in clocks if clock in near}
    while left:
        group = [min(left, key=lambda clock: (-known_by[clock], clock))]
        left.discard(group[0])
        reach: Counter[Clock] = Counter(near[group[0]])
        while reach:
            best = min(reach, key=lambda clock: (-reach[clock], clock))
            group.append(best)
            left.discard(best)
            for clock, count in near[best].items():
                reach[clock] = max(reach[clock], count)
            reach = Counter({clock: count for clock, count in reach.items() if clock in left})
        groups.append(group)
    return groups


@dataclass(frozen=True, slots=True)
class _Start:
    """A first guess, so that what is left to be solved is small enough for floating point."""

    ahead_us: int
    """Of the reference, roughly."""
    middle_us: int
    """By this clock."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """Equations of one link: what is left of the difference, and where either clock was."""

    columns: tuple[int, int]
    """Numbers of the two clocks in their group."""
    rest: Floats
    """Left minus right by the first guess, microseconds."""
    left_s: Floats
    right_s: Floats
    weights: Floats

    def residuals(self, solution: Floats) -> Floats:
        """What *solution* leaves of `rest`."""
        a, b = self.columns
        left = solution[2 * a] + solution[2 * a + 1] * self.left_s
        right = solution[2 * b] + solution[2 * b + 1] * self.right_s
        return np.asarray(self.rest + left - right)

    def add_to(self, normal: Floats, wanted: Floats, weights: Floats) -> None:
        """Add these equations to the normal equations."""
        a, b = self.columns
        ones = np.ones_like(self.rest)
        design = np.stack([ones, self.left_s, -ones, -self.right_s], axis=1)
        places = np.array([2 * a, 2 * a + 1, 2 * b, 2 * b + 1])
        weighted = design * weights[:, None]
        normal[np.ix_(places, places)] += weighted.T @ design
        wanted[places] -= weighted.T @ self.rest


def _solve(group: Sequence[Clock], links: Sequence[Matches]) -> list[Estimate]:
    """Least squares, each round with less weight for what lies far off (Huber, then Tukey)."""
    number = {clock: index for index, clock in enumerate(group)}
    starts = _first_guesses(group, links)
    rows = [_rows(link, number, starts) for link in links]
    solution = np.zeros(2 * len(group))
    rest = np.concatenate([row.residuals(solution) for row in rows])
    noise_us = _noise_us(rest)
    covariance = np.zeros((2 * len(group), 2 * len(group)))
    for round_ in range(limits.SOLVE_ROUNDS):
        normal, wanted = _prior(len(group))
        for row in rows:
            far = np.abs(row.residuals(solution)) / noise_us
            trust = _huber(far) if round_ < limits.SOLVE_ROUNDS // 2 else _tukey(far)
            row.add_to(normal, wanted, row.weights * trust / noise_us**2)
        covariance[2:, 2:] = np.linalg.inv(normal[2:, 2:])
        solution[2:] = covariance[2:, 2:] @ wanted[2:]
        noise_us = _noise_us(np.concatenate([row.residuals(solution) for row in rows]))
    return [_estimate(clock, group, links, starts, solution, covariance) for clock in group]


def _estimate(
    clock: Clock,
    group: Sequence[Clock],
    links: Sequence[Matches],
    starts: Mapping[Clock, _Start],
    solution: Floats,
    covariance: Floats,
) -> Estimate:
    place = 2 * group.index(clock)
    slowed = float(solution[place + 1]) * _PPM
    return Estimate(
        clock=clock,
        reference=group[0],
        at_us=starts[clock].middle_us,
        offset_us=starts[clock].ahead_us - float(solution[place]),
        offset_error_us=math.sqrt(covariance[place, place]),
        drift_ppm=(1 / (1 + slowed) - 1) / _PPM,
        drift_error_ppm=math.sqrt(covariance[place + 1, place + 1]),
        covariance_us_ppm=float(covariance[place, place + 1]),
        matches=sum(len(link) for link in links if clock in {link.left, link.right}),
    )


def _first_guesses(group: Sequence[Clock], links: Sequence[Matches]) -> dict[Clock, _Start]:
    """From the reference outwards, each by the link that shares the most with those that are known."""
    times: dict[Clock, list[int]] = defaultdict(list)
    for link in links:
        times[link.left] += [int(link.left_us.min()), int(link.left_us.max())]
        times[link.right] += [int(link.right_us.min()), int(link.right_us.max())]
    middle = {clock: (min(ends) + max(ends)) // 2 for clock, ends in times.items()}
    ahead = {group[0]: 0}
    for clock in group[1:]:
        after = [link for link in links if link.right == clock and link.left in ahead]
        before = [link for link in links if link.left == clock and link.right in ahead]
        best = max(after + before, key=len)
        more_us = int(np.median(best.right_us - best.left_us))
        ahead[clock] = ahead[best.left] + more_us if best in after else ahead[best.right] - more_us
    return {clock: _Start(ahead[clock], middle[clock]) for clock in group}


def _rows(link: Matches, number: Mapping[Clock, int], starts: Mapping[Clock, _Start]) -> _Rows:
    left, right = starts[link.left], starts[link.right]
    return _Rows(
        columns=(number[link.left], number[link.right]),
        rest=((link.left_us - left.ahead_us) - (link.right_us - right.ahead_us)).astype(np.float64),
        left_s=(link.left_us - left.middle_us).astype(np.float64) * _PPM,
        right_s=(link.right_us - right.middle_us).astype(np.float64) * _PPM,
        weights=link.weights,
    )


def _prior(clocks: int) -> tuple[Floats, Floats]:
    """What is known of drift beforehand, as normal equations: clocks that met for seconds have no drift to measure."""
    normal = np.zeros((2 * clocks, 2 * clocks))
    drifts = np.arange(3, 2 * clocks, 2)
    normal[drifts, drifts] = 1 / limits.DRIFT_USUAL_PPM**2
    return normal, np.zeros(2 * clocks)


def _noise_us(residuals: Floats) -> float:
    """Standard deviation by the median of absolute values, which outliers do not move."""
    return max(limits.CLOCK_NOISE_MIN_US, 1.4826 * float(np.median(np.abs(residuals))))


def _huber(far: Floats) -> Floats:
    return np.minimum(1.0, limits.HUBER / np.maximum(far, 1e-9))


def _tukey(far: Floats) -> Floats:
    return np.asarray(np.where(far < limits.TUKEY, (1 - (far / limits.TUKEY) ** 2) ** 2, 0.0))
