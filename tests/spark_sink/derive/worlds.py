"""Simulations whose logs several tests of derived figures look at."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest

from spark_sink.derive.facts import HOUR_US, Facts
from tests.spark_sink.derive.facts_of import facts_of
from tinyssb_node.sim.faults import NodeCrash, RadioHang
from tinyssb_node.sim.options import SimulationOptions
from tinyssb_node.sim.runner import run_scenario
from tinyssb_node.sim.scenarios import build

BEGIN_US = 1_767_225_600_000_000
"""When the simulator's world begins: 2026-01-01."""
MINUTE_US = 60_000_000


@dataclass(frozen=True, slots=True)
class World:
    """All that was logged, at once and hour by hour."""

    facts: Facts
    hours: tuple[Facts, ...]


@cache
def world(name: str) -> World:
    """Of one of `WORLDS`."""
    with TemporaryDirectory() as folder:
        logs = Path(folder) / "logs"
        run_scenario(_options(name), events=logs)
        whole = facts_of(logs)
        hours = range(whole.since_us, whole.until_us, HOUR_US)
        parts = (
            facts_of(logs, since_us=hour_us, until_us=hour_us + HOUR_US, margin_us=2 * HOUR_US)
            for hour_us in hours
        )
        return World(whole, tuple(parts))


def _options(name: str) -> SimulationOptions:
    if name == "partition":
        return replace(build("partition"), stop=False, hours=1.6)
    if name == "faults":
        faults = (
            NodeCrash(nodes=("n2",), at_s=900, down_s=2_400),
            RadioHang(nodes=("n8",), at_s=300, for_s=5_000),
        )
        return replace(build("islands"), stop=False, hours=2.2, faults=faults)
    return build(name)


def by_the_hour(transform: Callable[[Facts], pa.Table], hours: tuple[Facts, ...]) -> pa.Table:
    """Return the result of a transform that is asked for one hour at a time."""
    return pa.concat_tables([transform(facts) for facts in hours])


def shuffled(facts: Facts, seed: int) -> Facts:
    """The same with rows that tie in another order."""
    chance = np.random.default_rng(seed)
    sights = facts.sights
    order = np.lexsort((chance.permutation(len(sights)), sights.mesh_us))
    names = [name for name in sights.__slots__ if name != "faces"]
    return replace(facts, sights=replace(sights, **{name: getattr(sights, name)[order] for name in names}))


WORLDS = pytest.mark.parametrize("name", ["partition", "faults", "islands", "line8"])
