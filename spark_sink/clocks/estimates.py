"""Every clock's offset and drift against a reference, by least squares over all that the clocks saw together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from spark_sink.clocks.groups import groups, links, neighbours
from spark_sink.clocks.sharing import likely_pairs, shared
from spark_sink.clocks.sightings import Clocks, Floats, Ints, Sightings
from spark_sink.clocks.solve import Solution, solve

_PPM: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Estimates:
    """How wrong clocks are, a value for each. Errors are of chance; they do not know of delays that never change."""

    reference: Ints
    """Place of the clock whose time is taken for right in this group of clocks."""
    at_us: Ints
    """Where `offset_us` holds, by this clock: the middle of what it is known by."""
    offset_us: Floats
    """How far it is ahead of the reference, microseconds."""
    offset_error_us: Floats
    """Standard error of that at `at_us`, microseconds."""
    drift_ppm: Floats
    """How much faster than the reference it runs, microseconds a second."""
    drift_error_ppm: Floats
    """Standard error of that."""
    covariance_us_ppm: Floats
    """Covariance of offset and drift."""
    matches: Ints
    """Shared transmissions it is known by, each counted once per partner; 0 where it is its own reference and alone."""

    def reference_us(self, clock: Ints, t_us: Ints) -> Ints:
        """What the reference showed when *clock* (a place) showed *t_us*."""
        slowed = self.drift_ppm[clock] * _PPM / (1 + self.drift_ppm[clock] * _PPM)
        return t_us - np.rint(self.offset_us[clock] + slowed * (t_us - self.at_us[clock])).astype(np.int64)

    def error_us(self, clock: Ints, t_us: Ints) -> Floats:
        """Standard error of `reference_us`, microseconds: it grows away from `at_us`."""
        away_s = (t_us - self.at_us[clock]) * _PPM
        variance = (
            self.offset_error_us[clock] ** 2
            + 2 * away_s * self.covariance_us_ppm[clock]
            + (away_s * self.drift_error_ppm[clock]) ** 2
        )
        return np.sqrt(np.maximum(0.0, variance))


def estimate(clocks: Clocks, seen: Sightings) -> Estimates:
    """Offset and drift of every one of *clocks*, whatever order the sightings come in.

    Clocks that share enough transmissions, directly or through others, are a group and have the same reference. A
    clock that shares nothing is its own.
    """
    packets = shared(seen, len(clocks))
    near = neighbours(links(packets, likely_pairs(packets, clocks), len(clocks)))
    return _table(clocks, [solution for group in groups(near) for solution in solve(group, near)])


def _table(clocks: Clocks, solutions: Sequence[Solution]) -> Estimates:
    at_us = clocks.base_us + clocks.from_mono_us
    matches = np.zeros(len(clocks), np.int64)
    reference = np.arange(len(clocks))
    offset, offset_error, drift, drift_error, covariance = np.zeros((5, len(clocks)))
    for one in solutions:
        place = one.clock
        reference[place], at_us[place], matches[place] = one.reference, one.at_us, one.matches
        offset[place], drift[place] = one.offset_us, one.drift_ppm
        offset_error[place], drift_error[place] = one.offset_error_us, one.drift_error_ppm
        covariance[place] = one.covariance_us_ppm
    return Estimates(reference, at_us, offset, offset_error, drift, drift_error, covariance, matches)
