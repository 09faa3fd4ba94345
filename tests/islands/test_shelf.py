"""The shelf by itself, on a store in memory and on one in SQLite."""

import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.islands.memory_shelf import MemoryShelf
from tests.nodes import key_of, packets_of, written
from tinyssb_node.codec.dmx import Network
from tinyssb_node.errors import StoreFullError
from tinyssb_node.ids import Dialect
from tinyssb_node.islands.shelf import FORKED, FULL, GONE, UNKNOWN, Shelf, ShelfStore
from tinyssb_node.islands.sqlite_shelf import SqliteShelf

ANA = key_of("ana").feed_id
CONTENTS = [b"1", b"two " * 100, b"3", b"four" * 60]
FEED = packets_of(written(key_of("ana"), CONTENTS))
assert len(FEED) == 11


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ShelfStore]:
    made: ShelfStore = (
        MemoryShelf() if request.param == "memory" else SqliteShelf.open(tmp_path / "store.sqlite")
    )
    with closing(made):
        yield made


def shelf_on(store: ShelfStore, packets_max: int = 10_000) -> Shelf:
    return Shelf(store, Network(), packets_max=packets_max)


def feed_of_author(name: str, count: int) -> list[bytes]:
    return packets_of(written(key_of(name), [b"%d" % number for number in range(count)]))


def test_what_is_brought_is_kept_and_comes_back(store: ShelfStore) -> None:
    shelf = shelf_on(store)
    brought = shelf.bring(ANA, FEED)
    assert (brought.shelved, brought.entries, brought.chunks, brought.refused) == (True, 4, 7, None)
    assert list(shelf.packets(ANA)) == FEED
    again = shelf.bring(ANA, FEED)
    assert (again.entries, again.chunks, again.held, again.refused) == (0, 0, 11, None)


@pytest.mark.parametrize("cut", range(1, 11))
def test_it_goes_on_where_it_was_cut_off_after_a_start_too(store: ShelfStore, cut: int) -> None:
    shelf_on(store).bring(ANA, FEED[:cut])
    shelf = shelf_on(store)
    assert list(shelf.packets(ANA)) == FEED[:cut]
    assert shelf.bring(ANA, FEED[cut:]).refused is None
    assert list(shelf_on(store).packets(ANA)) == FEED


def test_the_other_dialect_is_kept_as_well(store: ShelfStore) -> None:
    feed = packets_of(written(key_of("ana"), CONTENTS, Dialect.DEPLOYED))
    shelf = shelf_on(store)
    assert shelf.bring(ANA, feed).refused is None
    assert list(shelf.packets(ANA)) == feed


def test_what_is_none_of_the_feed_is_refused_and_nothing_behind_it_is_looked_at(store: ShelfStore) -> None:
    shelf = shelf_on(store)
    wrong = FEED[0][:-1] + bytes([FEED[0][-1] ^ 1])
    for packets in ([wrong], [bytes(120)], FEED[1:]):
        assert shelf.bring(ANA, packets).refused == (0, GONE)
    assert shelf.bring(key_of("bob").feed_id, FEED).refused == (0, GONE)
    assert shelf.bring(ANA, [FEED[0], bytes(120), FEED[1]]).refused == (1, UNKNOWN)
    assert shelf.bring(ANA, [FEED[4]]).refused == (0, UNKNOWN)
    assert shelf.feeds == [ANA]
    assert list(shelf.packets(ANA)) == FEED[:1]


def test_a_chunk_that_two_side_chains_share_is_in_both(store: ShelfStore) -> None:
    feed = packets_of(written(key_of("ana"), [b"same " * 40, b"same " * 40]))
    shelf = shelf_on(store)
    assert shelf.bring(ANA, feed).refused is None
    assert list(shelf.packets(ANA)) == feed


@pytest.mark.parametrize("place", [1, 3])
def test_a_fork_freezes_the_feed_and_goes_along_with_it(store: ShelfStore, place: int) -> None:
    shelf = shelf_on(store)
    shelf.bring(ANA, FEED)
    other = packets_of(written(key_of("ana"), [*CONTENTS[: place - 1], b"other"]))[-1]
    assert shelf.bring(ANA, [other]).refused == (0, FORKED)
    shelf = shelf_on(store)
    further = packets_of(written(key_of("ana"), [*CONTENTS, b"5"]))[-1]
    assert shelf.bring(ANA, [further]).refused == (0, FORKED)
    held = next(packet for packet in FEED if store.find_entries(packet[:7]) == [(ANA, place)])
    assert list(shelf.packets(ANA)) == [*FEED, held, other]
    assert [record.forked_at for record in store.feeds()] == [place]


def test_the_feed_of_which_nothing_came_for_longest_goes_first(store: ShelfStore) -> None:
    shelf = shelf_on(store, packets_max=40)
    names = ["a", "b", "c", "d"]
    feeds = {name: key_of(name).feed_id for name in names}
    for name in names:
        assert shelf.bring(feeds[name], feed_of_author(name, 10)).dropped == []
    shelf.bring(feeds["a"], feed_of_author("a", 10)[:1])
    assert shelf.bring(feeds["c"], feed_of_author("c", 11)[10:]).refused == (0, FULL)
    fifth = shelf.bring(key_of("e").feed_id, feed_of_author("e", 5))
    assert (fifth.entries, fifth.dropped) == (5, [feeds["b"]])
    sixth = shelf.bring(key_of("f").feed_id, feed_of_author("f", 10))
    assert sixth.dropped == [feeds["d"]]
    assert shelf_on(store, packets_max=40).feeds == shelf.feeds
    assert shelf.bring(feeds["b"], feed_of_author("b", 3)).entries == 3
    assert list(shelf.packets(feeds["b"])) == feed_of_author("b", 3)


def test_what_is_dropped_is_gone_for_good(store: ShelfStore) -> None:
    shelf = shelf_on(store)
    shelf.bring(ANA, FEED[:6])
    other = packets_of(written(key_of("ana"), [b"other"]))[-1]
    shelf.bring(ANA, [other])
    shelf.drop([ANA, key_of("bob").feed_id])
    for one in (shelf, shelf_on(store)):
        assert one.feeds == []
        assert list(one.packets(ANA)) == []
    assert shelf.bring(ANA, FEED).entries == 4
    assert store.forks() == []


def test_any_order_of_pieces_of_many_feeds_within_any_budget(store: ShelfStore) -> None:
    chance = random.Random(3)
    feeds = [packets_of(written(key_of(str(number)), CONTENTS)) for number in range(6)]
    at = [0] * 6
    shelf = shelf_on(store, packets_max=44)
    for _ in range(80):
        number = chance.randrange(6)
        count = chance.randrange(1, 5)
        brought = shelf.bring(key_of(str(number)).feed_id, feeds[number][at[number] : at[number] + count])
        assert brought.refused is None
        at[number] = min(len(feeds[number]), at[number] + count)
        for gone in brought.dropped:
            at[[key_of(str(other)).feed_id for other in range(6)].index(gone)] = 0
        shelf = chance.choice([shelf, shelf_on(store, packets_max=44)]) if count == 1 else shelf
        held = [list(shelf.packets(key_of(str(other)).feed_id)) for other in range(6)]
        assert held == [feed[:upto] for feed, upto in zip(feeds, at, strict=True)]
        assert sum(at) <= 44


@pytest.mark.parametrize(
    ("packets_max", "kept", "reason"),
    [(31, "abc", FULL), (30, "ac", FULL), (20, "a", FULL), (11, "a", FULL), (10, "", GONE), (1, "", FULL)],
)
def test_on_a_shelf_that_is_smaller_by_now_what_is_too_much_goes_at_the_start(
    store: ShelfStore, packets_max: int, kept: str, reason: str
) -> None:
    shelf = shelf_on(store)
    for name in "abc":
        shelf.bring(key_of(name).feed_id, feed_of_author(name, 10))
    shelf.bring(key_of("a").feed_id, feed_of_author("a", 11)[10:])
    small = shelf_on(store, packets_max)
    assert small.feeds == sorted(key_of(name).feed_id for name in kept)
    brought = small.bring(key_of("a").feed_id, feed_of_author("a", 12)[11:])
    assert (brought.refused, brought.dropped) == ((0, reason), [])
    assert shelf_on(store).feeds == small.feeds


class FullStore(MemoryShelf):
    """Its disk is full at the next commit."""

    full = False

    def commit(self, wall_us: int) -> None:
        if self.full:
            raise StoreFullError
        super().commit(wall_us)


def test_where_the_disk_is_full_nothing_of_it_is_kept() -> None:
    store = FullStore()
    shelf = shelf_on(store)
    shelf.bring(ANA, FEED[:2])
    store.full = True
    with pytest.raises(StoreFullError):
        shelf.bring(ANA, FEED[2:])
    store.full = False
    assert list(shelf.packets(ANA)) == FEED[:2]
    assert shelf.bring(ANA, FEED[2:]).refused is None
    assert list(shelf.packets(ANA)) == FEED


def test_a_feed_that_is_more_than_the_whole_shelf_goes_even_if_more_comes_of_it() -> None:
    store = FullStore()
    for name in "ab":
        shelf_on(store).bring(key_of(name).feed_id, feed_of_author(name, 10))
    store.full = True
    # What is too much cannot be deleted now.
    shelf = shelf_on(store, packets_max=9)
    assert len(shelf.feeds) == 2
    store.full = False
    brought = shelf.bring(key_of("a").feed_id, feed_of_author("a", 11)[10:])
    assert (brought.entries, brought.refused) == (0, (0, FULL))
    assert brought.dropped == [key_of("b").feed_id, key_of("a").feed_id]
    assert shelf.feeds == shelf_on(store).feeds == []
