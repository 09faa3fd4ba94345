"""Logs of a simulation, read as if every node's clock had been hours wrong and drifting."""

import json
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import combinations
from pathlib import Path

import numpy as np

from spark_sink.clocks.estimates import Estimates, estimate
from spark_sink.clocks.sightings import Clocks, Sightings, by_clock
from tinyssb_node.sim.options import SimulationOptions
from tinyssb_node.sim.runner import run_scenario

HOUR_US = 3_600_000_000


@dataclass(frozen=True, slots=True)
class Sighting:
    """One packet on the air, sent or heard."""

    hash: str
    node: str
    boot: int
    direction: str
    t_us: int
    mono_us: int


@dataclass(frozen=True, slots=True, order=True)
class Clock:
    """A node's wall clock between two restarts or jumps."""

    node: str
    boot: int
    era: int


@dataclass(frozen=True, slots=True)
class Found:
    """The estimate of a clock."""

    clock: Clock
    reference: Clock
    place: int
    estimates: Estimates

    @property
    def matches(self) -> int:
        return int(self.estimates.matches[self.place])

    @property
    def offset_us(self) -> float:
        return float(self.estimates.offset_us[self.place])

    @property
    def drift_ppm(self) -> float:
        return float(self.estimates.drift_ppm[self.place])

    def reference_us(self, t_us: int) -> int:
        """Return the reference's time when this clock showed *t_us*."""
        found, place = self.estimates, self.place
        slowed = found.drift_ppm[place] * 1e-6 / (1 + found.drift_ppm[place] * 1e-6)
        return t_us - round(float(found.offset_us[place] + slowed * (t_us - found.at_us[place])))

    def error_us(self, t_us: int) -> float:
        """Standard error of `reference_us`: it grows away from `at_us`."""
        found, place = self.estimates, self.place
        away_s = (t_us - found.at_us[place]) * 1e-6
        variance = (
            found.offset_error_us[place] ** 2
            + 2 * away_s * found.covariance_us_ppm[place]
            + (away_s * found.drift_error_ppm[place]) ** 2
        )
        return math.sqrt(max(0.0, variance))


def columns(log: Sequence[Sighting]) -> tuple[Clocks, Sightings, list[str]]:
    """The same as arrays, and the nodes' names by their numbers."""
    names = sorted({one.node for one in log})
    node = np.array([names.index(one.node) for one in log], np.int64)
    boot, t_us, mono_us = (
        np.array([getattr(one, name) for one in log], np.int64) for name in ("boot", "t_us", "mono_us")
    )
    clocks, clock = by_clock(node, boot, t_us, mono_us)
    hashes = [int.from_bytes(sha256(one.hash.encode()).digest()[:8], "big", signed=True) for one in log]
    sent = np.array([one.direction == "tx" for one in log], bool)
    return clocks, Sightings(np.array(hashes, np.int64), clock, sent, t_us), names


def estimated(log: Sequence[Sighting]) -> list[Found]:
    """All clocks, in order."""
    clocks, seen, names = columns(log)
    found = estimate(clocks, seen)
    rows = zip(clocks.node, clocks.boot, clocks.era, strict=True)
    known = [Clock(names[node], int(boot), int(era)) for node, boot, era in rows]
    return [Found(clock, known[found.reference[place]], place, found) for place, clock in enumerate(known)]


def play(options: SimulationOptions, folder: Path) -> list[Sighting]:
    """Play a scenario, and return the packets on the air by clocks that are right."""
    run_scenario(options, events=folder)
    logs = (path.read_text() for path in sorted(folder.rglob("*.jsonl")))
    records = (json.loads(line) for log in logs for line in log.splitlines())
    return [
        Sighting(r["hash"], r["node"], r["boot"], r["kind"], r["t_us"], r["mono_us"])
        for r in records
        if r["kind"] in {"rx", "tx"} and r["airtime_us"] > 0
    ]


@dataclass
class Skew:
    """How wrong clocks are: by up to *hours*, by up to *drift_ppm*, and each stamp late by up to *jitter_us*."""

    seed: int = 1
    hours: float = 9.0
    drift_ppm: float = 50.0
    jitter_us: int = 0
    offsets_us: dict[str, int] = field(default_factory=dict)
    drifts_ppm: dict[str, float] = field(default_factory=dict)
    begin_us: int = 0

    def over(self, right: Sequence[Sighting]) -> list[Sighting]:
        """*right*, as these clocks would have it."""
        chance = random.Random(self.seed)
        self.begin_us = min(one.t_us for one in right)
        for node in sorted({one.node for one in right}):
            self.offsets_us[node] = round(chance.uniform(-self.hours, self.hours) * HOUR_US)
            self.drifts_ppm[node] = chance.choice((-1, 1)) * chance.uniform(0.5, 1) * self.drift_ppm
        late = (chance.randint(0, self.jitter_us) for _ in iter(int, 1))
        return [self._skewed(one, next(late)) for one in right]

    def _skewed(self, one: Sighting, late_us: int) -> Sighting:
        """The oscillator drifts, so both of the clocks that it drives do."""
        gone_us = round((one.t_us - self.begin_us) * self.drifts_ppm[one.node] / 1e6) + late_us
        shown_us = one.t_us + self.offsets_us[one.node] + gone_us
        return replace(one, t_us=shown_us, mono_us=one.mono_us + gone_us)

    def shown_us(self, node: str, right_us: int) -> int:
        """Return the time that the node's clock shows at a moment."""
        drifted_us = round((right_us - self.begin_us) * self.drifts_ppm[node] / 1e6)
        return right_us + self.offsets_us[node] + drifted_us

    def worst_us(self, found: Sequence[Found], moments: Sequence[int]) -> int:
        """Farthest that any clock, put right by *found*, is from its reference at any of the *moments*."""
        return max(
            abs(
                one.reference_us(self.shown_us(one.clock.node, right_us))
                - self.shown_us(one.reference.node, right_us)
            )
            for one in found
            for right_us in moments
        )


def same_transmissions(right: Sequence[Sighting], skewed: Sequence[Sighting]) -> Iterator[list[Sighting]]:
    """The plain way, knowing the right time: sightings of one hash that ended in the same microsecond."""
    together: dict[tuple[str, int], list[Sighting]] = {}
    for true, shown in zip(right, skewed, strict=True):
        together.setdefault((true.hash, true.t_us), []).append(shown)
    return (group for group in together.values() if len(group) > 1)


def oracle(
    right: Sequence[Sighting], skewed: Sequence[Sighting], reference: Clock, begin_us: int
) -> dict[str, tuple[float, float]]:
    """By node: offset at *begin_us* of the reference (microseconds) and drift (ppm), by one big least squares.

    Every two sightings of a transmission are a row: put right, both clocks showed the same.
    """
    groups = list(same_transmissions(right, skewed))
    nodes = sorted({one.node for group in groups for one in group})
    offsets = {node: _rough_us(groups, reference.node, node) for node in nodes}
    by_node = {node: index for index, node in enumerate(node for node in nodes if node != reference.node)}
    size = 2 * len(by_node)
    rows, values = [], []
    for group in groups:
        for one, other in combinations(group, 2):
            row = np.zeros(size)
            for sighting, sign in ((one, 1), (other, -1)):
                if sighting.node in by_node:
                    place = 2 * by_node[sighting.node]
                    row[place] = sign
                    row[place + 1] = sign * (sighting.t_us - offsets[sighting.node] - begin_us) / 1e6
            rows.append(row)
            values.append((one.t_us - offsets[one.node]) - (other.t_us - offsets[other.node]))
    found = np.linalg.lstsq(np.array(rows), np.array(values, float), rcond=None)[0]
    return {
        node: (offsets[node] + float(found[2 * place]), float(found[2 * place + 1]))
        for node, place in by_node.items()
    }


def _rough_us(groups: Sequence[Sequence[Sighting]], start: str, node: str) -> int:
    """Offset of *node* from *start* by any chain of shared transmissions."""
    ahead, waiting = {start: 0}, [start]
    while waiting:
        here = waiting.pop()
        for group in groups:
            times = {one.node: one.t_us for one in group}
            if here in times:
                for there, t_us in times.items():
                    if there not in ahead:
                        ahead[there] = ahead[here] + t_us - times[here]
                        waiting.append(there)
    return ahead[node]
