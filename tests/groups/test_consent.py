"""Groups by people whom the user does not follow are invitations: the node reads them, and writes nothing for them."""

import json
from dataclasses import replace

import pytest

from tests.groups.mesh import HOUR_US, MINUTE_US, Mesh
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.consent import GroupConsentError
from tinyssb_node.groups.waits import META, GroupConsent
from tinyssb_node.ids import MessageId
from tinyssb_node.node.node import Node


def unfollow(mesh: Mesh, by: str, people: str) -> None:
    """Let *by* have the feeds of *people* as any node in a set has them: named by peers, asked for by nobody."""
    replica = node_of(mesh, by).replica
    for name in people:
        replica.set_wanted(mesh.id(name), wanted=False)
        replica.set_wanted(mesh.id(name), wanted=True, asker=None)


def node_of(mesh: Mesh, name: str) -> Node:
    """Return a person's node."""
    node = mesh.world.inhabitants[name].node
    assert isinstance(node, Node)
    return node


def invited(names: str = "abc", victim: str = "c", strangers: str = "ab") -> tuple[Mesh, MessageId]:
    """A group of *names*, in which the victim follows no strangers."""
    mesh = Mesh(names)
    unfollow(mesh, victim, strangers)
    root = mesh.create(names[0], "Club")
    mesh.add(names[0], root, names[1:])
    mesh.settle()
    return mesh, root


def own(mesh: Mesh, name: str) -> dict[str, int]:
    """Return the feeds that a person's node writes, with their entries."""
    return {record.feed.hex(): record.seq for record in node_of(mesh, name).feeds() if record.ours}


def test_a_group_by_a_stranger_is_read_and_nothing_is_written_for_it() -> None:
    mesh, root = invited()
    before = own(mesh, "c")
    mesh.say("a", root, "hello")
    mesh.settle()
    assert mesh["c"].consents.of(root) is GroupConsent.INVITED
    assert mesh.texts("c", root) == ["hello"]
    assert mesh["c"].consents.open() == [root]
    found = mesh["c"].consents.invitation(root)
    assert (found.creator, found.adders) == (mesh.id("a"), (mesh.id("a"),))
    assert found.strangers == {mesh.id("a")}
    # An interrupted exclusion, which a member completes after two hours, and forks, which a witness joins.
    people = [mesh.id("b")]
    assert not mesh.cut_short("a", lambda groups, pen, now: groups.exclude(pen, root, people, now), 1)
    mesh.settle(10 * MINUTE_US)
    mesh.crash("a", 10 * HOUR_US)
    mesh.settle(9 * HOUR_US)
    assert own(mesh, "c") == before
    assert mesh["c"].open_reviews() == 0


@pytest.mark.parametrize(("strangers", "consent"), [("b", "accepted"), ("a", "invited"), ("ab", "invited")])
def test_groups_begun_by_people_whom_the_user_follows_are_accepted_by_themselves(
    strangers: str, consent: str
) -> None:
    mesh, root = invited(strangers=strangers)
    assert mesh["c"].consents.of(root).value == consent
    mesh.crash("c")
    mesh.settle()
    unfollow(mesh, "c", "a")  # what was accepted stays so
    assert mesh["c"].consents.of(root).value == consent


def test_a_stranger_who_adds_the_user_to_a_friends_group_invites_them() -> None:
    mesh = Mesh("abc")
    unfollow(mesh, "c", "b")
    root = mesh.create("a", "Club")
    mesh.add("a", root, "b")
    mesh.settle()
    mesh.add("b", root, "c")
    mesh.settle()
    assert mesh["c"].consents.of(root) is GroupConsent.INVITED
    assert mesh["c"].consents.invitation(root).strangers == {mesh.id("b")}


def test_an_accepted_group_is_like_any_other() -> None:
    mesh, root = invited()
    error = mesh.refusal("c", lambda groups, pen, now: groups.post(pen, root, "post", b"", now))
    assert isinstance(error, GroupConsentError)
    mesh.do("c", lambda groups, _pen, now: groups.accept_group(root, now))
    mesh.say("c", root, "thanks")
    mesh.settle()
    assert mesh.texts("a", root) == ["thanks"]
    mesh.crash("c")
    mesh.settle()
    assert mesh["c"].consents.of(root) is GroupConsent.ACCEPTED
    error = mesh.refusal("c", lambda groups, _pen, now: groups.decline_group(root, now))
    assert isinstance(error, GroupConsentError)


def test_a_declined_group_stays_declined_over_restarts_and_further_additions() -> None:
    mesh, root = invited("abcd")
    before = own(mesh, "c")
    mesh.do("c", lambda groups, _pen, now: groups.decline_group(root, now))
    mesh.exclude("a", root, "d")  # adds c again, in a new epoch
    mesh.say("a", root, "still there?")
    mesh.settle()
    for _ in range(2):
        assert mesh["c"].consents.of(root) is GroupConsent.DECLINED
        assert mesh["c"].consents.open() == []
        assert mesh.texts("c", root) == []
        mesh.crash("c")
        mesh.settle()
    assert own(mesh, "c") == before
    mesh.do("c", lambda groups, _pen, now: groups.accept_group(root, now))
    mesh.settle()
    assert mesh.texts("c", root) == ["still there?"]


def test_following_those_who_invite_accepts() -> None:
    mesh, root = invited()
    node_of(mesh, "c").follow(mesh.id("a"), mesh.world.now_us)
    mesh.say("a", root, "hello")
    mesh.settle()
    assert mesh["c"].consents.of(root) is GroupConsent.ACCEPTED
    assert json.loads(mesh.world.inhabitants["c"].store.get_meta(META) or "")["accepted"] == [root.hex()]


def test_a_feed_that_a_group_fetches_as_its_members_is_not_one_that_the_user_follows() -> None:
    """A member can name any feed as theirs, and bring others into groups by it."""
    mesh, root = invited()
    node = node_of(mesh, "c")
    mesh.do("c", lambda _groups, pen, _now: pen.want(mesh.id("b"), wanted=True, invited=True))
    mesh.do("c", lambda _groups, pen, _now: pen.want(mesh.id("a"), wanted=True))
    mesh.settle()
    assert {record.feed for record in node.feeds() if record.of_user} == {mesh.id("c")}
    assert mesh["c"].consents.of(root) is GroupConsent.INVITED


def test_feeds_of_groups_that_an_earlier_version_noted_as_the_users_are_put_right_at_the_next_start() -> None:
    """They were shown as followed by the user, and without an entry as pending."""
    mesh = Mesh("abc")
    root = mesh.create("a")
    mesh.add("a", root, "bc")
    mesh.settle()
    mesh.say("b", root, "hello")
    mesh.settle()
    store = mesh.world.inhabitants["c"].store
    of_groups = {record.feed for record in store.feeds() if record.for_group}
    assert len(of_groups) >= 3, "two feeds of additions or of the epoch by a, and one by b"
    for record in store.feeds():
        if record.feed in of_groups:
            store.put_feed(replace(record, for_group=False))
    store.commit(mesh.world.now_us)
    mesh.crash("c")
    assert not of_groups & {record.feed for record in store.feeds() if record.for_group}
    mesh.settle()
    people = {mesh.id(name) for name in "abc"}
    assert {record.feed for record in store.feeds() if record.of_user} == people
    assert all(node_of(mesh, "c").is_of_group(feed) for feed in of_groups)
    assert {record.feed for record in store.feeds() if record.in_set} == people
    assert mesh.texts("c", root) == ["hello"]


def test_feeds_of_an_invitation_have_the_room_of_strangers_and_are_not_acknowledged() -> None:
    mesh, root = invited()
    mesh.say("a", root, "hello")
    mesh.settle()
    node = node_of(mesh, "c")
    feed = mesh["c"].reader.feed_of(mesh.id("a"), mesh.group("c", root).view[root].key)
    (record,) = [record for record in node.feeds() if record.feed == feed]
    assert (record.invited, record.followed) == (True, False)
    assert feed in node.replica.quota.others
    mesh.do("c", lambda groups, _pen, now: groups.accept_group(root, now))
    mesh.settle()
    (record,) = [record for record in node.feeds() if record.feed == feed]
    assert (record.invited, record.followed, record.of_user) == (False, True, False)
    assert feed not in node.replica.quota.others


def test_invitations_make_a_node_request_a_limited_number_of_feeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_limits, "INVITED_FEEDS_MAX", 4)
    monkeypatch.setattr(group_limits, "INVITED_FEEDS_OF_ONE", 2)
    mesh = Mesh("abcd")
    unfollow(mesh, "d", "abc")
    for _ in range(4):
        root = mesh.create("a")
        mesh.add("a", root, "bcd")
        for name in "bc":
            mesh.settle()
            mesh.say(name, root, "hello")
    mesh.settle()
    node = node_of(mesh, "d")
    assert sum(record.invited for record in node.feeds()) == 4


def test_groups_of_an_earlier_version_stay_accepted() -> None:
    mesh, root = invited()
    store = mesh.world.inhabitants["c"].store
    store.put_meta(META, '{"left":[]}')  # as it was written before there were decisions
    store.commit(mesh.world.now_us)
    mesh.crash("c")
    mesh.settle()
    assert mesh["c"].consents.of(root) is GroupConsent.ACCEPTED
    other = mesh.create("a", "Later")
    mesh.add("a", other, "c")
    mesh.settle()
    assert mesh["c"].consents.of(other) is GroupConsent.INVITED


def test_who_restored_their_key_still_takes_part_in_what_they_wrote_in() -> None:
    mesh, root = invited()
    mesh.do("c", lambda groups, _pen, now: groups.accept_group(root, now))
    mesh.say("c", root, "hello")
    mesh.settle()
    store = mesh.world.inhabitants["c"].store
    store.put_meta(META, '{"accepted":[]}')
    store.commit(mesh.world.now_us)
    mesh.crash("c")
    mesh.settle()
    assert mesh["c"].consents.of(root) is GroupConsent.ACCEPTED
