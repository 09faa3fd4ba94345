"""Scenarios 13 to 21 of ssb-tribes2's tests on real nodes: people are excluded, and nodes fail while they do it.

docs/reference/groups.md has the list of all, and what differs here.
"""

from collections.abc import Callable

import pytest

from tests.groups.mesh import HOUR_US, MINUTE_US, SECOND_US, Mesh, begun
from tinyssb_node.content.tangle import FIRST, TangleData
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.manager import GroupManager
from tinyssb_node.groups.messages import (
    AddMember,
    ExcludedMember,
    ExcludeMember,
    GroupContent,
    GroupInit,
)
from tinyssb_node.groups.plan import AddStep, GroupRefusalError, RefusalReason
from tinyssb_node.groups.plan import exclude as steps_of_excluding
from tinyssb_node.groups.writer import GroupWriterPort
from tinyssb_node.ids import MessageId

GONE_US = 100 * HOUR_US
REPAIRED_US = group_limits.REPAIR_WAIT_US[1] + MINUTE_US


def excluding(
    mesh: Mesh, root: MessageId, people: str
) -> Callable[[GroupManager, GroupWriterPort, int], object]:
    """Return the steps of a person who excludes *people*."""
    ids = [mesh.id(person) for person in people]
    return lambda groups, pen, now: groups.exclude(pen, root, ids, now)


def agreed(mesh: Mesh, root: MessageId, names: str, among: str | None = None) -> bool:
    """Return whether all of *among* (all, if it is not given) are in the same epoch, with *names* and nobody else."""
    among = among or names
    return len({mesh.prefers(name, root) for name in among}) == 1 and all(
        mesh.members(name, root) == names for name in among
    )


def test_s13_an_exclusion_is_three_messages_and_a_new_feed() -> None:
    mesh, root = begun("abc")
    group = mesh["a"].reader.groups[root].id
    mesh.say("c", root, "at first")
    mesh.settle()
    book = mesh["a"].reader
    (old_key,) = book.keys_of(root)
    (post,) = [said for said, _ in mesh.said("a", root, GroupContent)]
    last_addition = mesh.said("a", root, AddMember)[-1][0].id
    theirs = book.feed_of(mesh.id("c"), old_key)
    assert theirs is not None
    written = mesh.exclude("a", root, "c")
    later = mesh.say("a", root, "later")
    assert len(written.entries) == 4  # one of them announces the feed
    _, new_key = book.keys_of(root)
    assert new_key != old_key
    feeds = [book.feed_of(mesh.id("a"), key) for key in (old_key, new_key)]
    assert len({*feeds, None}) == 3
    ((exclusion, excluded),) = mesh.said("a", root, ExcludeMember)
    assert exclusion.key == old_key
    assert excluded == ExcludeMember(
        group,
        (ExcludedMember(mesh.id("c"), theirs, 1),),
        TangleData(root, (post.id,)),
        TangleData(root, (last_addition,)),
    )
    init, begin = mesh.said("a", root, GroupInit)[-1]
    assert (init.key, init.seq) == (new_key, 1)
    assert begin == GroupInit(
        new_key, TangleData(root, (exclusion.id,)), TangleData(root, (root,)), FIRST, group, mesh.id("a")
    )
    addition, added = mesh.said("a", root, AddMember)[-1]
    assert added == AddMember(
        secret=new_key,
        group=group,
        root=root,
        creator=mesh.id("a"),
        people=tuple(sorted(mesh.id(name) for name in "ab")),
        group_tangle=TangleData(root, (init.id,)),
        members_tangle=TangleData(init.id, (init.id,)),
        old_secrets=(old_key,),
    )
    assert [entry.id for entry in written.entries if entry.id in mesh.group("a", root)] == [
        exclusion.id,
        init.id,
        addition.id,
    ]
    assert later.entries[-1].feed == feeds[1]


def test_s14_s18_who_is_excluded_reads_and_writes_nothing_new_also_after_a_restart() -> None:
    mesh, root = begun("abc")
    mesh.exclude("a", root, "c")
    mesh.say("a", root, "without c")
    mesh.settle()
    for restart in (False, True):
        if restart:
            mesh.crash("c")
            mesh.settle()
        preference = mesh.group("c", root).view.preference(mesh.id("c"))
        assert (preference.epoch, preference.excluded) == (root, True)
        assert len(mesh["c"].reader.keys_of(root)) == 1
        assert mesh.texts("c", root) == []
        assert mesh.texts("b", root) == ["without c"]
        assert mesh["c"].due(root, mesh.world.now_us) == []
        deeds: list[Callable[[GroupManager, GroupWriterPort, int], object]] = [
            lambda groups, pen, now: groups.post(pen, root, "post", b"", now),
            lambda groups, pen, now: groups.add(pen, root, [mesh.id("b")], None, now),
            lambda groups, pen, now: groups.exclude(pen, root, [mesh.id("a")], now),
        ]
        for deed in deeds:
            error = mesh.refusal("c", deed)
            assert isinstance(error, GroupRefusalError)
            assert error.refusal is RefusalReason.EXCLUDED
    held = mesh.world.inhabitants["c"].store
    (new_key,) = set(mesh["a"].reader.keys_of(root)) - set(mesh["c"].reader.keys_of(root))
    feed = mesh["a"].reader.feed_of(mesh.id("a"), new_key)
    assert feed is not None
    assert held.entry(feed, 2) is not None  # it stores entries that it cannot read


def test_s15_all_others_get_the_new_key_and_write_on_a_new_feed() -> None:
    mesh, root = begun("abc")
    old = mesh.say("b", root, "before").entries[-1].feed
    mesh.settle()
    mesh.exclude("a", root, "c")
    mesh.settle()
    assert mesh["b"].reader.keys_of(root) == mesh["a"].reader.keys_of(root)
    new = mesh.say("b", root, "after").entries[-1].feed
    mesh.settle()
    assert new != old
    assert mesh.texts("a", root) == ["before", "after"]
    assert mesh.texts("c", root) == ["before"]


@pytest.mark.parametrize("gone", [False, True], ids=["by who added him", "by another"])
def test_s16_who_was_added_to_an_old_epoch_comes_to_the_new_one(gone: bool) -> None:
    mesh, root = begun("abc", "d")
    mesh.join("ac", "bd")
    mesh.exclude("a", root, "c")
    mesh.say("a", root, "in the new one")
    mesh.settle()
    mesh.add("b", root, "d")  # b has not heard of it
    mesh.say("b", root, "in the old one")
    mesh.settle()
    assert mesh.epochs("d", root) == ["abcd"]
    mesh.join("acd" if gone else "abcd")
    took_us = mesh.until(lambda: agreed(mesh, root, "abd", "ad" if gone else "abd"), REPAIRED_US)
    assert (took_us >= group_limits.REPAIR_WAIT_US[0]) == gone
    assert mesh.epochs("d", root) == ["abcd", "abd"]
    assert sorted(mesh.texts("d", root)) == ["in the new one", "in the old one"]


def test_s17_one_of_twenty_one_is_excluded() -> None:
    names = "abcdefghijklmnopqrstu"
    mesh, root = begun(names, star=True)
    assert all(mesh.members(name, root) == names for name in names)
    mesh.exclude("a", root, "u")
    mesh.settle()
    rest = names[:-1]
    assert agreed(mesh, root, rest)
    assert all(len(mesh[name].reader.keys_of(root)) == 2 for name in rest)
    assert len(mesh["u"].reader.keys_of(root)) == 1
    assert mesh.group("u", root).view.preference(mesh.id("u")).excluded


def test_s19_whom_the_excluder_forgets_another_member_adds() -> None:
    mesh, root = begun("abcd")

    def forgetful(groups: GroupManager, pen: GroupWriterPort, now_us: int) -> None:
        steps = steps_of_excluding(mesh.group("a", root), mesh.id("a"), [mesh.id("d")])
        *first, addition = steps
        assert isinstance(addition, AddStep)
        rest = tuple(person for person in addition.people if person != mesh.id("c"))
        forgotten = AddStep(addition.epoch, (mesh.id("c"),))
        groups.writer.do(pen, root, [*first, AddStep(addition.epoch, rest), forgotten])

    assert not mesh.cut_short("a", forgetful, 4)
    mesh.settle()
    mesh.crash("a", GONE_US)
    assert mesh.members("b", root) == "ab"
    assert mesh.members("c", root) == "abcd"
    took_us = mesh.until(lambda: mesh.members("c", root) == "abc", REPAIRED_US)
    assert took_us >= group_limits.REPAIR_WAIT_US[0] - 30 * SECOND_US
    assert mesh.members("b", root) == "abc"
    assert mesh.said("b", root, AddMember)[-1][0].author == mesh.id("b")


def test_s20_whoever_fails_before_anybody_has_the_key_goes_on_by_himself() -> None:
    mesh, root = begun("abc")
    assert not mesh.cut_short("a", excluding(mesh, root, "c"), 3)
    mesh.settle(SECOND_US)
    mesh.crash("a", 10 * MINUTE_US)
    mesh.settle(9 * MINUTE_US)
    assert mesh.members("b", root) == "abc"
    assert mesh.group("b", root).view[root].excluded == {mesh.id("c")}
    mesh.settle(2 * MINUTE_US)
    assert agreed(mesh, root, "ab")
    assert len(mesh.said("b", root, GroupInit)) == 2


def test_s21_an_epoch_that_the_excluder_did_not_begin_another_member_begins() -> None:
    mesh, root = begun("abcd")
    assert not mesh.cut_short("a", excluding(mesh, root, "d"), 1)
    mesh.settle(SECOND_US)
    mesh.crash("a", GONE_US)
    least_us, most_us = group_limits.COMPLETE_WAIT_US
    mesh.settle(least_us - MINUTE_US)
    assert mesh.members("b", root) == mesh.members("c", root) == "abcd"
    took_us = mesh.until(
        lambda: mesh.members("b", root) == mesh.members("c", root) == "abc", most_us - least_us, MINUTE_US
    )
    assert took_us > 0
    assert {said.author for said, _ in mesh.said("b", root, GroupInit)[1:]} <= {mesh.id("b"), mesh.id("c")}
    mesh.say("b", root, "without d, and a is still with us")
    mesh.settle()
    assert mesh.texts("c", root) == ["without d, and a is still with us"]
    assert mesh.texts("d", root) == []
