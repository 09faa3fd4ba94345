"""The short form of a group's messages says all that they say, in one spelling, and costs the packets that it may."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.groups.spoken import (
    ADDED,
    AUTHOR,
    CREATOR,
    EPOCH,
    KEY,
    MESSAGES,
    PEOPLE,
    ROOT,
    TIP,
    TWIN,
    VECTORS,
    addition,
    epoch_init,
    exclusion,
    of_long_form,
    of_vectors,
    reading,
    said,
)
from tests.groups.world import GROUP
from tinyssb_node.codec import bipf
from tinyssb_node.content.tangle import FIRST, TangleData
from tinyssb_node.feeds.layout import packet_count
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.bfe import context_of
from tinyssb_node.groups.envelope import SlotKey, box
from tinyssb_node.groups.keys import epoch_slot, own_slot
from tinyssb_node.groups.messages import (
    AddMember,
    GroupContent,
    GroupInit,
    GroupMessage,
    GroupMessageError,
    post,
)
from tinyssb_node.groups.short_form import (
    MissingContext,
    PendingMessage,
    decode,
    encode,
    read_addition_head,
    split_owner,
    with_owner,
)
from tinyssb_node.ids import Dialect, EpochKey, FeedId

PAGE = Path(__file__).parents[2] / "docs/formats/group-messages.md"


# --- vectors


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: str(case["id"]))
def test_of_an_addition_the_epoch_and_its_people_are_read_without_the_group(case: dict[str, Any]) -> None:
    plain = bytes.fromhex(case["bytes"])
    message, head = decode(plain, of_vectors(case["key"])), read_addition_head(plain)
    if not isinstance(message, AddMember):
        assert head is None
        return
    assert head is not None
    assert (head.key, head.root, head.epoch) == (message.secret, message.root, message.members_tangle.root)
    assert len(head.names) == len(message.people)
    assert all(person.startswith(name) for person, name in zip(message.people, head.names, strict=True))


@given(st.sampled_from(VECTORS["cases"]), st.integers(0, 400), st.integers(0, 255), st.booleans())
def test_a_changed_addition_is_read_or_is_none(case: dict[str, Any], at: int, byte: int, cut: bool) -> None:
    plain = bytearray.fromhex(case["bytes"])
    at %= len(plain)
    plain[at] = byte
    head = read_addition_head(bytes(plain[:at] if cut else plain))
    assert head is None or 1 <= len(head.names) <= 15


@given(st.binary(max_size=300))
def test_bytes_by_anybody_are_no_addition(plain: bytes) -> None:
    assert read_addition_head(plain) is None


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: str(case["id"]))
def test_bytes_are_those_of_the_vectors(case: dict[str, Any]) -> None:
    plain = bytes.fromhex(case["bytes"])
    message = decode(plain, of_vectors(case["key"]))
    assert not isinstance(message, PendingMessage)
    assert message == of_long_form(case["classic"])
    known = [FeedId.from_hex(one) for one in VECTORS["people"]] if "again" in case["id"] else []
    assert encode(message, known=known) == plain


@pytest.mark.parametrize("case", VECTORS["broken"], ids=lambda case: str(case["id"]))
def test_whatever_is_not_as_it_would_be_written_is_no_message(case: dict[str, Any]) -> None:
    with pytest.raises(GroupMessageError):
        decode(bytes.fromhex(case["bytes"]), of_vectors(VECTORS["epoch_key"]))


@pytest.mark.parametrize("case", VECTORS["lacks"], ids=lambda case: str(case["id"]))
def test_what_is_not_known_yet_is_said(case: dict[str, Any]) -> None:
    lacks = decode(bytes.fromhex(case["bytes"]), of_vectors(case["key"], tuple(case["without"])))
    assert isinstance(lacks, PendingMessage)
    assert lacks.what is MissingContext(case["lacks"])
    assert [id_.hex() for id_ in lacks.ids] == case["ids"]
    assert [[one.key.hex(), one.root.hex()] for one in lacks.secrets] == case["secrets"]
    assert VECTORS["epoch_key"] not in repr(lacks)
    assert not isinstance(decode(bytes.fromhex(case["bytes"]), of_vectors(case["key"])), PendingMessage)


# --- any message, any bytes


@given(MESSAGES, st.booleans())
def test_nothing_is_lost(message: GroupMessage, known: bool) -> None:
    plain = encode(message, known=PEOPLE if known else ())
    assert decode(plain, reading()) == message


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_none(plain: bytes) -> None:
    _decode_or_refuse(plain)


@given(MESSAGES, st.booleans(), st.data())
def test_a_message_with_a_change_is_another_or_none(
    message: GroupMessage, known: bool, data: st.DataObject
) -> None:
    plain = bytearray(encode(message, known=PEOPLE if known else ()))
    for _ in range(data.draw(st.integers(1, 2))):
        plain[data.draw(st.integers(0, len(plain) - 1))] = data.draw(st.integers(0, 255))
    _decode_or_refuse(bytes(plain))


_ITEMS: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(
        [b"", bytes(KEY), bytes(ROOT), bytes(EPOCH), bytes(AUTHOR), AUTHOR + CREATOR, ROOT + TIP]
    ),
    st.sampled_from(["", "hi", "post", "group/init", 0, 7, -1, True, None, 1.5, [], {}, {"text": "hi"}]),
)


@given(st.sampled_from("IAXPC"), st.lists(_ITEMS, max_size=8))
def test_any_list_is_a_message_or_none(letter: str, items: list[Any]) -> None:
    _decode_or_refuse(bipf.encode([letter, *items]))


def _decode_or_refuse(plain: bytes) -> None:
    """Check that accepted bytes are those that the encoder writes."""
    try:
        found = decode(plain, reading())
    except GroupMessageError:
        return
    if not isinstance(found, PendingMessage):
        assert plain in {encode(found), encode(found, known=PEOPLE)}


def test_what_is_sealed_for_people_is_no_word_to_the_group() -> None:
    for message in (said("hi"), exclusion()):
        with pytest.raises(GroupMessageError, match="envelope"):
            decode(encode(message), reading(None))
    for other in (addition(3), epoch_init()):
        assert decode(encode(other), reading(None)) == other


def test_what_is_too_long_is_neither_written_nor_read() -> None:
    most = group_limits.PLAIN_MAX
    content = said("x" * most)
    with pytest.raises(GroupMessageError, match="length"):
        encode(content)
    with pytest.raises(GroupMessageError, match="length"):
        decode(bytes(most + 1), reading())
    with pytest.raises(GroupMessageError, match="body"):
        encode(GroupContent("post", b"no dict", GROUP, TangleData(ROOT, (TIP,))))


def test_what_is_said_once_is_one_thing() -> None:
    elsewhere = TangleData(TIP, (TIP,))
    with pytest.raises(GroupMessageError, match="another group"):
        encode(GroupInit(KEY, TangleData(ROOT, (TIP,)), elsewhere, FIRST, GROUP, AUTHOR))
    with pytest.raises(GroupMessageError, match="another group"):
        encode(AddMember(KEY, GROUP, ROOT, CREATOR, (AUTHOR,), elsewhere, elsewhere))


# --- names


def test_of_two_with_one_name_the_right_one_is_found() -> None:
    for one in (CREATOR, TWIN):
        message = addition(people=(AUTHOR, one))
        plain = encode(message, known=PEOPLE)
        assert len(plain) < len(encode(message))
        assert decode(plain, reading()) == message
        other = TWIN if one is CREATOR else CREATOR
        found = decode(plain, reading(people=(AUTHOR, other)))
        assert isinstance(found, PendingMessage)
        assert found.ids == (AUTHOR[:8], CREATOR[:8])


def test_names_are_tried_a_bounded_number_of_times() -> None:
    crowd = [
        FeedId(CREATOR[:8] + number.to_bytes(24)) for number in range(1, group_limits.SHORT_TRIES_MAX + 2)
    ]
    assert max(crowd) == crowd[-1]
    last = encode(addition(people=(crowd[-1],)), known=crowd)
    assert isinstance(decode(last, reading(people=crowd)), PendingMessage)
    assert not isinstance(decode(last, reading(people=crowd[1:])), PendingMessage)


def test_nobody_is_short_where_one_is_new() -> None:
    message = addition(people=(AUTHOR, CREATOR))
    assert encode(message, known=(AUTHOR,)) == encode(message)


def test_the_first_message_of_a_feed_says_whose_it_is() -> None:
    plain = encode(exclusion())
    assert split_owner(with_owner(plain, AUTHOR)) == (AUTHOR[:8], plain)
    for short in (b"", AUTHOR[:8]):
        with pytest.raises(GroupMessageError, match="owner"):
            split_owner(short)


# --- cost


def content_size(plain: bytes, slots: int) -> int:
    """Bytes of an envelope."""
    keys: list[SlotKey] = [epoch_slot(KEY), *(own_slot(bytes([number]) * 32) for number in range(1, slots))]
    return len(box(plain, context_of(AUTHOR, TIP), keys, bytes([7]) * 32))


def linked(forks: int) -> AddMember:
    """Return the addition of 15 behind an init, with the keys of the epochs directly before it."""
    keys = tuple(EpochKey(bytes([number]) * EpochKey.SIZE) for number in range(201, 201 + forks))
    return replace(addition(15, after_init=True), old_secrets=keys)


SIZES: dict[str, tuple[bytes, int]] = {
    "init of a group": (with_owner(encode(GroupInit(KEY, FIRST, FIRST, FIRST)), AUTHOR), 2),
    "init of an epoch": (with_owner(encode(epoch_init()), AUTHOR), 2),
    "addition of 1": (encode(addition(1)), 2),
    "addition of 8": (encode(addition(8)), 9),
    "addition of 15": (encode(addition(15)), 16),
    "addition of 15 known, behind the init, with a key": (encode(linked(1), known=PEOPLE), 16),
    "exclusion of 1, v0.0": (encode(exclusion(full=False)), 1),
    "exclusion of 1, v1.0": (encode(exclusion()), 1),
    "post of 18 letters": (encode(said("x" * 18)), 1),
    "post of 30 letters": (encode(said("x" * 30)), 1),
    "the same with its time": (encode(replace(said(""), body=post("x" * 30, said_s=1_764_350_000)[1])), 1),
}


def packets(plain: bytes, slots: int) -> int:
    """Those of the entry and its side chain, the same in both dialects."""
    size = content_size(plain, slots)
    (count,) = {packet_count(size, dialect) for dialect in Dialect}
    return count


@pytest.mark.parametrize("name", SIZES)
def test_sizes_are_those_of_the_page(name: str) -> None:
    plain, slots = SIZES[name]
    row = f"| {name} | {len(plain)} | {content_size(plain, slots):,} | {packets(plain, slots)} |"
    assert row in PAGE.read_text("utf-8")


def test_excluding_one_of_sixteen_takes_sixteen_packets() -> None:
    announcement = 1
    said = sum(
        packets(*SIZES[name])
        for name in (
            "exclusion of 1, v1.0",
            "init of an epoch",
            "addition of 15 known, behind the init, with a key",
        )
    )
    assert announcement + said <= 16


def test_there_is_room_for_one_more_predecessor() -> None:
    assert packets(encode(linked(2), known=PEOPLE), 16) == 10, "joining two forks"
    two = GroupInit(KEY, TangleData(ROOT, (TIP, ADDED)), TangleData(ROOT, (ROOT,)), FIRST, GROUP, AUTHOR)
    assert packets(with_owner(encode(two), AUTHOR), 2) == 3
    assert packets(with_owner(encode(exclusion()), AUTHOR), 1) == 3
