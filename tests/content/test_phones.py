"""Content that the phone app does not survive is known before it is published."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.content.phone_app import CrashError, show
from tests.nodes import key_of, written
from tinyssb_node.codec import bipf
from tinyssb_node.codec.varint import encode_varint
from tinyssb_node.content.chat import Text, to_value
from tinyssb_node.content.phones import harm_to_phones
from tinyssb_node.ids import Dialect

WRITER = key_of("ana")
values = st.recursive(
    st.booleans()
    | st.none()
    | st.integers(-(2**31), 2**31 - 1)
    | st.text(max_size=8)
    | st.binary(max_size=70),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


def encode(value: Any) -> bytes:
    return bipf.encode(value)


encoded = values.map(encode)


def survives(content: bytes) -> bool:
    """Return whether the app goes on after an entry with *content*, as a feed of its dialect carries it."""
    (entry,) = written(WRITER, [content], Dialect.DEPLOYED)
    packet = entry.packet
    try:
        show(packet[7], packet[8:56], content)
    except CrashError:
        return False
    return True


def nested(depth: int) -> bytes:
    content = b""
    for _ in range(depth):
        content = encode_varint(len(content) << 3 | 4) + content
    return content


@pytest.mark.parametrize(
    ("content", "harm"),
    [
        (bipf.encode(["XYZ", True]), "a list with `true` or `false`"),
        (bipf.encode(["XYZ", [False]]), "a list with `true` or `false`"),
        (bipf.encode(bytes(12)), "12 bytes are too few"),
        (b"\x09GIF89a, a picture", "1 bytes are too few"),
        (b"!", "4 bytes are too few"),
        (bipf.encode([bytes(20), "x" * 22]), "20 bytes are too few"),
        (b"\xff" * 60, "negative"),
        (nested(300), "nests too deeply"),
    ],
)
def test_what_ends_the_app_is_told(content: bytes, harm: str) -> None:
    assert not survives(content)
    assert harm in harm_to_phones(content)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"plain text",
        bytes(48),
        bipf.encode({"on": True}),
        bipf.encode(bytes(70)),
        bipf.encode(True),
        b"\x03" * 20,
    ],
)
def test_what_it_cannot_show_but_survives_is_allowed(content: bytes) -> None:
    assert survives(content)
    assert harm_to_phones(content) == ""


@settings(max_examples=300)
@given(st.binary(max_size=300) | encoded | encoded.map(lambda data: data.ljust(48, b"\0")))
@example(bipf.encode([bytes(20), "x" * 22]))
def test_nothing_that_ends_the_app_is_allowed_and_little_else_is_refused(content: bytes) -> None:
    assert survives(content) == (harm_to_phones(content) == "")


@given(st.text(max_size=200), st.integers(0, 2**31 - 1))
def test_messages_are_allowed(text: str, said_s: int) -> None:
    assert harm_to_phones(bipf.encode(to_value(Text(text=text, said_s=said_s)))) == ""
