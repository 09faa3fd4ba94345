"""Scenarios 30 to 36, 44 and 45 of ssb-tribes2's tests on real nodes: what messages follow, and how they are found.

docs/reference/groups.md has the list of all, and what differs here.
"""

from tests.groups.mesh import Mesh, begun
from tinyssb_node.content.tangle import TangleData
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.manager import GroupManager
from tinyssb_node.groups.messages import AddMember, ExcludeMember, GroupContent, GroupInit, post
from tinyssb_node.groups.writer import GroupWriterPort
from tinyssb_node.ids import MessageId


def at_once(mesh: Mesh, name: str, root: MessageId, count: int) -> None:
    """Let a person write many messages, as if they had not read their own."""
    book = mesh[name].reader
    group, key = book.groups[root].id, mesh.group(name, root).view[root].key

    def say(groups: GroupManager, pen: GroupWriterPort, now_us: int) -> None:
        for number in range(count):
            message = GroupContent(*post(str(number)), group, TangleData(root, (root,)))
            groups.writer.write(pen, message, key)

    mesh.do(name, say)


def test_s30_a_message_that_could_follow_very_many_follows_some() -> None:
    mesh, root = begun("ab", "cdefghijklmnopq", star=True)
    at_once(mesh, "b", root, 100)
    mesh.settle()
    tangle = mesh.group("a", root).tangle
    assert len(tangle.tips) == 101  # with the addition of b
    mesh.add("a", root, "cdefghijklmnopq")
    ((_, addition),) = [each for each in mesh.said("a", root, AddMember) if len(each[1].people) == 15]
    assert len(addition.group_tangle.previous) == group_limits.TIPS_MAX
    assert mesh.said("a", root, AddMember)[1][0].id in addition.group_tangle.previous
    mesh.say("a", root, "that was much")
    (last,) = [one for _, one in mesh.said("a", root, GroupContent) if one.body == post("that was much")[1]]
    assert len(last.group_tangle.previous) == group_limits.TIPS_POST_MAX
    mesh.settle()
    assert mesh.members("q", root) == "abcdefghijklmnopq"
    assert len(mesh.texts("q", root)) == 101
    # What was not named stays a tip, and is named later.
    left = len(tangle.tips)
    assert left == 101 - 32 + 1 - 4 + 1
    for _ in range(4):
        mesh.say("a", root, "go on")
    assert len(tangle.tips) == left - 4 * 3


def test_s31_s33_very_many_posts_in_a_row_follow_each_other() -> None:
    mesh = Mesh("a")
    root = mesh.create("a")

    def say(groups: GroupManager, pen: GroupWriterPort, now_us: int) -> None:
        for number in range(5_000):
            groups.post(pen, root, *post(str(number)), now_us)

    mesh.do("a", say)
    assert mesh.texts("a", root) == [str(number) for number in range(5_000)]
    assert all(len(one.group_tangle.previous) == 1 for _, one in mesh.said("a", root, GroupContent))


def test_s33_previous_stays_short_when_two_write_at_the_same_time() -> None:
    mesh, root = begun("ab")
    mesh.join("a", "b")
    for number in range(50):
        mesh.say("a", root, f"a{number}")
        mesh.say("b", root, f"b{number}")
    mesh.join("ab")
    mesh.settle()
    mesh.say("b", root, "together again")
    mesh.settle()
    posts = [one for _, one in mesh.said("a", root, GroupContent)]
    assert len(posts) == 101
    assert sum(len(one.group_tangle.previous) for one in posts) == 102
    assert mesh.texts("a", root) == mesh.texts("b", root)


def test_s32_s34_s36_a_post_follows_the_last_message_of_the_group_and_leaves_the_members_alone() -> None:
    mesh, root = begun("ab", "c")
    group = mesh.group("a", root)
    _, (addition, _) = mesh.said("a", root, AddMember)
    assert group.tangle.tips == (addition.id,)
    assert group.members_tangle(root).tips == (addition.id,)
    one = mesh.say("a", root, "one").entries[-1].id
    other = mesh.say("a", root, "other").entries[-1].id
    posts = {said.id: message for said, message in mesh.said("a", root, GroupContent)}
    assert posts[one].group_tangle == TangleData(root, (addition.id,))
    assert posts[other].group_tangle == TangleData(root, (one,))
    assert group.tangle.tips == (other,)
    assert group.members_tangle(root).tips == (addition.id,)
    mesh.add("a", root, "c")
    last, message = mesh.said("a", root, AddMember)[-1]
    assert message.group_tangle == TangleData(root, (other,))
    assert message.members_tangle == TangleData(root, (addition.id,))
    assert group.tangle.tips == group.members_tangle(root).tips == (last.id,)


def test_s35_two_who_write_at_the_same_time_leave_two_tips() -> None:
    mesh, root = begun("ab")
    mesh.join("a", "b")
    written = {mesh.say(name, root, name).entries[-1].id for name in "ab"}
    mesh.join("ab")
    mesh.settle()
    for name in "ab":
        assert set(mesh.group(name, root).tangle.tips) == written
    last = mesh.say("a", root, "both").entries[-1].id
    mesh.settle()
    for name in "ab":
        assert mesh.group(name, root).tangle.tips == (last,)
        assert set(mesh.said(name, root, GroupContent)[-1][1].group_tangle.previous) == written


def test_s44_messages_are_found_by_their_group() -> None:
    mesh, root = begun("ab")
    other = mesh.create("a")
    mesh.say("a", root, "here")
    mesh.say("a", other, "there")
    book = mesh["a"].reader
    for group in (root, other):
        (key,) = book.keys_of(group)
        feed = book.feed_of(mesh.id("a"), key)
        assert feed is not None
        place = book.role_of(feed)
        assert place is not None
        assert (place.member, place.key) == (mesh.id("a"), key)
        audit = book.groups[group].group.audit()
        assert {line.said.message.group for line in audit} == {None, book.groups[group].id}
    assert mesh.texts("a", root) == ["here"]
    assert mesh.texts("a", other) == ["there"]
    assert book.people_of(root) == {mesh.id("a"), mesh.id("b")}
    assert book.people_of(other) == {mesh.id("a")}


def test_s45_messages_are_found_by_the_root_of_their_tangle() -> None:
    mesh, root = begun("abc")
    mesh.say("a", root, "said")
    mesh.exclude("a", root, "c")
    group = mesh.group("a", root)
    init = mesh.prefers("a", root)
    assert init is not None

    def kinds(ids: object) -> list[type]:
        assert isinstance(ids, list)
        return [type(group.said(id_).message) for id_ in ids]

    assert kinds(group.tangle.order()) == [
        GroupInit,
        AddMember,
        AddMember,
        GroupContent,
        ExcludeMember,
        GroupInit,
        AddMember,
    ]
    assert kinds(group.epoch_tangle.order()) == [GroupInit, GroupInit]
    assert kinds(group.members_tangle(root).order()) == [GroupInit, AddMember, AddMember, ExcludeMember]
    assert kinds(group.members_tangle(init).order()) == [GroupInit, AddMember]
