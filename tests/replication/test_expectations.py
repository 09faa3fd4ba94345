"""The packets that may come next, also where two are announced alike; and packets that came too early."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.nodes import feed_of
from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network, chunk_hash
from tinyssb_node.feeds.chain import Expectation, Tip, expectations
from tinyssb_node.feeds.sidechain import SideChain
from tinyssb_node.ids import Dialect, Dmx, FeedId, MessageId
from tinyssb_node.replication.expectations import Expectations, Orphans

ALIKE = Dmx(b"sameDMX")
HASH = b"h" * limits.MESSAGE_ID_SIZE
OTHER_HASH = b"i" * limits.MESSAGE_ID_SIZE


def expectation(feed: FeedId, seq: int, dmx: Dmx = ALIKE) -> Expectation:
    return Expectation(feed, seq, Dialect.SPEC, MessageId(bytes(20)), Network(), dmx)


def chain(number: int, seq: int = 1, next_hash: bytes = HASH, held: int = 0) -> SideChain:
    return SideChain(feed_of(number), seq, 3, held, next_hash, 300)


def test_entries_are_found_by_dmx_and_by_feed() -> None:
    table = Expectations()
    places = expectations(Network(), Tip(feed_of(1), None, 0, None))
    table.expect_entries(feed_of(1), places)
    assert len(places) == 2
    assert tuple(table.of_feed(feed_of(1))) == places
    assert [table.entries(place.dmx) for place in places] == [(places[0],), (places[1],)]
    assert table.entries(ALIKE) == ()
    assert table.of_feed(feed_of(2)) == ()


def test_two_feeds_may_expect_the_same_dmx() -> None:
    table = Expectations()
    mine, yours = expectation(feed_of(1), 5), expectation(feed_of(2), 9)
    table.expect_entries(feed_of(1), (mine,))
    table.expect_entries(feed_of(2), (yours,))
    assert tuple(table.entries(ALIKE)) == (mine, yours)
    table.expect_entries(feed_of(1), ())
    assert tuple(table.entries(ALIKE)) == (yours,)
    table.expect_entries(feed_of(2), ())
    assert table.entries(ALIKE) == ()


def test_one_feed_may_expect_both_dialects_under_one_dmx() -> None:
    table = Expectations()
    both = (expectation(feed_of(1), 1), expectation(feed_of(1), 1))
    table.expect_entries(feed_of(1), both)
    assert tuple(table.entries(ALIKE)) == both
    table.expect_entries(feed_of(1), (expectation(feed_of(1), 2, Dmx(b"another")),))
    assert table.entries(ALIKE) == ()
    assert len(table.entries(b"another")) == 1


def test_identical_chunks_of_two_side_chains_are_both_expected() -> None:
    table = Expectations()
    table.expect_chunk(chain(1))
    table.expect_chunk(chain(2))
    assert list(table.chunks(HASH)) == [chain(1), chain(2)]
    table.forget_chain(feed_of(1), 1)
    assert list(table.chunks(HASH)) == [chain(2)]
    table.forget_chain(feed_of(2), 1)
    assert table.chunks(HASH) == ()
    assert table.side_chains == ()


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 4), st.sampled_from((HASH, OTHER_HASH)))))
def test_side_chains_are_found_by_the_packet_they_expect_in_any_order(
    steps: list[tuple[bool, int, bytes]],
) -> None:
    table = Expectations()
    expected: dict[int, SideChain] = {}
    for expects, number, next_hash in steps:
        expected.pop(number, None)
        if expects:
            expected[number] = chain(number, next_hash=next_hash)
            table.expect_chunk(expected[number])
        else:
            table.forget_chain(feed_of(number), 1)
    assert list(table.side_chains) == list(expected.values())
    for hash_ in (HASH, OTHER_HASH):
        found = [each for each in expected.values() if each.next_hash == hash_]
        assert list(table.chunks(hash_)) == found
        assert table.expects(b"another", hash_) == bool(found)


def test_a_side_chain_moves_on_to_its_next_chunk() -> None:
    table = Expectations()
    table.expect_chunk(chain(1))
    moved = chain(1, next_hash=OTHER_HASH, held=1)
    table.expect_chunk(moved)
    assert table.chunks(HASH) == ()
    assert list(table.chunks(OTHER_HASH)) == [moved]
    assert table.of_chain(feed_of(1), 1) == moved
    assert table.of_chain(feed_of(1), 2) is None


def test_forgetting_what_is_not_expected_does_nothing() -> None:
    table = Expectations()
    table.forget_chain(feed_of(1), 1)
    table.expect_entries(feed_of(1), ())
    assert table.side_chains == ()


def test_a_feed_is_forgotten_whole_and_alone() -> None:
    table = Expectations()
    table.expect_entries(feed_of(1), (expectation(feed_of(1), 1),))
    table.expect_chunk(chain(1, seq=1))
    table.expect_chunk(chain(1, seq=2, next_hash=OTHER_HASH))
    table.expect_chunk(chain(2))
    table.forget_feed(feed_of(1))
    assert table.entries(ALIKE) == ()
    assert list(table.side_chains) == [chain(2)]


def test_room_for_side_chains_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SIDE_CHAINS_MAX", 2)
    table = Expectations()
    table.expect_chunk(chain(1))
    assert table.has_chunk_room
    table.expect_chunk(chain(2))
    assert not table.has_chunk_room


def test_in_a_full_table_the_feed_with_the_most_side_chains_makes_room() -> None:
    table = Expectations()
    for seq in (1, 2, 3):
        table.expect_chunk(chain(1, seq))
    table.expect_chunk(chain(1, 1, OTHER_HASH, held=1))
    assert table.make_chunk_room(feed_of(2))
    assert [(old.feed, old.seq) for old in table.side_chains] == [(feed_of(1), 3), (feed_of(1), 1)]
    table.expect_chunk(chain(2))
    assert not table.make_chunk_room(feed_of(2))
    assert not table.make_chunk_room(feed_of(1))
    assert len(table.side_chains) == 3


def early(number: int, dmx: bytes = ALIKE) -> bytes:
    return dmx + number.to_bytes(limits.PACKET_SIZE - limits.DMX_SIZE, "big")


def test_orphans_are_found_by_dmx_and_hash_and_taken_once() -> None:
    orphans = Orphans()
    packets = [early(1), early(2), early(3, b"another")]
    for packet in packets:
        assert orphans.put(chunk_hash(packet), packet)
    assert len(orphans) == 3
    assert orphans.with_dmx(ALIKE) == sorted(chunk_hash(packet) for packet in packets[:2])
    assert orphans.take(chunk_hash(packets[0])) == packets[0]
    assert chunk_hash(packets[0]) not in orphans
    assert orphans.with_dmx(ALIKE) == [chunk_hash(packets[1])]
    orphans.take(chunk_hash(packets[1]))
    assert orphans.with_dmx(ALIKE) == []
    assert chunk_hash(packets[2]) in orphans


def test_an_orphan_that_comes_again_is_kept_once() -> None:
    orphans = Orphans()
    assert orphans.put(HASH, early(1))
    assert orphans.put(HASH, early(1))
    assert len(orphans) == 1


def test_the_oldest_orphan_makes_room() -> None:
    orphans = Orphans()
    packets = [early(number) for number in range(limits.ORPHANS_MAX + 1)]
    kept = [orphans.put(chunk_hash(packet), packet) for packet in packets]
    assert kept == [True] * limits.ORPHANS_MAX + [False]
    assert len(orphans) == limits.ORPHANS_MAX
    assert chunk_hash(packets[0]) not in orphans
    assert chunk_hash(packets[0]) not in orphans.with_dmx(ALIKE)
    assert chunk_hash(packets[-1]) in orphans
