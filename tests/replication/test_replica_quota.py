"""A replica whose disk has a quota: what is deleted, what stays, and what is not requested again."""

import pytest

from tests.nodes import key_of, packets_of, written
from tests.replication.replicas import FACE, NETWORK, contents, offer, offer_all
from tinyssb_node.ids import Dialect, Origin, Verdict, blocked_short
from tinyssb_node.replication.quota import QuotaLimits
from tinyssb_node.replication.replica import Replica
from tinyssb_node.replication.want import NOT_WANTED
from tinyssb_node.store.memory import MemoryStore

ANA, BEN, EVE = key_of("ana"), key_of("ben"), key_of("eve")
LONG = b"long " * 60
"""Content with a side chain of three packets."""


def replica_with(store: MemoryStore, quota: QuotaLimits) -> Replica:
    return Replica(store, NETWORK, read_only=False, quota=quota)


def filled(store: MemoryStore, feed_packets: int = 99, total_packets: int = 99) -> Replica:
    """A node that holds ten entries of Ana's and ten of Eve's, and follows neither."""
    replica = replica_with(store, QuotaLimits(feed_packets=feed_packets, total_packets=total_packets))
    for key in (ANA, EVE):
        replica.add_feed(key.feed_id, FACE)
        offer_all(replica, packets_of(written(key, [b"hello"] * 10)))
    return replica


def evict_all(replica: Replica, count: int = 4) -> None:
    for _ in range(100):
        if replica.evict(count) is None:
            break


def test_a_feed_that_nobody_follows_grows_to_its_quota_and_is_kept_and_given() -> None:
    store = MemoryStore()
    replica = filled(store, feed_packets=7)
    assert replica.frontier(EVE.feed_id) == replica.last_to_give(EVE.feed_id) == 7
    assert replica.next_wanted(EVE.feed_id) == NOT_WANTED
    assert contents(store, EVE.feed_id) == [b"hello"] * 7


def test_its_side_chains_count_and_those_under_way_are_no_longer_requested() -> None:
    replica = replica_with(MemoryStore(), QuotaLimits(feed_packets=6))
    replica.add_feed(EVE.feed_id, FACE)
    offer_all(replica, packets_of(written(EVE, [LONG] * 3)))
    assert replica.quota.packets[EVE.feed_id] == 6
    assert not replica.expectations.side_chains


def test_once_it_is_followed_the_rest_comes() -> None:
    store = MemoryStore()
    replica = filled(store, feed_packets=7)
    replica.set_wanted(EVE.feed_id, wanted=True)
    assert replica.next_wanted(EVE.feed_id) == 8
    offer_all(replica, packets_of(written(EVE, [b"hello"] * 10)))
    assert contents(store, EVE.feed_id) == [b"hello"] * 10


@pytest.mark.parametrize("again", [False, True], ids=["running", "started again"])
def test_what_was_evicted_is_gone_and_not_requested_again(again: bool) -> None:
    store = MemoryStore()
    replica = filled(store, total_packets=15)
    evict_all(replica)
    if again:
        store.commit(1)
        replica = replica_with(store, QuotaLimits(total_packets=15))
    assert contents(store, ANA.feed_id) == [b"hello"] * 10
    record = replica.record(EVE.feed_id)
    assert (record.seq, record.evicted, record.in_set) == (0, True, True)
    assert replica.next_wanted(EVE.feed_id) == NOT_WANTED
    assert not replica.takes(EVE.feed_id)
    assert not replica.expectations.of_feed(EVE.feed_id)
    outcomes = offer_all(replica, packets_of(written(EVE, [b"hello"] * 10)))
    assert {outcome.verdict for outcome in outcomes} == {Verdict.NOT_OURS}
    assert replica.named_only == 1, "its place in the set is charged like that of an id without entries"


def test_following_brings_it_back() -> None:
    store = MemoryStore()
    replica = filled(store, total_packets=15)
    evict_all(replica)
    replica.set_wanted(EVE.feed_id, wanted=True)
    offer_all(replica, packets_of(written(EVE, [b"hello"] * 10)))
    assert contents(store, EVE.feed_id) == [b"hello"] * 10


def test_it_goes_from_its_end_so_that_the_rest_is_a_feed_at_any_time() -> None:
    store = MemoryStore()
    replica = filled(store, total_packets=15)
    replica.evict(2)
    assert replica.frontier(EVE.feed_id) == 5, "as many as it takes to stay within the quota"
    assert contents(store, EVE.feed_id) == [b"hello"] * 5
    replica.evict(2)
    assert contents(store, EVE.feed_id) == [b"hello"] * 3
    assert offer(replica, packets_of(written(EVE, [b"hello"] * 10))[3]).verdict is Verdict.NOT_OURS


def test_side_chains_forks_and_ends_go_with_it() -> None:
    store = MemoryStore()
    replica = replica_with(store, QuotaLimits())
    replica.add_feed(EVE.feed_id, FACE)
    offer_all(replica, packets_of(written(EVE, [LONG, b"one", LONG]))[:-1])
    offer(replica, packets_of(written(EVE, [LONG, b"other"]))[4])
    assert replica.record(EVE.feed_id).forked_at == 2
    replica.purge(EVE.feed_id)
    evict_all(replica, 1)
    assert replica.record(EVE.feed_id).forked_at is None
    assert not replica.forks
    assert not list(store.side_chains())
    assert not store.forks()
    assert replica.quota.packets == {}


def test_our_own_feeds_and_those_that_somebody_follows_are_never_evicted() -> None:
    store = MemoryStore()
    replica = filled(store, total_packets=1)
    replica.own_feed(BEN.feed_id, Dialect.SPEC)
    for _ in range(9):
        replica.append(BEN, b"mine")
    replica.set_wanted(ANA.feed_id, wanted=True)
    evict_all(replica)
    assert replica.quota.packets == {ANA.feed_id: 10, BEN.feed_id: 9}


def test_a_blocked_feed_that_nobody_follows_is_deleted_and_comes_back_once_it_is_not_blocked() -> None:
    store = MemoryStore()
    replica = filled(store)
    replica.set_wanted(ANA.feed_id, wanted=True)
    replica.set_blocked([blocked_short(EVE.feed_id), blocked_short(ANA.feed_id)])
    evict_all(replica)
    assert replica.quota.packets == {ANA.feed_id: 10}, "what is followed stays"
    replica.set_blocked([])
    assert replica.next_wanted(EVE.feed_id) == 1
    offer_all(replica, packets_of(written(EVE, [b"hello"] * 10)))
    assert contents(store, EVE.feed_id) == [b"hello"] * 10


def test_one_that_is_not_blocked_any_more_keeps_what_is_left() -> None:
    store = MemoryStore()
    replica = filled(store)
    replica.set_blocked([blocked_short(EVE.feed_id)])
    replica.evict(4)
    replica.set_blocked([])
    assert replica.evict(4) is None
    assert replica.next_wanted(EVE.feed_id) == 7


def test_no_more_of_others_is_taken_while_the_disk_is_nearly_full_and_ours_is_written() -> None:
    store = MemoryStore()
    replica = filled(store)
    replica.own_feed(BEN.feed_id, Dialect.SPEC)
    assert replica.set_quota(QuotaLimits(closed=True))
    more = packets_of(written(EVE, [b"hello"] * 11))[10]
    assert offer(replica, more).verdict is Verdict.NOT_OURS
    assert replica.append(BEN, b"mine")[0].origin is Origin.OWN
    replica.set_quota(QuotaLimits())
    assert replica.next_wanted(EVE.feed_id) == 11


def test_the_disk_full_nothing_is_evicted() -> None:
    store = MemoryStore()
    filled(store)
    store.commit(1)
    replica = Replica(store, NETWORK, read_only=True, quota=QuotaLimits(total_packets=5))
    assert replica.evict(4) is None


def test_what_a_group_gave_up_is_kept_and_what_our_user_gave_up_is_not() -> None:
    store = MemoryStore()
    replica = filled(store, total_packets=99)
    for key, keep in ((ANA, True), (EVE, False)):
        replica.set_wanted(key.feed_id, wanted=True)
        replica.set_wanted(key.feed_id, wanted=False, keep=keep)
    replica.set_quota(QuotaLimits(total_packets=5))
    evict_all(replica)
    assert replica.quota.packets == {ANA.feed_id: 10}
