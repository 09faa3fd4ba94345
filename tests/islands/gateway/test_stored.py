"""The list of stored feeds: at every look it equals the store's own."""

import pytest

from tests.store.contract import ANA, BOB, feed_record, fork_proof, put_chunk, put_entry, side_chain
from tinyssb_node.errors import StoreFailedError
from tinyssb_node.islands.gateway.holdings import WHOLE, FeedHolding, StoreHoldings
from tinyssb_node.store.sqlite import SqliteStore


@pytest.fixture
def store(tmp_path):
    store = SqliteStore.open(tmp_path / "store.sqlite")
    yield store
    store.close()


@pytest.fixture
def holdings(store, tmp_path):
    holdings = StoreHoldings(tmp_path / "store.sqlite")
    yield holdings
    holdings.close()


def holding(feed=ANA, seq=0, whole=WHOLE, **changes) -> FeedHolding:
    plain = FeedHolding(feed, seq, whole, ours=False, wanted=True, in_set=True, forked=False)
    return plain._replace(**changes)


def test_an_empty_store_has_nothing(holdings):
    assert not holdings.look()
    assert holdings.feeds == []


def test_each_look_sees_the_last_commit(store, holdings):
    store.put_feed(feed_record(ANA, own=True, wanted=False))
    store.put_feed(feed_record(BOB))
    put_entry(store, BOB, 1)
    assert not holdings.look()
    store.commit(1)
    assert holdings.look()
    assert holdings.feeds == [holding(ours=True, wanted=False), holding(BOB, 1)]
    assert not holdings.look()
    put_entry(store, BOB, 2)
    store.put_fork(fork_proof(BOB, 2))
    store.commit(2)
    store.put_feed(feed_record(BOB, forked_at=2, retired=True, seq=2))
    store.commit(3)
    assert holdings.look()
    assert holdings.feeds[1] == holding(BOB, 2, in_set=False, forked=True)


def test_a_commit_that_says_nothing_of_feeds_changes_nothing(store, holdings):
    store.put_feed(feed_record(ANA))
    store.commit(1)
    assert holdings.look()
    store.put_meta("boot", "2")
    store.commit(2)
    assert not holdings.look()


def test_side_chains_are_counted_as_they_get_whole(store, holdings):
    store.put_feed(feed_record(ANA))
    for seq in range(1, 5):
        put_entry(store, ANA, seq)
    # Of three side chains one is whole, one has a packet, of one nothing is here.
    put_chunk(store, ANA, 1, 0)
    put_chunk(store, ANA, 2, 0)
    store.put_side_chain(side_chain(ANA, 2, 1))
    store.put_side_chain(side_chain(ANA, 3, 0))
    store.commit(1)
    assert holdings.look()
    assert holdings.feeds == [holding(seq=4, whole=WHOLE // 3)]
    put_chunk(store, ANA, 2, 1)
    put_chunk(store, ANA, 2, 2)
    store.put_side_chain(side_chain(ANA, 2, 3))
    put_chunk(store, ANA, 3, 0)
    store.put_side_chain(side_chain(ANA, 3, 1))
    store.commit(2)
    assert holdings.look()
    assert holdings.feeds == [holding(seq=4, whole=WHOLE * 2 // 3)]


def test_one_that_was_forgotten_is_not_there(store, holdings):
    store.put_feed(feed_record(ANA, retired=True))
    store.put_feed(feed_record(BOB))
    store.commit(1)
    assert holdings.look()
    assert holdings.feeds == [holding(BOB)]


def test_what_is_no_store_is_refused(tmp_path):
    with pytest.raises(StoreFailedError):
        StoreHoldings(tmp_path / "nothing")
