"""Entries that come before their history: their proof, and how the history reaches them."""

import random

import pytest

from tests.nodes import key_of, packets_of, written
from tests.replication.replicas import NETWORK, contents, offer, offer_all, replica_of
from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.feeds.author import ComposedEntry, compose
from tinyssb_node.feeds.chain import Tip
from tinyssb_node.ids import Dialect, FeedId, MessageId, Verdict
from tinyssb_node.replication.replica import Replica
from tinyssb_node.store.memory import MemoryStore

ANA, EVE = key_of("ana"), key_of("eve")
CONTENTS = [b"%d " % number * (40 if number % 3 == 0 else 1) for number in range(1, 31)]
FEED = written(ANA, CONTENTS)


def newest_first(count: int = 10, store: MemoryStore | None = None) -> tuple[Replica, MemoryStore]:
    """A replica that has entry 1 of the feed, and wants its newest."""
    store = store or MemoryStore()
    replica = replica_of(store, ANA.feed_id)
    replica.set_newest(ANA.feed_id, count)
    offer_all(replica, packets_of(FEED[:1]))
    return replica, store


def expect(replica: Replica, entry: ComposedEntry, prev: MessageId | None = None) -> None:
    """A peer states what *entry* follows: the truth, or *prev*."""
    for hash_, packet in replica.expect_newest(
        ANA.feed_id, entry.extended.tip.seq, prev or entry.extended.prev
    ):
        offer(replica, packet)
        assert hash_


def numbers(replica: Replica, feed: FeedId = ANA.feed_id) -> list[int]:
    """The entries stored beyond the frontier."""
    return [entry.seq for entry in replica.newest.of_feed(feed)]


@pytest.mark.parametrize("seed", range(20))
def test_in_any_order_the_newest_are_proven_and_then_joined_by_the_history(seed: int) -> None:
    replica, store = newest_first()
    packets = packets_of(FEED[20:])
    random.Random(seed).shuffle(packets)
    for packet in packets[: seed * 2]:
        offer(replica, packet)
    expect(replica, FEED[20])
    offer_all(replica, packets)
    assert numbers(replica) == [*range(21, 31)]
    assert not replica.expectations.side_chains[1:]  # that of the missing history is not known yet
    assert store.last_arrival() == 1
    history = packets_of(FEED[1:20])
    offer_all(replica, history)
    assert numbers(replica) == []
    assert store.newest_entries() == []
    assert contents(store, ANA.feed_id) == CONTENTS


def test_after_a_restart_they_go_on() -> None:
    replica, store = newest_first()
    expect(replica, FEED[20])
    offer_all(replica, packets_of(FEED[20:24])[:-1])
    store.commit(1)
    again = Replica(store, NETWORK, read_only=False)
    assert numbers(again) == [21, 22, 23, 24]
    assert again.newest_wanted(ANA.feed_id) == (25, 10)
    offer_all(again, packets_of(FEED[20:]))
    assert numbers(again) == [*range(21, 31)]
    offer_all(again, packets_of(FEED[:20]))
    assert contents(store, ANA.feed_id) == CONTENTS


def test_a_false_anchor_brings_nothing_and_the_true_one_is_still_taken() -> None:
    replica, _ = newest_first()
    for number in range(limits.NEWEST_ANCHORS_MAX - 1):
        expect(replica, FEED[20], MessageId(bytes((number,)) * 20))
    assert offer(replica, FEED[20].packet).verdict is Verdict.NOT_OURS
    expect(replica, FEED[20])
    assert numbers(replica) == [21]


def test_an_entry_of_somebody_else_is_not_proven() -> None:
    replica, _ = newest_first()
    foreign = written(EVE, [b"x"] * 30)[20]
    expect(replica, foreign)
    assert offer(replica, foreign.packet).verdict is Verdict.NOT_OURS
    damaged = FEED[20].packet[:60] + b"?" + FEED[20].packet[61:]
    expect(replica, FEED[20])
    assert offer(replica, damaged).verdict is Verdict.INVALID
    assert numbers(replica) == []


def test_one_that_is_stored_is_a_duplicate() -> None:
    replica, _ = newest_first()
    expect(replica, FEED[20])
    offer_all(replica, packets_of(FEED[20:24]))
    outcomes = offer_all(replica, packets_of(FEED[20:24]))
    assert {outcome.verdict for outcome in outcomes} == {Verdict.DUPLICATE}


def test_anchors_are_taken_only_of_feeds_that_are_followed_newest_first() -> None:
    store = MemoryStore()
    replica = replica_of(store, ANA.feed_id)
    offer_all(replica, packets_of(FEED[:1]))
    expect(replica, FEED[20])
    assert offer(replica, FEED[20].packet).verdict is Verdict.NOT_OURS
    replica.set_newest(ANA.feed_id, 5)
    assert replica.expect_newest(ANA.feed_id, 2, FEED[1].extended.prev) == []  # it comes in order
    replica.set_wanted(ANA.feed_id, wanted=False)
    expect(replica, FEED[20])
    assert offer(replica, FEED[20].packet).verdict is Verdict.NOT_OURS


def branch(key: SigningKey, place: ComposedEntry, contents: list[bytes]) -> list[ComposedEntry]:
    """Entries behind *place* that its author wrote in a second history."""
    tip: Tip = place.extended.tip
    other = []
    for content in contents:
        other.append(compose(NETWORK, key, tip, content))
        tip = other[-1].extended.tip
    return other


def test_entries_of_another_branch_are_dropped_where_the_history_reaches_them() -> None:
    replica, store = newest_first()
    other = branch(ANA, FEED[9], [b"other %d" % number for number in range(20)])
    expect(replica, other[10])
    offer_all(replica, packets_of(other[10:]))
    assert numbers(replica) == [*range(21, 31)]
    before = replica.strays
    offer_all(replica, packets_of(FEED[1:]))
    assert numbers(replica) == []
    assert replica.strays == before + 1
    assert contents(store, ANA.feed_id) == CONTENTS


def test_of_ever_newer_entries_the_oldest_make_room() -> None:
    store = MemoryStore()
    feed = written(ANA, [b"%d" % number for number in range(200)], Dialect.SPEC)
    replica = replica_of(store, ANA.feed_id)
    replica.set_newest(ANA.feed_id, 10)
    offer(replica, feed[0].packet)
    for first in range(20, 200, 20):
        expect(replica, feed[first])
        offer_all(replica, [entry.packet for entry in feed[first : first + 10]])
    assert numbers(replica)[-10:] == [*range(181, 191)]
    assert len(numbers(replica)) == limits.NEWEST_KEPT_MAX
    assert len(store.newest_entries()) == limits.NEWEST_KEPT_MAX
    offer_all(replica, [entry.packet for entry in feed[1:]])
    assert numbers(replica) == []
    assert replica.frontier(ANA.feed_id) == 200


def test_they_go_with_the_feed_when_it_is_purged() -> None:
    replica, store = newest_first()
    expect(replica, FEED[20])
    offer_all(replica, packets_of(FEED[20:]))
    replica.set_wanted(ANA.feed_id, wanted=False)
    replica.purge(ANA.feed_id)
    while replica.evict(10) is not None:
        pass
    assert numbers(replica) == []
    assert store.newest_entries() == []


def test_no_side_chain_is_fetched_that_is_longer_than_messages_are() -> None:
    store = MemoryStore()
    size = (limits.NEWEST_CHUNKS_MAX + 2) * limits.CHUNK_CONTENT_SIZE
    feed = written(ANA, [b"1", b"2", b"3", b"f" * size])
    replica = replica_of(store, ANA.feed_id)
    replica.set_newest(ANA.feed_id, 1)
    offer(replica, feed[0].packet)
    expect(replica, feed[3])
    offer(replica, feed[3].packet)
    assert numbers(replica) == [4]
    assert not replica.expectations.side_chains
    offer_all(replica, packets_of(feed))
    assert contents(store, ANA.feed_id)[3] == b"f" * size
