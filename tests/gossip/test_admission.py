"""Which ids that peers name come into the set."""

from contextlib import closing
from pathlib import Path

import pytest

from tests.nodes import FACE, OTHER, feed_of, key_of, radio_profile, written
from tests.store.gaps import cut_and_given_again
from tests.words import feeds_packet
from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.packets import Novelty, serialize_novelty
from tinyssb_node.feeds.children import ChildMade, EntryType, serialize_child_made
from tinyssb_node.gossip.admission import NOT_ADMITTED, TOO_MANY, Admission, AdmissionPolicy
from tinyssb_node.gossip.certainty import TipCertainty
from tinyssb_node.ids import FaceName, FeedId
from tinyssb_node.node.node import Node
from tinyssb_node.replication import limits as set_limits
from tinyssb_node.scheduling.link import WIRED, stream_profile
from tinyssb_node.store.memory import MemoryStore
from tinyssb_node.store.port import Store
from tinyssb_node.store.sqlite import SqliteStore

HOUR_US = 3_600_000_000
KEY = key_of("ours")


class Sure:
    """No chance at all."""

    def random(self) -> float:
        return 0.5


def a_node(store: Store, admission: Admission) -> Node:
    node = Node(
        store=store,
        network=Network(),
        entropy=Sure(),
        key=KEY,
        certainty=TipCertainty(watch=False),
        admission=admission,
    )
    node.face_up(FACE, stream_profile(), "test", 0)
    return node


def name(node: Node, feed: FeedId, now_us: int = 1, face: FaceName = FACE) -> bool:
    """A peer names *feed*. True if it is in the set then."""
    node.receive(serialize_novelty(Network().goset_dmx, Novelty(feed)), face, WIRED, now_us)
    return feed in {record.feed for record in node.feeds()}


def test_many_come_in_one_after_the_other() -> None:
    door = Admission()
    places = set_limits.SET_AT_ONCE
    assert all(door.refusal(feed_of(n), FACE, n, 0) is None for n in range(places))
    refused = [door.refusal(feed_of(n), FACE, places, 0) for n in range(set_limits.SET_IDS_BURST + 1)]
    assert refused == [None] * set_limits.SET_IDS_BURST + [TOO_MANY]
    later = [
        door.refusal(feed_of(n), FACE, places, HOUR_US // 4) for n in range(set_limits.SET_IDS_BURST + 1)
    ]
    assert later == [None] * set_limits.SET_IDS_BURST + [TOO_MANY]


def test_what_we_asked_for_need_not_wait_for_what_nobody_asked_for() -> None:
    door = Admission()
    for number in range(100):
        door.refusal(feed_of(number), FACE, 100, 0)
    assert door.refusal(feed_of(1), FACE, 100, 0) == TOO_MANY
    assert door.refusal(feed_of(1), FACE, 100, 0, asked=True) is None
    assert door.refusal(feed_of(1), OTHER, 100, 0) is None, "another face has a bucket of its own"


def test_connecting_again_gains_little() -> None:
    door = Admission()
    let_in = 0
    for _ in range(100):
        let_in += sum(door.refusal(feed_of(n), FACE, 100, 0) is None for n in range(10))
        door.face_down(FACE)
    assert let_in == set_limits.SET_FACES * set_limits.SET_IDS_BURST


def test_strangers_fill_the_set_and_the_user_follows_feeds_beyond_it() -> None:
    node = a_node(MemoryStore(), Admission(per_hour=100_000))
    now_us = 0
    for number in range(300):
        now_us += HOUR_US
        name(node, feed_of(number), now_us)
    assert len(node.feeds()) == limits.SET_MAX
    assert not name(node, feed_of(1_000), now_us)
    node.follow(feed_of(1_000), now_us)
    assert name(node, feed_of(1_000), now_us)
    (beyond,) = (record for record in node.feeds() if not record.in_set)
    assert (beyond.feed, beyond.beyond, beyond.followed) == (feed_of(1_000), True, True)


def test_followed_feeds_are_not_counted() -> None:
    node = a_node(MemoryStore(), Admission())
    for number in range(100, 110):
        node.follow(feed_of(number), 1)
    most = set_limits.SET_AT_ONCE + set_limits.SET_IDS_BURST
    assert [name(node, feed_of(number)) for number in range(most + 1)] == [True] * most + [False]


def test_feeds_with_entries_are_not_counted() -> None:
    node = a_node(MemoryStore(), Admission())
    authors = [key_of(f"author {number}") for number in range(set_limits.SET_IDS_BURST + 1)]
    assert all(name(node, author.feed_id) for author in authors)
    most = set_limits.SET_AT_ONCE - len(authors) + set_limits.SET_IDS_BURST
    named = [feed_of(number) for number in range(most + 1)]
    assert [name(node, feed) for feed in named] == [True] * most + [False]
    # Each entry makes room for another name. The burst is used up: only the places at once are left.
    for author in authors:
        assert not name(node, named[most])
        node.receive(written(author, [b"first"])[0].packet, FACE, WIRED, 1)
    assert name(node, named[most])


def test_by_invitation_only_whom_we_follow() -> None:
    node = a_node(MemoryStore(), Admission(AdmissionPolicy.INVITE, known=[feed_of(1)]))
    assert not name(node, feed_of(1))
    node.follow(feed_of(1), 2)
    assert name(node, feed_of(1))


def test_known_are_contacts_and_children_that_are_announced() -> None:
    store = MemoryStore()
    node = a_node(store, Admission(AdmissionPolicy.KNOWN, known=[feed_of(1)]))
    assert name(node, feed_of(1))
    assert not name(node, feed_of(2))
    made = serialize_child_made(ChildMade(feed_of(2), b"group"))
    node.append_to_feed(KEY, made, 2, EntryType.CHILD_MADE)
    assert name(node, feed_of(2), 3)
    store.commit(1)
    node.append_to_feed(KEY, serialize_child_made(ChildMade(feed_of(3))), 4, EntryType.CHILD_MADE)
    store.commit(2)
    again = a_node(store, Admission(AdmissionPolicy.KNOWN))
    assert name(again, feed_of(3)), "announced before a start"
    assert not name(again, feed_of(4))


def test_a_child_is_known_behind_numbers_that_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CONTROL_PAGE", 2)
    path = tmp_path / "store.sqlite"
    store = SqliteStore.open(path)
    node = a_node(store, Admission())
    for _ in range(5):
        node.publish(b"x", 1)
    made = serialize_child_made(ChildMade(feed_of(2), b"group"))
    node.append_to_feed(KEY, made, 2, EntryType.CHILD_MADE)
    store.commit(1)
    with closing(cut_and_given_again(store, path, KEY.feed_id, 1)) as store:
        again = a_node(store, Admission(AdmissionPolicy.KNOWN))
        assert name(again, feed_of(2))
        assert not name(again, feed_of(3))


def test_what_a_radio_would_have_to_carry_comes_in_by_radio_or_by_a_policy_of_its_own() -> None:
    for across, let_in in (
        (AdmissionPolicy.OPEN, [1, 2]),
        (AdmissionPolicy.KNOWN, [1]),
        (AdmissionPolicy.INVITE, []),
    ):
        node = a_node(MemoryStore(), Admission(across=across, known=[feed_of(1)]))
        radio = FaceName("radio")
        assert name(node, feed_of(9)), "as long as there is no radio"
        node.face_up(radio, radio_profile(), "radio:", 2)
        found = [number for number in (1, 2) if name(node, feed_of(number), 3)]
        assert found == let_in
        node.receive(feeds_packet(feed_of(2)), radio, WIRED, 4)
        assert name(node, feed_of(2), 4), "it is in the set"
        node.follow(feed_of(1), 5)
        assert name(node, feed_of(1), 6)
        node.face_down(radio, "unplugged", 7)
        assert name(node, feed_of(3), 8)


def test_a_refusal_says_why() -> None:
    assert Admission(AdmissionPolicy.KNOWN).refusal(feed_of(1), FACE, 0, 0) == NOT_ADMITTED
    door = Admission()
    for number in range(set_limits.SET_IDS_BURST):
        assert door.refusal(feed_of(number), FACE, limits.SET_MAX, 0) is None
    assert door.refusal(feed_of(99), FACE, limits.SET_MAX, 0) == TOO_MANY
