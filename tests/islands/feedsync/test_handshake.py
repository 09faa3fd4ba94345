from collections.abc import Sequence
from hashlib import sha256

import pytest

from tinyssb_node.codec.dmx import Network
from tinyssb_node.islands.feedsync.handshake import Handshake, HandshakeDone
from tinyssb_node.islands.feedsync.packets import (
    FeedSyncHello,
    FeedSyncPacketError,
    FeedSyncProof,
    FeedSyncWant,
    Packet,
    serialize_packet,
)

OPEN, VILLAGE, CLUB = Network(), Network(b"village"), Network(b"club")
CALLER, LISTENER = b"c" * 16, b"l" * 16


def meet(calls: Network, listens: Sequence[Network]) -> tuple[HandshakeDone | None, HandshakeDone | None]:
    """Somebody calls somebody; raises FeedSyncPacketError where one of them hangs up."""
    caller = Handshake([calls], caller=True, nonce=CALLER)
    listener = Handshake(listens, caller=False, nonce=LISTENER)
    for _ in range(4):
        for packet in caller.packets():
            listener.receive(packet)
        for packet in listener.packets():
            caller.receive(packet)
    return caller.met, listener.met


def test_who_has_the_key_in_common_meets() -> None:
    salt = CALLER + LISTENER
    assert meet(OPEN, [OPEN]) == (HandshakeDone(0, salt), HandshakeDone(0, salt))
    assert meet(VILLAGE, [OPEN, CLUB, VILLAGE]) == (HandshakeDone(0, salt), HandshakeDone(2, salt))


def test_others_are_strangers() -> None:
    for calls, listens in ((OPEN, VILLAGE), (VILLAGE, OPEN), (VILLAGE, CLUB)):
        with pytest.raises(FeedSyncPacketError, match="another network"):
            meet(calls, [listens])


def test_a_listener_that_only_says_so_is_found_out() -> None:
    caller = Handshake([VILLAGE], caller=True, nonce=CALLER)
    caller.receive(serialize_packet(FeedSyncHello(1, LISTENER)))
    proof = caller.packets()[-1]
    with pytest.raises(FeedSyncPacketError, match="another network"):
        caller.receive(proof)
    assert caller.met is None


def test_the_listener_shows_nothing_to_who_shows_nothing() -> None:
    listener = Handshake([VILLAGE], caller=False, nonce=LISTENER)
    assert listener.packets() == [serialize_packet(FeedSyncHello(1, LISTENER))]
    listener.receive(serialize_packet(FeedSyncHello(1, CALLER)))
    assert listener.packets() == []
    with pytest.raises(FeedSyncPacketError, match="another network"):
        listener.receive(serialize_packet(FeedSyncProof(bytes(16))))
    assert listener.packets() == []


def test_what_is_no_greeting_is_refused() -> None:
    refused: list[tuple[Packet, str]] = [
        (FeedSyncWant(()), "sends no handshake"),
        (FeedSyncProof(bytes(16)), "sends no handshake"),
        (FeedSyncHello(2, CALLER), "version 2"),
        (FeedSyncHello(1, LISTENER), "repeats our nonce"),
    ]
    for said, why in refused:
        with pytest.raises(FeedSyncPacketError, match=why):
            Handshake([OPEN], caller=False, nonce=LISTENER).receive(serialize_packet(said))
    twice = Handshake([OPEN], caller=False, nonce=LISTENER)
    twice.receive(serialize_packet(FeedSyncHello(1, CALLER)))
    with pytest.raises(FeedSyncPacketError, match="sends no handshake"):
        twice.receive(serialize_packet(FeedSyncHello(1, CALLER)))


def test_the_proof_is_that_of_the_format() -> None:
    """Worked out by hand from docs/formats/feed-sync.md."""

    caller = Handshake([VILLAGE], caller=True, nonce=CALLER)
    caller.receive(serialize_packet(FeedSyncHello(1, LISTENER)))
    said = b"tinyssb feed sync 1 " + b"caller" + CALLER + LISTENER + b"village" + b"tinyssb-v0"
    assert caller.packets()[-1] == b"\x02" + sha256(said).digest()[:16]
