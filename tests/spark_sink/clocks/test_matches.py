"""Which sightings are of one transmission: the line they lie on, and what lies anywhere else."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import add

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_sink import limits
from spark_sink.clocks.clock_groups import links
from spark_sink.clocks.matches import densest_line
from spark_sink.clocks.shared_packets import likely_pairs, shared_packets
from tests.spark_sink.clocks.skewed import Sighting, columns, estimated

MINUTE_US = 60_000_000
TOLERANCE_US = limits.MATCH_TOLERANCE_US


def brute_force(x: Sequence[float], y: Sequence[float]) -> int:
    """Most points near any line: the best can be moved until it has two of them at the edge of its tolerance."""
    steepest = 2 * limits.DRIFT_MAX_PPM / 1e6
    lines = [
        (slope, y[i] + up - slope * x[i])
        for i in range(len(x))
        for j in range(len(x))
        if x[i] != x[j]
        for up in (-TOLERANCE_US, TOLERANCE_US)
        for down in (-TOLERANCE_US, TOLERANCE_US)
        if abs(slope := (y[j] + down - y[i] - up) / (x[j] - x[i])) <= steepest
    ]
    counts = (
        sum(abs(v - at_zero - slope * u) <= TOLERANCE_US + 1e-3 for u, v in zip(x, y, strict=True))
        for slope, at_zero in lines
    )
    return max(counts, default=1)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(6, 16), st.integers(0, 12))
def test_the_densest_line_is_the_one_that_brute_force_finds(seed: int, true: int, false: int) -> None:
    chance = random.Random(seed)
    slope, at_zero = chance.uniform(-1e-4, 1e-4), chance.uniform(-1e10, 1e10)
    x = [chance.uniform(-1, 1) * 600 * MINUTE_US for _ in range(true + false)]
    y = [at_zero + slope * u + chance.uniform(-0.4, 0.4) * TOLERANCE_US for u in x[:true]]
    y += [at_zero + chance.uniform(-1e8, 1e8) for _ in x[true:]]
    line = densest_line(np.array(x), np.array(y), 5)
    assert line is not None
    most = brute_force(x, y)
    assert most - 1 <= line.count <= most  # a point at the very edge may be left out
    near = [abs(v - line.at_zero - line.slope * u) <= TOLERANCE_US for u, v in zip(x, y, strict=True)]
    assert sum(near) == line.count
    assert densest_line(np.array(x), np.array(y), most + 1) is None


def test_a_line_steeper_than_any_clock_drifts_is_none() -> None:
    x = np.linspace(-10 * MINUTE_US, 10 * MINUTE_US, 20, dtype=np.float64)
    assert densest_line(x, x * 1e-3, 10) is None
    assert densest_line(x, x * 1e-4, 10) is not None


@dataclass
class Air:
    """A mesh of nodes whose clocks are wrong, played by hand."""

    wrong: dict[str, Callable[[int], int]]
    log: list[Sighting] = field(default_factory=list)

    def say(self, at_us: int, hash_: str, sender: str, *heard_by: str) -> None:
        for node in (sender, *heard_by):
            t_us = self.wrong[node](at_us)
            direction = "tx" if node == sender else "rx"
            self.log.append(Sighting(hash_, node, 1, direction, t_us, t_us - self.wrong[node](0)))

    def worst_us(self, at_us: int) -> int:
        """Farthest that any two clocks of a group are apart at a moment, once put right."""
        shown: dict[object, list[int]] = {}
        for one in estimated(self.log):
            right_us = one.reference_us(self.wrong[one.clock.node](at_us))
            shown.setdefault(one.reference, []).append(right_us)
        return max(max(group) - min(group) for group in shown.values())


def linked(log: Sequence[Sighting]) -> set[str]:
    """Names of the nodes whose clocks are compared, two by two."""
    clocks, seen, names = columns(log)
    packets = shared_packets(seen, len(clocks))
    found = links(packets, likely_pairs(packets, clocks), len(clocks))
    return {names[clocks.node[link.left]] + names[clocks.node[link.right]] for link in found}


@pytest.fixture
def air() -> Air:
    hours_us = 3_600_000_000

    def clock(number: int) -> Callable[[int], int]:
        drift = (-1) ** number * 50e-6
        return lambda at_us: at_us + 10**15 + (number - 2) * 3 * hours_us + round(at_us * drift)

    return Air({name: clock(number) for number, name in enumerate("abcde")})


def test_the_same_packet_sent_by_others_later_is_not_confused(air: Air) -> None:
    chance = random.Random(1)
    for number in range(60):
        at_us = number * 3 * MINUTE_US
        air.say(at_us, f"p{number}", "a", "b", "c")
        air.say(at_us + chance.randrange(300_000, 9_000_000), f"p{number}", "c", "d", "a")
        air.say(at_us + chance.randrange(9_000_000, 20_000_000), f"p{number}", "d", "e", "c")
    assert len({one.reference for one in estimated(air.log)}) == 1
    assert air.worst_us(90 * MINUTE_US) < TOLERANCE_US


def test_a_relay_as_regular_as_clockwork_is_outvoted(air: Air) -> None:
    for number in range(200):
        at_us = number * 3 * MINUTE_US
        air.say(at_us, f"p{number}", "a", "b", "c")
        repeat_hears = ("d", "a", "c") if number % 3 == 0 else ("d", "c")
        air.say(at_us + 500_000, f"p{number}", "b", *repeat_hears)
    assert {"a", "b", "c", "d"} == {one.clock.node for one in estimated(air.log)}
    assert air.worst_us(300 * MINUTE_US) < TOLERANCE_US


def test_a_packet_that_is_sent_again_and_again_is_matched_in_its_time(air: Air) -> None:
    chance = random.Random(2)
    at_us = 0
    for number in range(40):
        for _ in range(4):
            at_us += chance.randrange(10_000_000, 90_000_000)
            air.say(at_us, f"want {number}", "a", "b", "c")
    assert air.worst_us(at_us // 2) < 1_000


def test_who_only_hears_relays_at_their_leisure_is_not_matched(air: Air) -> None:
    chance = random.Random(3)
    for number in range(100):
        at_us = number * MINUTE_US
        air.say(at_us, f"p{number}", "a")
        air.say(at_us + 500_000, f"p{number}", "e")
        air.say(at_us + chance.randrange(1_000_000, 30_000_000), f"p{number}", "d", "b")
    pairs = linked(air.log)
    assert pairs == {"bd"}


def test_a_few_delays_that_happen_to_be_alike_are_not_enough(air: Air) -> None:
    chance = random.Random(4)
    for number in range(100):
        at_us = number * MINUTE_US
        alike = number % 10 == 0
        air.say(at_us, f"p{number}", "a")
        air.say(
            at_us + (500_000 if alike else chance.randrange(1_000_000, 30_000_000)), f"p{number}", "e", "d"
        )
    assert linked(air.log) == {"de"}


def test_a_packet_without_end_is_left_out(air: Air) -> None:
    for number in range(limits.MATCHES_MIN):
        for again in range(limits.REPEATS_MAX + 1):
            air.say((10 * number + again) * MINUTE_US, f"again {number}", "a", "b")
    assert linked(air.log) == set()


def test_packets_that_everybody_has_relate_everybody(air: Air) -> None:
    everybody = [f"n{number}" for number in range(2 * limits.HOLDERS_MAX)]
    air.wrong.update((name, lambda at_us: at_us) for name in everybody)
    for number in range(6 * limits.MATCHES_MIN):
        air.say(number * MINUTE_US, f"everywhere {number}", "c", *everybody)
    assert len({one.reference for one in estimated(air.log)}) == 1


def test_groups_that_meet_at_one_place_only_are_related(air: Air) -> None:
    """Each clock's best partners are in its own group: two others must be looked at for the sake of the whole."""
    chance = random.Random(5)
    inner = [f"{group}{number}" for group in "pq" for number in range(limits.PARTNERS_MAX + 2)]
    for place, name in enumerate(inner):
        air.wrong[name] = partial(add, 10**9 * place)
    for number in range(200):
        group = inner[: len(inner) // 2] if number % 2 else inner[len(inner) // 2 :]
        air.say(number * MINUTE_US + chance.randrange(MINUTE_US), f"inner {number}", *group)
    for number in range(20):
        air.say(number * 9 * MINUTE_US + chance.randrange(MINUTE_US), f"bridge {number}", "p3", "q3")
    assert len({one.reference for one in estimated(air.log)}) == 1


def test_who_ran_for_minutes_is_related_to_who_ran_for_weeks(air: Air) -> None:
    """Of what the other saw only a small part is looked at, but all that the two share."""
    chance = random.Random(6)
    for number in range(20 * limits.PACKETS_MAX):
        heard_by = ("b", "c") if 1_000 <= number < 1_012 else ("b",)
        air.say(number * MINUTE_US + chance.randrange(MINUTE_US), f"p{number}", "a", *heard_by)
    assert len({one.reference for one in estimated(air.log)}) == 1
