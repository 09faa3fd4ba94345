"""Words for content: whole where it is short, bounded where it is not."""

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.content.test_chat import ANY_MESSAGE, M1, VALUES
from tinyssb_node.codec import bipf
from tinyssb_node.content.chat import (
    Alias,
    BoardStep,
    ChatPost,
    Delivered,
    Message,
    Opaque,
    SealedMessage,
    Text,
)
from tinyssb_node.content.description import describe, describe_value, place_and_text


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (ChatPost(text="hello\nyou", said_s=1), "hello\nyou"),
        (ChatPost(text=None, voice=b"x", said_s=1), ""),
        (Text(text="hello"), "hello"),
        (Alias(name="Ana"), "Ana"),
        (BoardStep(board=M1, operation="item/create", args=("a", "milk")), '["item/create", "a", "milk"]'),
        (Delivered(message=M1), '["DLV", "CwsLCwsLCwsLCwsLCwsLCwsLCws="]'),
        (SealedMessage(box=b"\x01\x02"), '{"hex": "0102"}'),
        (
            Opaque(content=bipf.encode({"a": [1, None, True], b"\x07": 0.5})),
            '{"a": [1, null, true], "{\\"hex\\": \\"07\\"}": 0.5}',
        ),
        (Opaque(content=bipf.encode([float("inf")])), '["inf"]'),
        (Opaque(content=bipf.encode([[], {}])), "[[], {}]"),
        (Opaque(content=b"plain text".ljust(48, b"\0")), "plain text"),
        (Opaque(content=b"\xff\x00"), "ff00"),
        (Opaque(content=b"\x1b[2J and more"), b"\x1b[2J and more".hex()),
        (Opaque(content=b""), ""),
        (
            Opaque(content=bytes.fromhex("7c18544156304772c3bc65")),
            'damaged (byte 5: the value is longer than what holds it): ["TAV", "Grüe"]',
        ),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_what_is_said_of_a_message(message: Message, text: str) -> None:
    assert describe(message, 1_000) == (text, False)


@settings(deadline=None)
@given(VALUES)
def test_a_value_is_json(value: Any) -> None:
    text, cut = describe_value(value, 100_000)
    assert not cut
    json.loads(text)


@settings(deadline=None)
@given(ANY_MESSAGE | st.binary(max_size=60).map(lambda raw: Opaque(content=raw)), st.integers(0, 50))
def test_what_is_long_is_cut_where_it_was_said_to_be(message: Message, most: int) -> None:
    whole, cut = describe(message, 1_000_000)
    assert not cut
    assert describe(message, most) == (whole[:most], len(whole) > most)


@pytest.mark.parametrize(
    "value",
    [
        [0] * 1_000_000,
        "x" * 1_000_000,
        b"x" * 1_000_000,
        {"x" * 1_000_000: 1},
        dict.fromkeys(range(200000), 0),
    ],
    ids=["numbers", "text", "bytes", "key", "keys"],
)
def test_a_large_value_costs_no_more_than_what_is_shown(value: Any) -> None:
    before = time.process_time()
    for _ in range(20):
        text, cut = describe_value(value, 100)
    assert time.process_time() - before < 1
    assert cut
    assert len(text) == 100


def test_where_a_text_was_written_stands_in_front_of_it() -> None:
    assert place_and_text("pfx:loc/plus,8FVC9G8F+6X|here | there") == ("8FVC9G8F+6X", "here | there")
    assert place_and_text("pfx:loc/plus,8FVC9G8F+6X|") == ("8FVC9G8F+6X", "")
    assert place_and_text("pfx:loc/plus,8FVC") == (None, "pfx:loc/plus,8FVC")
    assert place_and_text("a | b") == (None, "a | b")
