"""Acknowledgements, byte by byte."""

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tinyssb_node import limits
from tinyssb_node.codec import bipf
from tinyssb_node.content import limits as content_limits
from tinyssb_node.content.acks import Ack, ack_of, confirmed, parse_acks, serialize_acks
from tinyssb_node.content.references import message_text
from tinyssb_node.errors import AckShapeError
from tinyssb_node.ids import MessageId

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "acks" / "acks.json").read_text())
ID = MessageId(bytes(range(20)))
acks = st.builds(Ack, st.integers(1, limits.SEQ_MAX), st.binary(min_size=4, max_size=4))


def acks_of(vector):
    return tuple(Ack(seq, bytes.fromhex(prefix)) for seq, prefix in vector["acks"])


@pytest.mark.parametrize("vector", VECTORS["good"], ids=lambda vector: vector["name"])
def test_frozen_acknowledgements_are_read_and_written_as_they_are(vector):
    content = bytes.fromhex(vector["content"])
    assert parse_acks(content) == acks_of(vector)
    assert serialize_acks(acks_of(vector)) == (content, len(vector["acks"]))


@pytest.mark.parametrize("vector", VECTORS["bad"], ids=lambda vector: vector["name"])
def test_what_is_none_is_refused(vector):
    with pytest.raises(AckShapeError, match=vector["what"]):
        parse_acks(bytes.fromhex(vector["content"]))


@given(st.lists(acks, min_size=1, max_size=12))
def test_what_is_written_is_read_back_as_far_as_there_is_room(said):
    content, count = serialize_acks(said)
    assert len(content) == limits.CONTENT_SIZE
    assert parse_acks(content) == tuple(said[:count])
    assert count == len(said) or count >= 5


@given(
    st.binary(min_size=40, max_size=56) | st.binary(min_size=47, max_size=47).map(lambda rest: b"\x01" + rest)
)
@example(b"\x01" + bytes(47))
def test_any_bytes_are_read_or_refused(content):
    try:
        read = parse_acks(content)
    except AckShapeError:
        return
    assert read
    assert all(0 < ack.seq <= limits.SEQ_MAX and len(ack.id_prefix) == 4 for ack in read)
    # Numbers may be encoded with more bytes than needed; the value is the same.
    assert parse_acks(serialize_acks(read)[0]) == read


def test_nine_small_feeds_fit():
    said = [Ack(seq, b"abcd") for seq in range(1, 20)]
    assert serialize_acks(said)[1] == 9


@pytest.mark.parametrize("said", [(), (Ack(0, b"abcd"),), (Ack(2**32, b"abcd"),), (Ack(1, b"abc"),)])
def test_what_cannot_be_said_is_not_written(said):
    with pytest.raises(ValueError, match="acknowledge"):
        serialize_acks(said)


def test_an_entry_is_named_by_the_beginning_of_its_id():
    assert ack_of(7, ID) == Ack(7, bytes((0, 1, 2, 3)))


@pytest.mark.parametrize("word", ["DLV", "ACK"])
@pytest.mark.parametrize("ref", [bytes(ID), message_text(ID)])
def test_messages_of_the_phone_app_confirm_the_message_they_name(word, ref):
    content = bipf.encode([word, ref])
    assert confirmed(content) == ID
    assert len(content) in content_limits.CONFIRMING_SIZES


@pytest.mark.parametrize(
    "value", [["TAV", ID], ["DLV"], ["DLV", None], ["DLV", "??"], [7, ID], "DLV", ["DLVx", ID], [["DLV"], ID]]
)
def test_other_messages_confirm_nothing(value):
    assert confirmed(bipf.encode(value)) is None


@given(st.binary(max_size=60))
def test_any_content_confirms_a_message_or_none(content):
    found = confirmed(content)
    assert found is None or len(found) == limits.MESSAGE_ID_SIZE
