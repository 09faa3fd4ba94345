"""Private texts for one person: frozen bytes, who reads them, and bytes of strangers."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinyssb_node.codec import bipf
from tinyssb_node.content import limits as content_limits
from tinyssb_node.content import pair_box
from tinyssb_node.content.chat import SealedMessage, parse
from tinyssb_node.content.pair_box import open_text, seal_text
from tinyssb_node.content.private import SealKey
from tinyssb_node.content.short_text import PAIR_BOX_EXTRA, ShortText, parse_short_text, serialize_short_text
from tinyssb_node.errors import ReaderKeyError
from tinyssb_node.feeds.layout import packet_count
from tinyssb_node.ids import Dialect, FeedId, MessageId

CASES = json.loads((Path(__file__).parents[1] / "vectors/messages/short_texts_v1.json").read_text("utf-8"))[
    "private"
]
KEYS = [SealKey(bytes([number]) * 32) for number in range(4)]
ANA, BOB, EVE, CYD = KEYS
PADDING = bytes(range(content_limits.PAIR_PADDING_SIZE))
SMALL_ORDER = [bytes(32), b"\x01" + bytes(31), b"\xec" + b"\xff" * 30 + b"\x7f"]


def box_of(content: bytes) -> bytes:
    sealed = parse(content)
    assert isinstance(sealed, SealedMessage)
    return sealed.box


def sealed(text: str, *ties: MessageId, to: FeedId = BOB.feed_id) -> bytes:
    short = serialize_short_text(ShortText(text=text, ties=ties, said_s=1_760_000_040))
    assert short is not None
    return seal_text(short, ANA, to, PADDING)


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_frozen_texts_are_written_and_read_by_both(case: dict[str, Any]) -> None:
    author, reader = (SealKey(bytes.fromhex(case[f"{who}_seed"])) for who in ("author", "reader"))
    short, content = bytes.fromhex(case["short_text"]), bytes.fromhex(case["content"])
    assert seal_text(short, author, reader.feed_id, bytes.fromhex(case["padding"])) == content
    for dialect in Dialect:
        assert packet_count(len(content), dialect) == case["packets"]
    for key, other in ((author, reader), (reader, author)):
        opened = open_text(box_of(content), key, author.feed_id)
        assert opened is not None
        assert (opened.text, opened.other) == (case["text"], other.feed_id)
        assert serialize_short_text(opened) == short
    assert open_text(box_of(content), SealKey(bytes([9]) * 32), author.feed_id) is None


def test_thirty_letters_are_two_packets_with_two_ties() -> None:
    ties = MessageId(b"\x01" * 20), MessageId(b"\x02" * 20)
    content = sealed("thirty letters for one person.", *ties)
    assert [packet_count(len(content), dialect) for dialect in Dialect] == [2, 2]
    assert len(content) == 127
    assert PAIR_BOX_EXTRA + 4 + 2 * 20 + 30 <= 127


def test_only_the_number_of_packets_shows_the_length() -> None:
    sizes = {len(sealed("x" * length)) for length in range(1, 373)}
    assert sizes == {127, 226, 326, 426}


def test_it_means_nothing_in_the_feed_of_another() -> None:
    box = box_of(sealed("for Bob"))
    assert open_text(box, BOB, ANA.feed_id) is not None
    for author in (BOB, EVE, CYD):
        for key in KEYS:
            assert open_text(box, key, author.feed_id) is None


@settings(deadline=None)
@given(st.data())
def test_changed_bytes_do_not_open(data: st.DataObject) -> None:
    box = bytearray(box_of(sealed("for Bob")))
    at = data.draw(st.integers(0, len(box) - 1))
    box[at] ^= data.draw(st.integers(1, 255))
    for key in (ANA, BOB) if not 16 <= at < 48 else (ANA,):  # the hidden id is the author's alone
        assert open_text(bytes(box), key, ANA.feed_id) is None
    for end in (0, 16, 48, 49, len(box) - 1):
        assert open_text(bytes(box[:end]), BOB, ANA.feed_id) is None


@settings(deadline=None)
@given(st.binary(max_size=200), st.sampled_from(KEYS))
def test_bytes_of_strangers_are_none(box: bytes, key: SealKey) -> None:
    for author in (key.feed_id, CYD.feed_id, *(FeedId(point) for point in SMALL_ORDER)):
        assert open_text(box, key, author) is None


def test_padding_differs_where_there_is_room() -> None:
    short = serialize_short_text(ShortText(text="twice", said_s=1_760_000_040))
    assert short is not None
    first, second = (seal_text(short, ANA, BOB.feed_id, bytes([number]) * 100) for number in (1, 2))
    assert first[:18] != second[:18]
    opened = open_text(box_of(second), BOB, ANA.feed_id)
    assert opened is not None
    assert opened.text == "twice"


def test_what_is_sealed_has_to_be_a_short_text() -> None:
    content = seal_text(bipf.encode(["TAV", [], "hi", None, 1]), ANA, BOB.feed_id, PADDING)
    assert open_text(box_of(content), BOB, ANA.feed_id) is None


def test_impossible_readers_and_too_little_padding_are_refused() -> None:
    short = serialize_short_text(ShortText(text="x"))
    assert short is not None
    assert parse_short_text(short) is not None
    for point in SMALL_ORDER:
        with pytest.raises(ReaderKeyError):
            seal_text(short, ANA, FeedId(point), PADDING)
    with pytest.raises(ValueError, match="padding takes 100 bytes"):
        pair_box.seal_text(short, ANA, BOB.feed_id, PADDING[1:])
