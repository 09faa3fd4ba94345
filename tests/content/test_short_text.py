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
from tinyssb_node.content.minutes import nearest_seconds, to_seconds
from tinyssb_node.content.short_text import (
    TIES_MAX,
    ShortText,
    brief_tie,
    fitting_ties,
    is_brief,
    parse_short_text,
    public_text,
    read_short_text,
    serialize_short_text,
    tie_range,
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
        ties=tuple(MessageId(bytes.fromhex(tie).ljust(20, b"\0")) for tie in case["ties"]),
        brief=case["brief"],
        said_s=to_seconds(case["minutes"]) if case["minutes"] and not case["low"] else None,
        low_minutes=case["minutes"] if case["low"] else None,
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


SAID_S = 1_762_498_800


@pytest.mark.parametrize("reference_s", [None, SAID_S - 60])
def test_forty_letters_with_time_and_a_tie_are_one_packet(reference_s: int | None) -> None:
    message = public_text("Is anybody up there? It is getting cold.", IDS[:3], SAID_S, reference_s)
    assert (message.ties, message.brief) == ((brief_tie(IDS[0]),), True)
    assert packet_count(len(chat.serialize(message)), Dialect.SPEC) == 1
    assert len(chat.serialize(message)) == (48 if reference_s is None else 47)


def test_whole_ids_are_named_where_they_cost_nothing() -> None:
    message = public_text("twenty-four letters here", IDS[:1], SAID_S, None)
    assert (message.ties, message.brief) == ((IDS[0],), False)
    message = public_text("x" * 60, IDS[:2], SAID_S, None)
    assert (message.ties, message.brief) == (tuple(IDS[:2]), False)
    message = public_text("short", IDS, SAID_S, None)
    assert (message.ties, message.brief) == (tuple(map(brief_tie, IDS[:7])), True)
    assert public_text("alone", (), SAID_S, None).ties == ()


@given(st.integers(1_577_836_860, 2_500_000_000), st.integers(-(2**15) + 1, 2**15 - 1))
def test_low_minutes_are_stated_where_a_reader_finds_the_time(said_s: int, minutes: int) -> None:
    message = public_text("x", (), said_s, said_s - minutes * 60)
    assert message.said_s is None
    assert message.low_minutes is not None
    assert nearest_seconds(message.low_minutes, said_s - minutes * 60) == said_s - said_s % 60


@pytest.mark.parametrize("away_s", [2**15 * 60 + 3_600, -(2**15) * 60 - 3_600, 400 * 86_400])
def test_a_time_far_from_the_last_one_is_stated_whole(away_s: int) -> None:
    message = public_text("x", (), SAID_S, SAID_S - away_s)
    assert (message.said_s, message.low_minutes) == (SAID_S, None)


def test_a_brief_tie_may_mean_all_ids_that_begin_so() -> None:
    assert is_brief(brief_tie(IDS[0]))
    assert not is_brief(IDS[0])
    assert tie_range(IDS[0]) == (IDS[0], IDS[0])
    low, high = tie_range(brief_tie(IDS[0]))
    assert low <= IDS[0][:4] + bytes(16) <= IDS[0] <= IDS[0][:4] + b"\xff" * 16 <= high
    assert not low <= IDS[1] <= high
