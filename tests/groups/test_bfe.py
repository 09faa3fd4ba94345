"""The encodings of ids and lists where they are hashed."""

from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.groups.vectors import cases
from tinyssb_node.groups.bfe import EnvelopeContext, bfe_feed, bfe_message, context_of, slp
from tinyssb_node.ids import FeedId, MessageId


def item(spelled: str | dict[str, Any]) -> bytes:
    """An item of a list of the vectors."""
    if isinstance(spelled, str):
        return spelled.encode()
    unit: str = spelled["repeat"]
    return (bytes(1) if unit == "00" else unit.encode()) * int(spelled["times"])


@pytest.mark.parametrize("case", cases("slp"), ids=lambda case: str(case["id"]))
def test_lists_are_spelled_as_in_envelope_js(case: dict[str, Any]) -> None:
    made = slp([item(one) for one in case["list"]])
    if "out" not in case:  # JavaScript refuses it, the specification does not
        assert made == (32_768).to_bytes(2, "little") + bytes(32_768)
    elif isinstance(case["out"], str):
        assert made.hex() == case["out"]
    else:
        assert sha256(made).hexdigest() == case["out"]["sha256"]


def test_an_item_has_as_many_bytes_as_its_length_can_say() -> None:
    assert slp([bytes(65_535)])[:2] == b"\xff\xff"
    with pytest.raises(ValueError, match="65536"):
        slp([bytes(65_536)])


@given(st.lists(st.binary(max_size=6), max_size=4), st.lists(st.binary(max_size=6), max_size=4))
def test_different_lists_are_spelled_differently(one: list[bytes], other: list[bytes]) -> None:
    assert (slp(one) == slp(other)) == (one == other)


def test_ids_of_tinyssb_have_codes_of_their_own() -> None:
    feed, previous = FeedId(bytes(range(32))), MessageId(bytes(range(20)))
    assert bfe_feed(feed).hex() == "0054" + feed.hex()
    assert bfe_message(previous).hex() == "0154" + previous.hex()
    assert context_of(feed, previous) == EnvelopeContext(bfe_feed(feed), bfe_message(previous))


@pytest.mark.parametrize(
    ("feed", "previous"),
    [
        (b"", b"\x01\x00" + bytes(32)),
        (b"\x00\x00", b"\x01\x00" + bytes(32)),
        (b"\x01\x00" + bytes(32), b"\x01\x00" + bytes(32)),
        (b"\x00\x00" + bytes(32), b""),
        (b"\x00\x00" + bytes(32), b"\x01\x00"),
        (b"\x00\x00" + bytes(32), b"\x00\x00" + bytes(32)),
        (b"\x00\x54" + bytes(32), b"\x06\x02"),
    ],
)
def test_a_context_is_of_a_feed_and_a_message(feed: bytes, previous: bytes) -> None:
    with pytest.raises(ValueError, match=r"feed id|message id"):
        EnvelopeContext(feed, previous)
