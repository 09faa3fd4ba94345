"""Hostile stations that boast of entries and beg for them: what that costs neighbours that send and need entries."""

from itertools import product

import pytest

from tests.hostile import (
    Beggar,
    Boaster,
    ChunkBeggar,
    HostileStation,
    NamingBeggar,
    NamingBoaster,
    NewestBeggar,
    PlainBeggar,
    settle,
)
from tinyssb_node.node.node import Node
from tinyssb_node.scheduling.link import Allowance
from tinyssb_node.sim.medium import MediumOptions, SimulatedMedium
from tinyssb_node.sim.world import World

SECOND_US = 1_000_000
HOUR_US = 3_600 * SECOND_US
DUTY = Allowance(band="g1", limit_us=36 * SECOND_US, window_us=HOUR_US)
HONEST = ("n0", "n1", "n2", "n3")
SAID = 15
"""Entries that each of them publishes."""
EVERY_US = 10 * SECOND_US
BEGGING_US = 1_200 * SECOND_US
SEEDS = range(1, 5)


def village(seed: int, length: int = 20) -> World:
    """Return four nodes in reach of each other that hold the same, and sent little within the last hour."""
    world = World(
        seed, lambda chance: SimulatedMedium(MediumOptions(), chance), allowance=DUTY, keep_events=False
    )
    for name in HONEST:
        world.add(name)
    world.run_for(300 * SECOND_US)
    for name, number in product(HONEST, range(SAID)):
        assert world.inject(name, f"{number} from {name}".encode().ljust(length, b"."))
    assert world.run(lambda: all(held(world, name) == 4 * SAID for name in HONEST), HOUR_US)
    world.run_for(HOUR_US)
    return world


def held(world: World, name: str) -> int:
    """Return how many entries of the four a node holds."""
    ours = {world.inhabitants[each].feed for each in HONEST}
    return sum(record.seq for record in world.inhabitants[name].node.feeds() if record.feed in ours)


def spent_us(world: World, name: str) -> int:
    """Return the airtime that a node used in the last hour."""
    node = world.inhabitants[name].node
    assert isinstance(node, Node)
    (account,) = node.air(world.now_us)
    return account.used_us


def latecomer_us(seed: int, hostile: type[HostileStation] | None) -> int:
    """Return the time until a latecomer has all 60 entries."""
    world = village(seed)
    if hostile is not None:
        settle(world, hostile(world, EVERY_US, world.now_us, world.now_us + 8 * HOUR_US))
    world.add("late")
    came_us = world.now_us
    assert world.run(lambda: held(world, "late") == 4 * SAID, 4 * HOUR_US), held(world, "late")
    return world.now_us - came_us


def begged(seed: int, hostile: type[HostileStation] | None, length: int = 20) -> World:
    """Return the four after twenty minutes of 121 requests."""
    world = village(seed, length)
    if hostile is not None:
        settle(world, hostile(world, EVERY_US, world.now_us, world.now_us + BEGGING_US + 1))
    world.run_for(BEGGING_US)
    return world


def fresh_us(world: World) -> int:
    """Return the time until four new messages are everywhere."""
    begun_us = world.now_us
    for name in HONEST:
        assert world.inject(name, b"fresh")
    assert world.run(lambda: all(held(world, name) == 4 * SAID + 4 for name in HONEST), HOUR_US)
    return world.now_us - begun_us


@pytest.mark.parametrize("hostile", [Boaster, NamingBoaster])
def test_a_latecomer_beside_a_boaster_needs_less_than_twice_the_time(hostile: type[HostileStation]) -> None:
    # Before: 48 and 23 of 60 entries after four hours.
    alone_us = sum(latecomer_us(seed, None) for seed in SEEDS)
    assert sum(latecomer_us(seed, hostile) for seed in SEEDS) <= 2 * alone_us


@pytest.mark.parametrize("hostile", [Beggar, PlainBeggar, NamingBeggar, NewestBeggar])
def test_a_beggar_delays_no_message_of_ours(hostile: type[HostileStation]) -> None:
    # Before: 2,405 to 2,432 s.
    for seed in SEEDS:
        alone_us = fresh_us(begged(seed, None))
        assert fresh_us(begged(seed, hostile)) <= alone_us + 30 * SECOND_US


def test_a_beggar_of_chunks_delays_no_message_of_ours() -> None:
    for seed in SEEDS:
        world = begged(seed, ChunkBeggar, 400)
        assert fresh_us(world) <= 40 * SECOND_US


def test_requests_without_end_are_given_less_and_less() -> None:
    world = begged(1, PlainBeggar)
    first_us = sum(spent_us(world, name) for name in HONEST)
    world = village(1)
    settle(world, PlainBeggar(world, EVERY_US, world.now_us, world.now_us + 4 * HOUR_US))
    world.run_for(4 * HOUR_US)
    assert sum(spent_us(world, name) for name in HONEST) < first_us
