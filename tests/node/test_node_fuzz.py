"""Any bytes into any face: never an exception, never a changed state unless they are valid."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.nodes import Bench, feed_of, key_of, packets_of, pointing_to, radio_profile, written
from tinyssb_node import limits
from tinyssb_node.codec.dmx import PING_DMX, PONG_DMX, Network, chnk_dmx, want_dmx
from tinyssb_node.codec.events import ForkFound, PacketReceived, Send
from tinyssb_node.codec.packets import (
    Chnk,
    Novelty,
    Want,
    serialize_chnk,
    serialize_claim,
    serialize_novelty,
    serialize_want,
)
from tinyssb_node.ids import Dialect, PacketKind, Verdict
from tinyssb_node.replication.claim import claim_of
from tinyssb_node.scheduling.link import LinkProfile, lan_profile, stream_profile

NETWORK = Network()
ANA = key_of("ana")
BEN = key_of("ben")
FEED = written(ANA, [b"one", b"l" * 300, b"three", b"m" * 250], Dialect.DEPLOYED)
PROFILES = [stream_profile(), lan_profile(), radio_profile()]


def state_of(bench: Bench) -> tuple[Any, ...]:
    """All that outlives a packet."""
    return (
        bench.node.feeds(),
        bench.node.set_state,
        bench.node.side_chains_open(),
        bench.store.feeds(),
        bench.store.last_arrival(),
        list(bench.store.side_chains()),
        bench.store.forks(),
    )


def bench_in_the_middle(profile: LinkProfile) -> Bench:
    """A node with feeds, an open side chain and something to say."""
    bench = Bench(key=BEN, profile=profile)
    bench.follow(ANA.feed_id, feed_of(1))
    bench.publish(b"of our own" * 30)
    for packet in packets_of(FEED)[:3]:
        bench.hear(packet)
    assert bench.node.side_chains_open() == 1
    return bench


MIDDLE = bench_in_the_middle(stream_profile())
STATE = MIDDLE.node.set_state
HEADS = [
    NETWORK.goset_dmx + b"c",
    NETWORK.goset_dmx + b"n",
    NETWORK.goset_dmx + b"z",
    want_dmx(NETWORK, STATE),
    chnk_dmx(NETWORK, STATE),
    PING_DMX,
    PONG_DMX,
    FEED[0].packet[:7],
    FEED[2].packet[:7],
    b"",
]
VALID = [
    *packets_of(FEED),
    pointing_to(ANA, bytes(120)),
    serialize_claim(NETWORK.goset_dmx, claim_of([record.feed for record in MIDDLE.node.feeds()])),
    serialize_novelty(NETWORK.goset_dmx, Novelty(feed=ANA.feed_id)),
    serialize_want(want_dmx(NETWORK, STATE), Want(offset=0, seqs=(1, 1, 1))),
    serialize_want(want_dmx(NETWORK, STATE), Want(offset=2, seqs=(7, 0, 300))).ljust(120, b"\x00"),
    serialize_chnk(chnk_dmx(NETWORK, STATE), Chnk(wanted=((0, 1, 0), (1, 2, 0), (2, 1, 1)))),
]

anything = st.one_of(
    st.binary(max_size=200),
    st.builds(lambda head, rest: head + rest, st.sampled_from(HEADS), st.binary(max_size=113)),
    st.builds(
        lambda head, rest: (head + rest).ljust(120, b"\x00")[:120],
        st.sampled_from(HEADS),
        st.binary(max_size=113),
    ),
)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A valid packet, changed in some places, cut or made longer."""
    packet = bytearray(draw(st.sampled_from(VALID)))
    for _ in range(draw(st.integers(0, 4))):
        packet[draw(st.integers(0, len(packet) - 1))] ^= draw(st.integers(1, 255))
    return bytes(packet[: draw(st.integers(0, 130))]) + draw(st.binary(max_size=3))


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.medium)
@settings(deadline=None, max_examples=60)
@given(packets=st.lists(st.one_of(anything, damaged()), max_size=30))
def test_no_bytes_raise_and_what_is_of_no_use_changes_nothing(
    profile: LinkProfile, packets: list[bytes]
) -> None:
    bench = bench_in_the_middle(profile)
    for packet in packets:
        before = state_of(bench)
        effects = bench.hear(packet)
        verdicts = {effect.verdict for effect in effects if isinstance(effect, PacketReceived)}
        forked = any(isinstance(effect, ForkFound) for effect in effects)
        if Verdict.NEW not in verdicts and not forked:
            assert state_of(bench) == before
        bench.pass_time(100_000)
    assert all(limits.PACKET_MIN_SIZE <= len(send.packet) <= limits.PACKET_SIZE for send in bench.outgoing)


@settings(deadline=None, max_examples=60)
@given(packets=st.lists(damaged(), max_size=10))
def test_damaged_packets_never_become_entries(packets: list[bytes]) -> None:
    bench = bench_in_the_middle(stream_profile())
    genuine = {*packets_of(FEED)}
    for packet in packets:
        arrivals = bench.store.last_arrival()
        bench.hear(packet)
        assert bench.store.last_arrival() == arrivals or packet in genuine


@settings(deadline=None, max_examples=40)
@given(packets=st.lists(st.one_of(anything, damaged()), max_size=20))
def test_a_read_only_node_changes_nothing_whatever_comes(packets: list[bytes]) -> None:
    bench = Bench(store=bench_in_the_middle(stream_profile()).store, read_only=True)
    before = state_of(bench)
    for packet in [*packets, *VALID]:
        bench.hear(packet)
    assert state_of(bench) == before


@settings(deadline=None, max_examples=40)
@given(packets=st.lists(anything, max_size=20))
def test_a_node_with_nothing_at_all_bears_anything(packets: list[bytes]) -> None:
    bench = Bench()
    for packet in packets:
        bench.hear(packet)
        bench.pass_time(1_000_000)
    assert bench.store.last_arrival() == 0


@settings(deadline=None, max_examples=40)
@given(packets=st.lists(st.one_of(anything, damaged()), max_size=20))
def test_strangers_never_make_us_say_what_we_do_not_hold(packets: list[bytes]) -> None:
    bench = bench_in_the_middle(stream_profile())
    for packet in packets:
        for effect in bench.hear(packet):
            if isinstance(effect, Send) and effect.kind is PacketKind.ENTRY:
                # Both of two that prove a fork are held, and given.
                proofs = {packet for proof in bench.store.forks() for packet in (proof.held, proof.other)}
                assert bench.store.find_entries(effect.packet[:7]) or effect.packet in proofs
