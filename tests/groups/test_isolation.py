"""Errors of this program in the work for a group stay in that group: the node and the other groups go on."""

from typing import Any

import pytest

from tests.groups.mesh import MINUTE_US, begun
from tinyssb_node.errors import StoreFailedError
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups import manager
from tinyssb_node.groups.faults import GroupFaultError
from tinyssb_node.groups.plan import GroupPlan, plan
from tinyssb_node.groups.reader import GroupReader
from tinyssb_node.node.node import Node


def refused(node: object) -> dict[str, int]:
    assert isinstance(node, Node)
    return {one.rule: one.count for one in node.refusals()}


def test_an_error_in_one_group_stops_neither_the_node_nor_other_groups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mesh, bad = begun("abc", "d")
    good = mesh.create("a")
    mesh.add("a", good, "b")
    mesh.settle()
    calls = []

    def broken(group: Any, *arguments: Any, **options: Any) -> GroupPlan:
        if group.root == bad:
            calls.append(group is mesh.group("b", bad))
            raise KeyError(bad)
        return plan(group, *arguments, **options)

    with monkeypatch.context() as context:
        context.setattr(manager, "plan", broken)
        mesh.say("c", bad, "hello")  # the first one announces a feed, so the others look at the group
        mesh.say("a", good, "hello too")
        mesh.settle(MINUTE_US)
        assert mesh.texts("b", good) == ["hello too"]
        problem = mesh["b"].problems[bad]
        assert isinstance(problem, GroupFaultError)
        assert "KeyError" in problem.message
        assert good not in mesh["b"].problems
        assert refused(mesh.world.inhabitants["b"].node)["groups"] >= 1
        failed = sum(calls)
        mesh.add("c", bad, "d")  # a change of the group does not make the node try again
        mesh.say("c", bad, "more")
        mesh.settle(MINUTE_US)
        assert sum(calls) == failed
        assert mesh.texts("b", bad) == ["hello", "more"]
    mesh.settle(group_limits.RETRY_US + MINUTE_US)
    assert mesh["b"].problems == {}


def test_an_entry_on_which_reading_fails_is_left_out_and_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    mesh, root = begun("abc")
    mesh.say("a", root, "first")
    mesh.settle()
    feed = mesh["a"].reader.feed_of(mesh.id("a"), mesh.group("a", root).view[root].key)
    take = GroupReader.take

    def broken(reader: GroupReader, entry: Any) -> Any:
        if entry.feed == feed and entry.seq == 3:
            raise ZeroDivisionError
        return take(reader, entry)

    with monkeypatch.context() as context:
        context.setattr(GroupReader, "take", broken)
        for text in ("second", "third", "fourth"):
            mesh.say("c" if text == "fourth" else "a", root, text)
            mesh.settle()
        assert isinstance(mesh["b"].problems.get(root), GroupFaultError)
        assert refused(mesh.world.inhabitants["b"].node)["groups"] >= 1
    mesh.settle(group_limits.RETRY_US + 5 * MINUTE_US)
    mesh.say("c", root, "fifth")
    mesh.settle()
    assert mesh.texts("b", root)[-1] == "fifth"
    assert {"second", "third", "fourth"} <= {*mesh.texts("b", root)}


@pytest.mark.parametrize("broken", ["go_on", "source"])
def test_an_error_outside_any_group_stops_the_work_for_groups_only(
    broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mesh, root = begun("ab")

    def fail(*_: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as context:
        if broken == "source":
            context.setattr("tinyssb_node.groups.entry_source.StoreEntrySource.next", fail)
        else:
            context.setattr(GroupReader, "go_on", fail)
            context.setattr(GroupReader, "unfinished", True)
        mesh.settle(MINUTE_US)
        mesh.world.inhabitants["a"].node.wake(mesh.world.now_us)
    mesh.settle(2 * group_limits.RETRY_US + MINUTE_US)
    mesh.say("a", root, "hello")
    mesh.settle()
    assert mesh.texts("b", root) == ["hello"]


def test_errors_of_the_disk_are_those_of_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    mesh, root = begun("ab")

    def fail(*_: object, **__: object) -> None:
        raise StoreFailedError("input/output error")

    monkeypatch.setattr(manager, "plan", fail)
    mesh.say("a", root, "hello")
    with pytest.raises(StoreFailedError):
        mesh.settle()
