"""The bytes of ties, both forms, and whatever else people may write in their place."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.codec.test_bipf import VALUES
from tests.content.graphs import id_of
from tinyssb_node import limits
from tinyssb_node.codec import bipf
from tinyssb_node.codec.bipf import Value
from tinyssb_node.content import limits as content_limits
from tinyssb_node.content.note import (
    Note,
    is_name,
    parse_note,
    read_note,
    serialize_compact,
    serialize_map,
)
from tinyssb_node.content.tangle import FIRST, TangleData
from tinyssb_node.ids import Dialect, MessageId

A, X, Y = (id_of(name) for name in "AXY")
VECTORS = json.loads((Path(__file__).parent.parent / "vectors/content/tangles_v1.json").read_text("utf-8"))

ids = st.binary(min_size=20, max_size=20).map(MessageId)
names = st.text(min_size=1, max_size=8).filter(is_name)
previous = st.lists(ids, min_size=1, max_size=5, unique=True).map(tuple)
rooted = st.just(FIRST) | st.builds(TangleData, ids, previous)
rootless = st.just(FIRST) | st.builds(TangleData, st.none(), previous)


def read(case: dict[str, object]) -> Note | None:
    """Return the expected meaning of a vector's bytes."""
    if case["places"] is None:
        return None
    assert isinstance(case["places"], dict)
    places = {
        name: TangleData(
            place["root"] and MessageId.from_hex(place["root"]),
            tuple(MessageId.from_hex(id_) for id_ in place["previous"]),
        )
        for name, place in case["places"].items()
    }
    return Note(places, bipf.decode(bytes.fromhex(str(case["body"]))))


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: str(case["id"]))
def test_bytes_mean_what_the_vectors_say(case: dict[str, object]) -> None:
    content = bytes.fromhex(str(case["bytes"]))
    note = parse_note(content)
    assert note == read(case)
    if case["written"]:
        assert note is not None
        serialize = serialize_compact if isinstance(bipf.decode(content), list) else serialize_map
        assert serialize(note) == content


def test_the_page_takes_the_bytes_of_vectors_apart() -> None:
    page = (Path(__file__).parents[2] / "docs/formats/tangles.md").read_text("utf-8")
    shown = {
        "".join(re.split(r" {2,}", line.strip())[0].replace(" ", "") for line in block.splitlines())
        for block in page.split("```")[1::2]
    }
    by_id = {case["id"]: case["bytes"] for case in VECTORS["cases"]}
    assert {by_id["map"], by_id["compact"]} <= shown
    assert f"`{by_id['compact-first']}`" in page.replace(" ", "")


@given(
    st.dictionaries(names, rooted, max_size=content_limits.TANGLES_MAX),
    st.dictionaries(st.text(), VALUES, max_size=3),
)
def test_a_map_is_read_as_it_was_written(
    places: dict[str, TangleData], body: dict[bipf.Scalar, Value]
) -> None:
    body.pop("tangles", None)
    note = Note(places, body)
    read_back = parse_note(serialize_map(note))
    assert read_back is not None
    assert bipf.encode(read_back.body) == bipf.encode(body)
    assert list(read_back.places.items()) == list(places.items())


@given(st.dictionaries(names, rootless, min_size=1, max_size=content_limits.TANGLES_MAX), VALUES)
def test_a_compact_list_is_read_as_it_was_written(places: dict[str, TangleData], body: Value) -> None:
    read_back = parse_note(serialize_compact(Note(places, body)))
    assert read_back is not None
    assert bipf.encode(read_back.body) == bipf.encode(body)
    assert list(read_back.places.items()) == list(places.items())


@given(st.binary(max_size=80))
def test_any_bytes_have_a_meaning_or_none(content: bytes) -> None:
    note = parse_note(content)
    assert note is None or len(note.places) <= content_limits.TANGLES_MAX


odd = VALUES | ids | st.lists(ids, max_size=3) | st.just(b"") | st.just("t")


@given(
    st.lists(odd, max_size=6)
    | st.dictionaries(
        st.sampled_from(["t", "u", "tangles", ""]),
        odd | st.dictionaries(st.sampled_from(["root", "previous"]), odd, max_size=2),
    ).map(lambda tangles: {"tangles": tangles, "text": "hi"})
)
def test_what_is_nearly_a_note_never_fails(value: Value) -> None:
    note = read_note(value)
    for place in note.places.values() if note else ():
        assert place.first or all(len(id_) == 20 for id_ in place.previous)


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"root": A},
        {"root": None, "previous": [X]},
        {"root": None, "previous": []},
        {"root": A, "previous": None},
        {"root": A, "previous": []},
        {"root": A, "previous": X},
        {"root": A, "previous": [X, "X"]},
        {"root": A[:19], "previous": [X]},
        {"root": "A", "previous": [X]},
        {"root": A, "previous": [bytes(20)] * (limits.TANGLE_PREVIOUS_MAX + 1)},
    ],
)
def test_broken_data_leave_a_message_out_of_that_tangle_only(data: Value) -> None:
    note = read_note(
        {"tangles": {"broken": data, "": None, "good": {"root": A, "previous": [X, X]}, "n" * 33: None}}
    )
    assert note == Note({"good": TangleData(A, (X,))}, {})


def test_of_many_tangles_the_first_count() -> None:
    tangles: Value = {f"t{number}": {"root": None, "previous": None} for number in range(20)}
    note = read_note({"tangles": tangles})
    assert note is not None
    assert list(note.places) == [f"t{number}" for number in range(content_limits.TANGLES_MAX)]


@pytest.mark.parametrize(
    "value",
    [
        [],
        [b""],
        [b"", "t"],
        ["t", b"", "body"],
        [b"1", "t", "body"],
        [b"", "", "body"],
        [b"", "n" * 33, "body"],
        [b"", "t", b"", "t", "body"],
        [b"", "t", "body", "more"],
        [bytes(20) * (limits.TANGLE_PREVIOUS_MAX + 1), "t", "body"],
        [item for number in range(content_limits.TANGLES_MAX + 1) for item in (b"", f"t{number}")] + ["body"],
        ["TAV", [], "hi", None, 1700000000],
        "text",
        None,
        {"tangles": []},
        {"text": "hi"},
    ],
)
def test_a_list_of_another_shape_is_no_note(value: Value) -> None:
    assert read_note(value) is None


def test_what_no_reader_would_take_is_not_written() -> None:
    crowd = tuple(id_of(number) for number in range(limits.TANGLE_PREVIOUS_MAX + 1))
    many = {f"t{number}": FIRST for number in range(content_limits.TANGLES_MAX + 1)}
    for note, why in (
        (Note({"t": TangleData(A, (X,))}, "x"), "body of a map"),
        (Note({"t": TangleData(A, (X,))}, {"tangles": 1}), "body of a map"),
        (Note({"t": TangleData(None, (X,))}, {}), "root of tangle 't' is not said"),
        (Note({"": FIRST}, {}), "no name"),
        (Note(many, {}), "at most 8"),
        (Note({"t": TangleData(A, crowd)}, {}), "at most 255"),
    ):
        with pytest.raises(ValueError, match=why):
            serialize_map(note)
    for note, why in (
        (Note({}, "x"), "some tangle"),
        (Note({"t": TangleData(A, (X,))}, "x"), "does not say the root"),
        (Note({"n" * 33: FIRST}, "x"), "no name"),
        (Note({"t": TangleData(None, crowd)}, "x"), "at most 255"),
    ):
        with pytest.raises(ValueError, match=why):
            serialize_compact(note)


def test_a_reply_of_twenty_letters_is_one_packet() -> None:
    note = Note({"c": TangleData(None, (X,))}, "twenty bytes of text")
    assert len(serialize_compact(note)) == limits.CONTENT_SIZE == limits.INLINE_SIZE[Dialect.SPEC]
