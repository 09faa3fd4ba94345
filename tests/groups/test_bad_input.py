"""Deliberate misuse of keys, on real nodes: none of it changes the members of a group.

In each test one member, or former member, writes messages that no program of ours would. The others ignore them, or
show them in the audit with the rule that they broke.
"""

from dataclasses import replace

import pytest

from tests.groups.mesh import begun
from tests.groups.plot import Plot, leak, nothing_changes, seal, without_c
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.content.tangle import TangleData
from tinyssb_node.feeds.children import (
    ChildMade,
    ChildOf,
    EntryType,
    serialize_child_made,
    serialize_child_of,
)
from tinyssb_node.groups.bfe import context_of
from tinyssb_node.groups.envelope import box
from tinyssb_node.groups.feeds import ADDITIONS_NOTE, seal_announcement
from tinyssb_node.groups.keys import epoch_slot
from tinyssb_node.groups.manager import GroupManager
from tinyssb_node.groups.messages import GroupContent, post
from tinyssb_node.groups.reader_events import GroupEntryFault
from tinyssb_node.groups.writer import (
    GroupWriterPort,
    Sealer,
    draft_add,
    draft_content,
    draft_exclude,
    draft_first,
    draft_init,
)
from tinyssb_node.ids import EpochKey, FeedId, MessageId

NOBODYS = FeedId(b"\x01" + bytes(31))
"""A point of small order: there is no key to it."""
NEVER = MessageId(b"\x07" * 20)
"""Of no message."""


@pytest.fixture
def plot() -> Plot:
    mesh, root = begun("abc", "x")
    for name in "abc":
        mesh.say(name, root, f"I am {name}")
    mesh.settle()
    return Plot(mesh, root)


# --- forged inits, second roots


def test_a_second_root_breaks_r34(plot: Plot) -> None:
    ids = []
    key = plot.key()
    nothing_changes(plot, lambda: ids.append(plot.write("c", draft_first(key), key)))
    assert {plot.rule(name, ids[0]) for name in "abc"} == {"R34"}


def test_an_init_under_a_key_that_was_used_breaks_r4(plot: Plot) -> None:
    ids = []
    init = draft_init(plot.group("c"), plot.mesh.id("c"), plot.key(), [plot.root])
    nothing_changes(plot, lambda: ids.append(plot.write("c", init, plot.key())))
    assert {plot.rule(name, ids[0]) for name in "abc"} == {"R4"}


def test_an_init_on_a_feed_of_another_epoch_begins_none(plot: Plot) -> None:
    ids = []
    init = draft_init(plot.group("c"), plot.mesh.id("c"), EpochKey(b"\x09" * 32), [plot.root])
    nothing_changes(plot, lambda: ids.append(plot.write("c", init, plot.key())))
    assert all(ids[0] not in plot.group(name) for name in "ab")


def test_an_init_by_who_knew_of_his_exclusion_breaks_r2(plot: Plot) -> None:
    without_c(plot)
    secret = EpochKey(b"\x09" * 32)
    ids: list[MessageId] = []

    def forge() -> None:
        init = draft_init(plot.group("c"), plot.mesh.id("c"), secret, [plot.root])
        plot.mesh.do("c", lambda groups, _pen, _now: groups.reader.learn(secret, plot.root))
        ids.append(plot.write("c", init, secret))
        # Nobody has the key until its creator shares it.
        addition = replace(
            draft_add(plot.group("c"), plot.root, [plot.mesh.id(name) for name in "abx"]),
            secret=secret,
            members_tangle=TangleData(ids[0], (ids[0],)),
        )
        plot.write("c", addition, secret)

    nothing_changes(plot, forge)
    assert {plot.rule(name, ids[0]) for name in "ab"} == {"R2"}
    assert set(plot.group("a").view.epochs) == set(plot.group("b").view.epochs)
    assert ids[0] not in plot.group("a").view.epochs


def test_an_init_that_follows_an_epoch_that_there_is_not_waits(plot: Plot) -> None:
    secret = EpochKey(b"\x09" * 32)
    ids: list[MessageId] = []

    def forge() -> None:
        group = plot.group("c")
        init = replace(
            draft_init(group, plot.mesh.id("c"), secret, [plot.root]),
            epoch_tangle=TangleData(plot.root, (NEVER,)),
        )
        ids.append(plot.write("c", init, secret))
        addition = replace(
            draft_add(group, plot.root, [plot.mesh.id(name) for name in "abc"]),
            secret=secret,
            members_tangle=TangleData(ids[0], (ids[0],)),
        )
        plot.write("c", addition, secret)

    nothing_changes(plot, forge)
    assert ids[0] in plot.group("a")
    assert ids[0] not in plot.group("a").view.epochs


# --- messages by people who are not entitled to write them


def test_who_is_not_in_an_epoch_changes_nothing_there_though_he_has_its_key(plot: Plot) -> None:
    init = without_c(plot)
    key, mesh = plot.key(init), plot.mesh
    ids: list[MessageId] = []

    def forge() -> None:
        group = plot.group("c")
        ids.append(plot.write("c", draft_exclude(group, init, [mesh.id("b")]), key))
        ids.append(plot.write("c", draft_add(group, init, [mesh.id("c"), mesh.id("x")]), key))
        ids.append(plot.write("c", draft_content(group, *post("hello")), key))

    nothing_changes(plot, forge)
    for name in "ab":
        assert [plot.rule(name, id_) for id_ in ids] == ["R32", "R32", "R23"]


def test_who_was_excluded_changes_nothing_where_he_was(plot: Plot) -> None:
    without_c(plot)
    mesh, ids = plot.mesh, list[MessageId]()

    def forge() -> None:
        group = plot.group("c")
        ids.append(plot.write("c", draft_exclude(group, plot.root, [mesh.id("b")]), plot.key()))
        ids.append(plot.write("c", draft_add(group, plot.root, [mesh.id("c"), mesh.id("x")]), plot.key()))

    nothing_changes(plot, forge)
    # Nobody fetches their messages there; their additions are visible to all.
    assert all(ids[0] not in plot.group(name) or plot.rule(name, ids[0]) == "R1" for name in "ab")
    assert {plot.rule(name, ids[1]) for name in "ab"} == {"R1"}


def test_a_stranger_who_has_the_key_breaks_r32(plot: Plot) -> None:
    mesh, key = plot.mesh, plot.key()
    leak(plot, plot.root, "x")
    ids: list[MessageId] = []

    def forge() -> None:
        group = plot.group("x")
        ids.append(plot.write("x", draft_exclude(group, plot.root, [mesh.id("b")]), key))
        ids.append(plot.write("x", draft_add(group, plot.root, [mesh.id("x")]), key))

    nothing_changes(plot, forge)
    for name in "ab":
        assert [plot.rule(name, id_) for id_ in ids] == ["R32", "R32"]


def test_nobody_excludes_himself_or_strangers(plot: Plot) -> None:
    mesh, ids = plot.mesh, list[MessageId]()

    def forge() -> None:
        group = plot.group("c")
        ids.append(plot.write("c", draft_exclude(group, plot.root, [mesh.id("c")]), plot.key()))
        ids.append(plot.write("c", draft_exclude(group, plot.root, [mesh.id("x")]), plot.key()))

    nothing_changes(plot, forge)
    for name in "ab":
        assert [plot.rule(name, id_) for id_ in ids] == ["R1", "R7"]


# --- additions with invalid content


def test_an_addition_with_a_wrong_key_breaks_r32(plot: Plot) -> None:
    ids = []
    wrong = replace(draft_add(plot.group("c"), plot.root, [plot.mesh.id("x")]), secret=EpochKey(b"\x09" * 32))
    nothing_changes(plot, lambda: ids.append(plot.write("c", wrong, plot.key())))
    assert {plot.rule(name, ids[0]) for name in "ab"} == {"R32"}
    assert plot.root not in plot.mesh["x"].reader.groups


def test_an_addition_to_an_epoch_that_there_is_not_is_none(plot: Plot) -> None:
    ids = []
    addition = replace(
        draft_add(plot.group("c"), plot.root, [plot.mesh.id("x")]), members_tangle=TangleData(NEVER, (NEVER,))
    )
    nothing_changes(plot, lambda: ids.append(plot.write("c", addition, plot.key())))
    assert all(ids[0] in plot.group(name) for name in "ab")


def test_an_addition_of_somebody_who_can_have_no_key_is_none(plot: Plot) -> None:
    c, mesh = plot.mesh.keys("c"), plot.mesh
    message = draft_add(plot.group("c"), plot.root, [mesh.id("x"), NOBODYS])

    def sealed(previous: MessageId) -> bytes:
        slot = c.member(mesh.id("x"))
        assert slot is not None
        return seal(message, c.additions().feed_id, previous, [epoch_slot(plot.key()), slot, slot])

    mesh.do("c", lambda groups, pen, _: groups.writer.additions_feed(pen))
    ids = []
    nothing_changes(plot, lambda: ids.append(plot.put("c", c.additions(), sealed)))
    assert all(ids[0] in mesh[name].reader.groups[plot.root].broken for name in "ab")


def test_short_names_of_nobody_wait(plot: Plot) -> None:
    c, mesh = plot.mesh.keys("c"), plot.mesh
    stranger = FeedId(b"\x55" * 32)
    message = draft_add(plot.group("c"), plot.root, [stranger])

    def sealed(previous: MessageId) -> bytes:
        slots = [epoch_slot(plot.key()), c.own]
        return seal(message, c.additions().feed_id, previous, slots, known=[stranger])

    mesh.do("c", lambda groups, pen, _: groups.writer.additions_feed(pen))
    ids = []
    nothing_changes(plot, lambda: ids.append(plot.put("c", c.additions(), sealed)))
    assert all(ids[0] not in plot.group(name) for name in "ab")


# --- contradictory tangles


def test_an_exclusion_on_a_feed_of_another_epoch_breaks_r32(plot: Plot) -> None:
    mesh = plot.mesh
    mesh.add("a", plot.root, "x")
    mesh.exclude("a", plot.root, "x")
    mesh.settle()
    init = mesh.prefers("a", plot.root)
    assert init is not None
    ids = []
    # On the new epoch's feed and under its key, but about the old one.
    exclusion = draft_exclude(plot.group("c"), plot.root, [mesh.id("b")])
    nothing_changes(plot, lambda: ids.append(plot.write("c", exclusion, plot.key(init))))
    assert {plot.rule(name, ids[0]) for name in "ab"} == {"R32"}


def test_what_follows_nothing_that_there_is_waits(plot: Plot) -> None:
    group, mesh = plot.group("c"), plot.mesh
    text = GroupContent(*post("from nowhere"), group.group, TangleData(plot.root, (NEVER,)))
    exclusion = replace(
        draft_exclude(group, plot.root, [mesh.id("b")]), members_tangle=TangleData(plot.root, (NEVER,))
    )
    ids: list[MessageId] = []

    def forge() -> None:
        ids.append(plot.write("c", text, plot.key()))
        ids.append(plot.write("c", exclusion, plot.key()))

    nothing_changes(plot, forge)
    for name in "ab":
        assert plot.waits(name, ids[0])
        assert "from nowhere" not in mesh.texts(name, plot.root)


def test_a_post_on_an_additions_feed_is_none(plot: Plot) -> None:
    c, mesh = plot.mesh.keys("c"), plot.mesh
    message = draft_content(plot.group("c"), *post("here?"))
    mesh.do("c", lambda groups, pen, _: groups.writer.additions_feed(pen))
    ids = []

    def sealed(previous: MessageId) -> bytes:
        return seal(message, c.additions().feed_id, previous, [epoch_slot(plot.key())])

    nothing_changes(plot, lambda: ids.append(plot.put("c", c.additions(), sealed)))
    assert {plot.rule(name, ids[0]) for name in "ab"} == {"R32"}


# --- envelopes


def test_an_envelope_for_somebody_else_is_counted(plot: Plot) -> None:
    feed = plot.feed("c")
    text = draft_content(plot.group("c"), *post("whisper"))

    def sealed(previous: MessageId) -> bytes:
        return seal(text, feed.feed_id, previous, [epoch_slot(EpochKey(b"\x09" * 32))])

    nothing_changes(plot, lambda: plot.put("c", feed, sealed))
    assert plot.mesh["a"].reader.counts[GroupEntryFault.SEAL] == 1


def test_a_body_that_was_changed_is_shown_as_broken(plot: Plot) -> None:
    feed = plot.feed("c")
    exclusion = draft_exclude(plot.group("c"), plot.root, [plot.mesh.id("b")])
    ids = []

    def sealed(previous: MessageId) -> bytes:
        whole = seal(exclusion, feed.feed_id, previous, [epoch_slot(plot.key())])
        return whole[:-1] + bytes([whole[-1] ^ 1])

    nothing_changes(plot, lambda: ids.append(plot.put("c", feed, sealed)))
    for name in "ab":
        broken = plot.mesh[name].reader.groups[plot.root].broken[ids[0]]
        assert (broken.author, broken.fault) == (plot.mesh.id("c"), GroupEntryFault.BODY)
        assert ids[0] not in plot.group(name)


def test_a_body_that_says_nothing_is_shown_as_broken(plot: Plot) -> None:
    feed = plot.feed("c")
    ids = []

    def sealed(previous: MessageId) -> bytes:
        context = context_of(feed.feed_id, previous)
        return box(b"what is this?", context, [epoch_slot(plot.key())], b"\x42" * 32)

    nothing_changes(plot, lambda: ids.append(plot.put("c", feed, sealed)))
    for name in "ab":
        broken = plot.mesh[name].reader.groups[plot.root].broken[ids[0]]
        assert (broken.author, broken.fault) == (plot.mesh.id("c"), GroupEntryFault.FORM)


# --- feeds


def test_somebody_elses_feed_stays_his(plot: Plot) -> None:
    mesh, key = plot.mesh, plot.key()
    theirs = mesh["a"].reader.feed_of(mesh.id("b"), key)
    additions = mesh["a"].reader.feed_of(mesh.id("a"), None)
    assert theirs is not None
    assert additions is not None
    main = mesh.world.inhabitants["c"].key

    def forge() -> None:
        plot.put("c", main, lambda previous: seal_announcement(theirs, key, main.feed_id, previous))
        made = serialize_child_made(ChildMade(additions, ADDITIONS_NOTE))
        mesh.do("c", lambda _groups, pen, _now: pen.write(main, made, EntryType.CHILD_MADE))

    nothing_changes(plot, forge)
    for name in "ab":
        book = mesh[name].reader
        assert book.feed_of(mesh.id("b"), key) == theirs
        assert book.feed_of(mesh.id("c"), key) == plot.feed("c").feed_id
        assert book.feed_of(mesh.id("c"), None) is None
        for feed, member in ((theirs, "b"), (additions, "a")):
            place = book.role_of(feed)
            assert place is not None
            assert place.member == mesh.id(member)
        assert (book.counts[GroupEntryFault.OWNER], book.counts[GroupEntryFault.CHILD]) == (1, 1)


@pytest.mark.parametrize("parent", ["nobody", "another", "a wrong entry"])
def test_a_feed_of_additions_that_does_not_point_back_is_nobodys(plot: Plot, parent: str) -> None:
    mesh = plot.mesh
    main, child = mesh.world.inhabitants["c"].key, SigningKey(b"\x0b" * 32)
    message = draft_add(plot.group("c"), plot.root, [mesh.id("x")])
    ids: list[MessageId] = []

    def write(groups: GroupManager, pen: GroupWriterPort, now_us: int) -> None:
        made = pen.write(
            main, serialize_child_made(ChildMade(child.feed_id, ADDITIONS_NOTE)), EntryType.CHILD_MADE
        )
        if parent == "another":
            said = ChildOf(mesh.id("a"), made.seq, made.id)
            pen.write(child, serialize_child_of(said), EntryType.CHILD_OF)
        elif parent == "a wrong entry":
            said = ChildOf(main.feed_id, made.seq - 1, made.id)
            pen.write(child, serialize_child_of(said), EntryType.CHILD_OF)
        slot = mesh.keys("c").member(mesh.id("x"))
        assert slot is not None
        previous = mesh.previous("c", child.feed_id)
        slots = [epoch_slot(plot.key()), slot]
        ids.append(pen.write(child, seal(message, child.feed_id, previous, slots)).id)

    nothing_changes(plot, lambda: mesh.do("c", write))
    for name in "ab":
        assert mesh.source(name).entry(child.feed_id, 1) is not None
        assert ids[0] not in plot.group(name)
        assert mesh[name].reader.role_of(child.feed_id) is None
        assert mesh[name].reader.counts[GroupEntryFault.CHILD] >= 1
    assert plot.root not in mesh["x"].reader.groups


def test_what_is_sealed_twice_for_two_places_opens_at_its_own_only(plot: Plot) -> None:
    # c repeats b's entry, with its envelope, on a feed of their own.
    mesh, feed = plot.mesh, plot.feed("c")
    theirs = mesh.source("c").entry(plot.feed("b").feed_id, 1)
    assert theirs is not None
    nothing_changes(plot, lambda: plot.put("c", feed, lambda _: theirs.content))
    assert mesh["a"].reader.counts[GroupEntryFault.SEAL] == 1


def test_a_stolen_group_is_another_group(plot: Plot) -> None:
    # x claims that the key of the group is of another group, made by x.
    leak(plot, plot.root, "x")
    mesh, key = plot.mesh, plot.key()
    x = mesh.keys("x")
    feed = x.epoch(key)

    def forge() -> None:
        first = draft_first(key)
        sealer = Sealer(x)
        own = plot.put(
            "x", feed, lambda previous: sealer.seal(first, key, feed.feed_id, previous, first=True)
        )
        addition = replace(
            draft_add(plot.group("x"), plot.root, [mesh.id("a")]),
            root=own,
            group_tangle=TangleData(own, (own,)),
            members_tangle=TangleData(own, (own,)),
        )
        main = mesh.world.inhabitants["x"].key
        plot.put("x", main, lambda previous: seal_announcement(feed.feed_id, key, main.feed_id, previous))
        plot.write("x", addition, key)

    nothing_changes(plot, forge)
