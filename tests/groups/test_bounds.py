"""Bounds of groups: a member who reaches one is told so, and all else goes on."""

import pytest

from tests.groups import bounds
from tests.groups.mesh import HOUR_US, begun
from tests.groups.world import person, start
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.manager import GroupBoundError
from tinyssb_node.groups.plan import GroupRefusalError, RefusalReason, add, exclude
from tinyssb_node.node.node import Node


@pytest.mark.parametrize("seed", range(1, 21))
def test_nothing_fails_at_the_bounds(seed: int) -> None:
    assert bounds.play(seed)[1] is None


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_fails_at_the_bounds_on_real_nodes(seed: int) -> None:
    assert bounds.play_live(seed)[1] is None


def test_a_member_excludes_somebody_a_hundred_times() -> None:
    """More than 64 epochs by one member ended the daemon."""
    world = start("abc")
    a, c = world["a"], person("c")
    for _ in range(100):
        a.do(exclude(a.here, a.id, [c]))
        a.do(add(a.here, a.id, [c])[-1:])
    world.settle()
    assert len(a.here.view.epochs) == 101
    assert {name: world[name].prefers for name in "bc"} == {"b": a.prefers, "c": a.prefers}


def test_at_the_bound_an_exclusion_is_refused_and_others_can_exclude(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_limits, "EPOCHS_BY_ONE_MAX", 3)
    mesh, root = begun("abcde")
    for name in "ed":  # two epochs more than the one that began the group
        mesh.exclude("a", root, name)
    error = mesh.refusal("a", lambda groups, pen, now: groups.exclude(pen, root, [mesh.id("c")], now))
    assert isinstance(error, GroupRefusalError)
    assert error.refusal is RefusalReason.EPOCHS
    mesh.settle()
    mesh.exclude("b", root, "c")
    mesh.say("b", root, "for two")
    mesh.settle()
    assert mesh.texts("a", root) == ["for two"]
    assert mesh.texts("c", root) == []


def test_a_node_that_others_drive_to_the_bound_says_so_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A member whom others made begin as many epochs as count died at every restart."""
    monkeypatch.setattr(group_limits, "EPOCHS_UNASKED_MAX", 1)
    mesh, root = begun("abc")  # a began one epoch
    people = [mesh.id("c")]
    mesh.cut_short("b", lambda groups, pen, now: groups.exclude(pen, root, people, now), 2)
    mesh.settle()
    mesh.crash("b", 100 * HOUR_US)  # nobody but a is there to begin the epoch without c
    mesh.settle(3 * HOUR_US)
    mesh.crash("a")
    mesh.settle(3 * HOUR_US)
    node = mesh.world.inhabitants["a"].node
    assert isinstance(node, Node)
    assert isinstance(mesh["a"].problems[root], GroupBoundError)
    assert "groups" in {one.rule for one in node.refusals()}
    assert len(mesh.epochs("a", root)) == 1
    mesh.say("a", root, "for b")  # what the person asks for is done
    mesh.settle()
    assert mesh.members("a", root) == "ab"
    assert mesh["a"].problems == {}
