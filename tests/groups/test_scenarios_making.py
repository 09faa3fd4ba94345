"""Scenarios 1 to 12 and 22 to 29 of ssb-tribes2's tests on real nodes: groups are made, people come, lists are shown.

docs/reference/groups.md has the list of all, and what differs here.
"""

from collections.abc import Sequence
from functools import partial

import pytest

from tests.groups.mesh import Mesh, begun
from tinyssb_node.content.tangle import FIRST, TangleData
from tinyssb_node.groups.bfe import context_of
from tinyssb_node.groups.envelope import unbox
from tinyssb_node.groups.manager import GroupManager, GroupWriteResult
from tinyssb_node.groups.messages import AddMember, GroupInit, GroupMessageError
from tinyssb_node.groups.plan import GroupRefusalError, RefusalReason
from tinyssb_node.groups.writer import GroupWriterPort, InvalidRecipientError
from tinyssb_node.ids import FeedId, MessageId

NOBODYS = FeedId(b"\x01" + bytes(31))
"""A point of small order: there is no key to it."""


def adding(
    root: MessageId, people: Sequence[FeedId], groups: GroupManager, pen: GroupWriterPort, now_us: int
) -> GroupWriteResult:
    """Return the steps of a person who adds people."""
    return groups.add(pen, root, people, None, now_us)


def test_s01_a_group_has_an_id_a_key_a_root_and_a_feed() -> None:
    mesh = Mesh("a")
    root = mesh.create("a")
    book = mesh["a"].reader
    (key,) = book.keys_of(root)
    feed = book.feed_of(mesh.id("a"), key)
    assert list(book.groups) == [root]
    assert any(book.groups[root].id)
    assert feed is not None
    (first,) = [said for said, _ in mesh.said("a", root, GroupInit)]
    assert (first.id, first.seq, first.author, first.key) == (root, 1, mesh.id("a"), key)


def test_s02_it_begins_with_one_message_and_with_who_made_it() -> None:
    mesh = Mesh("a")
    root = mesh.create("a")
    (key,) = mesh["a"].reader.keys_of(root)
    first, addition = mesh.group("a", root).audit()
    assert first.said.message == GroupInit(key, FIRST, FIRST, FIRST)
    assert addition.said.message == AddMember(
        secret=key,
        group=mesh["a"].reader.groups[root].id,
        root=root,
        creator=mesh.id("a"),
        people=(mesh.id("a"),),
        group_tangle=TangleData(root, (root,)),
        members_tangle=TangleData(root, (root,)),
    )
    assert (first.flaw, addition.flaw) == (None, None)


def test_s03_its_first_message_is_sealed() -> None:
    mesh = Mesh("ab")
    root = mesh.create("a")
    mesh.settle()
    book = mesh["a"].reader
    (key,) = book.keys_of(root)
    feed = book.feed_of(mesh.id("a"), key)
    assert feed is not None
    entry = mesh.source("b").entry(feed, 1)
    assert entry is not None
    assert entry.id == root
    assert entry.content.find(key) == -1
    theirs = mesh.keys("b")
    slots = [theirs.own, theirs.member(mesh.id("a"))]
    assert unbox(entry.content, context_of(feed, entry.prev), [slot for slot in slots if slot]) is None
    assert root not in mesh["b"].reader.groups


def test_s04_a_feed_that_was_announced_and_not_begun_is_nothing() -> None:
    mesh = Mesh("ab")
    assert not mesh.cut_short("a", lambda groups, pen, now: groups.create(pen, "lost", now), 1)
    mesh.crash("a")
    mesh.settle()
    assert not mesh["a"].reader.groups
    root = mesh.create("a", "found")
    mesh.add("a", root, "b")
    mesh.settle()
    assert list(mesh["b"].reader.groups) == [root]


@pytest.mark.parametrize("entries", [2, 3, 4])
def test_s05_a_group_without_anybody_gets_who_made_it(entries: int) -> None:
    mesh = Mesh("ab")
    assert not mesh.cut_short("a", lambda groups, pen, now: groups.create(pen, "cut off", now), entries)
    mesh.crash("a")
    mesh.settle()
    (root,) = mesh["a"].reader.groups
    assert mesh.members("a", root) == "a"
    mesh.add("a", root, "b")
    mesh.settle()
    assert mesh.members("b", root) == "ab"


def test_s06_who_is_added_has_the_same_group() -> None:
    mesh, root = begun("ab")
    ours, theirs = (mesh[name].reader for name in "ab")
    assert list(theirs.groups) == [root]
    assert theirs.groups[root].id == ours.groups[root].id
    assert theirs.keys_of(root) == ours.keys_of(root)
    assert mesh.prefers("a", root) == mesh.prefers("b", root) == root


def test_s07_an_addition_says_where_it_stands_and_greets() -> None:
    mesh = Mesh("ab")
    root = mesh.create("a")
    ((own, _),) = mesh.said("a", root, AddMember)
    mesh.add("a", root, "b", "welcome")
    mesh.settle()
    mesh.say("b", root, "thank you")
    mesh.settle()
    _, (addition, message) = mesh.said("b", root, AddMember)
    assert addition.author == mesh.id("a")
    assert message == AddMember(
        secret=mesh["a"].reader.keys_of(root)[0],
        group=mesh["a"].reader.groups[root].id,
        root=root,
        creator=mesh.id("a"),
        people=(mesh.id("b"),),
        group_tangle=TangleData(root, (own.id,)),
        members_tangle=TangleData(root, (own.id,)),
        text="welcome",
    )
    assert mesh.texts("a", root) == mesh.texts("b", root) == ["thank you"]


def test_s08_nobody_is_nobody_to_add() -> None:
    mesh, root = begun("ab")
    error = mesh.refusal("a", lambda groups, pen, now: groups.add(pen, root, [], None, now))
    assert isinstance(error, GroupRefusalError)
    assert error.refusal is RefusalReason.NOBODY
    again = mesh.refusal("a", lambda groups, pen, now: groups.add(pen, root, [mesh.id("b")], None, now))
    assert isinstance(again, GroupRefusalError)
    assert again.refusal is RefusalReason.MEMBER


def test_s09_who_can_have_no_key_is_not_added() -> None:
    mesh, root = begun("ab", "c")
    held = mesh.world.inhabitants["a"].store.last_arrival()
    for people in ([NOBODYS], [mesh.id("c"), NOBODYS]):
        error = mesh.refusal("a", partial(adding, root, people))
        assert isinstance(error, InvalidRecipientError)
    assert mesh.world.inhabitants["a"].store.last_arrival() == held
    with pytest.raises(ValueError, match="32 bytes"):
        FeedId(b"a feed of another kind")


def test_s10_sixteen_people_take_two_messages() -> None:
    names = "abcdefghijklmnopq"
    mesh = Mesh(names, star=True)
    root = mesh.create("a")
    assert mesh["a"].cost_of_adding(root, [mesh.id(name) for name in names[1:]], None).steps == (
        "add 15",
        "add 1",
    )
    mesh.add("a", root, names[1:])
    mesh.settle()
    assert mesh.members("q", root) == names
    own, *rest = [message for _, message in mesh.said("q", root, AddMember)]
    assert sorted(len(message.people) for message in rest) == [1, 15]
    with pytest.raises(GroupMessageError, match="16 people, not 1 to 15"):
        AddMember(
            own.secret,
            own.group,
            root,
            own.creator,
            tuple(mesh.id(name) for name in names[1:]),
            own.group_tangle,
            own.members_tangle,
        )


def test_s11_in_a_fork_a_newcomer_is_added_to_both_sides_and_to_the_past() -> None:
    mesh, root = begun("abd", "e")
    mesh.say("d", root, "before")
    mesh.settle()
    mesh.join("a", "b", "de")
    mesh.exclude("a", root, "d")
    mesh.exclude("b", root, "d")
    mesh.say("a", root, "on one side")
    mesh.say("b", root, "on the other")
    mesh.join("abde")
    mesh.settle()
    assert mesh.epochs("a", root) == ["abd", "ab", "ab"]
    written = mesh.add("a", root, "e", "welcome")
    assert len(written.entries) == 3
    mesh.settle()
    assert mesh.epochs("e", root) == mesh.epochs("b", root) == ["abde", "abe", "abe"]
    assert sorted(mesh.texts("e", root)) == ["before", "on one side", "on the other"]
    assert mesh.prefers("e", root) == mesh.prefers("a", root) == mesh.prefers("b", root)
    newcomers = [one for _, one in mesh.said("e", root, AddMember) if one.people == (mesh.id("e"),)]
    assert [one.old_secrets for one in newcomers] == [(), (), ()], "they are added to each, as it is a fork"


def test_s12_who_is_taken_on_again_is_in_and_stays_in() -> None:
    mesh, root = begun("abc")
    mesh.exclude("a", root, "c")
    mesh.settle()
    assert mesh.group("c", root).view.preference(mesh.id("c")).excluded
    mesh.say("a", root, "while c was away")
    mesh.add("b", root, "c")
    mesh.settle()
    mesh.crash("c")
    mesh.settle()
    mesh.say("c", root, "here again")
    mesh.settle()
    for name in "abc":
        assert mesh.members(name, root) == "abc"
        assert not mesh.group(name, root).view.preference(mesh.id("c")).excluded
        assert mesh.texts(name, root) == ["while c was away", "here again"]
    again = [said for said, one in mesh.said("c", root, AddMember) if one.people == (mesh.id("c"),)]
    assert [said.author for said in again] == [mesh.id("b")]


def test_s22_s23_s28_members_are_listed_as_they_come() -> None:
    mesh = Mesh("abc")
    root = mesh.create("a")
    assert mesh.members("a", root) == "a"
    assert not mesh["b"].reader.groups
    mesh.add("a", root, "b")
    assert mesh.members("a", root) == "ab"
    assert mesh.until(lambda: root in mesh["b"].reader.groups, 5_000_000, 10_000) < 2_000_000
    mesh.add("b", root, "c")
    assert mesh.until(lambda: mesh.members("a", root) == "abc", 5_000_000, 10_000) < 2_000_000
    mesh.settle()
    assert [mesh.members(name, root) for name in "abc"] == ["abc"] * 3


def test_s24_members_are_listed_by_epoch() -> None:
    mesh, root = begun("abcd", "e")
    mesh.exclude("a", root, "d")
    mesh.settle()
    mesh.add("b", root, "e")
    mesh.settle()
    for name in "abce":
        assert mesh.members(name, root) == "abce"
        assert mesh.epochs(name, root) == (["abce"] if name == "e" else ["abcd", "abce"])
    assert mesh.epochs("d", root) == ["abcd"]
    assert mesh.names(mesh.group("d", root).view[root].excluded) == "d"


def test_s25_s26_s27_several_groups_are_listed_and_told_apart_and_outlive_a_restart() -> None:
    mesh = Mesh("ab")
    one, other = mesh.create("a", "one"), mesh.create("a", "other")
    mesh.add("a", one, "b")
    mesh.add("a", other, "b")
    mesh.say("a", one, "in one")
    mesh.say("a", other, "in the other")
    mesh.settle()
    mesh.crash("a")
    mesh.crash("b")
    mesh.settle()
    for name in "ab":
        groups = mesh[name].reader.groups
        assert {root: held.name for root, held in groups.items()} == {one: "one", other: "other"}
        assert groups[one].id != groups[other].id
        assert mesh.texts(name, one) == ["in one"]
        assert mesh.texts(name, other) == ["in the other"]
        assert mesh.members(name, one) == mesh.members(name, other) == "ab"


def test_s29_an_addition_hands_on_all_keys_and_opens_what_was_said_before() -> None:
    mesh, root = begun("ab", "c")
    mesh.say("b", root, "long ago")
    mesh.exclude("a", root, "b")
    mesh.say("a", root, "lately")
    mesh.settle()
    assert not mesh["c"].reader.groups
    mesh.add("a", root, "c")
    mesh.settle()
    assert set(mesh["c"].reader.keys_of(root)) == set(mesh["a"].reader.keys_of(root))
    assert mesh.texts("c", root) == mesh.texts("a", root) == ["long ago", "lately"]
    assert mesh.epochs("c", root) == ["ac"]
