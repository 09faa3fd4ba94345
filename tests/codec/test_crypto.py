import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.codec.vectors import load
from tinyssb_node.codec.crypto import SigningKey, verify, verify_signed
from tinyssb_node.ids import FeedId

KEY = SigningKey(b"\x07" * 32)
# RFC 8032 7.1, test 2.
RFC_SEED = bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
RFC_SIGNATURE = bytes.fromhex(
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
    "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
)


def test_the_seed_of_the_vectors_makes_their_feed() -> None:
    vectors = load("feed_spec.json")
    assert SigningKey(bytes.fromhex(vectors["seed"])).feed_id == FeedId.from_hex(vectors["feed_id"])


def test_the_signature_of_the_standard() -> None:
    key = SigningKey(RFC_SEED)
    assert key.sign(b"\x72") == RFC_SIGNATURE
    assert verify(key.feed_id, RFC_SIGNATURE, b"\x72")


@given(st.binary(max_size=200))
def test_what_is_signed_verifies(message: bytes) -> None:
    signature = KEY.sign(message)
    assert len(signature) == 64
    assert verify(KEY.feed_id, signature, message)
    assert verify_signed(KEY.feed_id, signature + message)


@given(st.binary(min_size=1, max_size=60), st.data())
def test_a_changed_byte_does_not_verify(message: bytes, data: st.DataObject) -> None:
    signed = bytearray(KEY.sign(message) + message)
    signed[data.draw(st.integers(0, len(signed) - 1))] ^= data.draw(st.integers(1, 255))
    assert not verify_signed(KEY.feed_id, bytes(signed))


@given(st.binary(max_size=63))
def test_a_short_signature_does_not_verify(signature: bytes) -> None:
    assert not verify(KEY.feed_id, signature, b"message" * 20)
    assert not verify_signed(KEY.feed_id, signature)


def test_a_signature_cannot_borrow_from_the_message() -> None:
    signature = KEY.sign(b"ab")
    assert not verify(KEY.feed_id, signature + b"a", b"b")


def test_another_feed_did_not_sign() -> None:
    assert not verify(SigningKey(bytes(32)).feed_id, KEY.sign(b"m"), b"m")


@pytest.mark.parametrize("feed", [bytes(32), b"\x01" + bytes(31)])
def test_feeds_that_anybody_could_sign_for_have_no_signatures(feed: bytes) -> None:
    """Points of small order: with those, one signature fits many messages."""
    assert not verify(FeedId(feed), b"\x01" + bytes(63), b"m")


def test_a_seed_has_32_bytes() -> None:
    with pytest.raises(ValueError, match="32 bytes, not 31"):
        SigningKey(bytes(31))


def test_the_secret_is_not_shown() -> None:
    assert repr(KEY) == f"SigningKey(feed_id={KEY.feed_id.hex()})"
