"""Excluded people see that they are, and which of their posts nobody reads."""

from collections.abc import Callable

import pytest

from tests.groups.mesh import HOUR_US, MINUTE_US, begun
from tests.groups.world import start
from tinyssb_node.groups.manager import GroupManager
from tinyssb_node.groups.messages import post
from tinyssb_node.groups.plan import GroupRefusalError, RefusalReason, exclude, is_out
from tinyssb_node.groups.replication import unread
from tinyssb_node.groups.writer import GroupWriterPort

Deed = Callable[[GroupManager, GroupWriterPort, int], object]


@pytest.mark.parametrize("seed", [1, 2])
def test_both_who_excluded_each_other_see_it_whichever_fork_wins(seed: int) -> None:
    """Only the one in the fork with the smaller key did; the other one went on writing to nobody."""
    mesh, root = begun("abcd", seed=seed)
    mesh.join("abd", "c")
    mesh.exclude("a", root, "c")
    mesh.exclude("c", root, "a")
    mesh.settle()
    mesh.join("abcd")
    mesh.settle(MINUTE_US)
    mesh.say("b", root, "for two")  # the forks are joined at once
    mesh.settle(MINUTE_US)
    for name in "ac":
        assert mesh.group(name, root).view.preference(mesh.id(name)).excluded
        error = mesh.refusal(name, lambda groups, pen, now: groups.post(pen, root, "post", b"", now))
        assert isinstance(error, GroupRefusalError)
        assert error.refusal is RefusalReason.EXCLUDED
        assert "for two" not in mesh.texts(name, root)
    assert mesh.texts("d", root) == ["for two"]
    assert mesh.members("b", root) == mesh.members("d", root) == "bd"


def test_posts_that_nobody_fetches_are_known_as_such() -> None:
    mesh, root = begun("abc")
    mesh.say("c", root, "read by all")
    mesh.settle()
    mesh.join("ab", "c")
    mesh.exclude("a", root, "c")
    mesh.say("c", root, "read by nobody")
    mesh.settle(HOUR_US)
    group = mesh.group("c", root)
    posts = [said for said in map(group.said, group.tangle.order()) if said.author == mesh.id("c")]
    assert [unread(group.view, root, said) for said in posts] == [False, False]
    mesh.join("abc")
    mesh.settle(HOUR_US)
    group = mesh.group("c", root)
    assert [unread(group.view, root, said) for said in posts] == [False, True]
    assert mesh.texts("b", root) == ["read by all"]


def test_people_named_by_an_exclusion_without_an_epoch_see_it_in_each_fork_that_is_joined() -> None:
    world = start("abcdefg")
    a, b, c = world["a"], world["b"], world["c"]
    c.do(exclude(c.here, c.id, [world["g"].id])[:1])  # interrupted
    a.do(exclude(a.here, a.id, [world["d"].id]))
    b.do(exclude(b.here, b.id, [world["e"].id]))
    world.settle()
    for name in "deg":
        person = world[name]
        assert person.here.view.preference(person.id).excluded, name


CASES = {
    "with an epoch": ("abc", [("a", "c")], "c"),
    "from a fork that nobody has to join, since it has fewer members (4.5)": (
        "abcd",
        [("a", "c"), ("b", "cd")],
        "cd",
    ),
    "from forks that a member is going to join (4.6)": ("abcd", [("a", "c"), ("b", "d")], "cd"),
    "by somebody whom another member excluded": ("abcde", [("a", "e"), ("c", "b")], "be"),
}


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("case", CASES)
def test_excluded_people_see_it_within_one_sync_and_write_nothing_that_nobody_will_read(
    case: str, seed: int
) -> None:
    names, exclusions, out = CASES[case]
    mesh, root = begun(names, seed=seed)
    mesh.join(*names)
    for by, people in exclusions:
        mesh.exclude(by, root, people)
    mesh.settle()
    mesh.join(names)
    mesh.settle()
    for name in names:
        assert is_out(mesh.group(name, root), mesh.id(name)) == (name in out), name
    for name in out:
        error = mesh.refusal(name, lambda groups, pen, now: groups.post(pen, root, *post("x"), now))
        assert isinstance(error, GroupRefusalError)
        assert error.refusal is RefusalReason.EXCLUDED
    mesh.settle(40 * MINUTE_US)
    rest = "".join(name for name in names if name not in out)
    for name in rest:
        assert mesh.members(name, root) == rest
        mesh.say(name, root, "still here")
    for name in out:
        assert is_out(mesh.group(name, root), mesh.id(name))


def test_people_named_by_an_interrupted_exclusion_see_it_and_those_taken_on_again_are_in() -> None:
    mesh, root = begun("abc")
    people = [mesh.id("c")]
    assert not mesh.cut_short("a", lambda groups, pen, now: groups.exclude(pen, root, people, now), 1)
    mesh.settle(10_000_000)
    assert is_out(mesh.group("c", root), mesh.id("c"))
    mesh.add("b", root, "c")
    mesh.settle()
    assert not is_out(mesh.group("c", root), mesh.id("c"))
    mesh.say("c", root, "back")


def test_an_excluded_person_keeps_what_they_could_read() -> None:
    mesh, root = begun("abc")
    mesh.say("a", root, "old")
    mesh.settle()
    mesh.exclude("a", root, "c")
    mesh.say("a", root, "new")
    mesh.settle()
    assert mesh.texts("c", root) == ["old"]
    mesh.crash("c")
    mesh.settle()
    assert mesh.texts("c", root) == ["old"]


@pytest.mark.parametrize("seed", [1, 2])
def test_an_excluded_person_changes_nothing_in_the_fork_that_they_began(seed: int) -> None:
    """They went on preferring their own fork, so `group exclude` and `group add` went on there."""
    mesh, root = begun("abcde", seed=seed)
    mesh.join("abde", "c")
    mesh.exclude("c", root, "d")
    mesh.exclude("a", root, "c")
    mesh.join("abcde")
    mesh.settle()
    assert mesh.members("c", root) == "abce", "it is their own fork"
    people, back = [mesh.id("e")], [mesh.id("d")]
    deeds: dict[str, Deed] = {
        "exclude": lambda groups, pen, now: groups.exclude(pen, root, people, now),
        "add": lambda groups, pen, now: groups.add(pen, root, back, None, now),
        "cost of excluding": lambda groups, _pen, _now: groups.cost_of_excluding(root, people),
        "cost of adding": lambda groups, _pen, _now: groups.cost_of_adding(root, back, None),
    }
    for name, deed in deeds.items():
        error = mesh.refusal("c", deed)
        assert isinstance(error, GroupRefusalError), name
        assert error.refusal is RefusalReason.EXCLUDED
    mesh.settle(40 * MINUTE_US)
    assert mesh.members("a", root) == mesh.members("e", root) == "abe"
