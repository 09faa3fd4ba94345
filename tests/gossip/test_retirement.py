"""Feeds that have ended leave the set, everywhere, and come back when somebody names them (decision 0036)."""

import random
from itertools import pairwise

import pytest

from tests.meshes import HOUR_US, SECOND_US, Mesh
from tests.nodes import key_of, written
from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network, chunk_hash
from tinyssb_node.codec.events import SetChanged
from tinyssb_node.codec.packets import Want
from tinyssb_node.feeds.author import compose_fixed
from tinyssb_node.feeds.children import END, EntryType, serialize_continued
from tinyssb_node.gossip.retirement import FeedRetirement
from tinyssb_node.ids import Dialect, FeedId, Origin
from tinyssb_node.replication.limits import (
    LEAVE_ASKED_US,
    LEAVE_CHECK_US,
    LEAVE_FOLLOW_US,
    LEAVE_MAX_US,
    LEAVE_US,
)
from tinyssb_node.replication.replica import Replica
from tinyssb_node.replication.want import NOT_WANTED, read_want
from tinyssb_node.store.memory import MemoryStore

MINUTE_US = 60 * SECOND_US
CHILDREN = [key_of(f"child {number}") for number in range(3)]
CHILD, OTHER_CHILD = CHILDREN[:2]


# --- one machine


class Fixed:
    """Chance that is none."""

    def random(self) -> float:
        return 0.0


def chain_packets() -> list[bytes]:
    """A feed of an entry with a side chain, and its END."""
    first = written(CHILD, [b"c" * 150])[0]
    end = compose_fixed(
        Network(), CHILD, first.extended.tip, serialize_continued(END), type_=EntryType.CONTINUED
    )
    return [first.packet, end.packet, *first.chunks]


class One:
    """The machine alone, with a replica that holds the child whole."""

    def __init__(self) -> None:
        self.replica = Replica(MemoryStore(), Network(), read_only=False)
        self.leaving = FeedRetirement(self.replica, Fixed())
        self.leaving.begin(0)
        self.replica.add_feed(CHILD.feed_id, None)
        for packet in chain_packets():
            self.offer(packet)

    def offer(self, packet: bytes, now_us: int = 0) -> None:
        self.leaving.appended(
            self.replica.offer(packet, chunk_hash(packet), Origin.PEER, None).events, now_us
        )

    def hear(self, now_us: int, *seqs: int) -> None:
        """A peer with the same set requests these entries of its feeds."""
        reading = read_want(self.replica.goset, Want(0, seqs), self.replica.next_wanted)
        self.leaving.heard_want(reading, now_us)


def test_after_an_hour_a_feed_leaves_of_which_others_want_nothing() -> None:
    one = One()
    one.hear(MINUTE_US, NOT_WANTED)
    assert one.leaving.next_us == LEAVE_US
    assert one.leaving.take_due(LEAVE_US - 1) == []
    assert one.leaving.take_due(LEAVE_US) == [CHILD.feed_id]


def test_what_nobody_else_is_known_to_have_stays() -> None:
    one = One()
    assert one.leaving.take_due(LEAVE_US) == []
    assert one.leaving.next_us == LEAVE_US + LEAVE_CHECK_US
    one.hear(LEAVE_US + 1, NOT_WANTED)
    assert one.leaving.take_due(LEAVE_US + LEAVE_CHECK_US) == [CHILD.feed_id]


def test_a_feed_leaves_of_which_a_peer_holds_as_much_as_we() -> None:
    one = One()
    one.leaving.heard_equal()
    assert one.leaving.take_due(LEAVE_US) == [CHILD.feed_id]


def test_what_somebody_wants_stays() -> None:
    one = One()
    one.hear(MINUTE_US, NOT_WANTED)
    one.hear(LEAVE_US - MINUTE_US, 3)
    assert one.leaving.take_due(LEAVE_US) == []
    one.leaving.heard_chnk([(CHILD.feed_id, 1)], LEAVE_US)
    assert not one.leaving.may_leave(CHILD.feed_id, LEAVE_US + LEAVE_ASKED_US - 1)
    assert one.leaving.may_leave(CHILD.feed_id, LEAVE_US + LEAVE_ASKED_US)


def test_who_follows_waits_less() -> None:
    one = One()
    one.hear(MINUTE_US, NOT_WANTED)
    assert not one.leaving.may_leave(CHILD.feed_id, LEAVE_FOLLOW_US - 1)
    assert one.leaving.may_leave(CHILD.feed_id, LEAVE_FOLLOW_US)
    assert one.leaving.closed == (CHILD.feed_id,)


def test_what_may_leave_leaves_together() -> None:
    one = One()
    one.replica.own_feed(OTHER_CHILD.feed_id, Dialect.SPEC, child=True)
    ended = one.replica.append(OTHER_CHILD, serialize_continued(END), EntryType.CONTINUED)
    one.leaving.appended(ended, 40 * MINUTE_US)
    one.hear(41 * MINUTE_US, NOT_WANTED, NOT_WANTED)
    assert set(one.leaving.take_due(LEAVE_US)) == {CHILD.feed_id, OTHER_CHILD.feed_id}


WAITS_US = [2 * LEAVE_US, 4 * LEAVE_US, 8 * LEAVE_US, 16 * LEAVE_US, *4 * [LEAVE_MAX_US]]


@pytest.mark.parametrize(("returns", "wait_us"), [*enumerate(WAITS_US, 1)])
def test_each_return_doubles_the_wait_up_to_a_day(returns: int, wait_us: int) -> None:
    for late_us, leaving in ((-1, []), (0, [CHILD.feed_id])):
        one, now_us = One(), 0
        for _ in range(returns):
            now_us += SECOND_US
            one.hear(now_us, NOT_WANTED)
            one.leaving.left(CHILD.feed_id)
            one.replica.retire(CHILD.feed_id)
            one.replica.add_feed(CHILD.feed_id, None)
            one.leaving.returned(CHILD.feed_id, now_us)
            assert not one.leaving.may_leave(CHILD.feed_id, now_us + LEAVE_MAX_US)
        one.hear(now_us, NOT_WANTED)
        assert one.leaving.take_due(now_us + wait_us + late_us) == leaving


def test_a_feed_is_closed_only_when_it_is_whole() -> None:
    one = One.__new__(One)
    one.replica = Replica(MemoryStore(), Network(), read_only=False)
    one.leaving = FeedRetirement(one.replica, Fixed())
    one.replica.add_feed(CHILD.feed_id, None)
    entry, end, *chunks = chain_packets()
    for packet in (entry, end, *chunks[:-1]):
        one.offer(packet)
    assert one.replica.ended(CHILD.feed_id)
    assert not one.replica.is_closed(CHILD.feed_id)
    assert one.replica.next_wanted(CHILD.feed_id) == 3, "whoever says 0 has all of it"
    assert one.leaving.next_us is None
    one.offer(chunks[-1], 7)
    assert one.replica.next_wanted(CHILD.feed_id) == NOT_WANTED
    assert one.leaving.next_us == 7 + LEAVE_US


def test_our_main_feed_never_leaves() -> None:
    replica = Replica(MemoryStore(), Network(), read_only=False)
    leaving = FeedRetirement(replica, Fixed())
    replica.own_feed(CHILD.feed_id, Dialect.SPEC)
    leaving.appended(replica.append(CHILD, serialize_continued(END), EntryType.CONTINUED), 0)
    leaving.begin(0)
    assert (leaving.closed, leaving.next_us) == ((), None)


def test_what_a_restart_finds_closed_waits_anew() -> None:
    one = One()
    again = FeedRetirement(one.replica, Fixed())
    again.begin(5 * HOUR_US)
    again.begin(9 * HOUR_US)
    assert again.next_us == 5 * HOUR_US + LEAVE_US


# --- nodes


def chain(names: str) -> Mesh:
    """Nodes on cables, one after the other, that know each other."""
    mesh = Mesh(names)
    mesh.wire(*pairwise(names))
    mesh.pass_time(MINUTE_US)
    assert len(mesh.sets()) == 1
    return mesh


def write_children(mesh: Mesh) -> None:
    """Three members write a child each, and end it."""
    for child, name in zip(CHILDREN, mesh.members, strict=False):
        mesh.write(name, child, b"c" * 300)
        mesh.write(name, child, None)


def mains(mesh: Mesh) -> set[frozenset[FeedId]]:
    """The one set that has the main feeds only."""
    return {frozenset(member.key.feed_id for member in mesh.members.values() if member.key)}


@pytest.mark.parametrize("names", ["ab", "abcde"])
def test_all_leave_within_two_hours_and_hold_all(names: str) -> None:
    mesh = chain(names)
    write_children(mesh)
    mesh.pass_time(MINUTE_US)
    assert len(mesh["a"].set) == len(names) + len(CHILDREN[: len(names)])
    mesh.pass_time(2 * HOUR_US)
    assert mesh.sets() == mains(mesh)
    for member in mesh.members.values():
        assert {member.held()[child.feed_id] for child in CHILDREN[: len(names)]} == {2}
        changes = [event for event in member.of(SetChanged) if isinstance(event, SetChanged) and event.left]
        assert len(changes) == len(CHILDREN[: len(names)]), "one wave"
        assert changes[-1].count == len(names)
    mesh.pass_time(HOUR_US)
    assert mesh.sets() == mains(mesh)


def test_on_the_air_all_leave_with_a_few_packets() -> None:
    mesh = Mesh("abcde")
    mesh.radio()
    mesh.pass_time(10 * MINUTE_US)
    write_children(mesh)
    mesh.pass_time(2 * HOUR_US)
    assert mesh.sets() == mains(mesh)
    # An hour of a quiet set, to compare with.
    sent = mesh.sent
    mesh.pass_time(HOUR_US)
    assert mesh.sets() == mains(mesh)
    assert mesh.sent - sent < 200


def test_who_comes_late_and_wants_it_gets_it_and_all_leave_again() -> None:
    mesh = chain("abc")
    write_children(mesh)
    mesh.pass_time(2 * HOUR_US)
    late = mesh.join("late")
    mesh.wire(("c", "late"))
    mesh.pass_time(MINUTE_US)
    assert mesh.sets() == mains(mesh), "nobody names what is over"
    mesh.follow("late", CHILD.feed_id)
    mesh.pass_time(MINUTE_US)
    assert late.held()[CHILD.feed_id] == 2
    assert late.node.side_chains_open() == 0
    assert CHILD.feed_id in mesh["c"].set, "it came back to be given"
    mesh.pass_time(4 * HOUR_US)
    assert mesh.sets() == mains(mesh)
    assert late.held()[CHILD.feed_id] == 2


def test_who_was_away_with_a_part_gets_the_rest_and_all_leave_again() -> None:
    mesh = chain("abc")
    mesh.write("a", CHILD, b"c" * 300)
    mesh.pass_time(MINUTE_US)
    mesh.cut("b", "c")
    mesh.write("a", CHILD, None)
    mesh.pass_time(3 * HOUR_US)
    assert CHILD.feed_id not in mesh["a"].set
    assert CHILD.feed_id in mesh["c"].set
    mesh.wire(("b", "c"))
    mesh.pass_time(MINUTE_US)
    assert mesh["c"].held()[CHILD.feed_id] == 2
    mesh.pass_time(5 * HOUR_US)
    assert mesh.sets() == mains(mesh)


def test_who_was_away_when_all_left_follows_them() -> None:
    mesh = chain("abc")
    write_children(mesh)
    mesh.pass_time(20 * MINUTE_US)
    mesh.cut("b", "c")
    mesh.pass_time(2 * HOUR_US)
    mesh.wire(("b", "c"))
    mesh.pass_time(MINUTE_US)
    assert mesh.sets() == mains(mesh)
    for member in mesh.members.values():
        assert sum(event.left is None for event in member.of(SetChanged) if isinstance(event, SetChanged)) < 7


def test_a_neighbour_that_never_lets_go_costs_little() -> None:
    """Such a one asks for what follows the END, like all deployed peers, and names what it has for ever."""
    mesh = chain("abc")
    replica = mesh["c"].node.replica
    replica.is_closed = lambda feed: not feed  # type: ignore[method-assign] # on purpose
    replica.next_wanted = lambda feed: replica.frontier(feed) + 1  # type: ignore[method-assign] # on purpose
    write_children(mesh)
    mesh.pass_time(12 * HOUR_US)
    assert {
        member.set.issuperset(child.feed_id for child in CHILDREN) for member in mesh.members.values()
    } == {True}
    # Nothing leaves where it is heard, and elsewhere each time comes after twice the wait: 1, 2, 4 hours.
    assert [event.left for event in mesh["b"].of(SetChanged) if isinstance(event, SetChanged)].count(
        True
    ) == 0
    lefts = [event for event in mesh["a"].of(SetChanged) if isinstance(event, SetChanged) and event.left]
    assert len(CHILDREN) <= len(lefts) <= 3 * len(CHILDREN)
    mesh.cut("b", "c")
    mesh.members.pop("c")
    mesh.pass_time(12 * HOUR_US)
    assert len(mesh.sets()) == 1
    assert not mesh["a"].set.intersection(child.feed_id for child in CHILDREN)


@pytest.mark.parametrize("seed", [2])
def test_whatever_is_cut_meanwhile_all_agree_in_the_end(seed: int) -> None:
    """Cables come and go while feeds are written and ended; whoever heard of one has all of it, others can get it."""
    chance = random.Random(seed)
    cables = [("a", "b"), ("b", "c"), ("b", "d")]
    mesh, up = Mesh("abcd"), set(cables)
    mesh.wire(*cables)
    mesh.pass_time(MINUTE_US)
    keys = [key_of(f"{seed} {number}") for number in range(6)]
    for number, key in enumerate([*keys, *keys]):
        mesh.write(
            "abcd"[number % 2 + 2 * (number % 6 > 2)], key, None if number >= len(keys) else bytes(300)
        )
        cable = chance.choice(cables)
        if cable in up:
            mesh.cut(*cable)
        else:
            mesh.wire(cable)
        up ^= {cable}
        mesh.pass_time(int(chance.random() * HOUR_US))
    mesh.wire(*sorted({*cables} - up))
    mesh.pass_time(6 * HOUR_US)
    assert mesh.sets() == mains(mesh)
    for name, member in mesh.members.items():
        held = member.held()
        assert {held.get(key.feed_id, 2) for key in keys} == {2}
        for key in keys:
            mesh.follow(name, key.feed_id)
    mesh.pass_time(MINUTE_US)
    for member in mesh.members.values():
        assert [member.held()[key.feed_id] for key in keys] == [2] * 6


def test_a_restart_finds_the_set_as_it_was_left() -> None:
    mesh = chain("ab")
    write_children(mesh)
    mesh.pass_time(2 * HOUR_US)
    again = mesh.join("a", mesh["a"].store)
    assert again.set == mesh["b"].set
    assert again.held()[CHILD.feed_id] == 2


def test_twenty_members_and_twelve_epochs_never_fill_the_set() -> None:
    """240 feeds of epochs beside 20 of members and 20 of additions: 280, where 255 fit."""
    mesh = Mesh("ab")
    mesh.radio()
    for number in range(20):
        for kind in ("main", "additions"):
            mesh.write("ab"[number % 2], key_of(f"{kind} {number}"), b"hello")
    epochs = [[key_of(f"epoch {epoch} of {number}") for number in range(20)] for epoch in range(12)]
    for before, epoch in zip([[], *epochs], [*epochs, []], strict=True):
        for number, key in enumerate(epoch):
            mesh.write("ab"[number % 2], key, b"said in this epoch " * 8)
        for number, key in enumerate(before):
            mesh.write("ab"[number % 2], key, None)
        mesh.pass_time(2 * HOUR_US)
    mesh.pass_time(6 * HOUR_US)
    assert {len(held) for held in mesh.sets()} == {2 + 40}
    assert len(mesh.sets()) == 1
    for member in mesh.members.values():
        assert member.largest < limits.SET_MAX // 2, member.largest
        assert {member.held()[key.feed_id] for epoch in epochs for key in epoch} == {2}
        assert len(member.held()) == 2 + 280


def test_the_same_seed_gives_the_same_waves() -> None:
    def play() -> list[tuple[FeedId, int]]:
        mesh = chain("abc")
        write_children(mesh)
        mesh.pass_time(2 * HOUR_US)
        return [
            (event.feed, event.count) for event in mesh["b"].of(SetChanged) if isinstance(event, SetChanged)
        ]

    assert play() == play()
