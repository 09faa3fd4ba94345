"""Scenarios 37 to 43 of ssb-tribes2's tests on real nodes: epochs, forks, and how members find together again.

docs/reference/groups.md has the list of all, and what differs here.
"""

import re
from pathlib import Path

import pytest

from tests.groups.mesh import HOUR_US, MINUTE_US, Mesh, begun
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.epochs import EpochRelation, PreferenceRule
from tinyssb_node.groups.messages import AddMember, GroupInit
from tinyssb_node.ids import MessageId

RESOLVED_US = group_limits.RESOLVE_WAIT_US[1] + MINUTE_US


def apart(mesh: Mesh, root: MessageId, **excluded: str) -> None:
    """Each of some people, cut off from all others, excludes some."""
    mesh.join()
    for by, people in excluded.items():
        mesh.exclude(by, root, people)
        mesh.say(by, root, f"{by} alone")
    mesh.settle()
    mesh.join("".join(mesh.world.inhabitants))
    mesh.settle()


def inits(mesh: Mesh, name: str, root: MessageId) -> list[MessageId]:
    """Return all epochs that a person knows of."""
    return [said.id for said, _ in mesh.said(name, root, GroupInit)]


def test_each_of_the_45_scenarios_has_a_test() -> None:
    named: set[int] = set()
    for path in Path(__file__).parent.glob("test_scenarios_*.py"):
        for name in re.findall(r"^def test_((?:s\d+_)+)", path.read_text("utf-8"), re.MULTILINE):
            named.update(int(number) for number in re.findall(r"\d+", name))
    assert named == set(range(1, 46))


def test_s37_epochs_and_their_members_before_and_after_an_exclusion() -> None:
    mesh, root = begun("abc")
    assert mesh.epochs("b", root) == ["abc"]
    written = mesh.exclude("a", root, "c")
    assert mesh.epochs("a", root) == ["abc", "ab"]
    assert mesh.epochs("b", root) == ["abc"]
    mesh.settle()
    assert mesh.epochs("b", root) == ["abc", "ab"]
    assert mesh.epochs("c", root) == ["abc"]
    zero, one = inits(mesh, "b", root)
    assert zero == root
    assert one in {entry.id for entry in written.entries}
    view = mesh.group("b", root).view
    assert view[one].previous == (zero,)
    assert (mesh.names(view[zero].excluded), mesh.names(view[one].without)) == ("c", "c")


def test_s38_an_epoch_that_lacks_somebody_is_told() -> None:
    mesh, root = begun("abc", "d")
    mesh.join("ac", "bd")
    mesh.exclude("a", root, "c")
    mesh.add("b", root, "d")
    mesh.settle()
    mesh.join("acd")
    mesh.settle()
    view = mesh.group("a", root).view
    zero, one = inits(mesh, "a", root)
    assert (mesh.names(view[zero].missing), mesh.names(view[one].missing)) == ("", "d")
    (due,) = mesh["a"].due(root, mesh.world.now_us)
    assert due.task.epoch == one
    mesh.until(lambda: mesh.epochs("d", root) == ["abcd", "abd"], group_limits.REPAIR_WAIT_US[1] + MINUTE_US)
    assert not mesh.group("a", root).view[one].missing
    assert mesh["a"].due(root, mesh.world.now_us) == []


def test_s39_s40_who_exclude_the_same_agree_on_the_smaller_key_without_a_word() -> None:
    mesh, root = begun("abcd")
    apart(mesh, root, a="d", b="d")
    view = mesh.group("c", root).view
    (fork,) = view.forks()
    assert fork.relation is EpochRelation.SAME
    winner = min(fork.epochs, key=lambda init: bytes(view[init].key))
    assert fork.winner == winner
    for name in "abc":
        assert mesh.prefers(name, root) == winner
        assert PreferenceRule.SAME in mesh.group(name, root).view.preference(mesh.id(name)).rules
        assert sorted(mesh.texts(name, root)) == ["a alone", "b alone"]
    written = len(mesh.group("a", root))
    mesh.settle(RESOLVED_US)
    assert len(mesh.group("a", root)) == written
    mesh.say("c", root, "agreed")
    mesh.settle()
    assert mesh.texts("a", root)[-1] == mesh.texts("b", root)[-1] == "agreed"
    assert mesh.texts("d", root) == []


def test_s41_the_epoch_with_fewer_people_is_preferred() -> None:
    mesh, root = begun("abcde")
    apart(mesh, root, a="d", b="de")
    (fork,) = mesh.group("a", root).view.forks()
    assert fork.relation is EpochRelation.SUBSET
    for name in "abc":
        assert mesh.members(name, root) == "abc"
        assert PreferenceRule.SUBSET in mesh.group(name, root).view.preference(mesh.id(name)).rules
    mesh.settle(RESOLVED_US)
    assert len(inits(mesh, "a", root)) == 3
    mesh.say("c", root, "without d and e")
    mesh.settle()
    assert mesh.texts("a", root)[-1] == "without d and e"
    assert "without d and e" not in mesh.texts("e", root)


def test_s42_epochs_that_overlap_are_joined_after_a_while() -> None:
    mesh, root = begun("abcd")
    apart(mesh, root, a="c", b="d")
    (fork,) = mesh.group("a", root).view.forks()
    assert fork.relation is EpochRelation.OVERLAP
    preference = mesh.group("a", root).view.preference(mesh.id("a"))
    assert (preference.epoch, preference.interim) == (fork.winner, True)
    took_us = mesh.until(lambda: mesh.members("a", root) == mesh.members("b", root) == "ab", RESOLVED_US)
    assert took_us >= group_limits.RESOLVE_WAIT_US[0] - MINUTE_US
    mesh.settle(RESOLVED_US)
    assert mesh.prefers("a", root) == mesh.prefers("b", root)
    view = mesh.group("a", root).view
    assert view.tips(mesh.id("a")) == (mesh.prefers("a", root),)
    assert len(inits(mesh, "a", root)) == 4
    mesh.say("a", root, "only the two of us")
    mesh.settle()
    assert mesh.texts("b", root)[-1] == "only the two of us"
    for name in "cd":
        assert "only the two of us" not in mesh.texts(name, root)


def test_s43_epochs_without_a_common_member_are_two_groups() -> None:
    mesh, root = begun("abcd")
    apart(mesh, root, a="cd", c="ab")
    written = len(mesh.group("a", root))
    mesh.settle(HOUR_US)
    assert len(mesh.group("a", root)) == written
    for camp, other in (("ab", "cd"), ("cd", "ab")):
        assert len({mesh.prefers(name, root) for name in camp}) == 1
        for name in camp:
            assert mesh.members(name, root) == camp
            view = mesh.group(name, root).view
            assert len(view.tips(mesh.id(name))) == 1
            assert view.preference(mesh.id(name)).resolution is None
        assert {mesh.prefers(name, root) for name in camp}.isdisjoint(
            mesh.prefers(name, root) for name in other
        )
    mesh.say("a", root, "to b")
    mesh.settle()
    assert mesh.texts("b", root)[-1] == "to b"
    assert "to b" not in mesh.texts("c", root)
    assert len(mesh.said("a", root, AddMember)) == 3


@pytest.mark.parametrize("late", ["c", "a"])
def test_a_fork_counts_the_same_whether_one_had_ceased_to_fetch_its_maker_or_not(late: str) -> None:
    # c, who was excluded by a and had not heard of it, excludes d. b learns of both in either order.
    mesh, root = begun("abcd")
    mesh.join("bd", "a", "c")
    mesh.exclude("a", root, "c")
    mesh.exclude("c", root, "d")
    first = "a" if late == "c" else "c"
    mesh.join("bd" + first, late)
    mesh.settle(MINUTE_US)
    mesh.join("abcd")
    mesh.until(lambda: mesh.members("a", root) == mesh.members("b", root) == "ab", RESOLVED_US)
    mesh.settle(RESOLVED_US)
    assert mesh.prefers("a", root) == mesh.prefers("b", root)
    assert mesh.members("a", root) == "ab"
    for name in "ab":
        assert not mesh.group(name, root).tangle.missing
