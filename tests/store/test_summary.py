"""A glance at a store tells what the store itself would, and does not stand in anybody's way."""

import sqlite3

import pytest

from tests.store.contract import ANA, BOB, feed_record, packet_of, put_chunk, put_entry
from tinyssb_node.errors import StoreDamagedError, StoreFailedError
from tinyssb_node.ids import Dialect
from tinyssb_node.store.sqlite import SqliteStore
from tinyssb_node.store.summary import FeedSummary, StoreSummary


@pytest.fixture
def store(tmp_path):
    store = SqliteStore.open(tmp_path / "store.sqlite")
    yield store
    store.close()


@pytest.fixture
def glance(store, tmp_path):
    glance = StoreSummary(tmp_path / "store.sqlite")
    yield glance
    glance.close()


def test_an_empty_store_has_nothing(glance):
    assert (glance.last_arrival(), glance.packet(0), glance.packet(1), glance.feeds()) == (0, None, None, [])


def test_each_question_sees_the_last_commit(store, glance):
    store.put_feed(feed_record(BOB))
    store.put_feed(feed_record(ANA, own=True, wanted=False))
    put_entry(store, ANA, 1)
    assert glance.last_arrival() == 0
    store.commit(1)
    assert glance.last_arrival() == 1
    put_chunk(store, ANA, 1, 0)
    store.commit(2)
    assert glance.last_arrival() == 2 == store.last_arrival()
    assert glance.packet(1) == packet_of(ANA, 1)
    assert glance.packet(2) == packet_of(ANA, 1, 0)
    assert glance.feeds() == [
        FeedSummary(ANA, 1, True, False, False),
        FeedSummary(BOB, 0, False, True, False),
    ]


def test_further_feeds_of_ours_are_nobody_else(store, glance):
    store.put_feed(feed_record(BOB, child=True))
    store.put_feed(feed_record(ANA, dialect=Dialect.SPEC, retired=True))
    put_entry(store, ANA, 1)
    store.commit(1)
    assert glance.feeds() == [FeedSummary(ANA, 1, False, True, False)]


def test_a_follow_is_pending_until_an_entry_comes_and_what_only_peers_want_is_nobody(store, glance):
    store.put_feed(feed_record(ANA, beyond=True))
    store.put_feed(feed_record(BOB, beyond=True, followed=False))
    store.commit(1)
    assert glance.feeds() == [FeedSummary(ANA, 0, False, True, True)]


def test_a_feed_that_was_dropped_is_not_there(store, glance):
    store.put_feed(feed_record(ANA))
    store.put_feed(feed_record(BOB))
    store.commit(1)
    store.drop_feed(ANA)
    store.commit(2)
    assert [glimpse.feed for glimpse in glance.feeds()] == [BOB]


def test_it_holds_no_state_of_the_file(store, glance, tmp_path):
    glance.last_arrival()
    store.put_feed(feed_record(ANA))
    store.commit(1)
    with sqlite3.connect(tmp_path / "store.sqlite") as connection:
        (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    connection.close()
    assert busy == 0


def test_what_is_no_store_is_refused(tmp_path):
    with pytest.raises(StoreFailedError):
        StoreSummary(tmp_path / "none.sqlite")
    (tmp_path / "other.sqlite").write_bytes(b"other" * 300)
    with pytest.raises(StoreDamagedError):
        StoreSummary(tmp_path / "other.sqlite")


def test_forked_feeds_are_seen(store, glance):
    store.put_feed(feed_record(BOB))
    store.put_feed(feed_record(ANA, forked_at=3))
    store.commit(1)
    assert glance.forked() == {ANA: 3}
