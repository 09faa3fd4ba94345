"""Bodies of messages have fields in one canonical encoding, which either form can express."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.groups.spoken import FIELDS, ROOT, TIP
from tests.groups.world import GROUP
from tinyssb_node import limits
from tinyssb_node.codec import bipf
from tinyssb_node.content.files import File
from tinyssb_node.content.tangle import TangleData
from tinyssb_node.groups.limits import BODY_DEPTH_MAX
from tinyssb_node.groups.messages import (
    GroupContent,
    GroupMessageError,
    attach,
    body_of,
    fields_of,
    file_of,
    leave,
    name_of,
    post,
    rename,
    reply_of,
    text_of,
)
from tinyssb_node.ids import GroupId, MessageId

WRONG: dict[str, Any] = {
    "type": {"type": "post"},
    "recps": {"recps": []},
    "group tangle": {"tangles": {"group": {}}},
    "no tangles": {"tangles": {}},
    "tangles of no dict": {"tangles": 1},
    "no number": {"x": float("nan")},
    "beyond numbers": {"x": [float("-inf")]},
    "large number": {"x": 2**63},
    "number for a name": {"x": {1: 2}},
    "half a pair": {"x": "\ud800"},
    "like bytes": {"x": {"$base64": "AAE="}},
}


def content(kind: str, body: bytes) -> GroupContent:
    """Said to some group."""
    return GroupContent(kind, body, GROUP, TangleData(ROOT, (TIP,)))


@given(FIELDS)
def test_fields_come_back(fields: dict[str, Any]) -> None:
    body = body_of(fields)
    assert fields_of(body) == fields
    assert body_of(dict(reversed(fields.items()))) == body


@given(st.binary(max_size=60) | FIELDS.map(lambda fields: bipf.encode(dict(fields.items()))))
def test_a_body_has_one_spelling(body: bytes) -> None:
    try:
        fields = fields_of(body)
    except GroupMessageError:
        return
    assert body_of(fields) == body


@pytest.mark.parametrize("case", WRONG)
def test_what_one_form_could_not_say_is_refused(case: str) -> None:
    with pytest.raises(GroupMessageError):
        body_of(WRONG[case])


def test_nesting_has_an_end() -> None:
    fields: Any = {}
    for _ in range(BODY_DEPTH_MAX - 1):
        fields = {"x": fields}
    assert fields_of(body_of({"x": fields})) == {"x": fields}
    with pytest.raises(GroupMessageError, match="deeper"):
        body_of({"x": [fields]})


def test_what_people_say_is_found_again() -> None:
    assert text_of(content(*post("grüezi"))) == "grüezi"
    assert name_of(content(*rename("Alps"))) == "Alps"
    assert text_of(content(*rename("Alps"))) is None
    assert name_of(content(*post("Alps"))) is None
    assert text_of(content(*leave())) is None
    assert fields_of(leave()[1]) == {}
    for body in (b"", b"\xff", body_of({"text": 1}), body_of({})):
        assert text_of(content("post", body)) is None


def test_an_answer_names_the_message_in_twenty_bytes() -> None:
    answered = MessageId(bytes(range(20)))
    kind, body = post("yes", answered)
    assert body.hex() == "9502107265a101000102030405060708090a0b0c0d0e0f10111213207465787418796573"
    at = TangleData(answered, (answered,))
    content = GroupContent(kind, body, GroupId(bytes(32)), at)
    assert (reply_of(content), text_of(content)) == (answered, "yes")
    assert reply_of(GroupContent(*post("yes"), GroupId(bytes(32)), at)) is None
    malformed = body_of({"re": b"short", "text": "yes"})
    assert reply_of(GroupContent("post", malformed, GroupId(bytes(32)), at)) is None


FILE = File("map.webp", "image/webp", b"\x00\xff\x10")


def test_a_file_is_found_again_and_may_answer_a_message() -> None:
    found = content(*attach(FILE))
    assert (file_of(found), reply_of(found), text_of(found)) == (FILE, None, None)
    answer = content(*attach(FILE, TIP))
    assert (file_of(answer), reply_of(answer)) == (FILE, TIP)
    assert file_of(content(*post("no file"))) is None


@pytest.mark.parametrize(
    "value",
    [
        b"",
        [],
        ["FIL", "a", "b"],
        ["FIX", "a", "b", b""],
        ["FIL", 1, "b", b""],
        ["FIL", "n" * 65, "b", b""],
        ["FIL", "a", "b", "text"],
        {"FIL": 1},
    ],
)
def test_what_has_another_form_is_no_file(value: Any) -> None:
    assert file_of(content("file", body_of({"file": value}))) is None


def test_a_file_has_a_bound() -> None:
    assert file_of(content(*attach(File("", "", bytes(limits.GROUP_FILE_MAX))))) is not None
    with pytest.raises(GroupMessageError, match="more than 32,000 bytes"):
        attach(File("", "", bytes(limits.GROUP_FILE_MAX + 1)))
