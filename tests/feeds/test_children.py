import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node import limits
from tinyssb_node.errors import ChildShapeError, NobodyError, SeqRangeError
from tinyssb_node.feeds.children import (
    END,
    ChildMade,
    ChildOf,
    Continued,
    EntryType,
    ends_feed,
    parse_child_made,
    parse_child_of,
    parse_continued,
    serialize_child_made,
    serialize_child_of,
    serialize_continued,
)
from tinyssb_node.ids import FeedId, MessageId

VECTORS = json.loads((Path(__file__).parent.parent / "vectors" / "children" / "children_v1.json").read_text())
NOBODY = bytes(32)

feeds = st.binary(min_size=32, max_size=32).filter(any).map(FeedId)
notes = st.binary(max_size=limits.CHILD_NOTE_SIZE).map(lambda note: note.rstrip(b"\x00"))
contents = st.binary(min_size=48, max_size=48)


def entry(name: str) -> tuple[int, bytes]:
    """Type and content of a vector."""
    return VECTORS[name]["type"], bytes.fromhex(VECTORS[name]["content"])


def test_a_parent_names_a_child() -> None:
    type_, content = entry("mkchild")
    made = ChildMade(FeedId.from_hex(VECTORS["child"]), b"grp/add")
    assert (type_, parse_child_made(content)) == (EntryType.CHILD_MADE, made)
    assert serialize_child_made(made) == content


def test_a_child_names_the_entry_that_names_it() -> None:
    type_, content = entry("ischild")
    id_ = MessageId.from_hex(VECTORS["mkchild"]["id"])
    child = ChildOf(FeedId.from_hex(VECTORS["parent"]), VECTORS["mkchild"]["seq"], id_)
    assert (type_, parse_child_of(content)) == (EntryType.CHILD_OF, child)
    assert serialize_child_of(child) == content


def test_a_feed_ends_or_goes_on_elsewhere() -> None:
    type_, content = entry("end")
    assert (type_, parse_continued(content)) == (EntryType.CONTINUED, END)
    assert serialize_continued(END) == content
    assert ends_feed(type_, content)
    type_, content = entry("continued")
    assert parse_continued(content) == Continued(FeedId.from_hex(VECTORS["child"]), b"2026")
    assert not ends_feed(type_, content)


@given(feeds, notes)
def test_what_is_written_is_read(feed: FeedId, note: bytes) -> None:
    made, goes_on = ChildMade(feed, note), Continued(feed, note)
    assert parse_child_made(serialize_child_made(made)) == made
    assert parse_continued(serialize_continued(goes_on)) == goes_on
    assert parse_continued(serialize_continued(Continued(None, note))) == Continued(None, note)


@given(feeds, st.integers(1, limits.SEQ_MAX), st.binary(min_size=12, max_size=12))
def test_a_parent_that_is_written_is_read(feed: FeedId, seq: int, prefix: bytes) -> None:
    child = ChildOf(feed, seq, prefix)
    assert parse_child_of(serialize_child_of(child)) == child


@given(feeds, st.integers(1, limits.SEQ_MAX), st.binary(min_size=12, max_size=12))
def test_what_is_read_is_written_alike(feed: FeedId, seq: int, prefix: bytes) -> None:
    content = feed + seq.to_bytes(4, "big") + prefix
    assert serialize_child_made(parse_child_made(content)) == content
    assert serialize_continued(parse_continued(content)) == content
    assert serialize_child_of(parse_child_of(content)) == content


@given(st.integers(0, 255), contents, st.booleans())
def test_only_one_type_ends_a_feed(type_: int, content: bytes, nowhere: bool) -> None:
    content = NOBODY + content[32:] if nowhere else content
    assert ends_feed(type_, content) == (type_ == 5 and content[:32] == NOBODY)


@pytest.mark.parametrize("size", [0, 47, 49])
def test_content_has_48_bytes(size: int) -> None:
    for parse in (parse_child_made, parse_child_of, parse_continued):
        with pytest.raises(ChildShapeError):
            parse(b"\x01" * size)


def test_nobody_has_no_children_and_is_no_child() -> None:
    with pytest.raises(NobodyError):
        parse_child_made(NOBODY + bytes(16))
    with pytest.raises(NobodyError):
        parse_child_of(NOBODY + b"\x00\x00\x00\x01" + bytes(12))


def test_a_parents_entry_has_a_number() -> None:
    with pytest.raises(SeqRangeError):
        parse_child_of(b"\x01" * 32 + bytes(16))


@pytest.mark.parametrize("note", [b"seventeen letters", b"zero at its end\x00"])
def test_notes_that_cannot_be_said(note: bytes) -> None:
    with pytest.raises(ValueError, match="cannot be said"):
        serialize_child_made(ChildMade(FeedId(b"\x01" * 32), note))


@pytest.mark.parametrize(("seq", "prefix"), [(0, bytes(12)), (2**32, bytes(12)), (1, bytes(11))])
def test_parents_that_cannot_be_said(seq: int, prefix: bytes) -> None:
    with pytest.raises(ValueError, match="cannot be said"):
        serialize_child_of(ChildOf(FeedId(b"\x01" * 32), seq, prefix))
