"""Ids that bring no entry leave the set, and come back only with one (decision 0070)."""

from collections.abc import Sequence

import pytest

from tests.gossip.test_admission import HOUR_US, a_node, name
from tests.nodes import FACE, feed_of, key_of, written
from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.gossip.admission import Admission
from tinyssb_node.ids import FeedId
from tinyssb_node.node.node import Node
from tinyssb_node.replication.asking import FeedAsker
from tinyssb_node.replication.limits import EXPIRE_ABOVE, EXPIRE_FEW, EXPIRE_US, EXPIRED_US
from tinyssb_node.scheduling.link import WIRED
from tinyssb_node.store.memory import MemoryStore

MANY = [feed_of(number) for number in range(40)]
WRITER = key_of("writer")


def set_of(node: Node) -> set[FeedId]:
    return {record.feed for record in node.feeds() if record.in_set}


def with_ids(feeds: Sequence[FeedId], store: MemoryStore | None = None) -> Node:
    """A node to which a peer named these ids."""
    node = a_node(store or MemoryStore(), Admission())
    for feed in feeds:
        name(node, feed)
    return node


def expire(node: Node, now_us: int = EXPIRE_US * 3 // 2 + 1) -> None:
    while (due_us := node.next_wake_us()) is not None and due_us <= now_us:
        node.wake(due_us)


def entry_of(key: SigningKey) -> bytes:
    return written(key, [b"first"])[0].packet


def test_many_ids_without_an_entry_leave_within_three_quarters_of_an_hour() -> None:
    node = with_ids(MANY)
    node.receive(entry_of(WRITER), FACE, WIRED, 1)
    assert name(node, WRITER.feed_id)
    expire(node, EXPIRE_US)
    assert set_of(node) >= set(MANY)
    expire(node)
    assert set_of(node) == {WRITER.feed_id}, "our own id had brought no entry either"


def test_a_few_stay() -> None:
    node = with_ids(MANY[: EXPIRE_ABOVE - 1])
    expire(node, 10 * HOUR_US)
    assert len(set_of(node)) == EXPIRE_ABOVE


def test_ids_that_left_are_refused_for_an_hour_if_there_are_others() -> None:
    node = with_ids(MANY)
    left_us = EXPIRE_US * 3 // 2 + 1
    expire(node, left_us)
    back = [feed for feed in MANY if name(node, feed, left_us)]
    assert len(back) == EXPIRE_FEW
    refused = next(feed for feed in MANY if feed not in back)
    assert not name(node, refused, left_us + EXPIRED_US // 2)
    assert name(node, refused, left_us + EXPIRED_US)
    assert [total.rule for total in node.refusals()] == ["expired"]


def test_an_id_that_left_comes_back_with_an_entry() -> None:
    node = with_ids([WRITER.feed_id, *MANY])
    left_us = EXPIRE_US * 3 // 2 + 1
    expire(node, left_us)
    assert all(name(node, feed_of(100 + number), left_us) for number in range(EXPIRE_FEW))
    assert not name(node, WRITER.feed_id, left_us)
    node.receive(entry_of(WRITER), FACE, WIRED, left_us)
    assert name(node, WRITER.feed_id, left_us)


def test_an_id_with_an_entry_needs_no_turn_among_made_up_ones() -> None:
    node = with_ids([feed_of(number) for number in range(200)])
    assert not name(node, WRITER.feed_id)
    node.receive(entry_of(WRITER), FACE, WIRED, 1)
    assert name(node, WRITER.feed_id)


def test_in_a_full_set_it_takes_the_place_of_the_oldest_without() -> None:
    node = a_node(MemoryStore(), Admission(per_hour=100_000))
    now_us = 0
    for number in range(300):
        now_us += HOUR_US
        name(node, feed_of(number), now_us)
    assert len(set_of(node)) == limits.SET_MAX
    node.receive(entry_of(WRITER), FACE, WIRED, now_us)
    assert name(node, WRITER.feed_id, now_us)
    assert len(set_of(node)) == limits.SET_MAX


def test_our_own_id_comes_back_by_our_first_entry() -> None:
    store = MemoryStore()
    node = with_ids(MANY, store)
    own = node.own()
    assert own is not None
    expire(node)
    assert own.feed not in set_of(node)
    store.commit(1)
    assert own.feed not in set_of(a_node(store, Admission())), "nor after a restart"
    node.publish(b"hello", HOUR_US)
    assert own.feed in set_of(node)


def test_what_our_user_follows_is_pending_until_an_entry_comes() -> None:
    node = a_node(MemoryStore(), Admission())
    before = set_of(node)
    node.follow(WRITER.feed_id, 1, pending=True)
    assert set_of(node) == before
    node.receive(entry_of(WRITER), FACE, WIRED, 2)
    assert set_of(node) == {*before, WRITER.feed_id}


def test_what_is_pending_is_undone() -> None:
    store = MemoryStore()
    node = a_node(store, Admission())
    before = node.feeds()
    node.follow(WRITER.feed_id, 1, pending=True)
    node.unfollow(WRITER.feed_id, 2)
    assert node.feeds() == before
    store.commit(1)
    assert a_node(store, Admission()).feeds() == before


def test_what_is_pending_enters_the_set_when_a_peer_names_it() -> None:
    node = with_ids([feed_of(number) for number in range(200)])
    node.follow(WRITER.feed_id, 1, pending=True)
    assert WRITER.feed_id not in set_of(node)
    name(node, WRITER.feed_id)
    assert WRITER.feed_id in set_of(node), "without a turn"


def test_what_is_pending_is_pending_after_a_restart_too() -> None:
    store = MemoryStore()
    a_node(store, Admission()).follow(WRITER.feed_id, 1, pending=True)
    store.commit(1)
    node = a_node(store, Admission())
    assert node.is_pending(WRITER.feed_id)
    node.receive(entry_of(WRITER), FACE, WIRED, 2)
    assert not node.is_pending(WRITER.feed_id)
    assert WRITER.feed_id in set_of(node)
    assert not node.is_of_group(WRITER.feed_id)


def test_what_a_group_needs_stays_beyond_the_set_and_is_not_pending() -> None:
    node = a_node(MemoryStore(), Admission())
    node.follow(WRITER.feed_id, 1, beyond=True, asker=FeedAsker.GROUP)
    assert not node.is_pending(WRITER.feed_id)
    node.receive(entry_of(WRITER), FACE, WIRED, 2)
    assert WRITER.feed_id not in set_of(node)
    assert node.is_of_group(WRITER.feed_id)


def test_what_leaves_the_set_though_our_user_follows_it_is_pending_again() -> None:
    node = with_ids([WRITER.feed_id, *MANY])
    node.follow(WRITER.feed_id, 1, pending=True)
    assert not node.is_pending(WRITER.feed_id)
    expire(node)
    assert node.is_pending(WRITER.feed_id)
    node.unfollow(WRITER.feed_id, HOUR_US)
    assert WRITER.feed_id not in {record.feed for record in node.feeds()}


def test_feeds_that_a_peer_seeks_are_kept_for_gateways_and_the_oldest_make_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "SOUGHT_FEEDS_MAX", 8)
    store = MemoryStore()
    node = a_node(store, Admission())
    for feed in MANY:
        assert node.replica.add_beyond(feed, keep=False)
        assert feed not in {record.feed for record in node.feeds()}
        node.replica.seek(feed)
    store.commit(1)
    node = a_node(store, Admission())
    assert {record.feed for record in node.feeds()} - set_of(node) == set(MANY[-8:])
    node.replica.add_beyond(feed_of(100), keep=False)
    node.replica.seek(feed_of(100))
    assert len(node.feeds()) - len(set_of(node)) == 8
    node.follow(MANY[-1], 1, pending=True)
    assert node.is_pending(MANY[-1])
