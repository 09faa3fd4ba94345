"""Packets that a gateway brings to a node: into the feeds of its set, or onto the shelf, and from there into the
set."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.islands.memory_shelf import MemoryShelf
from tests.nodes import FACE, OTHER, Bench, key_of, packets_of, radio_profile, written
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.events import EntryAppended, ForkFound
from tinyssb_node.codec.packets import Feeds, serialize_claim, serialize_feeds
from tinyssb_node.errors import NodeReadOnlyError, StoreDamagedError
from tinyssb_node.ids import FeedId, Origin, PacketKind, blocked_short
from tinyssb_node.islands.shelf import Shelf
from tinyssb_node.node.node import Node
from tinyssb_node.node.shelf_port import BringResult
from tinyssb_node.replication import limits as set_limits
from tinyssb_node.replication.claim import claim_of
from tinyssb_node.scheduling.link import stream_profile
from tinyssb_node.store.port import StoredEntry

ANA = key_of("ana").feed_id
CONTENTS = [b"1", b"two " * 100, b"3", b"four" * 60]
FEED = packets_of(written(key_of("ana"), CONTENTS))


class ShelfBench(Bench):
    """A node with a shelf."""

    def __init__(self) -> None:
        super().__init__(key=key_of("me"), profile=radio_profile())
        self.shelf_store = MemoryShelf()
        self.there = False
        self.opened = 0
        self.read_only = False
        self.load()

    def load(self) -> None:
        """Start anew, with what the stores hold."""
        self.node = Node(
            store=self.store,
            network=Network(),
            entropy=random.Random(1),
            key=key_of("me"),
            shelf=self.open_shelf,
            read_only=self.read_only,
        )
        self.up(FACE, radio_profile())

    def open_shelf(self, make: bool) -> Shelf | None:
        self.there |= make
        self.opened += self.there
        return Shelf(self.shelf_store, Network(), packets_max=10_000) if self.there else None

    def bring(self, feed: FeedId, packets: list[bytes]) -> BringResult:
        brought, effects = self.node.bring(feed, packets, self.now_us)
        self.perform(effects)
        return brought

    def names(self, *feeds: FeedId) -> None:
        """A neighbour on the air says these ids."""
        self.hear(serialize_feeds(Network().goset_dmx, Feeds(feeds)))

    def held(self, feed: FeedId) -> list[bytes]:
        found = []
        for entry in self.store.entries(feed, 1, 10_000):
            found += [entry.packet, *self.store.chunks(feed, entry.seq, 0, 10_000)]
        return found

    def in_set(self) -> set[FeedId]:
        return {record.feed for record in self.node.feeds()}


def test_what_is_of_the_set_goes_into_it() -> None:
    bench = ShelfBench()
    bench.follow(ANA)
    brought = bench.bring(ANA, FEED)
    assert (brought.shelved, brought.entries, brought.chunks, brought.refused) == (False, 4, 7, None)
    assert bench.held(ANA) == FEED
    assert bench.bring(ANA, FEED).held == len(FEED)
    assert {event.origin for event in bench.seen(EntryAppended)} == {Origin.IMPORT}
    assert bench.opened == 0
    assert bench.bring(ANA, [bytes(120)]).refused == (0, "nothing the node holds leads to it")


def test_what_is_not_goes_onto_the_shelf_and_nobody_hears_of_it() -> None:
    bench = ShelfBench()
    bench.pass_time(3_600_000_000)
    bench.take()
    before = list(bench.events)
    assert bench.bring(ANA, FEED).shelved
    bench.pass_time(1_000_000)
    assert bench.events == before
    assert bench.in_set() == {key_of("me").feed_id}
    assert bench.take(PacketKind.ENTRY) == []
    assert list(Shelf(bench.shelf_store, Network(), packets_max=1_000).packets(ANA)) == FEED


@pytest.mark.parametrize("how", ["follow", "name"])
def test_a_feed_that_enters_the_set_brings_along_what_the_shelf_has(how: str) -> None:
    bench = ShelfBench()
    bench.bring(ANA, FEED)
    if how == "follow":
        bench.follow(ANA)
    else:
        bench.names(ANA)
    bench.pass_time(0)
    assert bench.held(ANA) == FEED
    assert bench.shelf_store.feeds() == []
    assert bench.bring(ANA, FEED).held == len(FEED)


def test_it_comes_in_pieces_with_others_in_between() -> None:
    count = 3 * set_limits.SHELF_PIECE + 5
    feed = packets_of(written(key_of("ana"), [b"%d" % number for number in range(count)]))
    bench = ShelfBench()
    bench.bring(ANA, feed[:-3])
    bench.follow(ANA)
    sizes = []
    while bench.node.next_wake_us() == 0:
        bench.perform(bench.node.wake(bench.now_us))
        sizes.append(len(bench.held(ANA)))
    assert sizes[:3] == [64, 128, 192]
    assert bench.bring(ANA, feed[-3:]).entries == 3
    assert bench.held(ANA) == feed


def test_what_is_brought_of_a_feed_that_is_on_its_way_finds_its_place() -> None:
    bench = ShelfBench()
    bench.bring(ANA, FEED[:9])
    bench.follow(ANA)
    assert bench.bring(ANA, FEED[9:]).refused is None
    assert bench.held(ANA) == FEED


@pytest.mark.parametrize("wakes", range(4))
def test_a_crash_on_the_way_loses_nothing(wakes: int) -> None:
    bench = ShelfBench()
    bench.bring(ANA, FEED)
    bench.follow(ANA)
    for _ in range(wakes):
        bench.perform(bench.node.wake(bench.now_us))
    bench.load()
    bench.pass_time(0)
    assert bench.held(ANA) == FEED
    assert bench.shelf_store.feeds() == []


def test_a_fork_on_the_shelf_is_a_fork_in_the_set() -> None:
    bench = ShelfBench()
    bench.bring(ANA, FEED)
    other = packets_of(written(key_of("ana"), [*CONTENTS[:2], b"other"]))[-1]
    assert bench.bring(ANA, [other]).refused == (0, "Forked")
    bench.follow(ANA)
    bench.pass_time(0)
    assert [event.seq for event in bench.seen(ForkFound)] == [3]


def test_a_fork_that_is_brought_freezes_a_feed_of_the_set() -> None:
    bench = ShelfBench()
    bench.follow(ANA)
    bench.bring(ANA, FEED)
    other = packets_of(written(key_of("ana"), [*CONTENTS[:2], b"other"]))[-1]
    assert bench.bring(ANA, [other]).refused == (0, "Forked")
    assert [event.seq for event in bench.seen(ForkFound)] == [3]


def test_what_our_user_does_not_want_is_not_taken() -> None:
    bench = ShelfBench()
    bench.follow(ANA)
    bench.perform(bench.node.unfollow(ANA, bench.now_us))
    assert bench.bring(ANA, FEED).refused == (0, "not wanted")


def test_what_our_user_blocks_is_not_taken() -> None:
    bench = ShelfBench()
    bench.bring(ANA, FEED[:2])
    bench.perform(bench.node.block([blocked_short(ANA)], bench.now_us))
    bench.follow(ANA)
    bench.pass_time(1_000_000)
    assert bench.bring(ANA, FEED).refused == (0, "not wanted")
    assert bench.held(ANA) == []


def test_on_a_full_disk_nothing_is_taken_and_what_is_on_the_shelf_stays() -> None:
    bench = ShelfBench()
    bench.bring(ANA, FEED)
    bench.follow(ANA)
    bench.read_only = True
    bench.load()
    with pytest.raises(NodeReadOnlyError):
        bench.bring(ANA, FEED)
    bench.pass_time(1_000_000)
    assert [record.feed for record in bench.shelf_store.feeds()] == [ANA]


class BrokenStore(MemoryShelf):
    """Its file is damaged somewhere."""

    broken = False

    def entry(self, feed: FeedId, seq: int) -> StoredEntry | None:
        self.check()
        return super().entry(feed, seq)

    def entries(self, feed: FeedId, first: int, limit: int) -> Sequence[StoredEntry]:
        self.check()
        return super().entries(feed, first, limit)

    def commit(self, wall_us: int) -> None:
        self.check()
        super().commit(wall_us)

    def check(self) -> None:
        if self.broken:
            raise StoreDamagedError(Path("shelf"), "torn")


def test_a_shelf_that_breaks_is_lost_and_nothing_else() -> None:
    for when in ("bring", "take"):
        bench = ShelfBench()
        bench.shelf_store = store = BrokenStore()
        bench.bring(ANA, FEED[:2])
        store.broken = when == "bring"
        if store.broken:
            assert bench.bring(ANA, FEED[2:]).refused == (0, "no shelf")
        bench.follow(ANA)
        store.broken = True
        bench.pass_time(1_000_000)
        assert bench.held(ANA) == []
        assert bench.bring(ANA, FEED).entries == 4
        assert bench.bring(key_of("bob").feed_id, FEED).refused == (0, "no shelf")


def test_without_a_shelf_only_the_set_is_taken() -> None:
    bench = Bench(key=key_of("me"))
    assert bench.node.bring(ANA, FEED, 0)[0].refused == (0, "no shelf")


def test_what_is_brought_goes_out_by_radio_only_if_it_is_asked_for_there() -> None:
    bench = ShelfBench()
    bench.follow(ANA)
    bench.up(OTHER, stream_profile())
    bench.pass_time(3_600_000_000)
    bench.take()
    bench.bring(ANA, FEED)
    bench.pass_time(60_000_000)
    assert bench.take(PacketKind.ENTRY, FACE) == []
    claim = serialize_claim(Network().goset_dmx, claim_of([ANA]))
    bench.hear(claim, OTHER)
    bench.pass_time(60_000_000)
    assert bench.take(PacketKind.ENTRY, FACE) == []
