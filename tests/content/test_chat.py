"""The phone app's messages: vectors, in both directions, and bytes of strangers."""

import dataclasses
import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.content.test_references import FEEDS, MESSAGES
from tests.docs import pages
from tinyssb_node import limits
from tinyssb_node.codec import bipf
from tinyssb_node.content import limits as content_limits
from tinyssb_node.content.chat import (
    PUBLIC_ROOT,
    Acknowledged,
    Alias,
    BoardStep,
    ChatPost,
    Deletion,
    Delivered,
    GameMove,
    Message,
    Opaque,
    SealedMessage,
    Text,
    Trust,
    conversation_root,
    links,
    members,
    parse,
    read_message,
    said_us,
    serialize,
    tips_form,
)
from tinyssb_node.content.tangle import FIRST, TangleData, canonical_order
from tinyssb_node.errors import UnencodableMessageError
from tinyssb_node.ids import FeedId, MessageId

VECTORS = Path(__file__).parents[1] / "vectors"
CASES = json.loads((VECTORS / "messages/messages.json").read_text())["cases"]
TRACE = json.loads((VECTORS / "tinyssb/trace_pub_expected.json").read_text())["feeds"]

ANA, BO, CY = (FeedId(bytes([n]) * 32) for n in (1, 2, 3))
M1, M2, M3 = (MessageId(bytes([n]) * 20) for n in (11, 12, 13))


def plain(value: object) -> object:
    """A field as the vectors say it: bytes in hexadecimal, a reference that is text as ``text:…``."""
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    return value.hex() if isinstance(value, bytes) else value


KINDS = {ChatPost: "Post", SealedMessage: "Sealed"}
"""Names of kinds in the vectors, where our classes have longer names."""


def as_vector(message: Message) -> dict[str, object]:
    found = {field.name: plain(getattr(message, field.name)) for field in dataclasses.fields(message)}
    if isinstance(message, ChatPost):
        found["tips"] = [f"text:{tip}" if isinstance(tip, str) else tip.hex() for tip in message.tips]
    return {"kind": KINDS.get(type(message), type(message).__name__), **found}


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_what_the_app_writes_is_read_and_written_alike(case: dict[str, Any]) -> None:
    content = bytes.fromhex(case["content"])
    message = parse(content)
    assert as_vector(message) == case["expect"]
    written = serialize(message)
    assert written == bytes.fromhex(case.get("written", case["content"]))
    assert parse(written) == message


def test_what_was_on_the_air_is_read_and_written_alike() -> None:
    contents = [bytes.fromhex(content) for feed in TRACE for content in feed["contents"]]
    assert {type(parse(content)) for content in contents} == {ChatPost, Alias}
    for content in contents:
        assert serialize(parse(content)) == content


# --- both ways

TEXTS = st.text(max_size=40)
MESSAGE_REFS = MESSAGES | TEXTS | st.binary(max_size=30).filter(lambda raw: len(raw) != 20)
FEED_REFS = FEEDS | TEXTS | st.binary(max_size=30)
TIPS = st.lists(MESSAGE_REFS, max_size=4).map(tuple)
ARGS = st.lists(TEXTS, max_size=4).map(tuple)
NUMBERS = st.integers(-(2**63), 2**63 - 1)
MANY_FEEDS = st.lists(FEED_REFS, max_size=4).map(tuple)
CONTACTS = FEEDS | TEXTS

ANY_MESSAGE = st.one_of(
    st.builds(
        ChatPost,
        tips=TIPS,
        text=st.none() | TEXTS,
        voice=st.none() | st.binary(max_size=20),
        said_s=NUMBERS,
        recipients=MANY_FEEDS.map(lambda feeds: feeds or None),
    ),
    st.builds(Alias, name=TEXTS),
    st.builds(
        BoardStep,
        board=st.none() | MESSAGE_REFS.filter(lambda ref: ref != "null"),
        previous=TIPS,
        operation=TEXTS,
        args=ARGS,
    ),
    st.builds(GameMove, action=TEXTS, args=ARGS),
    st.builds(Acknowledged, message=MESSAGE_REFS),
    st.builds(Delivered, message=MESSAGE_REFS),
    st.builds(Trust, tips=TIPS, contact=CONTACTS, level=NUMBERS, said_s=NUMBERS, recipients=MANY_FEEDS),
    st.builds(Deletion, contact=CONTACTS, deleted=NUMBERS, recipients=MANY_FEEDS),
    st.builds(Text, text=TEXTS, said_s=st.none() | st.integers(27_000_000, 40_000_000).map(lambda n: 60 * n)),
    st.builds(SealedMessage, box=st.binary(max_size=60)),
)


@settings(deadline=None)
@given(ANY_MESSAGE)
def test_what_is_written_is_read_back(message: Message) -> None:
    assert parse(serialize(message)) == message


@settings(deadline=None)
@given(ANY_MESSAGE)
def test_reading_again_changes_nothing(message: Message) -> None:
    content = serialize(message)
    assert serialize(parse(content)) == content


# --- bytes of strangers

SCALARS = st.none() | st.booleans() | NUMBERS | st.floats(allow_nan=False) | TEXTS | st.binary(max_size=40)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)
WORDS = st.sampled_from(["TAV", "IAM", "KAN", "TTT", "ACK", "DLV", "TRT", "DEL", "tav", "XYZ"])


@settings(deadline=None)
@given(st.binary(max_size=80))
def test_any_bytes_mean_something(content: bytes) -> None:
    message = parse(content)
    if isinstance(message, Opaque):
        assert message.content == content
        assert serialize(message) == content
    assert links(message, ANA) is None or not isinstance(message, Opaque)


@settings(max_examples=150, deadline=None)
@given(WORDS, st.lists(VALUES, max_size=7))
def test_a_message_with_anything_in_its_places_is_one_or_is_opaque(word: str, items: list[Any]) -> None:
    content = bipf.encode([word, *items])
    message = parse(content)
    for reader in (None, BO):
        place = links(message, ANA, reader)
        assert place is None or place == FIRST or place.previous
    assert said_us(message) is None or isinstance(message, ChatPost | Trust)
    assert parse(serialize(message)) == message


@pytest.mark.parametrize(
    "value",
    [
        ["TAV"],
        ["TAV", []],
        ["TAV", [], "x", None],
        ["TAV", [], "x", None, "soon"],
        ["TAV", [], "x", None, 1.5],
        ["TAV", [], "x", None, True],
        ["TAV", [], 7, None, 1],
        ["TAV", [], "x", "voice", 1],
        ["TAV", [[]], "x", None, 1],
        ["TAV", {}, "x", None, 1],
        ["TAV", [], "x", None, 1, "everybody"],
        ["TAV", ["tip"] * 10_000, "x", None, 1],
        ["TAV", [], "x", None, 1, ["@"] * 65],
        ["IAM"],
        ["IAM", None],
        ["KAN", None, "null"],
        ["KAN", None, "nil", "board/create", "x"],
        ["KAN", 7, [], "leave"],
        ["KAN", None, "null", "board/create", ["x"]],
        ["KAN", None, "null", "board/create", *["x"] * 65],
        ["TTT"],
        ["TTT", "M", 4],
        ["ACK"],
        ["ACK", 1],
        ["DLV", None],
        ["TRT", [], "x", "much", 1],
        ["TRT", [], None, 1, 1],
        ["DEL", "x"],
        ["DEL", "x", "yes"],
        ["DEL", "x", 1, "me"],
        [],
        [7],
        ["XYZ", 1],
        {"tangles": {}},
        7,
        None,
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_is_not_quite_a_message_is_opaque(value: Any) -> None:
    content = bipf.encode(value)
    assert parse(content) == Opaque(content=content)
    assert read_message(value) is None


def test_a_deep_nest_is_opaque() -> None:
    content = bipf.encode(["TAV"])
    for _ in range(100):
        content = bytes([len(content) << 3 & 0x7F | 0x84, len(content) >> 4]) + content
    assert parse(content) == Opaque(content=content)


def test_more_items_than_we_know_change_nothing() -> None:
    assert parse(bipf.encode(["IAM", "Ana", {"more": 1}])) == Alias(name="Ana")
    assert parse(bipf.encode(["TAV", [], "x", None, 1, None, 2])) == ChatPost(text="x", said_s=1)


def test_a_fixed_entry_may_end_in_zeros() -> None:
    content = bipf.encode(["IAM", "Ana"])
    assert parse(content.ljust(48, b"\0")) == Alias(name="Ana")
    assert isinstance(parse(content.ljust(47, b"\0")), Opaque)
    assert isinstance(parse(content.ljust(47, b"\0") + b"x"), Opaque)


def test_reading_a_megabyte_takes_its_time_only_once() -> None:
    content = bipf.encode(["TAV", ["x"] * 300_000, "x", None, 1])
    before = time.process_time()
    assert isinstance(parse(content), Opaque)
    assert time.process_time() - before < 2


# --- values that cannot be written


@pytest.mark.parametrize(
    "message",
    [
        ChatPost(text="half a pair: \ud83c", said_s=1),
        Alias(name="\udfff"),
        ChatPost(text="x", said_s=2**63),
        Trust(contact=ANA, level=-(2**63) - 1, said_s=1),
        ChatPost(tips=("x",) * 256, text="x", said_s=1),
        ChatPost(text="x", said_s=1, recipients=(ANA,) * 65),
        BoardStep(board=None, operation="board/create", args=("x",) * 65),
    ],
    ids=lambda message: type(message).__name__,
)
def test_what_the_format_cannot_say_is_our_fault(message: Message) -> None:
    with pytest.raises(UnencodableMessageError, match="Nothing was published"):
        serialize(message)


def test_a_text_with_its_time_is_small_and_the_page_takes_it_apart() -> None:
    text = Text(text="hi", said_s=1_762_495_200)
    assert serialize(text).hex() == "3c1a08f62e106869"
    assert parse(serialize(text)) == text
    assert said_us(text) == 1_762_495_200_000_000
    assert len(serialize(Text(text="x" * 40, said_s=1_762_495_200))) == limits.CONTENT_SIZE
    assert parse(serialize(text) + bytes(40)) == text, "an entry of type 0 ends in zeros"
    page = pages.read("docs/formats/messages.md").replace(" ", "")
    assert all(part in page for part in ("[3077640", "1a08f62e", "106869"))


@pytest.mark.parametrize("items", [[5], [5, 6], [0, "x"], [-5, "x"], [True, "x"], [2**40, "x"]])
def test_another_list_with_a_number_in_front_is_no_text(items: list[bipf.Value]) -> None:
    assert parse(bipf.encode(items)) == Opaque(content=bipf.encode(items))


# --- tangles


def test_the_public_chat_has_one_root_that_is_no_message() -> None:
    first = ChatPost(text="hello", said_s=1)
    assert links(first, ANA) == TangleData(PUBLIC_ROOT, (PUBLIC_ROOT,))
    assert links(Text(text="hello"), ANA) == TangleData(PUBLIC_ROOT, (PUBLIC_ROOT,))
    later = ChatPost(tips=(M1, M2, M1, "123"), text="hello", said_s=1)
    assert links(later, ANA) == TangleData(PUBLIC_ROOT, (M1, M2))
    lost = ChatPost(tips=("123", b"x"), text="hello", said_s=1)
    assert links(lost, ANA) == TangleData(PUBLIC_ROOT, (PUBLIC_ROOT,))


def test_the_public_root_is_the_same_for_everybody_for_good() -> None:
    assert PUBLIC_ROOT.hex() == "d7c0446eda83b2dff7e8a73dbb23310682b45a22"


def test_below_it_a_chat_that_several_began_is_one_tangle() -> None:
    said = {
        M1: ChatPost(text="anybody here?", said_s=1),
        M2: ChatPost(text="hello?", said_s=1),
        M3: ChatPost(tips=(M1, M2), text="yes", said_s=2),
    }
    previous: dict[MessageId, tuple[MessageId, ...]] = {PUBLIC_ROOT: ()}
    for id_, post in said.items():
        place = links(post, ANA)
        assert place is not None
        assert place.root == PUBLIC_ROOT
        previous[id_] = place.previous
    assert canonical_order(previous) == [PUBLIC_ROOT, M1, M2, M3]


def test_a_private_conversation_is_of_those_named_and_of_who_wrote_and_read_it() -> None:
    post = ChatPost(text="psst", said_s=1, recipients=(BO, ANA, "somebody"))
    assert members(post, ANA, BO) == (ANA, BO)
    root = conversation_root((ANA, BO))
    assert links(post, ANA, BO) == links(post, ANA, ANA) == TangleData(root, (root,))
    assert root == conversation_root([BO, ANA, BO])
    assert len({root, PUBLIC_ROOT, conversation_root((ANA, CY))}) == 3
    answer = ChatPost(tips=(M1,), text="yes", said_s=2, recipients=(ANA, BO))
    assert links(answer, BO, ANA) == TangleData(root, (M1,))


def test_what_somebody_copied_into_its_own_feed_is_another_conversation() -> None:
    post = ChatPost(text="psst", said_s=1, recipients=(BO, ANA))
    assert members(post, CY, BO) == (ANA, BO, CY)


def test_sealed_things_other_than_posts_are_in_no_tangle() -> None:
    create = BoardStep(board=None, operation="board/create", args=("x",))
    for message in (Text(text="x"), create, GameMove(action="N"), Alias(name="x"), Delivered(message=M1)):
        assert links(message, ANA, BO) is None


def test_a_board_begins_with_the_message_that_created_it() -> None:
    assert links(BoardStep(board=None, operation="board/create"), ANA) == FIRST
    assert links(BoardStep(board=M1, operation="board/create", previous=(M2,)), ANA) == FIRST
    step = BoardStep(board=M1, operation="leave", previous=(M2, M3))
    assert links(step, ANA) == TangleData(M1, (M2, M3))
    assert links(BoardStep(board=M1, operation="leave"), ANA) == TangleData(M1, (M1,))
    assert links(BoardStep(board=None, operation="leave"), ANA) is None
    assert links(BoardStep(board="x", operation="leave"), ANA) is None


def test_a_game_hangs_on_its_invitation() -> None:
    assert links(GameMove(action="N", args=("@x",)), ANA) == FIRST
    move = parse(bipf.encode(["TTT", "M", "CwsLCwsLCwsLCwsLCwsLCwsLCws=", "4"]))
    assert links(move, ANA) == TangleData(M1, (M1,))
    assert links(GameMove(action="M", args=("x", "4")), ANA) is None
    assert links(GameMove(action="M"), ANA) is None


@pytest.mark.parametrize(
    "message", [Alias(name="x"), Acknowledged(message=M1), SealedMessage(box=b"x"), Opaque(content=b"x")]
)
def test_the_rest_is_in_no_tangle(message: Message) -> None:
    assert links(message, ANA) is None


@settings(deadline=None)
@given(st.lists(MESSAGES, max_size=12))
def test_tips_are_written_sorted_once_and_few(ids: list[MessageId]) -> None:
    virtual = conversation_root((ANA, BO))
    tips = tips_form([*ids, PUBLIC_ROOT, virtual, *ids], virtual)
    assert list(tips) == sorted(set(ids))[: content_limits.TIPS_WRITTEN_MAX]
    for first in (M1, *ids):
        assert tips_form(ids, first=first)[0] == first
        assert set(tips_form(ids, first=first)) <= {first, *ids}


# --- clocks


@pytest.mark.parametrize("said_s", [0, 1_700_000_000, content_limits.SAID_S_MAX])
def test_a_clock_is_shown_as_it_says(said_s: int) -> None:
    assert said_us(ChatPost(text="x", said_s=said_s)) == said_s * 1_000_000
    assert said_us(Trust(contact=ANA, level=1, said_s=said_s)) == said_s * 1_000_000


@pytest.mark.parametrize("said_s", [-1, content_limits.SAID_S_MAX + 1, 2**63 - 1])
def test_an_absurd_clock_says_nothing(said_s: int) -> None:
    assert said_us(ChatPost(text="x", said_s=said_s)) is None


def test_most_messages_say_no_time() -> None:
    assert said_us(Alias(name="x")) is None
