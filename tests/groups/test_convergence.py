"""Whoever is not excluded ends in one epoch, and nobody else is in it, whatever happened in which order."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.groups.world import GROUP, Member, World, start
from tinyssb_node.groups.membership import Group
from tinyssb_node.groups.planning import GroupRefusalError, Step, add, exclude

NAMES = "abcdefgh"


def attempt(chance: Random, member: Member, steps: Callable[[], tuple[Step, ...]]) -> None:
    """Write what is asked for, or stop in the middle of it; or nothing, if it is against the rules."""
    try:
        wanted = steps()
    except GroupRefusalError:
        return
    member.do(wanted[: chance.randint(1, len(wanted))] if chance.random() < 0.3 else wanted)


def happen(world: World, chance: Random, now_us: int) -> None:
    """Something happens to somebody."""
    member = world[chance.choice(NAMES)]
    if member.group is None or member.prefers is None:
        return
    inside = sorted(member.here.view[member.prefers].members - {member.id})
    outside = sorted(other.id for other in world.members.values() if other.id not in inside)
    match chance.choice(["add", "add", "exclude", "exclude", "say", "act"]):
        case "add":
            attempt(chance, member, lambda: add(member.here, member.id, chance.sample(outside, 1)))
        case "exclude" if inside:
            some = chance.sample(inside, chance.randint(1, min(2, len(inside))))
            attempt(chance, member, lambda: exclude(member.here, member.id, some))
        case "say":
            member.say("hello")
        case _:
            member.act(now_us, most=chance.randint(1, 3))


def history(seed: int, length: int = 14) -> World:
    """A group over which chance reigned, in pieces."""
    chance = Random(seed)
    founders = NAMES[: chance.randint(3, 5)]
    world = start(founders, NAMES[len(founders) :])
    for now in range(length):
        happen(world, chance, now * 600_000_000)
        if chance.random() < 0.4:
            world.meet(*chance.sample(NAMES, chance.randint(2, 4)))
    return world


def check_agreement(world: World) -> None:
    """Whom somebody added and nobody ever excluded is in one epoch, with all like him, and with nobody excluded."""
    group = world.omniscient()
    view = group.view
    added = {member for epoch in view.epochs.values() for member in epoch.members}
    excluded = {member for exclusion in view.exclusions.values() for member in exclusion.people}
    doubted = {member for people in group.doubtful.values() for member in people}
    entitled = added - excluded - doubted
    remaining = [member for member in world.members.values() if member.id in entitled]
    assert len({member.prefers for member in remaining}) <= 1
    for member in remaining:
        assert member.prefers is not None
        inside = view[member.prefers].members
        assert entitled <= inside
        for id_, people in member.here.standing.items():
            assert view.exclusions[id_].by not in inside or not people & inside


@pytest.mark.parametrize("seed", range(80))
def test_who_remains_agrees_after_healing(seed: int) -> None:
    world = history(seed)
    world.settle(10_000_000_000)
    check_agreement(world)


@given(st.integers(0, 10_000), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_view_depends_on_what_is_held_only(seed: int, chance: Random) -> None:
    world = history(seed, 10)
    messages = list(world.all.values())
    expected = world.omniscient()
    some = chance.sample(messages, chance.randint(1, len(messages)))
    views = []
    for _ in range(2):
        chance.shuffle(some)
        group = Group(GROUP, messages[0].id)
        for at, message in enumerate(some):
            group.add(message)
            if at % 5 == 0:
                assert group.view is not None  # looking in between changes nothing
        views.append((group.view, group.pending, group.barred, group.doubtful, group.audit()))
    assert views[0] == views[1]
    for message in messages:
        group.add(message)
    assert group.view == expected.view
    assert group.audit() == expected.audit()
