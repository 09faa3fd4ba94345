"""The store and the shelf are told as one."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.store.contract import ANA, BOB, EVE, feed_record, put_chunk, put_entry
from tinyssb_node.islands.gateway.holdings import WHOLE, CombinedHoldings, FeedHolding
from tinyssb_node.islands.sqlite_shelf import SqliteShelf
from tinyssb_node.store.sqlite import SqliteStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore.open(tmp_path / "store.sqlite")) as store:
        yield store


def holding(feed: object, seq: int, *, in_set: bool, whole: int = WHOLE) -> FeedHolding:
    return FeedHolding(feed, seq, whole, ours=False, wanted=True, in_set=in_set, forked=False)  # type: ignore[arg-type]  # made of parts


def test_of_each_feed_what_more_is_held_of(tmp_path: Path, store: SqliteStore) -> None:
    shelf_path = tmp_path / "shelf" / "store.sqlite"
    with closing(CombinedHoldings(tmp_path / "store.sqlite", shelf_path, [EVE])) as holdings:
        assert holdings.look()
        assert holdings.feeds == [holding(EVE, 0, in_set=False)]
        assert not holdings.look()
        store.put_feed(feed_record(ANA))
        put_entry(store, ANA, 1)
        store.commit(1)
        assert holdings.look()
        shelf_path.parent.mkdir()
        with closing(SqliteShelf.open(shelf_path)) as shelf:
            for feed in (BOB, EVE):
                shelf.put_feed(feed_record(feed))
                put_entry(shelf, feed, 1)
            put_chunk(shelf, BOB, 1, 0)
            shelf.commit(1)
            assert holdings.look()
            ours, bob, eve = (
                holding(ANA, 1, in_set=True),
                holding(BOB, 1, in_set=False),
                holding(EVE, 1, in_set=False),
            )
            assert holdings.feeds == [ours, bob, eve]
            # One is on its way into the set, and one had to make room for a third.
            store.put_feed(feed_record(BOB))
            store.commit(2)
            assert holdings.look()
            assert holdings.feeds == [ours, holding(BOB, 1, in_set=True), eve]
            shelf.delete_feed(EVE)
            shelf.commit(2)
            assert holdings.look()
            assert holdings.feeds == [ours, holding(BOB, 1, in_set=True), holding(EVE, 0, in_set=False)]


def test_a_shelf_that_cannot_be_read_is_none(tmp_path: Path, store: SqliteStore) -> None:
    path = tmp_path / "shelf.sqlite"
    path.write_bytes(b"nonsense" * 1_000)
    store.put_feed(feed_record(ANA))
    store.commit(1)
    with closing(CombinedHoldings(tmp_path / "store.sqlite", path)) as holdings:
        assert holdings.look()
        assert [one.feed for one in holdings.feeds] == [ANA]
