"""Messages whose lengths count characters, and messages with damage."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.codec import bipf
from tinyssb_node.codec.varint import encode_varint
from tinyssb_node.content.chat import Alias, ChatPost, Opaque, parse
from tinyssb_node.content.damaged import COUNTED, Damaged, read_damaged

VECTORS = Path(__file__).parents[1] / "vectors/messages/simplechat.json"
CASES = json.loads(VECTORS.read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_texts_of_the_older_python_client_are_read(case: dict[str, Any]) -> None:
    post = parse(bytes.fromhex(case["content"]))
    assert post == ChatPost(text=case["text"], said_s=case["said_s"])


def counted_size(value: bipf.Value) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return sum(len(encode_varint(counted_size(one) << 3)) + counted_size(one) for one in value)
    return len(bipf.encode(value)) - 1


def counted(value: bipf.Value) -> bytes:
    """Encode *value* as they do."""
    if not isinstance(value, str | list):
        return bipf.encode(value)
    kind = 0 if isinstance(value, str) else 4
    raw = value.encode() if isinstance(value, str) else b"".join(map(counted, value))
    return encode_varint(counted_size(value) << 3 | kind) + raw


ITEMS = st.recursive(
    st.none() | st.integers(-(2**63), 2**63 - 1) | st.binary(max_size=8) | st.text(max_size=30),
    lambda items: st.lists(items, max_size=4),
    max_leaves=12,
)


@given(st.lists(ITEMS, max_size=5))
def test_any_list_of_theirs_is_read_without_loss(rest: list[Any]) -> None:
    value = ["TAV", *rest]
    content = counted(value)
    if content != bipf.encode(value):
        assert read_damaged(content) == Damaged(items=value, whole=True, damage=COUNTED)


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_not(rest: bytes) -> None:
    for content in (rest, bytes.fromhex("7c18544156") + rest):
        read_damaged(content)
        parse(content)


def test_an_alias_is_read_too() -> None:
    assert parse(counted(["IAM", "Zoë"])) == Alias(name="Zoë")


@pytest.mark.parametrize(
    ("content", "items", "damage"),
    [
        # cut off behind 12 bytes, as an entry of 48 bytes cuts it
        ("7c18544156304772c3bc65", ["TAV", "Grüe"], "byte 5: the value is longer than what holds it"),
        ("7c1854415606", ["TAV", None], "its end is missing"),
        ("34185441560622", ["TAV", None], "byte 6: the value is longer than what holds it"),
        ("241854415606ffff", ["TAV"], "3 more bytes than its list has"),
        ("7c18544156084106170000", ["TAV", "A", None], "byte 8: type 7 is not in use"),
    ],
)
def test_the_items_before_the_damage_are_read(content: str, items: list[bipf.Value], damage: str) -> None:
    raw = bytes.fromhex(content)
    assert read_damaged(raw) == Damaged(items=items, whole=False, damage=damage)
    assert parse(raw) == Opaque(content=raw)


@pytest.mark.parametrize("content", ["", "ff", "04", "0c0841", "1c185441", "1c18544100", "4041", "21"])
def test_what_begins_with_no_word_is_no_damaged_message(content: str) -> None:
    assert read_damaged(bytes.fromhex(content)) is None


def test_deep_lists_end() -> None:
    content = bytes.fromhex("18544156")
    for _ in range(3_000):
        content = encode_varint(len(content) << 3 | 4) + content
    assert read_damaged(content) is None
