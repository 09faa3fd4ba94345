"""Peers that name more feeds beyond the set than a node keeps: it forgets the oldest, and goes on as before."""

import pytest

from tests.nodes import FACE, OTHER, Bench, feed_of, key_of, packets_of, radio_profile, written
from tests.words import ANA, NETWORK
from tinyssb_node import limits
from tinyssb_node.codec.packets import (
    Ask,
    Feeds,
    NamedWant,
    parse_ask,
    serialize_diff,
    serialize_feeds,
    serialize_named_want,
)
from tinyssb_node.ids import FaceName, PacketKind
from tinyssb_node.replication.frontiers import Frontiers, SaltedFrontiers, mark_of
from tinyssb_node.replication.salted import short_id
from tinyssb_node.scheduling.link import stream_profile

SALT = b"salt"
SECOND_US = 1_000_000
HOUR_US = 3_600 * SECOND_US
MANY = limits.EMPTY_FEEDS_MAX + 200


def name_beyond(bench: Bench, *numbers: int, face: FaceName = FACE) -> None:
    """A peer names feeds that are beyond its set, one after the other."""
    for number in numbers:
        bench.hear(serialize_feeds(NETWORK.goset_dmx, Feeds((feed_of(number),), more=True)), face)


def test_a_feed_that_a_peer_names_beyond_the_set_is_requested_by_name() -> None:
    bench = Bench(key=key_of("ours"))
    bench.hear(serialize_diff(NETWORK.goset_dmx, Frontiers().under(SALT).diff(0, 0)))
    bench.take()
    name_beyond(bench, 1)
    bench.pass_time(SECOND_US)
    assert bench.take(PacketKind.NAMED_WANT)
    assert bench.node.replica.knows(feed_of(1))


def test_feeds_that_were_forgotten_are_not_requested_any_more() -> None:
    """They were named before the peer sent a DIFF, so requests by name waited."""
    bench = Bench(key=key_of("ours"))
    bench.pass_time(0)
    bench.reports_sent = False
    name_beyond(bench, *range(MANY))
    bench.reports_sent = True
    bench.hear(serialize_diff(NETWORK.goset_dmx, Frontiers().under(SALT).diff(0, 0)))
    bench.pass_time(HOUR_US)
    assert sum(bench.node.replica.knows(feed_of(number)) for number in range(MANY)) == limits.EMPTY_FEEDS_MAX


def test_on_the_air_feeds_that_were_forgotten_take_no_turn_from_requests() -> None:
    wants = []
    for named in (0, MANY):
        bench = Bench(key=key_of("ours"), profile=radio_profile())
        bench.follow(*(feed_of(number) for number in range(5_000, 5_010)))
        name_beyond(bench, *range(named))
        bench.pass_time(20 * HOUR_US)
        bench.take()
        bench.pass_time(5 * HOUR_US)
        wants.append(len(bench.take(PacketKind.WANT)))
    assert wants[1] > 0.9 * wants[0]


def test_who_names_ever_more_feeds_does_not_keep_others_from_being_answered() -> None:
    answered = []
    for flood in (False, True):
        bench = Bench()
        bench.up(OTHER, stream_profile())
        bench.follow(ANA.feed_id)
        for packet in packets_of(written(ANA, [b"%d" % number for number in range(20)])):
            bench.perform(bench.node.import_packet(packet, bench.now_us)[1])
        name_beyond(bench, *range(MANY), face=OTHER)
        bench.pass_time(HOUR_US)
        given = 0
        for number in range(20):
            if flood:
                name_beyond(bench, MANY + number, face=OTHER)
            bench.pass_time(SECOND_US)
            bench.take()
            wanted = NamedWant(SALT, ((short_id(SALT, ANA.feed_id), 1 + number),))
            bench.hear(serialize_named_want(NETWORK.goset_dmx, wanted))
            bench.pass_time(0)
            given += bool(bench.take(PacketKind.ENTRY, FACE))
        answered.append(given)
    assert answered[0] > 5
    assert answered[1] == answered[0]


@pytest.mark.parametrize("salt", [b"\x00\x00\x00\x01", b"\xff\xff\xff\xff"])
def test_marks_are_requested_under_the_salt_of_the_diff_that_showed_them(salt: bytes) -> None:
    bench = Bench(key=key_of("ours"))
    bench.pass_time(0)
    bench.take()
    shown = SaltedFrontiers(salt, [(feed_of(1), 3)]).diff(0, 0)
    bench.hear(serialize_diff(NETWORK.goset_dmx, shown))
    bench.pass_time(SECOND_US)
    asks = [parse_ask(packet) for packet in bench.take(PacketKind.ASK)]
    assert asks == [Ask(salt, (mark_of(salt, feed_of(1), 3),))]
