"""Peers that name more feeds beyond the set than a node keeps: it forgets the oldest, and goes on as before."""

import hashlib
from collections import Counter
from dataclasses import replace

import pytest

from tests.nodes import FACE, OTHER, Bench, feed_of, key_of, packets_of, radio_profile, written
from tests.words import ANA, NETWORK, want
from tinyssb_node import limits
from tinyssb_node.codec.packets import (
    Ask,
    Feeds,
    NamedWant,
    parse_ask,
    serialize_ask,
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


def lying_diff(number: int, count: int = 24) -> bytes:
    """A DIFF whose sums, so many, are made up."""
    salt = number.to_bytes(4)
    diff = Frontiers().under(salt).diff(0, 0)
    sums = (hashlib.sha256(salt).digest() * 4)[: count * limits.SHORT_ID_SIZE]
    return serialize_diff(NETWORK.goset_dmx, replace(diff, count=20, sums=sums))


def test_on_the_air_made_up_diffs_are_answered_ever_more_rarely() -> None:
    bench = Bench(key=key_of("ours"), profile=radio_profile())
    bench.follow(*(feed_of(number) for number in range(10)))
    bench.pass_time(HOUR_US)
    bench.take()
    for number in range(100):
        bench.hear(lying_diff(number))
        bench.pass_time(SECOND_US)
    kinds = Counter(send.kind for send in bench.outgoing)
    assert 1 <= kinds[PacketKind.DIFF] <= 12
    assert kinds[PacketKind.ASK] <= 12


def test_on_the_air_each_packet_of_a_reply_to_made_up_diffs_counts() -> None:
    bench = Bench(key=key_of("ours"), profile=radio_profile())
    keys = [key_of(f"author {number}") for number in range(2 * limits.DIFF_SUMS_MAX)]
    bench.follow(*(key.feed_id for key in keys))
    for key in keys:
        for packet in packets_of(written(key, [b"one"])):
            bench.hear(packet)
    bench.pass_time(HOUR_US)
    bench.take()
    for number in range(100):
        bench.hear(lying_diff(number, limits.DIFF_SUMS_MAX))
        bench.pass_time(SECOND_US)
    assert 8 <= len(bench.take(PacketKind.DIFF)) <= 24


def naming_made_up(number: int) -> bytes:
    """A named WANT for a feed that does not exist."""
    want = NamedWant(SALT, ((1_000_000 + number, 5),))
    return serialize_named_want(NETWORK.goset_dmx, want)


def test_on_the_air_ids_that_never_come_are_asked_for_ever_more_rarely() -> None:
    bench = Bench(key=key_of("ours"), profile=radio_profile())
    bench.follow(feed_of(1))
    bench.pass_time(HOUR_US)
    bench.take()
    for number in range(200):
        bench.hear(naming_made_up(number))
        bench.pass_time(SECOND_US)
    asked = [parse_ask(packet) for packet in bench.take(PacketKind.ASK)]
    assert 8 <= len(asked) <= 8 + 200 / 12
    assert sum(len(each.shorts) for each in asked) == len(asked)
    # An id that comes shows that somebody is honest.
    bench.hear(serialize_feeds(NETWORK.goset_dmx, Feeds((feed_of(2),))))
    bench.hear(naming_made_up(1_000))
    bench.pass_time(2 * SECOND_US)
    assert len(bench.take(PacketKind.ASK)) == 1


def test_on_the_air_all_ids_are_asked_for_though_replies_take_long() -> None:
    """A newcomer to a group of many epochs lacks more ids than the law lets a neighbour give in an hour."""
    bench = Bench(key=key_of("ours"), profile=radio_profile())
    bench.follow(feed_of(1))
    bench.pass_time(HOUR_US)
    bench.take()
    named = [tuple((1_000_000 + 16 * part + number, 5) for number in range(16)) for part in range(5)]
    for items in named:
        bench.hear(serialize_named_want(NETWORK.goset_dmx, NamedWant(SALT, items)))
        bench.pass_time(SECOND_US)
    bench.pass_time(10 * SECOND_US)
    asked = [short for packet in bench.take(PacketKind.ASK) for short in parse_ask(packet).shorts]
    assert sorted(asked) == [short for items in named for short, _ in items]


def test_on_the_air_no_more_ids_wait_to_be_asked_for_than_a_table_holds() -> None:
    bench = Bench(key=key_of("ours"), profile=radio_profile())
    bench.follow(feed_of(1))
    bench.pass_time(HOUR_US)
    bench.take()
    for part in range(2 * limits.JUST_GIVEN_MAX // 16):
        items = tuple((1_000_000 + 16 * part + number, 5) for number in range(16))
        bench.hear(serialize_named_want(NETWORK.goset_dmx, NamedWant(SALT, items)))
    bench.pass_time(24 * HOUR_US)
    asked = [short for packet in bench.take(PacketKind.ASK) for short in parse_ask(packet).shorts]
    assert 0 <= len(set(asked)) - limits.JUST_GIVEN_MAX <= limits.ASK_MAX


def test_on_the_air_an_id_that_a_neighbour_asks_for_is_not_asked_for_again() -> None:
    bench = Bench(key=key_of("ours"), profile=radio_profile())
    bench.follow(feed_of(1))
    bench.pass_time(HOUR_US)
    bench.take()
    bench.hear(want(bench))  # The channel was just in use: nobody sends at once.
    bench.hear(naming_made_up(1))
    bench.hear(naming_made_up(2))
    bench.hear(serialize_ask(NETWORK.goset_dmx, Ask(SALT, (1_000_001, 1_000_002))))
    bench.pass_time(5 * SECOND_US)
    # The one that waited already is sent.
    assert [parse_ask(packet).shorts for packet in bench.take(PacketKind.ASK)] == [(1_000_001,)]
