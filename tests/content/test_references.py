"""Ids as the app writes them."""

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinyssb_node.content.references import (
    feed_ids,
    feed_text,
    message_ids,
    message_ref_text,
    message_text,
    read_feed_ref,
    read_message_ref,
)
from tinyssb_node.ids import FeedId, MessageId

MESSAGES = st.binary(min_size=20, max_size=20).map(MessageId)
FEEDS = st.binary(min_size=32, max_size=32).map(FeedId)


@settings(deadline=None)
@given(MESSAGES)
def test_a_message_is_read_from_its_text_and_from_its_bytes(id_: MessageId) -> None:
    assert read_message_ref(message_text(id_)) == id_
    read = read_message_ref(bytes(id_))
    assert isinstance(read, MessageId)
    assert read == id_
    assert message_ref_text(id_) == message_text(id_)


@settings(deadline=None)
@given(FEEDS)
def test_a_feed_is_read_from_its_three_spellings(feed: FeedId) -> None:
    for spelling in (feed_text(feed), feed.hex(), bytes(feed)):
        read = read_feed_ref(spelling)
        assert isinstance(read, FeedId)
        assert read == feed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "123456",
        "null",
        "%" + base64.b64encode(bytes(20)).decode(),
        base64.b64encode(bytes(19)).decode(),
        base64.b64encode(bytes(21)).decode(),
        "AAAAAAAAAAAAAAAAAAAAAAAAAAB=",  # bits behind the end: decodes, but no writer makes it
        "AAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "AAAAAAAAAAAAAAAAAAAAAAAAAA\n=",
        "ÄAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        "-_AAAAAAAAAAAAAAAAAAAAAAAAA=",
    ],
)
def test_what_is_not_exactly_an_id_is_kept_as_it_came(text: str) -> None:
    assert read_message_ref(text) == text
    assert message_ref_text(text) == text
    assert message_ids([text]) == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "@.ed25519",
        "@" + base64.b64encode(bytes(31)).decode() + ".ed25519",
        "@" + base64.b64encode(bytes(32)).decode(),
        base64.b64encode(bytes(32)).decode() + ".ed25519",
        "AB" * 32,
        "zz" * 32,
        "0 " * 32,
    ],
)
def test_what_is_not_exactly_a_feed_is_kept_as_it_came(text: str) -> None:
    read = read_feed_ref(text)
    assert read == text
    assert feed_ids([text]) == ()


@settings(deadline=None)
@given(st.none() | st.booleans() | st.integers() | st.floats() | st.lists(st.text()))
def test_only_text_and_bytes_name_something(value: bool | float | list[str] | None) -> None:
    assert read_message_ref(value) is None  # type: ignore[arg-type] # on purpose
    assert read_feed_ref(value) is None  # type: ignore[arg-type] # on purpose


@settings(deadline=None)
@given(st.lists(MESSAGES | st.text() | st.binary(max_size=19), max_size=8))
def test_ids_are_taken_once_in_their_order(refs: list[MessageId | str | bytes]) -> None:
    ids = message_ids([*refs, *refs])
    assert list(ids) == list(dict.fromkeys(ref for ref in refs if isinstance(ref, MessageId)))
