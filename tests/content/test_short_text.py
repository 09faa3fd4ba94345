"""Short texts: frozen bytes, and what is none."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tinyssb_node import limits
from tinyssb_node.codec import bipf
from tinyssb_node.content import chat
from tinyssb_node.content.minutes import to_seconds
from tinyssb_node.content.short_text import (
    TIES_MAX,
    ShortText,
    fitting_ties,
    parse_short_text,
    read_short_text,
    serialize_short_text,
)
from tinyssb_node.errors import UnencodableMessageError
from tinyssb_node.feeds.layout import packet_count
from tinyssb_node.ids import Dialect, FeedId, MessageId

VECTORS = json.loads((Path(__file__).parents[1] / "vectors/messages/short_texts_v1.json").read_text("utf-8"))
IDS = [MessageId(bytes([number]) * 20) for number in range(1, 10)]
ANA, BOB = FeedId(b"\x01" * 32), FeedId(b"\x02" * 32)


def message_of(case: dict[str, Any]) -> ShortText:
    return ShortText(
        text=case["text"],
        ties=tuple(MessageId.from_hex(tie) for tie in case["ties"]),
        said_s=to_seconds(case["minutes"]) if case["minutes"] else None,
    )


@pytest.mark.parametrize("case", VECTORS["texts"], ids=lambda case: str(case["name"]))
def test_frozen_texts_are_read_and_written(case: dict[str, Any]) -> None:
    content, message = bytes.fromhex(case["content"]), message_of(case)
    assert parse_short_text(content) == chat.parse(content) == message
    written = serialize_short_text(message)
    assert written == (content.rstrip(b"\0") if case["padded"] else content)
    assert chat.serialize(message) == written
    with pytest.raises(bipf.BipfError):
        bipf.decode_prefix(content)


@pytest.mark.parametrize("case", VECTORS["no_short_text"], ids=lambda case: str(case["name"]))
def test_other_bytes_are_none(case: dict[str, Any]) -> None:
    content = bytes.fromhex(case["content"])
    assert parse_short_text(content) is None
    assert not isinstance(chat.parse(content), ShortText)


@given(st.binary(max_size=200))
@example(b"\x7f")
def test_any_bytes_can_be_read(content: bytes) -> None:
    message = parse_short_text(content)
    found = read_short_text(content)
    if message is not None:
        written = serialize_short_text(message)
        assert written is not None
        assert content.startswith(written)
        assert not any(content[len(written) :])
    if found is not None:
        assert found[1][:1] in (b"", b"\0")


@pytest.mark.parametrize(
    "message",
    [
        ShortText(text=""),
        ShortText(text="a\0b"),
        ShortText(text="\ud800"),
        ShortText(text="x", ties=tuple(IDS[: TIES_MAX + 1])),
        ShortText(text="x", said_s=to_seconds(1 << 24)),
    ],
)
def test_what_the_form_cannot_state_is_not_written(message: ShortText) -> None:
    assert serialize_short_text(message) is None
    with pytest.raises(UnencodableMessageError):
        chat.serialize(message)


def test_it_is_in_the_tangle_of_a_post_with_these_ties() -> None:
    public = ShortText(text="x", ties=(IDS[0],))
    assert chat.links(public, ANA) == chat.links(chat.ChatPost(text="x", tips=(IDS[0],), said_s=1), ANA)
    first = ShortText(text="x")
    assert chat.links(first, ANA) == chat.links(chat.ChatPost(text="x", said_s=1), ANA)
    private = ShortText(text="x", other=BOB)
    post = chat.ChatPost(text="x", said_s=1, recipients=(BOB, ANA))
    assert chat.links(private, ANA, BOB) == chat.links(post, ANA, BOB)
    assert chat.members(private, ANA, BOB) == chat.members(private, ANA, ANA) == (ANA, BOB)
    assert chat.links(ShortText(text="x"), ANA, BOB) is None, "a public one in a private message of the app"


@given(st.text(max_size=300), st.integers(0, 9), st.integers(0, 60))
def test_ties_cost_no_packet_but_for_the_first(text: str, count: int, extra: int) -> None:
    ties = fitting_ties(text, IDS[:count], extra=extra)
    assert ties == tuple(IDS[: len(ties)])
    assert bool(ties) == bool(count)
    size = extra + 4 + len(text.encode())

    def packets(number: int) -> int:
        return packet_count(size + number * limits.MESSAGE_ID_SIZE, Dialect.SPEC)

    if ties:
        assert packets(len(ties)) == packets(1)
        assert len(ties) == min(count, TIES_MAX) or packets(len(ties) + 1) > packets(1)
