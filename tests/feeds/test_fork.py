from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.feeds.builders import KEY, OPEN, OTHER_KEY, Written, other_dialect, sign_anything
from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network, entry_name, message_id
from tinyssb_node.errors import ForkProofFormatError
from tinyssb_node.feeds.chain import expectation_behind
from tinyssb_node.feeds.fork import (
    ForkProof,
    fork_ids,
    parse_proof,
    serialize_proof,
    signed_at,
    verify_proof,
)
from tinyssb_node.ids import Dialect, Dmx, FeedId, MessageId

FROZEN = Path(__file__).parent.parent / "vectors" / "forks" / "proof_v1.hex"
FEED = KEY.feed_id


def proof_at(seq: int, dialect: Dialect = Dialect.SPEC) -> ForkProof:
    """A proof that holds."""
    feed = Written(dialect).write(b"one", b"two", b"three")
    held = feed.held(seq)
    return ForkProof(FEED, seq, dialect, held.prev, held.packet, sign_anything(feed.place(seq), b"other"))


def flipped(at: int, change: int = 1) -> bytes:
    """A serialized proof with one byte changed."""
    data = bytearray(serialize_proof(proof_at(2)))
    data[at] ^= change
    return bytes(data)


@pytest.mark.parametrize("dialect", list(Dialect))
@pytest.mark.parametrize("seq", [1, 3])
def test_two_signed_entries_for_one_place_convince(seq: int, dialect: Dialect) -> None:
    proof = proof_at(seq, dialect)
    assert verify_proof(OPEN, proof)
    assert verify_proof(OPEN, replace(proof, held=proof.other, other=proof.held))


@pytest.mark.parametrize("dialect", list(Dialect))
def test_first_entries_of_both_dialects_convince(dialect: Dialect) -> None:
    held = Written(dialect).write(b"one").held(1)
    other = Written(other_dialect(dialect)).write(b"one").held(1)
    proof = ForkProof(FEED, 1, dialect, held.prev, held.packet, other.packet)
    assert verify_proof(OPEN, proof)
    ids = [message_id(entry_name(OPEN, FEED, 1, side.prev), side.packet) for side in (held, other)]
    assert list(fork_ids(OPEN, proof)) == ids


def test_ids_of_both_branches() -> None:
    proof = proof_at(2)
    name = entry_name(OPEN, FEED, 2, proof.prev)
    assert fork_ids(OPEN, proof) == (message_id(name, proof.held), message_id(name, proof.other))


def test_what_does_not_hold_has_no_ids() -> None:
    with pytest.raises(ValueError, match="does not hold"):
        fork_ids(OPEN, replace(proof_at(2), other=bytes(120)))


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"other": proof_at(2).held}, id="twice the same"),
        pytest.param({"other": proof_at(3).held}, id="other for another place"),
        pytest.param({"held": proof_at(3).held}, id="held for another place"),
        pytest.param({"feed": OTHER_KEY.feed_id}, id="another feed"),
        pytest.param({"seq": 3}, id="another number"),
        pytest.param({"prev": MessageId(b"p" * 20)}, id="another predecessor"),
        pytest.param({"other": bytes(119)}, id="short"),
    ],
)
def test_what_does_not_convince(changed: dict[str, object]) -> None:
    # replace() cannot know that each case names fields of the right type
    assert not verify_proof(OPEN, replace(proof_at(2), **changed))  # type: ignore[arg-type] # values of several types


def test_a_first_entry_behind_something_is_no_first_entry() -> None:
    """An author can sign that; no reader would have taken it for an entry."""
    prev = MessageId(b"p" * 20)
    place = expectation_behind(OPEN, FEED, 1, Dialect.SPEC, prev)
    odd = [sign_anything(place, content) for content in (b"a", b"b")]
    assert all(signed_at(OPEN, FEED, 1, prev, packet) for packet in odd)
    assert not verify_proof(OPEN, ForkProof(FEED, 1, Dialect.SPEC, prev, odd[0], odd[1]))
    regular = Written().write(b"one").held(1).packet
    assert not verify_proof(OPEN, ForkProof(FEED, 1, Dialect.SPEC, prev, odd[0], regular))


def test_a_signature_over_another_dmx_is_no_entry() -> None:
    place = Written().place(1)
    packet = sign_anything(replace(place, dmx=Dmx(b"another")))
    assert not signed_at(OPEN, FEED, 1, place.prev, packet)


def test_a_signature_over_a_longer_packet_is_no_entry() -> None:
    place = Written().place(1)
    body = place.dmx + bytes(49)
    packet = body + KEY.sign(b"!" + place.name + body) + b"!"
    assert len(packet) == limits.PACKET_SIZE + 1
    assert not signed_at(OPEN, FEED, 1, place.prev, packet)


def test_a_proof_is_good_in_its_network_only() -> None:
    assert not verify_proof(Network(b"valley"), proof_at(2))


def test_the_frozen_proof_is_still_read() -> None:
    data = bytes.fromhex(FROZEN.read_text())
    assert parse_proof(data) == proof_at(2, Dialect.DEPLOYED)
    assert serialize_proof(parse_proof(data)) == data
    assert verify_proof(OPEN, parse_proof(data))


@given(
    st.builds(
        ForkProof,
        feed=st.binary(min_size=32, max_size=32).map(FeedId),
        seq=st.integers(1, limits.SEQ_MAX),
        dialect=st.sampled_from(list(Dialect)),
        prev=st.binary(min_size=20, max_size=20).map(MessageId),
        held=st.binary(min_size=120, max_size=120),
        other=st.binary(min_size=120, max_size=120),
    )
)
def test_round_trip(proof: ForkProof) -> None:
    data = serialize_proof(proof)
    assert len(data) == limits.FORK_PROOF_SIZE
    assert parse_proof(data) == proof


@given(st.binary(max_size=320) | st.integers(0, 305).map(flipped))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with suppress(ForkProofFormatError):
        verify_proof(OPEN, parse_proof(data))


@given(st.integers(10, 305), st.integers(1, 255))
def test_a_changed_byte_never_convinces(at: int, change: int) -> None:
    data = flipped(at, change)
    with suppress(ForkProofFormatError):
        assert not verify_proof(OPEN, parse_proof(data))


@pytest.mark.parametrize(
    ("at", "value", "reason"),
    [(0, 0, "another kind or version"), (8, 2, "another kind or version"), (9, 2, "dialect 2")],
)
def test_what_is_refused(at: int, value: int, reason: str) -> None:
    data = bytearray(serialize_proof(proof_at(2)))
    data[at] = value
    with pytest.raises(ForkProofFormatError) as caught:
        parse_proof(bytes(data))
    assert caught.value.reason == reason


def test_entry_zero_is_refused() -> None:
    data = bytearray(serialize_proof(proof_at(2)))
    data[42:46] = bytes(4)
    with pytest.raises(ForkProofFormatError, match="sequence number 0"):
        parse_proof(bytes(data))


def test_half_a_proof_is_refused() -> None:
    with pytest.raises(ForkProofFormatError, match="305 bytes, not 306"):
        parse_proof(serialize_proof(proof_at(2))[:-1])
