"""Taking turns on the air: who is asked by name answers, who is not is silent, and whose request spares ours."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.nodes import AIR_PACKET_US, FACE, Bench, key_of, packets_of, radio_profile, written
from tests.replication.replicas import offer, replica_of
from tests.scheduling.chances import Chance
from tests.words import ANA, NETWORK, holding, want
from tinyssb_node import limits
from tinyssb_node.codec.dmx import want_dmx
from tinyssb_node.codec.packets import Chnk, Want, parse_coded, parse_want, serialize_want
from tinyssb_node.feeds.author import ComposedEntry
from tinyssb_node.gossip.deployed_peers import WIRE_NAME
from tinyssb_node.gossip.deployed_set import DeployedSet
from tinyssb_node.gossip.entries import EntryGossip
from tinyssb_node.gossip.expiry import IdExpiry
from tinyssb_node.gossip.frontier_gossip import FrontierGossip
from tinyssb_node.gossip.receipts import ReceiptTracker
from tinyssb_node.gossip.retirement import FeedRetirement
from tinyssb_node.ids import FeedId, PacketKind
from tinyssb_node.replication.coded_entries import code
from tinyssb_node.scheduling.link import WIRED, LinkProfile, Reception, lan_profile, stream_profile
from tinyssb_node.scheduling.transmit_queue import TransmitQueue
from tinyssb_node.store.memory import MemoryStore

AIR = radio_profile()
FEED = written(ANA, [b"entry %d" % number for number in range(1, 41)])
LONG = written(ANA, [bytes(range(256)) * 2])
FLOOR_US = limits.FLOOR_PACKETS * AIR_PACKET_US
ROW_US = limits.FLOOR_PACKETS * limits.BATCH_GAP_US
"""On the bench packets take no time: a row of them takes the gaps between."""
PATIENT_US = 160 * AIR_PACKET_US
"""Longer than the most patient waits."""
MUCH = len(FEED) + 1 + limits.ASK_FULL
"""Next sequence number of one who has so much for us that we ask as soon as may be."""


def quiet(feed: tuple[ComposedEntry, ...] = FEED) -> tuple[Bench, bytes]:
    """A node on the air that has nothing to say for a while, and its name there."""
    bench = holding(feed, AIR)
    bench.pass_time(10 * AIR.advert_max_us)
    name = parse_want(bench.take(PacketKind.WANT)[-1]).speaker
    return bench, name


def named(bench: Bench) -> list[bytes]:
    """Return the addressees of the next WANTs that go in a while."""
    bench.take()
    bench.pass_time(PATIENT_US)
    return [parse_want(packet).asks for packet in bench.take(PacketKind.WANT)]


def entries(first: int, last: int) -> list[bytes]:
    return [entry.packet for entry in FEED[first - 1 : last]]


# --- names


def test_a_node_keeps_its_name_while_its_face_is_up_and_another_has_another() -> None:
    bench, name = quiet()
    assert {parse_want(packet).speaker for packet in _wants(bench)} == {name}
    bench.node.face_down(FACE, "gone", bench.now_us)
    bench.up(FACE, AIR)
    assert {parse_want(packet).speaker for packet in _wants(bench)} != {name}


def _wants(bench: Bench) -> list[bytes]:
    bench.take()
    bench.pass_time(4 * AIR.advert_max_us)
    wants = bench.take(PacketKind.WANT)
    assert wants
    return wants


@pytest.mark.parametrize("profile", [stream_profile(), lan_profile()], ids=lambda profile: profile.medium)
def test_where_air_costs_nothing_all_nodes_have_one_name(profile: LinkProfile) -> None:
    bench = holding(FEED, profile)
    bench.hear(want(bench, b"ab", ana=MUCH))
    bench.pass_time(profile.advert_max_us)
    wants = [parse_want(packet) for packet in bench.take(PacketKind.WANT)]
    assert wants
    assert {(said.speaker, said.asks) for said in wants} == {(WIRE_NAME, b"")}


@pytest.mark.parametrize("profile", [stream_profile(), lan_profile()], ids=lambda profile: profile.medium)
def test_where_air_costs_nothing_who_asks_another_is_answered_too(profile: LinkProfile) -> None:
    bench = holding(FEED[:3], profile)
    bench.hear(want(bench, b"ab", b"cd", ana=1))
    bench.pass_time(1_000_000)
    assert bench.take(PacketKind.ENTRY) == entries(1, 3)


# --- answering


def test_who_is_asked_by_name_answers_at_once_and_in_a_row() -> None:
    bench, name = quiet()
    bench.hear(want(bench, b"ab", name, ana=5))
    bench.pass_time(ROW_US)
    assert bench.take() == entries(5, 4 + limits.FLOOR_PACKETS)
    bench.pass_time(PATIENT_US)
    assert bench.take(PacketKind.ENTRY) == []


def test_who_hears_another_asked_is_silent_and_gives_nothing() -> None:
    bench, _ = quiet()
    bench.hear(want(bench, b"ab", b"cd", ana=4))
    # It shows that it takes what it gets: a made-up name is left the turn for a quarter of the time.
    bench.hear(want(bench, b"ab", b"cd", ana=5))
    bench.pass_time(FLOOR_US)
    assert bench.take() == []
    bench.pass_time(PATIENT_US)
    assert bench.take(PacketKind.ENTRY) == []


def test_what_waits_waits_until_the_other_had_its_turn() -> None:
    bench = Bench(key=ANA, profile=AIR)
    bench.pass_time(10 * AIR.advert_max_us)
    bench.take()
    bench.hear(want(bench, b"ab", b"cd", ana=1))
    bench.hear(want(bench, b"ab", b"cd", ana=2))
    bench.publish(b"news")
    bench.pass_time(FLOOR_US)
    assert bench.take() == []
    bench.pass_time(8 * AIR_PACKET_US)
    assert len(bench.take(PacketKind.ENTRY)) == 1


def test_who_has_no_name_is_answered_before_it_asks_again() -> None:
    bench, _ = quiet()
    for turn in range(8):
        first = 1 + turn
        bench.hear(want(bench, ana=first))
        bench.pass_time(limits.REQUEST_PACKETS * AIR_PACKET_US)
        assert bench.take(PacketKind.ENTRY)[0] == FEED[first - 1].packet


def test_one_that_was_lost_of_a_row_is_given_alone() -> None:
    bench, name = quiet()
    bench.hear(want(bench, b"ab", name, ana=1))
    bench.pass_time(ROW_US)
    bench.take()
    for entry in FEED[limits.FLOOR_PACKETS : 30]:
        bench.hear(entry.packet)
    bench.hear(want(bench, b"ab", name, ana=5))
    bench.pass_time(ROW_US)
    # What it said nothing of it probably heard.
    assert bench.take() == [*entries(5, 5), *entries(31, 30 + limits.FLOOR_PACKETS - 1)]


def test_what_was_published_is_not_given_as_an_answer_too() -> None:
    bench = Bench(key=ANA, profile=AIR)
    bench.pass_time(10 * AIR.advert_max_us)
    bench.take()
    bench.hear(want(bench, b"ab", ana=1))
    bench.publish(b"news")
    bench.hear(want(bench, b"cd", ana=2))
    bench.pass_time(PATIENT_US)
    assert len(bench.take(PacketKind.ENTRY)) == 1


def test_what_is_carried_on_is_not_given_as_an_answer_too() -> None:
    bench, _ = quiet(FEED[:3])
    bench.hear(FEED[3].packet)
    bench.hear(want(bench, b"ab", ana=4))
    bench.pass_time(PATIENT_US)
    assert bench.take(PacketKind.ENTRY) == entries(4, 4)


def test_what_finds_the_channel_busy_goes_later() -> None:
    bench, name = quiet()
    bench.reports_sent = False
    bench.hear(want(bench, b"ab", name, ana=40))
    bench.pass_time(ROW_US)
    assert bench.take() == entries(40, 40)
    bench.perform(bench.node.busy(FACE, bench.now_us))
    bench.pass_time(PATIENT_US)
    assert bench.take(PacketKind.ENTRY) == entries(40, 40)


# --- asking


def test_who_is_known_to_have_more_is_asked_by_name_and_then_nobody() -> None:
    bench, _ = quiet()
    bench.hear(want(bench, b"ab", ana=MUCH))
    asked = named(bench)
    assert asked[0] == b"ab"
    # It did not answer: it is gone, and was the only one.
    assert set(asked[1:]) == {b""}


def test_who_does_not_answer_makes_room_for_another() -> None:
    bench, _ = quiet()
    bench.hear(want(bench, b"ab", ana=MUCH + 1))
    bench.hear(want(bench, b"cd", ana=MUCH))
    asked = named(bench)
    assert asked[:2] == [b"ab", b"cd"]
    assert b"ab" not in asked[1:]


# --- whose request spares ours


class Station:
    """A queue on the air and the conversation there."""

    def __init__(self, *packets: bytes, feeds: Sequence[FeedId] = (ANA.feed_id,)) -> None:
        self.store = MemoryStore()
        self.replica = replica_of(self.store, *feeds)
        for packet in packets:
            offer(self.replica, packet)
        self.queue = TransmitQueue(FACE, AIR, "bench", Chance(0.5), 0)
        receipts = ReceiptTracker(self.replica, self.store, None, {})
        retirement = FeedRetirement(self.replica, Chance(0.5))
        frontiers = FrontierGossip(self.replica, NETWORK, Chance(0.5))
        frontiers.face_up(self.queue, 0)
        expiry = IdExpiry(self.replica, None, expires=True)
        deployed = DeployedSet(self.replica)
        self.gossip = EntryGossip(
            self.replica, self.store, NETWORK, Chance(0.5), receipts, retirement, frontiers, expiry, deployed
        )
        self.gossip.face_up(self.queue, 0)

    def hear(self, speaker: bytes, seq: int, asks: bytes = b"") -> None:
        """Somebody says what it wants next of Ana's feed."""
        said = Want(offset=0, seqs=(seq,), speaker=speaker, asks=asks)
        self.gossip.heard_want(self.queue, self.replica.goset, said, WIRED, 0)

    def is_spared(self, kind: PacketKind) -> bool:
        """Return True if a request that waited is no longer needed."""
        return kind not in self.queue.adverts


@pytest.mark.parametrize(
    ("seq", "asks", "spared"),
    [(4, b"", True), (3, b"", True), (5, b"", False), (0, b"", False), (4, b"zz", False), (3, b"zz", False)],
)
def test_who_knows_nobody_to_ask_leaves_it_to_requests_that_serve_it(
    seq: int, asks: bytes, spared: bool
) -> None:
    station = Station(*entries(1, 3))
    station.queue.advertise(PacketKind.WANT, 0)
    station.hear(b"cd", seq, asks)
    assert station.is_spared(PacketKind.WANT) is spared


@pytest.mark.parametrize(
    ("seq", "asks", "spared"),
    [
        (4, b"ab", True),
        (3, b"ab", True),
        (0, b"ab", False),
        (9, b"ab", False),
        (4, b"", False),
        (4, b"zz", False),
    ],
)
def test_who_knows_whom_to_ask_asks_unless_a_neighbour_is_asked_for_as_much(
    seq: int, asks: bytes, spared: bool
) -> None:
    station = Station(*entries(1, 3))
    station.hear(b"ab", MUCH)
    assert not station.is_spared(PacketKind.WANT)
    station.hear(b"cd", seq, asks)
    assert station.is_spared(PacketKind.WANT) is spared


def test_a_request_for_some_feeds_does_not_spare_ours_for_all() -> None:
    station = Station(*entries(1, 3), feeds=(ANA.feed_id, key_of("ben").feed_id))
    station.queue.advertise(PacketKind.WANT, 0)
    station.hear(b"cd", 1)
    assert not station.is_spared(PacketKind.WANT)


@pytest.mark.parametrize(
    ("wanted", "spared"), [((0, 1, 1), True), ((0, 1, 0), True), ((0, 1, 2), False), ((0, 2, 0), False)]
)
def test_a_chnk_that_serves_us_spares_ours(wanted: tuple[int, int, int], spared: bool) -> None:
    station = Station(LONG[0].packet, LONG[0].chunks[0])
    station.queue.advertise(PacketKind.CHNK, 0)
    station.gossip.heard_chnk(station.queue, station.replica.goset, Chnk((wanted,)), 0)
    assert station.is_spared(PacketKind.CHNK) is spared


# --- strangers


NAMES = st.one_of(st.binary(min_size=2, max_size=2).filter(any), st.sampled_from([b"ab", b"cd"]))


@st.composite
def conversations(draw: st.DrawFn) -> list[tuple[Want | bytes, int, Reception]]:
    """WANTs of anybody to anybody, ours among them, entries between them, and time."""
    own = st.just(b"own")
    wants = st.builds(
        Want,
        offset=st.integers(0, limits.SEQ_MAX),
        seqs=st.lists(st.one_of(st.integers(0, 45), st.integers(0, limits.SEQ_MAX)), max_size=12).map(tuple),
        speaker=st.one_of(NAMES, own),
        asks=st.one_of(st.just(b""), NAMES, own),
    )
    heard = st.one_of(wants, st.sampled_from(packets_of(FEED)))
    span_us = st.integers(0, 20 * AIR_PACKET_US)
    reception = st.builds(Reception, snr_db=st.one_of(st.none(), st.floats(-200, 200)))
    return draw(st.lists(st.tuples(heard, span_us, reception), max_size=40))


@settings(deadline=None, max_examples=60)
@given(conversations())
def test_whatever_is_said_a_node_bears_it_and_gives_only_what_it_holds(
    conversation: list[tuple[Want | bytes, int, Reception]],
) -> None:
    bench = holding(FEED[:20], radio_profile())
    dmx = want_dmx(NETWORK, bench.node.set_state)
    own = b"zz"
    entries_given: list[bytes] = []
    for said, span_us, reception in conversation:
        packet = said if isinstance(said, bytes) else serialize_want(dmx, _with_our_name(said, own))
        bench.perform(bench.node.receive(packet, FACE, reception, bench.now_us))
        bench.pass_time(span_us)
        entries_given += [send.packet for send in bench.outgoing if send.kind is PacketKind.ENTRY]
        for sent in bench.take(PacketKind.WANT):
            own = parse_want(sent).speaker
    held = bench.seq_of(ANA.feed_id)
    assert set(entries_given) <= {entry.packet for entry in FEED[:held]}


def _with_our_name(said: Want, own: bytes) -> Want:
    """*said*, with our name where it was left open."""
    speaker, asks = (own if name == b"own" else name for name in (said.speaker, said.asks))
    return replace(said, speaker=speaker, asks=asks)


# --- coded entries


def coded_want(
    bench: Bench, *, asks: bytes = b"", ana: int = 5, rows: int | None = 0, by: bytes = b"ab"
) -> bytes:
    """Return the WANT of a neighbour that reads coded entries, and lacks *rows* of the generation it is at."""
    dmx = want_dmx(NETWORK, bench.node.set_state)
    return serialize_want(dmx, Want(0, (ana,), by, asks, None if rows is None else (rows,)))


def heads(packets: list[bytes]) -> list[tuple[int, int, int]]:
    """Return generation, length and row of coded entries."""
    coded = [parse_coded(packet) for packet in packets]
    return [(each.generation, each.length, each.row) for each in coded if each is not None]


def test_who_reads_coded_entries_is_given_them() -> None:
    bench, name = quiet()
    bench.hear(coded_want(bench, asks=name, ana=15))
    bench.pass_time(ROW_US)
    first = [(0, 16, 14), (0, 16, 15), *((1, 16, row) for row in range(limits.FLOOR_PACKETS - 2))]
    assert heads(bench.take(PacketKind.CODED)) == first


def test_who_says_how_many_rows_lack_is_given_so_many_sums() -> None:
    bench, name = quiet()
    bench.hear(coded_want(bench, asks=name, ana=35, rows=3))
    bench.pass_time(ROW_US)
    given = heads(bench.take(PacketKind.CODED))
    assert [(generation, length) for generation, length, _ in given] == [(2, 8)] * 3
    assert len({row for _, _, row in given if row >= 16}) == 3


def test_where_somebody_reads_none_all_get_plain_entries() -> None:
    bench, name = quiet()
    bench.hear(coded_want(bench, ana=5, rows=None, by=b"cd"))
    bench.pass_time(AIR_PACKET_US)
    bench.take()
    bench.hear(coded_want(bench, asks=name, ana=15))
    bench.pass_time(ROW_US)
    assert bench.take() == entries(15, 14 + limits.FLOOR_PACKETS)


def test_a_want_says_how_many_rows_lack_and_after_a_lie_asks_for_plain_entries() -> None:
    bench = holding(FEED[:2], AIR)
    packets = [entry.packet for entry in FEED[:10]]
    for row in (4, 77):
        bench.hear(code(NETWORK, ANA.feed_id, 0, row, packets))
    bench.take()
    bench.pass_time(AIR.advert_max_us)
    wants = [parse_want(packet) for packet in bench.take(PacketKind.WANT)]
    assert [(want.seqs, want.lacking) for want in wants[-1:]] == [((3,), (6, 0))]
    lie = code(NETWORK, ANA.feed_id, 0, 2, packets)
    bench.hear(lie[:-1] + b"?")
    bench.take()
    bench.pass_time(AIR.advert_max_us)
    assert {parse_want(packet).lacking for packet in bench.take(PacketKind.WANT)} == {None}
    bench.pass_time(limits.CODED_DISTRUST_US)
    assert parse_want(bench.take(PacketKind.WANT)[-1]).lacking == (0, 0)
