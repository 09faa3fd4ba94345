"""The long form of a group's messages says the same as the short one, as programs for classic feeds want it."""

import copy
import json
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.groups import schemas
from tests.groups.spoken import (
    ALL,
    AUTHOR,
    KEY,
    MESSAGES,
    PEOPLE,
    ROOT,
    TIP,
    VECTORS,
    addition,
    epoch_init,
    exclusion,
    ids_of_vectors,
    of_vectors,
    said,
    table,
)
from tests.groups.world import GROUP, key_of
from tinyssb_node.content.tangle import FIRST
from tinyssb_node.groups.classic import ClassicIdTable, UnknownClassicId, from_classic, to_classic
from tinyssb_node.groups.content import fields_of
from tinyssb_node.groups.messages import (
    AddMember,
    ExcludedMember,
    ExcludeMember,
    ExcludesForm,
    GroupContent,
    GroupInit,
    GroupMessage,
    GroupMessageError,
)
from tinyssb_node.groups.short_form import PendingMessage, decode


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: str(case["id"]))
def test_objects_are_those_of_the_vectors(case: dict[str, Any]) -> None:
    message = decode(bytes.fromhex(case["bytes"]), of_vectors(case["key"]))
    assert not isinstance(message, PendingMessage)
    assert to_classic(message, ids_of_vectors()) == case["classic"]
    assert schemas.valid(case["classic"])


@given(MESSAGES)
def test_nothing_is_lost_and_the_specification_is_kept(message: GroupMessage) -> None:
    written = to_classic(message, ALL)
    assert schemas.valid(written)
    assert from_classic(json.loads(json.dumps(written)), ALL) == message


@given(MESSAGES)
def test_an_exclusion_can_be_written_as_the_specification_knows_it(message: GroupMessage) -> None:
    written = to_classic(message, ALL, excludes=ExcludesForm.V0)
    if not isinstance(message, ExcludeMember):
        assert written == to_classic(message, ALL)
        return
    assert schemas.EXCLUDE_V0(written)
    read = from_classic(written, ALL)
    assert isinstance(read, ExcludeMember)
    assert read.form is ExcludesForm.V0
    assert [each.member for each in read.excludes] == [each.member for each in message.excludes]


# --- what others write


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON value, but for the whole."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


FULL: dict[str, GroupMessage] = {
    "first": GroupInit(KEY, FIRST, FIRST, FIRST),
    "init": epoch_init(),
    "add": AddMember(
        KEY,
        GROUP,
        ROOT,
        AUTHOR,
        PEOPLE[:15],
        addition().group_tangle,
        addition().members_tangle,
        "hello",
        (key_of(1), key_of(2)),
    ),
    "exclude": ExcludeMember(
        GROUP,
        tuple(ExcludedMember(one) for one in PEOPLE[:3]),
        exclusion().group_tangle,
        exclusion().members_tangle,
    ),
    "exclude-v1": exclusion(),
    "post": said("hi"),
}


WRONG: tuple[Any, ...] = (7, "x", True, [], {}, ["x"], {"x": 1})
FREE = {("text",), ("type",)}
"""May be any text, in one message or another."""


@pytest.mark.parametrize("name", FULL)
def test_every_field_and_every_element_has_to_be_right(name: str) -> None:
    """Whatever is taken passes the specification, and hardly anything else is taken."""
    written = to_classic(FULL[name], ALL)
    taken = set()
    for place in places(written):
        for wrong in WRONG:
            broken = replaced(written, place, wrong)
            if schemas.valid(broken):
                taken.add(place)
            else:
                with pytest.raises(GroupMessageError):
                    from_classic(broken, ALL)
    assert {place for place in taken if place[-1] != "sequence"} <= FREE | {("oldSecrets",)}


def replaced(written: Any, place: tuple[Any, ...], value: Any) -> Any:
    """*written* with something else at one place."""
    whole = copy.deepcopy(written)
    holder = whole
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    return whole


@pytest.mark.parametrize("name", FULL)
def test_no_field_can_be_left_out_or_added(name: str) -> None:
    written = to_classic(FULL[name], ALL)
    assert isinstance(written, dict)
    for field in written.keys() - {"text", "oldSecrets"}:
        with pytest.raises(GroupMessageError):
            from_classic({key: value for key, value in written.items() if key != field}, ALL)
    if name != "post":
        with pytest.raises(GroupMessageError):
            from_classic(written | {"more": 1}, ALL)


_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@given(_JSON)
def test_any_value_is_a_message_or_none(written: Any) -> None:
    for value in (written, {"type": "post", "body": written}, replaced(said_in_full(), ("body",), written)):
        try:
            found = from_classic(value, ALL)
        except GroupMessageError:
            continue
        if not isinstance(found, UnknownClassicId):
            assert schemas.valid(value)
            assert from_classic(to_classic(found, ALL), ALL) == found


def said_in_full() -> dict[str, Any]:
    """Something said to the group, as an object."""
    written = to_classic(said("hi"), ALL)
    assert isinstance(written, dict)
    return written


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), 2**63, "\ud800", {"\ud800": 1}, (1,), b"", json.loads("[" * 40 + "]" * 40)],
    ids=str,
)
def test_what_has_no_short_form_is_refused(value: Any) -> None:
    with pytest.raises(GroupMessageError):
        from_classic(said_in_full() | {"x": value}, ALL)
    with pytest.raises(GroupMessageError):
        from_classic(said_in_full() | {"type": "\ud800"}, ALL)


def test_bytes_come_back_as_bytes() -> None:
    for value in ("AAE=", "AAE", "AAF=", "AA E=", "ä", "", 1):
        read = from_classic(said_in_full() | {"x": {"$base64": value}}, ALL)
        assert isinstance(read, GroupContent)
        assert fields_of(read.body)["x"] == (
            b64decode(value) if value in {"AAE=", ""} else {"$base64": value}
        )
        assert to_classic(read, ALL) == said_in_full() | {"x": {"$base64": value}}


def test_an_empty_list_of_old_keys_is_none() -> None:
    written = to_classic(addition(), ALL)
    assert isinstance(written, dict)
    assert "oldSecrets" not in written
    assert from_classic(written | {"oldSecrets": []}, ALL) == addition()


# --- who is who


@pytest.mark.parametrize("name", FULL)
def test_what_the_table_lacks_is_said(name: str) -> None:
    nobody = table([], [], [], [])
    if name != "first":
        unknown = to_classic(FULL[name], nobody)
        assert isinstance(unknown, UnknownClassicId)
        written = to_classic(FULL[name], ALL)
        there = from_classic(written, nobody)
        assert isinstance(there, UnknownClassicId)
        assert str(there.id) in json.dumps(written)
    assert from_classic(to_classic(FULL["first"], nobody), nobody) == FULL["first"]


def test_a_name_means_one_thing() -> None:
    with pytest.raises(ValueError, match="two ids"):
        ClassicIdTable({}, {PEOPLE[0]: "same"}, {PEOPLE[1]: "same"}, {})
    crossed = ClassicIdTable({TIP: ALL.messages[TIP]}, {}, {}, {GROUP: ALL.messages[ROOT]})
    assert from_classic(to_classic(said("hi"), ALL), crossed) == UnknownClassicId(ALL.messages[ROOT])
