"""The conversation of a node on the air, where every needless packet is somebody else's time."""

import pytest

from tests.nodes import AIR_PACKET_US, FACE, OTHER, Bench, key_of, packets_of, radio_profile, written
from tests.words import ANA, claim, holding, novelty, want
from tinyssb_node import limits
from tinyssb_node.codec.events import EntryAppended, SketchSeen, WantSeen
from tinyssb_node.codec.packets import parse_sketch, parse_want
from tinyssb_node.ids import Direction, PacketKind
from tinyssb_node.replication.claim import claim_of
from tinyssb_node.scheduling.link import LinkProfile, stream_profile

AIR = radio_profile()
BEN = key_of("ben")
FEED = written(ANA, [b"entry %d" % number for number in range(1, 41)])
LONG = written(ANA, [bytes(range(256)) * 2])
SILENCE_US = 20 * AIR_PACKET_US
"""Longer than anybody waits to speak, shorter than timers wait that have nothing to say."""
PATIENT_US = 160 * AIR_PACKET_US
"""Longer than the most patient request waits, which would bring nothing that we know of."""
MUCH = 4 + limits.ASK_FULL
"""Next sequence number of one who has so much for us that we ask as soon as may be."""


def quiet(feed=FEED[:3], profile: LinkProfile = AIR) -> Bench:
    """A node that holds a feed of Ana's and has nothing to say for a while."""
    bench = holding(feed, profile)
    bench.pass_time(10 * profile.advert_max_us)
    bench.take()
    return bench


def asked(bench: Bench, span_us: int = SILENCE_US, kind: PacketKind = PacketKind.WANT) -> int:
    """How often the node asks in the next moments."""
    bench.take()
    bench.pass_time(span_us)
    return len(bench.take(kind))


# --- built when it goes


def test_a_request_says_what_is_wanted_when_it_goes() -> None:
    bench = quiet()
    bench.hear(FEED[3].packet)
    bench.hear(FEED[4].packet)
    bench.pass_time(PATIENT_US)
    assert parse_want(bench.take(PacketKind.WANT)[0]).seqs == (6,)
    assert bench.seen(WantSeen)[-1].seqs == (6,)


def test_a_request_given_back_is_built_anew_and_recorded_once() -> None:
    bench = quiet()
    bench.reports_sent = False
    said_before = len(bench.seen(WantSeen))
    bench.hear(want(bench, ana=MUCH))
    bench.pass_time(SILENCE_US)
    assert parse_want(bench.take(PacketKind.WANT)[0]).seqs == (4,)
    assert bench.node.busy(FACE, bench.now_us) == []
    bench.perform(bench.node.import_packet(FEED[3].packet, bench.now_us)[1])
    bench.pass_time(2 * SILENCE_US)
    assert parse_want(bench.take(PacketKind.WANT)[0]).seqs == (5,)
    bench.perform(bench.node.sent(FACE, 1, bench.now_us))
    assert [event.seqs for event in bench.seen(WantSeen)[said_before:]] == [(MUCH,), (5,)]


def test_an_entry_given_back_comes_again() -> None:
    bench = Bench(key=ANA, profile=AIR)
    bench.reports_sent = False
    bench.publish(b"news")
    bench.pass_time(SILENCE_US)
    first = bench.take(PacketKind.ENTRY)
    bench.perform(bench.node.busy(FACE, bench.now_us))
    assert bench.node.faces()[0].outstanding == 0
    bench.pass_time(SILENCE_US)
    assert bench.take(PacketKind.ENTRY) == first


def test_an_advert_of_the_set_given_back_is_made_anew_and_recorded_once() -> None:
    bench = quiet()
    said_before = len(bench.seen(SketchSeen))
    bench.reports_sent = False
    while not bench.outgoing or bench.outgoing[-1].kind is not PacketKind.SKETCH:
        if bench.outgoing:
            bench.take()
            bench.perform(bench.node.sent(FACE, 1, bench.now_us))
        bench.pass_time(AIR_PACKET_US)
    first = bench.take()[-1]
    assert bench.node.busy(FACE, bench.now_us) == []
    bench.reports_sent = True
    bench.pass_time(34 * AIR_PACKET_US)
    salts = [parse_sketch(again).salt for again in bench.take(PacketKind.SKETCH)]
    assert salts
    assert parse_sketch(first).salt not in salts
    assert [event.salt for event in bench.seen(SketchSeen)[said_before:]] == salts


def test_a_face_that_is_gone_gives_nothing_back() -> None:
    assert Bench().node.busy(OTHER, 0) == []


def test_what_turned_out_to_be_nothing_is_not_said() -> None:
    bench = quiet(LONG)
    assert asked(bench, 10 * AIR.advert_min_us, PacketKind.CHNK) == 0
    empty = Bench(profile=AIR)
    assert asked(empty, 10 * AIR.advert_max_us) == 0


# --- asking


def test_who_learns_that_there_is_much_more_asks_soon_though_its_timer_is_slow() -> None:
    bench = quiet()
    for _ in range(20):
        bench.hear(want(bench, ana=MUCH))
        assert asked(bench, 13 * AIR_PACKET_US) >= 1
        bench.pass_time(10 * AIR.advert_max_us)


def test_the_less_there_is_to_get_the_longer_it_waits_to_ask() -> None:
    def waits_us(seq: int) -> int:
        bench = quiet()
        bench.hear(want(bench, ana=seq))
        begin_us = bench.now_us
        while not asked(bench, AIR_PACKET_US):
            pass
        return bench.now_us - begin_us

    assert waits_us(MUCH) < waits_us(5)


def test_off_the_air_only_the_same_request_spares_ours() -> None:
    profile = stream_profile()

    def asked_while_hearing(seq: int) -> int:
        bench = quiet(profile=profile)
        bench.pass_time(10 * profile.advert_max_us, lambda: bench.hear(want(bench, ana=seq)))
        return len(bench.take(PacketKind.WANT))

    assert asked_while_hearing(4) < asked_while_hearing(3) / 2


# --- carrying on


def test_isolated_news_are_carried_on_once() -> None:
    bench = quiet()
    bench.hear(FEED[3].packet)
    bench.pass_time(SILENCE_US)
    assert bench.take(PacketKind.ENTRY) == [FEED[3].packet]


def test_chunks_and_what_is_known_are_not_carried_on() -> None:
    bench = quiet(LONG)
    for packet in packets_of(LONG):
        bench.hear(packet)
    bench.pass_time(SILENCE_US)
    assert not [packet for packet in bench.take() if len(packet) == limits.PACKET_SIZE]


def test_off_the_air_nothing_is_carried_on() -> None:
    bench = quiet(profile=stream_profile())
    bench.hear(FEED[3].packet)
    bench.pass_time(SILENCE_US)
    assert bench.take(PacketKind.ENTRY) == []


def test_answers_to_others_are_not_carried_on() -> None:
    bench = quiet()
    bench.hear(want(bench, ana=2))
    for entry in FEED[1:5]:
        bench.hear(entry.packet)
    bench.pass_time(SILENCE_US)
    assert bench.take(PacketKind.ENTRY) == []


def test_of_a_backlog_only_the_first_is_carried_on() -> None:
    bench = quiet()
    for entry in FEED[3 : 3 + 2 * limits.CARRY_MAX]:
        bench.hear(entry.packet)
    bench.pass_time(SILENCE_US)
    assert bench.take(PacketKind.ENTRY) == [FEED[3].packet]


def test_what_a_neighbour_had_before_is_not_carried_on() -> None:
    bench = quiet()
    bench.hear(want(bench, ana=5))
    bench.now_us += SILENCE_US
    bench.hear(FEED[3].packet)
    bench.pass_time(SILENCE_US)
    assert bench.take(PacketKind.ENTRY) == []


# --- what came before its feed id


@pytest.mark.parametrize("told", [novelty(ANA.feed_id), claim(claim_of(sorted((ANA.feed_id, BEN.feed_id))))])
def test_entries_that_came_before_their_feed_id_are_appended_with_it(told: bytes) -> None:
    bench = Bench(key=BEN, profile=AIR)
    bench.up(OTHER, stream_profile())
    for entry in FEED[:2]:
        bench.hear(entry.packet)
    assert bench.seen(EntryAppended) == []
    bench.hear(told)
    assert [(event.seq, event.face) for event in bench.seen(EntryAppended)] == [(1, FACE), (2, FACE)]
    bench.take()
    bench.pass_time(SILENCE_US)
    asked_there = [event for event in bench.seen(WantSeen) if event.face == OTHER]
    assert asked_there[-1].direction is Direction.TX
    assert 3 in asked_there[-1].seqs
