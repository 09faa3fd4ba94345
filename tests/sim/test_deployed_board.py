"""A board plays by its firmware's rules, whatever is said around it."""

import random
from dataclasses import replace
from itertools import pairwise

import pytest

from firmware_bridge.regions import Region
from tests.nodes import FACE, feed_of, key_of, packets_of, radio_profile, written
from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network, chnk_dmx, want_dmx
from tinyssb_node.codec.events import Effect, PacketReceived, PacketSent, Send
from tinyssb_node.codec.packets import (
    Chnk,
    Claim,
    Novelty,
    Want,
    parse_claim,
    parse_want,
    serialize_chnk,
    serialize_claim,
    serialize_novelty,
    serialize_want,
)
from tinyssb_node.ids import Dialect, FeedId, PacketKind, Verdict
from tinyssb_node.replication.claim import claim_of
from tinyssb_node.replication.goset import xor_of
from tinyssb_node.scheduling.link import WIRED
from tinyssb_node.sim.deployed_board import DeployedBoard, make_repeater
from tinyssb_node.sim.options import RadioOptions, SimulationOptions
from tinyssb_node.sim.runner import run_scenario
from tinyssb_node.sim.scenarios import build
from tinyssb_node.sim.traffic import BacklogTraffic, FeedIdTraffic, PostTraffic
from tinyssb_node.store.memory import MemoryStore

NETWORK = Network()
ANA, BOB = key_of("ana"), key_of("bob")


class Hand:
    """Wakes a board when it asks for it, and reports what it sends as sent at once."""

    def __init__(self, board: DeployedBoard | None = None) -> None:
        self.store = MemoryStore()
        self.board = board or DeployedBoard(
            store=self.store, network=NETWORK, entropy=random.Random(1), key=ANA
        )
        self.now_us = 0
        self.sent: list[tuple[int, Send]] = []
        self.board.face_up(FACE, radio_profile(), "here", 0)

    def hear(self, packet: bytes) -> list[Effect]:
        return self.board.receive(packet, FACE, WIRED, self.now_us)

    def run(self, span_us: int) -> list[Send]:
        first, end_us = len(self.sent), self.now_us + span_us
        while (due_us := self.board.next_wake_us()) is not None and due_us <= end_us:
            self.now_us = due_us
            for effect in self.board.wake(due_us):
                assert isinstance(effect, Send)
                self.sent.append((due_us, effect))
                (done,) = self.board.sent(FACE, 1, due_us)
                assert isinstance(done, PacketSent)
        self.now_us = end_us
        return [send for _, send in self.sent[first:]]

    def know(self, *feeds: FeedId) -> None:
        for feed in feeds:
            self.board.follow(feed, self.now_us)


@pytest.fixture
def hand() -> Hand:
    return Hand()


def kinds(sends: list[Send]) -> dict[PacketKind, int]:
    return {kind: sum(send.kind is kind for send in sends) for kind in {send.kind for send in sends}}


def test_it_claims_and_wants_for_ever_though_nothing_is_new(hand: Hand) -> None:
    sends = kinds(hand.run(800_000_000))
    # Slots of 400 ms on average: a look at the set every 21, a CLAIM at every third look, when 20 s have passed; a WANT
    # every 7. Both wait for their turn.
    assert sends[PacketKind.CLAIM] == pytest.approx(2_000 / 63, rel=0.1)
    assert sends[PacketKind.WANT] == pytest.approx(2_000 / 7, rel=0.1)
    assert sends[PacketKind.PING] == pytest.approx(800 / 26, rel=0.1)
    assert set(sends) == {PacketKind.CLAIM, PacketKind.WANT, PacketKind.PING}


def test_a_repeater_only_pings_until_it_hears_of_a_feed() -> None:
    repeater = Hand(make_repeater(MemoryStore(), ANA, random.Random(1)))
    assert set(kinds(repeater.run(100_000_000))) == {PacketKind.PING}
    repeater.hear(serialize_claim(NETWORK.goset_dmx, claim_of([BOB.feed_id])))
    assert set(kinds(repeater.run(100_000_000))) == {PacketKind.PING, PacketKind.CLAIM, PacketKind.WANT}


def test_it_cannot_read_feeds_of_the_other_dialect(hand: Hand) -> None:
    hand.know(BOB.feed_id)
    for packet in packets_of(written(BOB, [b"1", b"2"], Dialect.SPEC)):
        hand.hear(packet)
    assert {record.feed: record.seq for record in hand.board.feeds()}[BOB.feed_id] == 0


def test_it_says_one_packet_a_slot_at_most(hand: Hand) -> None:
    hand.run(100_000_000)
    times_us = [at_us for at_us, _ in hand.sent]
    assert min(b - a for a, b in pairwise(times_us)) >= 250_000


def test_it_answers_a_want_with_five_entries_of_each_feed_one_first(hand: Hand) -> None:
    for key in (BOB, key_of("cyn")):
        hand.know(key.feed_id)
        for packet in packets_of(written(key, [b"%d" % n for n in range(9)], Dialect.DEPLOYED)):
            hand.hear(packet)
    hand.run(20_000_000)
    state = xor_of(record.feed for record in hand.board.feeds())
    hand.hear(serialize_want(want_dmx(NETWORK, state), Want(0, (1, 1, 1))))
    entries = [send.packet for send in hand.run(20_000_000) if send.kind is PacketKind.ENTRY]
    assert len(entries) == 5
    feeds = {packet: record.feed for record in hand.board.feeds() for packet in entries_of(hand, record.feed)}
    assert [feeds[packet] for packet in entries[:4]].count(BOB.feed_id) == 2


def entries_of(hand: Hand, feed: FeedId) -> list[bytes]:
    return [entry.packet for entry in hand.store.entries(feed, 1, 99)]


def test_it_answers_a_chnk_with_five_chunks(hand: Hand) -> None:
    hand.board.publish(bytes(range(256)) * 4, 0)
    hand.run(20_000_000)
    dmx = chnk_dmx(NETWORK, ANA.feed_id)
    hand.hear(serialize_chnk(dmx, Chnk(((0, 1, 2), (9, 1, 0)))))
    chunks = [send.packet for send in hand.run(20_000_000) if send.kind is PacketKind.CHUNK]
    assert chunks == list(hand.store.chunks(ANA.feed_id, 1, 2, 5))


def test_it_asks_for_chunks_it_lacks(hand: Hand) -> None:
    hand.know(BOB.feed_id)
    (entry,) = written(BOB, [b"long" * 50], Dialect.DEPLOYED)
    hand.hear(entry.packet)
    assert PacketKind.CHNK in kinds(hand.run(30_000_000))
    assert hand.board.side_chains_open() == 1
    for chunk in entry.chunks:
        hand.hear(chunk)
    assert hand.board.side_chains_open() == 0


def test_it_learns_from_claims_and_tells_a_novelty_on(hand: Hand) -> None:
    feeds = sorted(feed_of(number) for number in range(6))
    hand.hear(serialize_claim(NETWORK.goset_dmx, claim_of(feeds)))
    assert {record.feed for record in hand.board.feeds()} == {ANA.feed_id, feeds[0], feeds[-1]}
    hand.hear(serialize_novelty(NETWORK.goset_dmx, Novelty(feed=BOB.feed_id)))
    sends = hand.run(30_000_000)
    assert kinds(sends)[PacketKind.NOVELTY] == 1
    # Somebody claims more ids than it has: no WANT until it has as many.
    assert PacketKind.WANT not in kinds(sends)
    hand.know(*feeds)
    assert PacketKind.WANT in kinds(hand.run(30_000_000))


def test_it_asks_and_helps_who_knows_as_many_ids_but_others(hand: Hand) -> None:
    feeds = sorted([ANA.feed_id, *(feed_of(number) for number in range(12))])
    hers, ours = [feed for feed in feeds if feed != ANA.feed_id][5:7]
    hand.know(*(feed for feed in feeds if feed != hers))
    hand.hear(serialize_claim(NETWORK.goset_dmx, claim_of([feed for feed in feeds if feed != ours])))
    claims = [parse_claim(send.packet) for send in hand.run(60_000_000) if send.kind is PacketKind.CLAIM]
    region = [record.feed for record in hand.board.feeds() if feeds[0] <= record.feed <= feeds[-1]]
    assert len(region) == 12
    assert claim_of(region) in claims
    assert claim_of(region[1:6]) in claims
    assert claim_of(region[6:-1]) in claims


def test_it_asks_about_larger_claims_and_halves_for_smaller_ones(hand: Hand) -> None:
    feeds = sorted(feed_of(number) for number in range(9))
    hand.know(*feeds)
    poor = [feeds[0], feeds[-1]]
    hand.hear(serialize_claim(NETWORK.goset_dmx, claim_of(poor)))
    claims = [parse_claim(send.packet) for send in hand.run(60_000_000) if send.kind is PacketKind.CLAIM]
    middle = feeds[1:-1]
    region = [record.feed for record in hand.board.feeds() if middle[0] <= record.feed <= middle[-1]]
    half = len(region) // 2
    assert claim_of(region[:half]) in claims
    assert claim_of(region[half:]) in claims
    rich = Claim(low=feeds[0], high=feeds[1], xor=bytes(32), count=200)
    hand.hear(serialize_claim(NETWORK.goset_dmx, rich))
    claims = [parse_claim(send.packet) for send in hand.run(60_000_000) if send.kind is PacketKind.CLAIM]
    held = [record.feed for record in hand.board.feeds() if feeds[0] <= record.feed <= feeds[1]]
    assert claim_of(held) in claims


def test_it_keeps_a_hundred_ids_and_ten_packets(hand: Hand) -> None:
    for number in range(150):
        hand.hear(serialize_novelty(NETWORK.goset_dmx, Novelty(feed=feed_of(number))))
    assert len(hand.board.feeds()) == 100
    assert kinds(hand.run(60_000_000))[PacketKind.NOVELTY] == 10


@pytest.mark.parametrize(
    ("packet", "verdict"),
    [
        (b"short packet", Verdict.NOT_OURS),
        (bytes(120), Verdict.NOT_OURS),
        (NETWORK.goset_dmx + b"c" + bytes(96), Verdict.INVALID),
        (NETWORK.goset_dmx + b"z" + bytes(32), Verdict.NOT_OURS),
        (want_dmx(NETWORK, ANA.feed_id) + b"\xff\xff", Verdict.INVALID),
    ],
)
def test_whatever_it_hears_has_an_outcome(hand: Hand, packet: bytes, verdict: Verdict) -> None:
    (received,) = hand.hear(packet)
    assert isinstance(received, PacketReceived)
    assert received.verdict is verdict


def test_it_forgets_what_comes_too_early(hand: Hand) -> None:
    hand.know(BOB.feed_id)
    one, two = packets_of(written(BOB, [b"one", b"two"], Dialect.DEPLOYED))
    hand.hear(two)
    hand.hear(one)
    assert [record.seq for record in hand.board.feeds() if record.feed == BOB.feed_id] == [1]
    hand.hear(two)
    assert [record.seq for record in hand.board.feeds() if record.feed == BOB.feed_id] == [2]


def test_a_face_that_goes_takes_what_was_on_it(hand: Hand) -> None:
    assert len(hand.board.face_down(FACE, "gone", 0)) == 1
    assert hand.board.face_down(FACE, "gone", 0) == []
    assert hand.board.next_wake_us() is None
    assert hand.hear(bytes(120)) == []


def test_it_does_not_care_who_else_is_on_the_air(hand: Hand) -> None:
    assert hand.board.busy(FACE, 0) == []


def test_its_want_turns_through_the_set(hand: Hand) -> None:
    hand.know(*(feed_of(number) for number in range(90)))
    offsets = {
        parse_want(send.packet).offset for send in hand.run(60_000_000) if send.kind is PacketKind.WANT
    }
    assert len(offsets) > 1
    assert all(len(send.packet) <= limits.PACKET_SIZE for _, send in hand.sent)


def test_halves_of_a_set_come_together() -> None:
    halves = SimulationOptions(
        nodes=2,
        hours=1,
        boards=("n0-n1",),
        acquainted=True,
        traffic=(
            FeedIdTraffic(nodes=("n0-n1",), count=8),
            FeedIdTraffic(nodes=("n0",), first=20, count=3),
            FeedIdTraffic(nodes=("n1",), first=30, count=3),
        ),
    )
    assert run_scenario(halves).converged


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_board_gets_a_long_feed_from_a_node_sooner_than_from_a_board(seed: int) -> None:
    """It drops what comes behind a gap, so all of that is given again: a lost packet costs one reply, not the feed."""
    options = SimulationOptions(
        seed=seed,
        nodes=2,
        boards=("n1",),
        dialect=Dialect.DEPLOYED,
        acquainted=True,
        traffic=(BacklogTraffic(nodes=("n0",), entries=300, size=24),),
    )
    ours, theirs = run_scenario(options), run_scenario(replace(options, boards=("n0-n1",)))
    assert ours.converged
    assert theirs.converged
    assert ours.time_us < 0.75 * theirs.time_us
    assert ours.packets[PacketKind.ENTRY] < 400


def test_no_law_ends_a_run_of_boards() -> None:
    lawless = SimulationOptions(
        nodes=2,
        hours=0.1,
        boards=("n0-n1",),
        radio=RadioOptions(duty=0.0005),
        traffic=(PostTraffic(nodes=("n0",), at_s=60),),
    )
    assert max(run_scenario(lawless).peak_duty.values()) > 0.0005


def test_two_boards_agree_and_ten_implode() -> None:
    two = SimulationOptions(
        nodes=2, hours=1, boards=("n0-n1",), traffic=(BacklogTraffic(nodes=("n0-n1",), entries=5, size=20),)
    )
    assert run_scenario(two).converged
    ten = SimulationOptions(
        nodes=10,
        hours=0.5,
        boards=("n0-n9",),
        traffic=(BacklogTraffic(nodes=("n0-n9",), entries=10, size=20),),
    )
    report = run_scenario(ten)
    assert not report.converged
    assert report.ratio > 50


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_our_nodes_meet_across_an_empty_board(seed: int) -> None:
    report = run_scenario(build("repeater", seed=seed))
    assert report.converged
    assert report.time_us < 300_000_000


def test_a_board_that_cannot_read_a_feed_costs_little_airtime() -> None:
    lawful = replace(
        build("mixed", nodes=2, hours=1),
        dialect=Dialect.SPEC,
        stop=False,
        radio=RadioOptions(region=Region.EU868),
    )
    report = run_scenario(lawful)
    assert not report.converged
    # Of 36 s that it has in the hour: ten entries of its own, claims, and requests for what the board wrote.
    assert report.duty["n1"] * 3_600 < 7
