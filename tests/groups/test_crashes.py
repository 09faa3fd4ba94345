"""The state after a node stops in the middle of an operation: all of it, or nothing, or another member completes it.

A node commits an operation as a whole, so a loss of power rolls back all of it. To show that nothing depends on that,
operations are also cut after each of their entries, with the written ones kept.
"""

from collections.abc import Callable
from functools import partial

import pytest

from tests.groups.mesh import HOUR_US, MINUTE_US, SECOND_US, Mesh, begun
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.manager import GroupManager
from tinyssb_node.groups.writer import GroupWriterPort
from tinyssb_node.ids import MessageId
from tinyssb_node.sim.simulated_node import SimulatedNode

Deed = Callable[[GroupManager, GroupWriterPort, int], object]
GONE_US = 100 * HOUR_US
COMPLETED_US = group_limits.COMPLETE_WAIT_US[1] + group_limits.REPAIR_WAIT_US[1]
EXCLUSION = 7
"""Entries of an exclusion by a person who has written nothing yet: two feeds announced by one each, one by two."""
ADDITION = 3
"""Entries of an addition by such a one, with the key of the epoch before."""


def excluding(mesh: Mesh, root: MessageId, person: str) -> Deed:
    people = [mesh.id(person)]
    return lambda groups, pen, now: groups.exclude(pen, root, people, now)


def adding(mesh: Mesh, root: MessageId, person: str) -> Deed:
    people = [mesh.id(person)]
    return lambda groups, pen, now: groups.add(pen, root, people, "hello", now)


def all_agree(mesh: Mesh, root: MessageId, members: str, among: str) -> bool:
    return len({mesh.prefers(name, root) for name in among}) == 1 and all(
        mesh.members(name, root) == members for name in among
    )


# --- all or nothing


@pytest.mark.parametrize("deed", [excluding, adding])
def test_a_loss_of_power_before_the_commit_leaves_nothing(
    deed: Callable[[Mesh, MessageId, str], Deed],
) -> None:
    mesh, root = begun("abc", "d")
    person = "c" if deed is excluding else "d"
    before = mesh.world.inhabitants["b"].store.last_arrival()
    mesh.world.crash("b", SECOND_US, torn=True)
    mesh.do("b", deed(mesh, root, person))
    assert not mesh.world.inhabitants["b"].up
    mesh.settle()
    assert mesh.world.inhabitants["b"].store.last_arrival() == before
    assert all_agree(mesh, root, "abc", "abc")
    mesh.do("b", deed(mesh, root, person))
    mesh.settle()
    assert all_agree(mesh, root, "ab" if deed is excluding else "abcd", "ab")


def test_a_loss_of_power_before_the_commit_leaves_no_group() -> None:
    mesh = Mesh("ab")
    mesh.world.crash("a", SECOND_US, torn=True)
    mesh.create("a", "lost")
    mesh.settle()
    assert not mesh["a"].reader.groups
    root = mesh.create("a", "found")
    mesh.settle()
    assert list(mesh["a"].reader.groups) == [root]


def test_who_loses_power_at_each_packet_of_an_exclusion_hears_all_of_it() -> None:
    mesh, root = begun("abc")
    mesh.exclude("a", root, "c")
    mesh.say("a", root, "without c")
    b = mesh.world.inhabitants["b"]
    crashes = 0
    while mesh.world.run(partial(_got_more, b, b.store.last_arrival()), 30 * SECOND_US):
        mesh.world.crash("b", SECOND_US, torn=True)
        assert mesh.world.run(lambda: not b.up, 30 * SECOND_US) or crashes > 8
        crashes += not b.up
    b.down_us = None
    assert crashes > 8
    mesh.settle()
    assert all_agree(mesh, root, "ab", "ab")
    assert mesh.texts("b", root) == ["without c"]


def _got_more(inhabitant: SimulatedNode, than: int) -> bool:
    return inhabitant.up and inhabitant.store.last_arrival() > than


@pytest.mark.parametrize("entries", range(EXCLUSION + 1))
def test_an_exclusion_cut_behind_any_entry_ends_after_the_restart(entries: int) -> None:
    mesh, root = begun("abc")
    whole = mesh.cut_short("b", excluding(mesh, root, "c"), entries)
    assert whole == (entries == EXCLUSION)
    mesh.crash("b")
    mesh.settle()
    # Who has only announced a feed has said nothing.
    expected = "ab" if entries >= 2 else "abc"
    assert all_agree(mesh, root, expected, expected)
    mesh.say("b", root, "what I came to say")
    mesh.settle()
    assert mesh.texts("a", root) == ["what I came to say"]
    assert mesh.texts("c", root) == ([] if entries >= 2 else ["what I came to say"])
    assert len(mesh.group("a", root).view.epochs) == (2 if entries >= 2 else 1)
    assert mesh["b"].due(root, mesh.world.now_us) == []
    assert mesh.group("a", root).resolved.pending == ()


@pytest.mark.parametrize("entries", range(ADDITION + 1))
def test_an_addition_cut_behind_any_entry_ends_after_the_restart(entries: int) -> None:
    mesh, root = begun("abc", "d")
    mesh.exclude("a", root, "c")
    mesh.settle()
    whole = mesh.cut_short("b", adding(mesh, root, "d"), entries)
    assert whole == (entries == ADDITION)
    mesh.crash("b")
    mesh.settle()
    if entries < 3:
        assert all_agree(mesh, root, "ab", "ab")
        assert root not in mesh["d"].reader.groups
    else:
        assert all_agree(mesh, root, "abd", "abd")
        assert mesh.epochs("d", root) == ["abd"]
    assert mesh["b"].due(root, mesh.world.now_us) == []


def test_an_exclusion_cut_between_two_additions_ends_after_the_restart() -> None:
    names = "abcdefghijklmnopqr"
    mesh, root = begun(names, star=True)
    assert mesh["a"].cost_of_excluding(root, [mesh.id("r")]).steps[-2:] == ("add 15", "add 2")
    assert not mesh.cut_short("a", excluding(mesh, root, "r"), 4)
    assert len(mesh.group("a", root).view.epochs) == 2
    mesh.crash("a")
    mesh.settle()
    assert all_agree(mesh, root, names[:-1], names[:-1])


def test_what_is_finished_after_a_restart_can_be_torn_as_well() -> None:
    mesh, root = begun("abc")
    assert not mesh.cut_short("b", excluding(mesh, root, "c"), 2)
    mesh.crash("b")
    mesh.world.inhabitants["b"].down_us = None
    for _ in range(3):
        mesh.settle(SECOND_US // 2)
        mesh.until(lambda: mesh.world.inhabitants["b"].up, 5 * SECOND_US, SECOND_US // 100)
        mesh.world.crash("b", SECOND_US, torn=True)
    mesh.settle(10 * SECOND_US)
    mesh.world.inhabitants["b"].down_us = None
    mesh.settle()
    assert all_agree(mesh, root, "ab", "ab")
    assert len(mesh.group("a", root).view.epochs) == 2


# --- others complete it


@pytest.mark.parametrize("entries", range(2, EXCLUSION))
def test_what_a_vanished_excluder_began_another_member_completes(entries: int) -> None:
    mesh, root = begun("abcd")
    assert not mesh.cut_short("b", excluding(mesh, root, "d"), entries)
    mesh.settle(5 * SECOND_US)
    mesh.crash("b", GONE_US)
    least_us, _ = group_limits.COMPLETE_WAIT_US
    mesh.join()
    mesh.settle(least_us - MINUTE_US)
    mesh.join("abcd")
    mesh.settle(30 * SECOND_US)
    assert mesh.members("a", root) == "abcd"
    mesh.until(partial(all_agree, mesh, root, "abc", "ac"), COMPLETED_US - least_us, MINUTE_US)
    mesh.say("c", root, "all done")
    mesh.settle()
    assert mesh.texts("a", root) == ["all done"]
    assert mesh.texts("d", root) == []


def test_whom_a_vanished_member_was_adding_another_adds() -> None:
    mesh, root = begun("abc", "d")
    mesh.join("a", "b", "cd")
    mesh.exclude("a", root, "c")
    mesh.exclude("b", root, "c")
    mesh.join("abd", "c")
    mesh.settle()
    # To the epoch before the fork and to one side of it.
    assert not mesh.cut_short("b", adding(mesh, root, "d"), 2)
    mesh.settle(5 * SECOND_US)
    mesh.crash("b", GONE_US)
    took_us = mesh.until(
        partial(all_agree, mesh, root, "abd", "ad"), group_limits.REPAIR_WAIT_US[1] + MINUTE_US
    )
    assert took_us > group_limits.REPAIR_WAIT_US[0] - MINUTE_US


def test_a_wait_goes_on_where_it_was_after_a_restart() -> None:
    mesh, root = begun("abc")
    assert not mesh.cut_short("b", excluding(mesh, root, "c"), 2)
    mesh.settle(5 * SECOND_US)
    mesh.crash("b", GONE_US)
    (due,) = mesh["a"].due(root, mesh.world.now_us)
    mesh.join()
    for _ in range(3):
        mesh.settle(15 * MINUTE_US)
        mesh.crash("a")
        mesh.settle(2 * SECOND_US)
    (later,) = mesh["a"].due(root, mesh.world.now_us)
    lost_us = 3 * (group_limits.WAITS_SAVE_US + 2 * SECOND_US)
    assert 0 <= later.due_us - due.due_us <= lost_us
    mesh.settle(later.due_us - mesh.world.now_us + SECOND_US)
    assert mesh.members("a", root) == "ab"


def test_nobody_completes_what_was_completed() -> None:
    mesh, root = begun("abcde")
    assert not mesh.cut_short("b", excluding(mesh, root, "e"), 2)
    mesh.settle(5 * SECOND_US)
    mesh.crash("b", GONE_US)
    mesh.join()
    mesh.settle(group_limits.COMPLETE_WAIT_US[0])
    mesh.join("abcde")
    mesh.until(partial(all_agree, mesh, root, "abcd", "acd"), COMPLETED_US, MINUTE_US)
    mesh.settle(HOUR_US)
    assert len(mesh.group("a", root).view.epochs) == 2
