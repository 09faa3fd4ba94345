"""While made-up ids flood a radio, ids enter the set only with their first entry."""

import pytest

from tests.nodes import FACE, OTHER, Bench, feed_of, key_of, radio_profile, written
from tests.words import ANA, ask, feeds_packet, sketch_of
from tinyssb_node import limits
from tinyssb_node.codec.packets import parse_feeds, parse_sketch
from tinyssb_node.gossip.admission import Admission
from tinyssb_node.gossip.set_gossip import UNPROVEN
from tinyssb_node.ids import FeedId, PacketKind
from tinyssb_node.replication import limits as set_limits
from tinyssb_node.scheduling.link import WIRED, LinkProfile, stream_profile

AIR = radio_profile()
BEN = key_of("ben")
FEED = written(ANA, [b"one"])
BENS = written(BEN, [b"one"])
SECOND_US = 1_000_000
SOON_US = 10 * SECOND_US
HOUR_US = 3_600 * SECOND_US
SALT = b"salt"


def holding(profile: LinkProfile = AIR) -> Bench:
    """A node that holds Ana's feed."""
    bench = Bench(profile=profile, admission=Admission())
    bench.perform(bench.node.follow(ANA.feed_id, 0))
    bench.perform(bench.node.import_packet(FEED[0].packet, 0)[1])
    bench.pass_time(SOON_US)
    bench.take()
    return bench


def flood(bench: Bench) -> None:
    """A stranger on the air names more ids than have a place without an entry."""
    most = set_limits.SET_AT_ONCE + set_limits.SET_IDS_BURST + set_limits.PUT_OFF_MAX
    for number in range(1_000, 1_001 + most):
        bench.hear(feeds_packet(feed_of(number)))
    bench.pass_time(SOON_US)
    bench.take()


def set_of(bench: Bench) -> set[FeedId]:
    return {record.feed for record in bench.node.feeds() if not record.beyond}


@pytest.fixture
def bench() -> Bench:
    """A node that holds Ana's feed, in a flood."""
    bench = holding()
    flood(bench)
    return bench


def test_all_ids_without_an_entry_leave_at_once(bench: Bench) -> None:
    assert set_of(bench) == {ANA.feed_id}


def test_an_id_comes_in_behind_its_first_entry_only(bench: Bench) -> None:
    bench.hear(feeds_packet(BEN.feed_id))
    assert set_of(bench) == {ANA.feed_id}
    assert UNPROVEN in {total.rule for total in bench.node.refusals()}
    bench.hear(BENS[0].packet)
    bench.hear(feeds_packet(BEN.feed_id))
    assert set_of(bench) == {ANA.feed_id, BEN.feed_id}


@pytest.mark.parametrize(
    "said", [sketch_of(SALT, limits.SKETCH_CAPACITY, BEN.feed_id), ask(SALT, ANA.feed_id)]
)
def test_who_lacks_a_feed_is_given_its_first_entry_and_then_its_id(bench: Bench, said: bytes) -> None:
    bench.hear(said)
    bench.pass_time(SOON_US)
    given = [send.packet for send in bench.outgoing if send.kind in {PacketKind.ENTRY, PacketKind.FEEDS}]
    assert given == [FEED[0].packet, feeds_packet(ANA.feed_id)]


def test_a_first_entry_of_ours_is_followed_by_its_id() -> None:
    bench = Bench(key=BEN, profile=AIR, admission=Admission())
    flood(bench)
    assert set_of(bench) == set(), "our own id, too, waits for an entry"
    bench.publish(b"one")
    bench.pass_time(SOON_US)
    kinds = [send.kind for send in bench.outgoing if send.kind in {PacketKind.ENTRY, PacketKind.FEEDS}]
    assert kinds[:2] == [PacketKind.ENTRY, PacketKind.FEEDS]
    assert parse_feeds(bench.take(PacketKind.FEEDS)[0]).feeds == (BEN.feed_id,)
    assert set_of(bench) == {BEN.feed_id}


def test_a_newcomer_shows_that_it_has_nothing() -> None:
    bench = Bench(profile=AIR, admission=Admission())
    bench.pass_time(HOUR_US)
    assert bench.take(PacketKind.SKETCH) == []
    flood(bench)
    bench.pass_time(SOON_US)
    shown = bench.take(PacketKind.SKETCH)
    assert {(parse_sketch(packet).count, len(packet)) for packet in shown} == {(0, 16)}


def test_whom_our_user_follows_is_pending(bench: Bench) -> None:
    bench.follow(BEN.feed_id)
    assert bench.node.is_pending(BEN.feed_id)
    bench.hear(BENS[0].packet)
    assert set_of(bench) == {ANA.feed_id, BEN.feed_id}


def test_what_a_wire_names_comes_in_with_its_first_entry(bench: Bench) -> None:
    bench.up(OTHER, stream_profile())
    bench.hear(feeds_packet(BEN.feed_id), OTHER)
    assert set_of(bench) == {ANA.feed_id}
    bench.perform(bench.node.receive(BENS[0].packet, OTHER, WIRED, bench.now_us))
    assert set_of(bench) == {ANA.feed_id, BEN.feed_id}


def test_an_hour_after_the_flood_ids_alone_come_in_again(bench: Bench) -> None:
    bench.pass_time(set_limits.PROVEN_US)
    bench.hear(feeds_packet(BEN.feed_id))
    assert set_of(bench) == {ANA.feed_id, BEN.feed_id}


def test_a_flood_on_a_wire_does_not_count() -> None:
    bench = holding(stream_profile())
    bench.up(OTHER, AIR)
    flood(bench)
    assert len(set_of(bench)) > set_limits.SET_AT_ONCE


def test_what_a_neighbour_goes_on_lacking_it_refuses() -> None:
    bench = holding()
    bench.hear(feeds_packet(BEN.feed_id))
    assert BEN.feed_id in set_of(bench)
    for number in range(20):
        bench.hear(sketch_of(number.to_bytes(4), limits.SKETCH_CAPACITY, ANA.feed_id))
        bench.pass_time(SOON_US)
    assert set_of(bench) == {ANA.feed_id}
    bench.hear(feeds_packet(feed_of(1)))
    assert set_of(bench) == {ANA.feed_id}, "it is flooded, and so are we"
    bench.perform(bench.node.face_down(FACE, "unplugged", bench.now_us))
