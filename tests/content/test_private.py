"""Private messages: those of another implementation, both ways, and boxes of strangers."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nacl.bindings import crypto_scalarmult_base, crypto_secretbox, crypto_secretbox_open

from tinyssb_node.codec import bipf
from tinyssb_node.content import limits as content_limits
from tinyssb_node.content import private
from tinyssb_node.content.chat import ChatPost, Opaque, SealedMessage, parse, serialize
from tinyssb_node.content.private import SealKey, circle, seal, unseal, unsealed_message
from tinyssb_node.errors import ReaderKeyError, RecipientCountError
from tinyssb_node.ids import FeedId

VECTORS = Path(__file__).parents[1] / "vectors"
CASES = json.loads((VECTORS / "messages/private.json").read_text())["cases"]
KEYS = [SealKey(bytes([n]) * 32) for n in range(9)]
FEEDS = [key.feed_id for key in KEYS]
ENTROPY = bytes(range(content_limits.SEAL_ENTROPY_SIZE))

SMALL_ORDER = [bytes(32), b"\x01" + bytes(31), b"\xec" + b"\xff" * 30 + b"\x7f"]
"""Points on which a multiplication gives zeros whatever the secret (RFC 7748, section 6)."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_what_the_app_sealed_is_opened_by_the_first_seven(case: dict[str, Any]) -> None:
    sealed = parse(bipf.encode(bytes.fromhex(case["box"])))
    assert isinstance(sealed, SealedMessage)
    for number, seed in enumerate(case["readers"]):
        key = SealKey(bytes.fromhex(seed))
        assert key.feed_id.hex() == case["feeds"][number]
        opened = unseal(sealed, key)
        assert opened == (bytes.fromhex(case["clear"]) if number < content_limits.CIRCLE_MAX else None)
    assert unseal(sealed, KEYS[0]) is None


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_we_seal_the_same_bytes(case: dict[str, Any]) -> None:
    readers = [FeedId.from_hex(feed) for feed in case["feeds"]]
    entropy = bytes.fromhex(case["nonce"] + case["passing_secret"] + case["data_key"])
    if len(readers) > content_limits.CIRCLE_MAX:
        with pytest.raises(RecipientCountError):
            seal(bytes.fromhex(case["clear"]), readers, entropy)
        return
    content = seal(bytes.fromhex(case["clear"]), readers, entropy)
    assert content == bipf.encode(bytes.fromhex(case["box"]))


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(KEYS), min_size=1, max_size=7, unique=True),
    st.binary(max_size=200),
    st.binary(min_size=88, max_size=88),
)
def test_those_in_the_circle_read_it_and_nobody_else(
    readers: list[SealKey], clear: bytes, entropy: bytes
) -> None:
    content = seal(clear, [key.feed_id for key in readers], entropy)
    sealed = parse(content)
    assert isinstance(sealed, SealedMessage)
    assert len(sealed.box) == 56 + 49 * len(readers) + 16 + len(clear)
    for key in KEYS:
        assert unseal(sealed, key) == (clear if key in readers else None)


def test_a_message_comes_out_as_it_went_in() -> None:
    readers = circle(FEEDS[0], [FEEDS[1]])
    post = ChatPost(text="psst", said_s=1, recipients=readers)
    sealed = parse(seal(serialize(post), readers, ENTROPY))
    assert isinstance(sealed, SealedMessage)
    assert unsealed_message(sealed, KEYS[1]) == post
    assert unsealed_message(sealed, KEYS[2]) is None


def test_one_sealed_in_another_stays_sealed() -> None:
    inner = seal(b"x", FEEDS[:1], ENTROPY)
    sealed = parse(seal(inner, FEEDS[:1], ENTROPY[::-1]))
    assert isinstance(sealed, SealedMessage)
    assert unsealed_message(sealed, KEYS[0]) == parse(inner)
    assert isinstance(parse(inner), SealedMessage)


def test_what_is_sealed_may_be_anything() -> None:
    sealed = parse(seal(b"\xff no message", FEEDS[:1], ENTROPY))
    assert isinstance(sealed, SealedMessage)
    assert unsealed_message(sealed, KEYS[0]) == Opaque(content=b"\xff no message")


def test_a_circle_has_its_author_last_and_everybody_once() -> None:
    assert circle(FEEDS[0], [FEEDS[2], FEEDS[1], FEEDS[2], FEEDS[0]]) == (FEEDS[2], FEEDS[1], FEEDS[0])
    assert circle(FEEDS[0], []) == (FEEDS[0],)
    assert len(circle(FEEDS[0], FEEDS[:7])) == 7
    with pytest.raises(RecipientCountError, match="1 to 7 people, its author among them, and not for 8"):
        circle(FEEDS[0], FEEDS[:8])


def test_nothing_is_sealed_for_nobody() -> None:
    with pytest.raises(RecipientCountError, match="Nothing was published"):
        seal(b"x", [], ENTROPY)


@pytest.mark.parametrize(
    "size", [0, content_limits.SEAL_ENTROPY_SIZE - 1, content_limits.SEAL_ENTROPY_SIZE + 1]
)
def test_nothing_is_sealed_with_too_little_entropy(size: int) -> None:
    with pytest.raises(ValueError, match="88 random bytes"):
        seal(b"x", FEEDS[:1], bytes(size))


@pytest.mark.parametrize(
    "feed", [*SMALL_ORDER, b"\xff" * 32, b"\x02" + bytes(31)], ids=lambda feed: feed.hex()[:8]
)
def test_nothing_is_sealed_for_what_is_no_key(feed: bytes) -> None:
    with pytest.raises(ReaderKeyError, match="leave it out"):
        seal(b"x", [FEEDS[0], FeedId(feed)], ENTROPY)


# --- boxes of strangers


@settings(deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_are_tried_and_are_not_for_us(box: bytes) -> None:
    assert unseal(SealedMessage(box=box), KEYS[0]) is None


@pytest.mark.parametrize("public", SMALL_ORDER, ids=lambda public: public.hex()[:8])
def test_a_passing_key_that_opens_everything_opens_nothing(public: bytes) -> None:
    box = bytes(24) + public + bytes(49 + 16)
    assert unseal(SealedMessage(box=box), KEYS[0]) is None


@settings(deadline=None)
@given(st.integers(0, 170), st.integers(0, 7))
def test_a_flipped_bit_closes_it(place: int, bit: int) -> None:
    box = bytearray(parse_box(seal(b"x" * 50, FEEDS[:1], ENTROPY)))
    changed = box[:place] + bytes([box[place] ^ 1 << bit]) + box[place + 1 :]
    opened = unseal(SealedMessage(box=bytes(changed)), KEYS[0])
    assert opened is None or (
        place == 55 and bit == 7
    )  # the unused bit of a curve25519 key (RFC 7748, section 5)


@settings(deadline=None)
@given(st.integers(0, 170))
def test_a_box_that_was_cut_stays_closed(size: int) -> None:
    box = parse_box(seal(b"x" * 50, FEEDS[:1], ENTROPY))
    assert unseal(SealedMessage(box=box[:size]), KEYS[0]) is None


@settings(deadline=None)
@given(st.integers(0, 255))
def test_a_count_of_readers_that_lies_gives_nothing(count: int) -> None:
    nonce, secret, data_key = ENTROPY[:24], ENTROPY[24:56], ENTROPY[56:]
    shared = KEYS[0].shared(crypto_scalarmult_base(secret))
    assert shared is not None
    slot = crypto_secretbox(bytes([count]) + data_key, nonce, shared)
    box = nonce + crypto_scalarmult_base(secret) + slot + crypto_secretbox(b"x", nonce, data_key)
    assert unseal(SealedMessage(box=box), KEYS[0]) == (b"x" if count == 1 else None)


def test_a_long_box_is_not_tried_longer() -> None:
    tries = 0
    real = crypto_secretbox_open

    def counted(box: bytes, nonce: bytes, key: bytes) -> bytes:
        nonlocal tries
        tries += 1
        assert len(box) <= 49
        return real(box, nonce, key)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(private, "crypto_secretbox_open", counted)
        assert unseal(SealedMessage(box=bytes(24) + b"\x09" + bytes(1_000_000)), KEYS[0]) is None
    assert tries == content_limits.CIRCLE_MAX


def test_a_key_shows_nothing_of_itself() -> None:
    assert repr(KEYS[1]) == f"SealKey(feed_id={FEEDS[1].hex()})"
    with pytest.raises(ValueError, match="32 bytes, not 31"):
        SealKey(bytes(31))


def parse_box(content: bytes) -> bytes:
    sealed = parse(content)
    assert isinstance(sealed, SealedMessage)
    return sealed.box
