"""Peers that break a rule: they are hung up on, and cost no more than the packets they sent."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.islands.feedsync.gateways import Gateway, carry, connect
from tests.islands.feedsync.test_packets import packets
from tests.nodes import key_of, packets_of, written
from tinyssb_node.islands.feedsync import limits
from tinyssb_node.islands.feedsync.packets import (
    FeedSyncDiffers,
    FeedSyncGive,
    FeedSyncHello,
    FeedSyncMore,
    FeedSyncShow,
    FeedSyncShown,
    FeedSyncWant,
    Packet,
    PacketRun,
    WantedFeed,
    WantedRange,
    serialize_packet,
)

ANA = key_of("ana").feed_id
FEED = packets_of(written(key_of("ana"), [b"1", b"2", b"3", b"4"]))
JUNK = bytes(120)


def met() -> Gateway:
    """A gateway that holds two entries of Ana, wants more, and has told so."""
    victim, peer = Gateway(), Gateway()
    victim.replica.add_feed(ANA, None)
    victim.take(*FEED[:2])
    assert connect(victim, peer, [ANA], other_wants=[]) == []
    return victim


def says(victim: Gateway, *said: Packet) -> str | None:
    """The peer says all that. Returns why it was hung up on."""
    assert victim.sync is not None
    for packet in said:
        victim.sync.receive(serialize_packet(packet))
        broken = victim.settle()
        while victim.sync.next_packet() is not None:
            pass
        if broken:
            return broken[0].why
    return None


def test_rules_that_break_the_connection() -> None:
    lies: list[tuple[Packet, str]] = [
        (FeedSyncHello(1, bytes(16)), "repeats the handshake"),
        (FeedSyncMore(0, WantedRange(1)), "a feed that it did not name"),
        (FeedSyncShow(0, 1), "a feed that it did not name"),
        (FeedSyncGive(1, (PacketRun(1, None, (JUNK,)),)), "a feed that we did not name"),
        (FeedSyncDiffers(1), "a feed that we did not name"),
        (FeedSyncGive(0, (PacketRun(4, None, (JUNK,)),)), "leaves entries out"),
        (FeedSyncGive(0, (PacketRun(3, 0, (JUNK,)),)), "did not send"),
        (FeedSyncGive(0, (PacketRun(3, None, (JUNK,)),)), "invalid data of the feed"),
        (FeedSyncGive(0, (PacketRun(1, 0, (JUNK,)),)), "invalid data of the feed"),
        (FeedSyncShown(0, 1, (JUNK,)), "does not show"),
        (FeedSyncShown(0, 1, (JUNK, JUNK)), "invalid data of the feed"),
    ]
    for said, why in lies:
        found = says(met(), said)
        assert found is not None
        assert why in found, said


def test_a_search_for_the_place_of_a_fork_ends_whatever_is_shown() -> None:
    assert says(
        met(), FeedSyncDiffers(0), FeedSyncShown(0, 1, (FEED[0],)), FeedSyncShown(0, 2, (FEED[1],))
    ) == ("invalid packet of feed sync: it reports a difference where there is none")
    assert says(met(), FeedSyncDiffers(0), FeedSyncShown(0, 1, ())) is not None
    lied = says(met(), FeedSyncDiffers(0), FeedSyncShown(0, 1, (JUNK,)))
    assert lied is not None
    assert "invalid data of the feed" in lied


def test_the_same_over_and_over_ends_some_time() -> None:
    victim = met()
    again = FeedSyncGive(0, (PacketRun(1, None, tuple(FEED[:2])),))
    rounds = limits.REPEATS_MAX // 2
    assert says(victim, *[again] * rounds) is None
    assert "again and again" in str(says(victim, again))
    victim = Gateway()
    victim.write("ana", b"1")
    peer = Gateway()
    connect(victim, peer, other_wants=[ANA])
    assert says(victim, *[FeedSyncShow(0, 1)] * limits.SHOWS_MAX) is None
    assert "shown" in str(says(victim, FeedSyncShow(0, 1)))


def test_wants_and_answers_are_bounded() -> None:
    victim = met()
    names = tuple(WantedFeed(number.to_bytes(6, "big"), WantedRange(1)) for number in range(limits.NAMES_MAX))
    full = [FeedSyncWant(names)] * (limits.FEEDS_MAX // limits.NAMES_MAX)
    assert says(victim, *full) is None
    assert "too many feeds" in str(says(victim, FeedSyncWant(names[:1])))


def chains_of(gateway: Gateway) -> int:
    """How many side chains are remembered of what the peer lacks, counted one by one."""
    assert gateway.sync is not None
    return sum(len(asked.chains) for asked in gateway.sync.responder.asked)


def test_side_chains_are_remembered_up_to_the_bound_however_they_are_spread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "CHAINS_TOTAL_MAX", 100)
    many = tuple((seq, 0) for seq in range(1, limits.CHAINS_MAX + 1))
    victim = met()
    names = tuple(
        WantedFeed(number.to_bytes(6, "big"), WantedRange(99, b"abcd", many)) for number in range(64)
    )
    assert says(victim, FeedSyncWant(names)) is None
    assert chains_of(victim) == 100
    # What is wanted no more makes room, which is used once.
    assert (
        says(victim, FeedSyncMore(0, WantedRange(0)), *[FeedSyncMore(9, WantedRange(99, b"abcd", many))] * 3)
        is None
    )
    assert chains_of(victim) == 100
    gone = [FeedSyncMore(number, WantedRange(0)) for number in range(64)]
    assert (
        says(victim, *gone, *gone, *[FeedSyncMore(number, names[0].lacking) for number in range(64)]) is None
    )
    assert chains_of(victim) == 100


def test_side_chains_that_cannot_be_given_whole_are_remembered_up_to_the_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "CHAINS_TOTAL_MAX", 2)
    entry_and_chunks = packets_of(written(key_of("ana"), [b"%d" % n * 900 for n in range(5)]))
    whole = len(entry_and_chunks) // 5
    victim, peer = Gateway(), Gateway()
    victim.replica.add_feed(ANA, None)
    victim.take(*(packet for n, packet in enumerate(entry_and_chunks) if n % whole < 2))
    assert connect(victim, peer, [ANA], other_wants=[ANA]) == []
    assert chains_of(victim) == 2
    victim.take(*entry_and_chunks)
    assert victim.sync is not None
    victim.sync.changed([ANA])
    assert carry(victim, peer) == []
    assert chains_of(victim) == 0
    assert len(peer.packets(ANA)) == 5 + 2 * (whole - 1) + 3


def test_feeds_wanted_are_bounded_on_our_side_too() -> None:
    gateway = Gateway()
    sync = gateway.begin()
    feeds = [key_of(str(number)).feed_id for number in range(limits.FEEDS_MAX + 1)]
    assert sync.want(feeds[:-1])
    assert not sync.want(feeds)


@settings(max_examples=200)
@given(
    st.lists(
        packets | st.sampled_from([FeedSyncGive(0, (PacketRun(3, None, (FEED[2],)),)), FeedSyncDiffers(0)]),
        max_size=8,
    )
)
def test_whatever_a_peer_says_the_feed_stays_what_it_is(said: list[Packet]) -> None:
    victim = met()
    says(victim, *said)
    held = victim.packets(ANA)
    assert held in (FEED[:2], FEED[:3])
