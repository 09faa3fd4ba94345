"""Anything has a meaning, in bounds."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.catalog.mesh import Author, seed_of
from tinyssb_node.catalog import limits
from tinyssb_node.catalog.entry_meaning import Meaning, meaning_of
from tinyssb_node.catalog.rows import MessageKind
from tinyssb_node.codec import bipf
from tinyssb_node.content import chat
from tinyssb_node.content.acks import ACK_TYPE, ack_of, serialize_acks
from tinyssb_node.content.files import File, serialize_file
from tinyssb_node.content.note import Note, serialize_map
from tinyssb_node.content.pair_box import seal_text
from tinyssb_node.content.private import SealKey, seal
from tinyssb_node.content.short_text import ShortText
from tinyssb_node.content.tangle import FIRST, TangleData
from tinyssb_node.ids import MessageId
from tinyssb_node.limits import TANGLE_PREVIOUS_MAX

ANA = Author("ana")
KEY = SealKey(b"k" * 32)
ID = MessageId(b"m" * 20)
OTHER = MessageId(b"o" * 20)


def of(content: bytes, type_: int = 1) -> Meaning:
    return meaning_of(type_, content, ID, ANA.feed, KEY)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
)
words = st.sampled_from(["TAV", "IAM", "KAN", "TTT", "ACK", "DLV", "TRT", "DEL", "FIL"])
contents = st.binary(max_size=200) | st.builds(
    lambda word, rest: bipf.encode([word, *rest]), words, st.lists(values, max_size=5)
)


@given(contents, st.integers(0, 255))
def test_any_bytes_of_any_type_mean_something(content, type_):
    meaning = of(content, type_)
    assert len(meaning.text) <= limits.CATALOG_TEXT_MAX
    assert len(meaning.previous) <= TANGLE_PREVIOUS_MAX
    assert len(set(meaning.previous)) == len(meaning.previous)
    assert meaning.space is not None or (meaning.root, meaning.previous) == (None, ())


def test_a_thousand_predecessors_are_nobody_s_message():
    ids = [MessageId(number.to_bytes(20, "big")) for number in range(1_000)]
    meaning = of(bipf.encode(["TAV", list(ids), "hello", None, 1]))
    assert (meaning.kind, meaning.space) == (MessageKind.DATA, None)


@pytest.mark.parametrize("value", [["temp", 21.5], {"temp": 21.5}, ["text", "21 C"]])
def test_readings_of_a_sensor_are_data_also_before_zeros(value):
    content = bipf.encode(value)
    for whole in (content, content.ljust(48, b"\0")):
        assert (of(whole).kind, json.loads(of(whole).text)) == (MessageKind.DATA, value)


def test_long_text_is_cut():
    meaning = of(chat.serialize(chat.Text(text="x" * 20_000)))
    assert (meaning.cut, meaning.text) == (True, "x" * limits.CATALOG_TEXT_MAX)


def test_of_a_note_in_several_tangles_the_first_counts():
    note = Note({"chess": TangleData(OTHER, (OTHER,)), "go": FIRST}, {"move": "e4"})
    meaning = of(serialize_map(note))
    assert (meaning.kind, meaning.space, meaning.root, meaning.previous) == (
        MessageKind.NOTE,
        "note:chess",
        OTHER,
        (OTHER,),
    )
    assert meaning.text == '{"move": "e4"}'


@pytest.mark.parametrize("body", ["words", "x" * 20_000])
def test_a_note_that_is_a_text_says_that_text(body):
    meaning = of(serialize_map(Note({"chess": FIRST}, {"text": body})))
    assert (meaning.space, meaning.root, meaning.previous) == ("note:chess", ID, ())
    assert len(meaning.text) <= limits.CATALOG_TEXT_MAX


def test_a_conversation_s_root_that_only_stands_for_one_is_not_told():
    first = of(chat.serialize(chat.ChatPost(text="hi", said_s=7)))
    assert (first.root, first.previous, first.said_us) == (chat.PUBLIC_ROOT, (), 7_000_000)
    named = of(chat.serialize(chat.ChatPost(tips=(chat.PUBLIC_ROOT, OTHER), text="hi", said_s=7)))
    assert named.previous == (OTHER,)


def test_acknowledgements_are_told_or_opaque():
    content, _ = serialize_acks([ack_of(7, OTHER)])
    assert of(content, ACK_TYPE).text == '[[7, {"hex": "6f6f6f6f"}]]'
    assert of(bytes(48), ACK_TYPE).kind is MessageKind.OPAQUE


def test_a_short_text_is_a_public_text():
    meaning = of(chat.serialize(ShortText(text="hi", ties=(OTHER,), said_s=1_760_000_040)))
    assert (meaning.kind, meaning.text, meaning.said_us) == (MessageKind.TEXT, "hi", 1_760_000_040_000_000)
    assert (meaning.space, meaning.root, meaning.previous) == ("chat", chat.PUBLIC_ROOT, (OTHER,))
    assert not meaning.private


def test_a_private_text_is_in_the_conversation_of_author_and_reader():
    text = ShortText(text="hi", ties=(OTHER,), said_s=1_760_000_040)
    circle = chat.conversation_root((ANA.feed, KEY.feed_id))
    mine = SealKey(seed_of("ana"))
    content = seal_text(chat.serialize(text), mine, KEY.feed_id, bytes(100))
    meaning = of(content)
    assert (meaning.kind, meaning.text, meaning.private) == (MessageKind.TEXT, "hi", True)
    assert (meaning.space, meaning.root, meaning.previous) == ("chat", circle, (OTHER,))
    assert meaning.members == tuple(sorted((ANA.feed, KEY.feed_id)))
    assert meaning_of(1, content, ID, ANA.feed, mine) == meaning
    other = meaning_of(1, content, ID, ANA.feed, SealKey(b"x" * 32))
    assert (other.kind, other.private) == (MessageKind.OPAQUE, False)


def test_a_public_text_within_a_private_message_is_in_no_conversation():
    sealed = seal(chat.serialize(ShortText(text="hi")), [KEY.feed_id], bytes(range(88)))
    meaning = of(sealed)
    assert (meaning.kind, meaning.private, meaning.space) == (MessageKind.TEXT, True, None)


def test_a_private_file_is_in_the_conversation_of_its_readers():
    mine = SealKey(seed_of("ana"))
    readers = (KEY.feed_id, ANA.feed)
    file = File("map.webp", "image/webp", b"xyz", 1_760_000_040, readers)
    meaning = of(seal(serialize_file(file), readers, bytes(range(88))))
    assert (meaning.kind, meaning.private, meaning.tip) == (MessageKind.FILE, True, False)
    assert json.loads(meaning.text) == {"name": "map.webp", "type": "image/webp", "size": 3}
    assert (meaning.space, meaning.root) == ("chat", chat.conversation_root(readers))
    assert meaning.members == tuple(sorted(readers))
    assert meaning.said_us == 1_760_000_040_000_000
    content = seal(serialize_file(file), readers, bytes(range(88)))
    assert meaning_of(1, content, ID, ANA.feed, mine) == meaning
    assert meaning_of(1, content, ID, ANA.feed, SealKey(b"x" * 32)).kind is MessageKind.OPAQUE
    # Whoever could open it may have put it into a feed of their own: that makes another conversation.
    again = meaning_of(1, content, ID, KEY.feed_id, KEY)
    assert again.members == tuple(sorted(readers))
    unnamed = of(seal(serialize_file(File("a", "b", b"c")), [KEY.feed_id], bytes(range(88))))
    assert unnamed.members == tuple(sorted(readers))
