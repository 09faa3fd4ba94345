"""The sync against peers that lie, flood or fall silent."""

import json
import random
from dataclasses import replace

import pytest

from tests.pzp.sync.replicas import NONE, Replica, newest, world
from tinyssb_node.pzp.messages import message
from tinyssb_node.pzp.messages.versions import V2
from tinyssb_node.pzp.sync import limits
from tinyssb_node.pzp.sync.packets import (
    EMPTY,
    DepthRange,
    EndReason,
    ExchangeId,
    Packet,
    PzpAnswer,
    PzpAsk,
    PzpDigest,
    PzpEnd,
    PzpGive,
    PzpHave,
    PzpWant,
    parse_packet,
    serialize_packet,
)
from tinyssb_node.pzp.sync.sync import PzpSync, PzpSyncViolation, SyncAborted, SyncCompleted


def opened(held: Replica, feed: str) -> tuple[PzpSync, ExchangeId]:
    """One side that has begun, and the exchange."""
    side = PzpSync(held, random.Random(0).randbytes)
    side.start(feed)
    data = side.next_packet(0)
    assert data is not None
    return side, parse_packet(data).of


def said(side: PzpSync) -> list[Packet]:
    found = []
    while (data := side.next_packet(0)) is not None:
        found.append(parse_packet(data))
    return found


def test_who_claims_depths_without_end_gets_a_bounded_number_of_questions() -> None:
    here = world(1)
    side, of = opened(here.fill(Replica()), here.feed)
    asked = 0
    packets: list[Packet] = [PzpWant(of, 0, DepthRange(0, limits.DEPTH_MAX), EMPTY)]
    while packets:
        packet = packets.pop()
        side.receive(serialize_packet(packet), 0)
        for answer in said(side):
            match answer:
                case PzpHave(of):
                    packets.append(PzpWant(of, 0, DepthRange(0, limits.DEPTH_MAX), EMPTY))
                case PzpAsk(of, round_, _, window):
                    asked += 1
                    packets += [PzpGive(of, round_, 0, True, []), PzpAnswer(of, round_, window.low, b"")]
    assert asked == limits.ROUNDS_MIN * limits.WINDOWS_MAX
    assert next(event for event in side.events() if isinstance(event, SyncCompleted)).complete is False


def test_who_gives_what_nobody_wants_wastes_his_own_time() -> None:
    here, other = world(1), world(2)
    held = Replica({here.feed: newest(2)}, default=NONE)
    side, of = opened(held, here.feed)
    side.receive(serialize_packet(PzpWant(of, 0, DepthRange(0, 9), EMPTY)), 0)
    (ask,) = [packet for packet in said(side) if isinstance(packet, PzpAsk)]
    assert ask.want == DepthRange(8, 9)
    side.receive(serialize_packet(PzpAnswer(of, 0, ask.window.high, b"")), 0)
    offered = [*other.identity, *here.identity, *other.posts, *here.posts, {"no": "message"}, 5]
    texts = [json.dumps(one).encode() for one in offered]
    side.receive(serialize_packet(PzpGive(of, 0, 0, True, [*texts, b"{", b"\xff"])), 0)
    assert held.messages.keys() == {here.feed, *(message.message_id(V2.fields, one) for one in here.identity)}
    assert not any(isinstance(event, PzpSyncViolation) for event in side.events())


def test_more_than_goes_in_a_round_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "GIVEN_MAX", 10)
    here = world(1)
    side, of = opened(Replica(), here.feed)
    side.receive(serialize_packet(PzpWant(of, 0, DepthRange(0, 9), EMPTY)), 0)
    said(side)
    side.receive(serialize_packet(PzpAnswer(of, 0, 9, b"")), 0)
    for number in range(2):
        side.receive(serialize_packet(PzpGive(of, 0, number, False, [b"{}"] * 6)), 0)
    (event,) = side.events()
    assert isinstance(event, PzpSyncViolation)
    assert "more messages" in event.why


def test_identities_that_nobody_needs_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ASIDE_SIZE_MAX", 2_000)
    here, other = world(1), world(2)
    held = Replica()
    side, of = opened(held, here.feed)
    side.receive(serialize_packet(PzpWant(of, 0, DepthRange(0, 9), EMPTY)), 0)
    said(side)
    side.receive(serialize_packet(PzpAnswer(of, 0, 9, b"")), 0)
    text = json.dumps(other.identity[0]).encode()
    side.receive(serialize_packet(PzpGive(of, 0, 0, False, [text] * 10)), 0)
    assert isinstance(side.events()[0], PzpSyncViolation)
    assert not held.messages


def test_an_answer_beyond_the_question_ends_it() -> None:
    here = world(1)
    side, of = opened(here.fill(Replica()), here.feed)
    side.receive(serialize_packet(PzpWant(of, 0, DepthRange(0, 9), DepthRange(0, 9))), 0)
    said(side)
    side.receive(serialize_packet(PzpAnswer(of, 0, 10, b"")), 0)
    assert isinstance(side.events()[0], PzpSyncViolation)


def test_a_filter_full_of_ones_gets_nothing() -> None:
    here = world(1)
    side = PzpSync(here.fill(Replica()), random.Random(0).randbytes)
    of = ExchangeId(here.feed, bytes(8))
    side.receive(serialize_packet(PzpHave(of, 0, EMPTY, [PzpDigest(0, bytes(16))])), 0)
    side.receive(
        serialize_packet(
            PzpAsk(of, 0, DepthRange(0, 99), DepthRange(0, 99), b"\xff" * limits.FILTER_SIZE_MAX)
        ),
        0,
    )
    assert [type(packet) for packet in said(side)] == [PzpWant, PzpAnswer]
    side.receive(serialize_packet(PzpGive(of, 0, 0, True, [])), 0)
    (give,) = said(side)
    assert isinstance(give, PzpGive)
    assert give.messages == []


def test_rounds_only_go_up_and_packets_of_others_are_passed_over() -> None:
    here = world(1)
    side = PzpSync(here.fill(Replica()), random.Random(0).randbytes)
    of = ExchangeId(here.feed, bytes(8))
    side.receive(serialize_packet(PzpHave(of, 0, EMPTY, [PzpDigest(0, bytes(16))])), 0)
    ask = PzpAsk(of, 1, DepthRange(0, 99), DepthRange(0, 99), b"")
    for packet in (ask, ask, replace(ask, round=0), replace(ask, of=ExchangeId(here.feed, bytes(7) + b"1"))):
        side.receive(serialize_packet(packet), 0)
    assert [type(packet) for packet in said(side)] == [PzpWant, PzpAnswer]
    for number in (1, 0, 0, 2, 1):
        side.receive(serialize_packet(PzpGive(of, 1, number, number == 1, [])), 0)
    assert [type(packet) for packet in said(side)] == [PzpGive]
    for number in (1, 2):
        side.receive(serialize_packet(PzpGive(of, 1, number, True, [])), 0)
    assert said(side) == []
    assert side.events() == []


def test_beginning_is_rationed_and_asking_without_taking_ends_it() -> None:
    side = PzpSync(Replica(), random.Random(0).randbytes)
    for number in range(limits.BEGUN_A_MINUTE_MAX + 1):
        have = PzpHave(ExchangeId("1" * 16, number.to_bytes(8)), 0, EMPTY, [PzpDigest(0, bytes(16))])
        side.receive(serialize_packet(have), 0)
        (answer,) = said(side)
    assert answer == PzpEnd(have.of, EndReason.BUSY)
    side.receive(serialize_packet(have), 60_000_000)
    assert isinstance(said(side)[0], PzpWant)
    for _ in range(limits.OUTBOX_MAX + 1):
        side.receive(serialize_packet(have), 60_000_000)
    assert isinstance(side.events()[0], PzpSyncViolation)
    side.receive(b"nonsense", 0)
    assert isinstance(side.events()[-1], PzpSyncViolation)


def test_what_is_stalled_is_given_up() -> None:
    here = world(1)
    side, of = opened(Replica(), here.feed)
    assert side.next_wake_us() == limits.STALL_US
    side.wake(limits.STALL_US - 1)
    assert side.events() == []
    side.wake(limits.STALL_US)
    assert side.events() == [SyncAborted(here.feed, "nothing came or went for a minute")]
    assert side.idle
    assert side.next_wake_us() is None
    side.receive(serialize_packet(PzpWant(of, 0, DepthRange(0, 9), EMPTY)), 0)
    assert side.events() == []
    assert side.idle


def test_who_gives_for_long_is_not_stalled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BATCH_SIZE", 1)
    here = world(1)
    side, of = opened(here.fill(Replica()), here.feed)
    side.receive(serialize_packet(PzpWant(of, 0, EMPTY, DepthRange(0, 99))), 0)
    said(side)
    side.receive(serialize_packet(PzpAnswer(of, 0, 30, b"")), 0)
    for number in range(34):
        assert side.next_packet(number * limits.STALL_US // 2) is not None
        side.wake(number * limits.STALL_US // 2)
    assert side.events() == []


def test_who_is_busy_says_so() -> None:
    here = world(1)
    side, of = opened(Replica(), here.feed)
    side.receive(serialize_packet(PzpEnd(of, EndReason.BUSY)), 0)
    (event,) = side.events()
    assert isinstance(event, SyncAborted)
    assert "busy" in event.why


def test_who_ends_in_the_middle_is_left() -> None:
    here = world(1)
    side, of = opened(here.fill(Replica()), here.feed)
    side.receive(serialize_packet(PzpWant(of, 0, DepthRange(0, 9), DepthRange(0, 9))), 0)
    side.receive(serialize_packet(PzpEnd(of, EndReason.DONE)), 0)
    assert side.events() == [SyncAborted(here.feed, "the other side ended it")]


def test_no_two_filters_over_the_same_are_alike() -> None:
    here = world(1)
    side = PzpSync(here.fill(Replica()), random.Random(0).randbytes)
    filters = set()
    for of in (ExchangeId(here.feed, bytes(8)), ExchangeId(here.feed, b"another!")):
        side.receive(serialize_packet(PzpHave(of, 0, EMPTY, [PzpDigest(0, bytes(16))])), 0)
        for round_ in range(limits.ROUNDS_MAX):
            side.receive(serialize_packet(PzpAsk(of, round_, EMPTY, DepthRange(0, 99), b"")), 0)
        filters |= {packet.filter for packet in said(side) if isinstance(packet, PzpAnswer)}
    assert len(filters) == 2 * limits.ROUNDS_MAX
