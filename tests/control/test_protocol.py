"""Lines of the control protocol, both ways."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.docs import pages
from tinyssb_node import limits
from tinyssb_node.control import rows
from tinyssb_node.control.protocol import (
    ErrorReply,
    ReplyLine,
    RequestLine,
    parse_reply,
    parse_request,
    serialize_reply,
    serialize_request,
)
from tinyssb_node.errors import BadRequestError, ProtocolVersionError

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=20)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=8,
)
ids = st.integers(0, 2**53) | st.text(max_size=limits.CONTROL_ID_MAX)
errors = st.builds(ErrorReply, st.text(), st.text(), st.text())
replies = (
    st.builds(ReplyLine, id=ids | st.none(), result=json_values)
    | st.builds(ReplyLine, id=ids | st.none(), item=json_values)
    | st.builds(ReplyLine, id=ids | st.none(), error=errors)
)


@given(st.builds(RequestLine, ids, st.text(), st.dictionaries(st.text(), json_values, max_size=4)))
def test_a_request_is_read_as_it_was_written(request: RequestLine) -> None:
    line = serialize_request(request)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert parse_request(line) == request


@given(replies)
def test_a_reply_is_read_as_it_was_written(reply: ReplyLine) -> None:
    line = serialize_reply(reply)
    assert line.count(b"\n") == 1
    assert parse_reply(line) == reply


@given(st.binary() | json_values.map(lambda value: json.dumps(value).encode()))
def test_anything_else_is_refused(line: bytes) -> None:
    for parse in (parse_request, parse_reply):
        with pytest.raises((BadRequestError, ProtocolVersionError)):
            parse(line)


@pytest.mark.parametrize(
    "fields",
    [
        {"result": 1, "item": 2},
        {},
        {"error": {"code": "x"}},
        {"error": "no"},
        {"error": {"code": 1, "message": "m", "hint": "h"}},
    ],
)
def test_a_reply_has_exactly_one_answer(fields: dict[str, object]) -> None:
    with pytest.raises(BadRequestError):
        parse_reply(json.dumps({"v": 1, "id": 1, **fields}).encode())


def test_an_id_has_a_bound() -> None:
    line = serialize_request(RequestLine("x" * (limits.CONTROL_ID_MAX + 1), "status", {}))
    with pytest.raises(BadRequestError, match="64 characters"):
        parse_request(line)


def test_other_versions_are_named() -> None:
    with pytest.raises(ProtocolVersionError, match="not 9"):
        parse_request(b'{"v":9,"id":1,"command":"status"}')
    with pytest.raises(ProtocolVersionError, match="speaks control protocol 9"):
        parse_reply(b'{"v":9,"id":1,"result":{}}')


def test_every_field_of_every_row_is_documented() -> None:
    page = pages.read("docs/formats/control.md")
    kinds = [
        kind for kind in vars(rows).values() if isinstance(kind, type) and issubclass(kind, rows.ControlRow)
    ]
    assert len(kinds) > 10
    missing = [
        f"{kind.__name__}.{name}"
        for kind in kinds
        for name in kind.__struct_fields__
        if f"`{name}`" not in page
    ]
    assert missing == []
