"""What people say to a group: the body of a `Content`, as fields with names (docs/formats/group-messages.md).

A body is the BIPF dict of all fields but `type`, `recps` and the group's tangle, in one spelling: names in order. It
can hold what JSON can, and bytes, so that nothing is lost on the way to programs for classic feeds and back.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from math import isfinite
from typing import Final

from tinyssb_node.codec import bipf
from tinyssb_node.codec.bipf import BipfError, Scalar, Value
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.messages import GroupContent, GroupMessageError

POST: Final = "post"
NAME: Final = "group/name"
LEAVE: Final = "group/leave"
_BYTES_FIELD: Final = "$base64"
"""Bytes are an object with this one field where they have to be JSON. So no dict may look like that."""
_WHAT: Final = "message to a group"
_TEXT: Final = "text"
_NAME: Final = "name"


def body_of(fields: Mapping[str, Value]) -> bytes:
    """The one spelling of *fields*.

    Raises GroupMessageError for what JSON could not say, and for fields that every message has.
    """
    taken = fields.keys() & {"type", "recps"}
    if taken:
        raise GroupMessageError(_WHAT, "body", f"has a field {min(taken)}, which every message has")
    if "tangles" in fields:
        _check_others(fields["tangles"])
    try:
        return bipf.encode(_tidy(dict(fields.items()), 0))
    except BipfError as error:
        raise GroupMessageError(_WHAT, "body", f"is nothing that BIPF can say: {error.reason}") from error


def fields_of(body: bytes) -> dict[str, Value]:
    """What *body* says. Raises GroupMessageError."""
    try:
        fields = bipf.decode(body)
    except BipfError as error:
        raise GroupMessageError(_WHAT, "body", f"is {error}") from error
    checked = checked_fields(fields)
    if body_of(checked) != body:
        raise GroupMessageError(_WHAT, "body", "is not in the one spelling of its fields")
    return checked


def checked_fields(value: Value) -> dict[str, Value]:
    """*value* as fields, if it is a dict of names. Raises GroupMessageError."""
    if not isinstance(value, dict):
        raise GroupMessageError(_WHAT, "body", "is no dict")
    return {_name(key): item for key, item in value.items()}


def _check_others(tangles: Value) -> None:
    if not isinstance(tangles, dict) or not tangles or "group" in tangles:
        raise GroupMessageError(_WHAT, "tangles", "are no dict of tangles beside the group's")


def _tidy(value: Value, depth: int) -> Value:
    if depth > group_limits.BODY_DEPTH_MAX:
        raise GroupMessageError(_WHAT, "body", f"is nested deeper than {group_limits.BODY_DEPTH_MAX}")
    if isinstance(value, list):
        return [_tidy(item, depth + 1) for item in value]
    if isinstance(value, dict):
        if like_bytes(value):
            raise GroupMessageError(_WHAT, "body", f"has {_BYTES_FIELD} for the only name, which means bytes")
        return {name: _tidy(value[name], depth + 1) for name in sorted(map(_name, value))}
    if isinstance(value, float) and not isfinite(value):
        raise GroupMessageError(_WHAT, "body", "has a number that is none")
    return value


def _name(key: Scalar) -> str:
    if not isinstance(key, str):
        raise GroupMessageError(_WHAT, "body", "has a field whose name is no text")
    return key


def like_bytes(value: Mapping[Scalar, Value]) -> bool:
    """Return whether *value* looks like bytes in the long form: an object with one field, in canonical base64."""
    text = value.get(_BYTES_FIELD)
    if len(value) != 1 or not isinstance(text, str):
        return False
    try:
        return b64encode(b64decode(text, validate=True)).decode() == text
    except ValueError:
        return False


def post(text: str) -> tuple[str, bytes]:
    """Kind and body of something said."""
    return POST, body_of({_TEXT: text})


def name(text: str) -> tuple[str, bytes]:
    """Kind and body of what gives the group a name. The last one in the group's order holds."""
    return NAME, body_of({_NAME: text})


def leave() -> tuple[str, bytes]:
    """Kind and body of what says that its author leaves the group."""
    return LEAVE, body_of({})


def text_of(content: GroupContent) -> str | None:
    """What a post says; None if *content* is none, or says nothing in words."""
    return _said(content, POST, _TEXT)


def name_of(content: GroupContent) -> str | None:
    """The name that *content* gives the group; None if it gives none."""
    return _said(content, NAME, _NAME)


def _said(content: GroupContent, kind: str, field: str) -> str | None:
    if content.kind != kind:
        return None
    try:
        said = fields_of(content.body).get(field)
    except GroupMessageError:
        return None
    return said if isinstance(said, str) else None
