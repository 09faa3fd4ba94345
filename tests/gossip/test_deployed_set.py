"""Ids that deployed peers claim on the air: beside our set until an entry comes."""

import pytest

from tests.nodes import Bench, feed_of, key_of, radio_profile, written
from tests.words import ANA, NETWORK, claim, feeds_packet, holding, novelty
from tinyssb_node import limits
from tinyssb_node.codec.dmx import want_dmx
from tinyssb_node.codec.events import WantSeen
from tinyssb_node.codec.packets import Want, parse_claim, serialize_want
from tinyssb_node.gossip.deployed_set import DeployedSet
from tinyssb_node.ids import Dialect, Direction, FeedId, PacketKind
from tinyssb_node.replication import limits as set_limits
from tinyssb_node.replication.claim import claim_of
from tinyssb_node.replication.goset import Goset, xor_of
from tinyssb_node.replication.replica import Replica
from tinyssb_node.store.memory import MemoryStore

AIR = radio_profile()
BOARD = key_of("board")
FEED = written(ANA, [b"one", b"two", b"three"])
(FIRST,) = written(BOARD, [b"from a board"], Dialect.DEPLOYED)
SECOND_US = 1_000_000


@pytest.fixture
def bench() -> Bench:
    """A node on the air that holds a feed of Ana's, with a board near that claims its own id."""
    bench = holding(FEED, AIR)
    bench.pass_time(10 * AIR.advert_max_us)
    bench.take()
    bench.hear(novelty(BOARD.feed_id))
    return bench


def set_of(bench: Bench) -> bytes:
    return bench.node.set_state


def wants(bench: Bench) -> set[bytes]:
    """The sets of which the node's requests by place speak in the next ten minutes."""
    bench.events.clear()
    bench.pass_time(600 * SECOND_US, lambda: bench.hear(novelty(BOARD.feed_id)))
    return {event.state for event in bench.seen(WantSeen) if event.direction is Direction.TX}


def test_what_a_board_claims_is_not_in_our_set_before_its_first_entry(bench: Bench) -> None:
    assert set_of(bench) == ANA.feed_id
    bench.hear(FIRST.packet)
    assert set_of(bench) == xor_of([ANA.feed_id, BOARD.feed_id])


def test_the_board_is_shown_and_asked_for_the_set_that_it_has(bench: Bench) -> None:
    bench.pass_time(20 * SECOND_US)
    both = sorted([ANA.feed_id, BOARD.feed_id])
    assert claim_of(both) in [parse_claim(packet) for packet in bench.take(PacketKind.CLAIM)]
    assert wants(bench) == {ANA.feed_id, xor_of(both)}, "ours, for nodes of ours, and its own"
    bench.hear(FIRST.packet)
    assert wants(bench) == {xor_of(both)}


def test_an_id_that_had_to_make_room_beyond_our_set_is_still_in_theirs(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flood of made-up ids makes the node forget an id that a board has in its set."""
    monkeypatch.setattr(limits, "EMPTY_FEEDS_MAX", 1)
    bench.hear(novelty(feed_of(9)))
    assert wants(bench) == {ANA.feed_id, xor_of([ANA.feed_id, BOARD.feed_id, feed_of(9)])}


def test_a_board_that_wants_what_we_have_gets_it(bench: Bench) -> None:
    both = sorted([ANA.feed_id, BOARD.feed_id])
    seqs = tuple(1 if feed == ANA.feed_id else 0 for feed in both)
    bench.hear(serialize_want(want_dmx(NETWORK, xor_of(both)), Want(offset=0, seqs=seqs)))
    bench.pass_time(20 * SECOND_US)
    assert bench.take(PacketKind.ENTRY)[0] == FEED[0].packet


def test_when_boards_are_gone_nobody_speaks_of_their_set(bench: Bench) -> None:
    bench.pass_time(600 * SECOND_US)
    bench.events.clear()
    bench.pass_time(600 * SECOND_US)
    assert {event.state for event in bench.seen(WantSeen)} == {ANA.feed_id}


def test_an_id_that_a_node_of_ours_names_is_in_the_set(bench: Bench) -> None:
    bench.hear(feeds_packet(feed_of(1)))
    assert set_of(bench) == xor_of([ANA.feed_id, feed_of(1)])


def test_where_boards_are_among_ours_what_they_claim_is_in_the_set() -> None:
    bench = Bench(profile=AIR, dialect=Dialect.DEPLOYED)
    bench.hear(claim(claim_of([BOARD.feed_id])))
    assert set_of(bench) == BOARD.feed_id


def test_the_oldest_make_room() -> None:
    replica = Replica(MemoryStore(), NETWORK, read_only=False)
    deployed = DeployedSet(replica)
    assert deployed.goset is replica.goset
    named: list[FeedId] = [feed_of(number) for number in range(set_limits.DEPLOYED_IDS_MAX + 1)]
    for feed in named:
        deployed.named(feed)
    assert deployed.goset.feeds == Goset(named[1:], limits.SET_MAX).feeds
    for feed in named:
        replica.add_feed(feed, None)
    assert set(deployed.goset.feeds) == set(named)
    assert deployed.goset is replica.goset
