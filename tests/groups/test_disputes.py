"""Posts while members dispute who is in the group: no excluded person reads them."""

import pytest

from tests.groups.mesh import MINUTE_US, SECOND_US, Mesh, begun
from tinyssb_node.groups.messages import post
from tinyssb_node.groups.plan import GroupRefusalError, RefusalReason
from tinyssb_node.ids import MessageId


def readers(mesh: Mesh, by: str, root: MessageId, text: str) -> str:
    """Let *by* post, and return the people who have the key of the epoch that it is written in."""
    written = mesh.say(by, root, text).entries[-1].id
    group = mesh.group(by, root)
    (epoch,) = [one for one in group.view.epochs.values() if one.key == group.said(written).key]
    return mesh.names(epoch.members)


@pytest.mark.parametrize("seed", [1, 2], ids=["the key of c wins", "the key of a wins"])
def test_what_is_posted_between_two_forks_is_read_by_nobody_who_was_excluded_in_one(seed: int) -> None:
    mesh, root = begun("abcd", seed=seed)
    mesh.join("abd", "c")
    mesh.exclude("a", root, "c")
    mesh.exclude("c", root, "a")
    mesh.settle()
    mesh.join("abcd")
    mesh.settle(50 * SECOND_US)
    assert mesh.members("b", root) == {1: "bcd", 2: "abd"}[seed]
    assert readers(mesh, "b", root, "first") == "bd"
    mesh.settle()
    assert readers(mesh, "d", root, "second") == "bd"
    mesh.settle(60 * MINUTE_US)
    assert mesh.texts("b", root) == mesh.texts("d", root) == ["first", "second"]
    assert not mesh.texts("a", root)
    assert not mesh.texts("c", root)
    assert mesh.epochs("b", root) == mesh.epochs("d", root)
    assert mesh.epochs("b", root)[-1] == "bd"


def test_a_post_begins_the_epoch_that_an_exclusion_lacks() -> None:
    mesh, root = begun("abcd")
    people = [mesh.id("c")]
    assert not mesh.cut_short("a", lambda groups, pen, now: groups.exclude(pen, root, people, now), 1)
    mesh.settle(5 * SECOND_US)
    mesh.crash("a", 60 * MINUTE_US)
    mesh.settle()
    assert mesh.members("b", root) == "abcd"
    assert readers(mesh, "b", root, "without c") == "abd"
    mesh.settle(70 * MINUTE_US)
    assert mesh.texts("a", root) == mesh.texts("d", root) == ["without c"]
    assert not mesh.texts("c", root)


def test_who_was_excluded_in_a_fork_does_not_begin_an_epoch_and_is_told_so() -> None:
    mesh, root = begun("abcde")
    mesh.join("ac", "bde")
    mesh.exclude("a", root, "be")
    mesh.exclude("d", root, "c")
    mesh.settle()
    mesh.join("abcde")
    mesh.settle(50 * SECOND_US)
    assert mesh.members("b", root) == "abde"
    error = mesh.refusal("b", lambda groups, pen, now: groups.post(pen, root, *post("waits"), now))
    assert isinstance(error, GroupRefusalError)
    assert error.refusal is RefusalReason.EXCLUDED
    assert readers(mesh, "d", root, "without both") == "ad"


def test_an_excluded_person_keeps_nobody_from_writing() -> None:
    mesh, root = begun("abcd")
    mesh.exclude("a", root, "c")
    mesh.settle()
    assert mesh.members("b", root) == "abd"
    written = len(mesh.say("b", root, "as ever").entries)
    assert written <= 2  # the post, and the announcement of a feed
