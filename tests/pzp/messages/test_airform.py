import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.docs import pages
from tests.pzp.messages.sizes import table, typical
from tests.pzp.messages.test_jsontext import values
from tests.pzp.messages.vectors import FOLDER, VERSION, load, made
from tinyssb_node.codec import bipf
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.pzp.messages import base58, limits, message
from tinyssb_node.pzp.messages.airform import AirFormTooLarge, parse_air, serialize_air
from tinyssb_node.pzp.messages.errors import AirFormError, MessageError, PzpRule
from tinyssb_node.pzp.messages.jsontext import Json, canonical, read
from tinyssb_node.pzp.messages.versions import V2

FROZEN = FOLDER.parent / "content" / "pzp_air_v1.json"
ALICE = SigningKey(b"alice".ljust(32, b"\0"))

ids = st.binary(min_size=16, max_size=16).map(base58.encode)


def ids_of(size: int) -> st.SearchStrategy[str]:
    """Ids, some of which are drawn often."""
    some = st.binary(min_size=size, max_size=size).map(base58.encode)
    return st.sampled_from([base58.encode(bytes([number]) * size) for number in range(6)]) | some


said = st.none() | st.text() | ids | st.dictionaries(st.text() | ids, values | ids, max_size=4)


@st.composite
def messages(draw, version: str = "v2") -> dict[str, Any]:
    """Any message of the right shape, signed by nobody."""
    fields, payload = VERSION[version].fields, draw(said)
    few_ids = ids_of(fields.hash_size)
    places = st.fixed_dictionaries(
        {"depth": st.integers(0, limits.INTEGER_MAX), "prev": st.lists(few_ids, max_size=5)}
    )
    key = base58.encode(draw(st.binary(min_size=32, max_size=32)))
    found: tuple[str | None, int] = (None, 0)
    if draw(st.booleans()):
        found = (draw(few_ids), draw(st.integers(0, limits.INTEGER_MAX)))
    elif payload is not None:
        found = message.hash_and_size(fields, payload)
    metadata = {
        fields.payload_hash: found[0],
        fields.payload_size: found[1],
        fields.owner: key,
        "v": fields.v,
    }
    metadata[fields.kind] = draw(st.from_regex(r"\A[a-zA-Z0-9_]{3,100}\Z"))
    metadata["tangles"] = draw(st.dictionaries(few_ids, places, max_size=3))
    whole = {fields.payload: payload, "metadata": metadata}
    if fields.tips:
        metadata[fields.owner] = draw(st.sampled_from([fields.own, fields.anybody]) | few_ids)
        metadata[fields.tips] = draw(st.none() | st.lists(few_ids, max_size=4))
        whole[fields.author] = key
    return {**whole, "sig": base58.encode(draw(st.binary(min_size=64, max_size=64)))}


def carried(whole: object) -> bytes:
    content = serialize_air(whole)  # type: ignore[arg-type] # JSON
    assert isinstance(content, bytes)
    return content


def is_text(content: bytes) -> bool:
    items = bipf.decode(content)
    return isinstance(items, list) and isinstance(items[1], str)


def test_frozen_bytes() -> None:
    frozen = json.loads(FROZEN.read_text("utf-8"))
    for record in frozen["messages"]:
        content = bytes.fromhex(record["content"])
        whole = parse_air(content)
        assert whole is not None, record["name"]
        assert canonical(whole).decode() == record["canonical"]
        assert carried(read(record["canonical"])) == content
    for record in frozen["refused"]:
        with pytest.raises(AirFormError, match=record["error"]):
            parse_air(bytes.fromhex(record["content"]))
    for record in frozen["others"]:
        assert parse_air(bytes.fromhex(record["content"])) is None


def test_the_examples_of_the_page_are_frozen() -> None:
    frozen = json.loads(FROZEN.read_text("utf-8"))
    (example,) = [record for record in frozen["messages"] if record["name"] == "first post"]
    assert canonical(load("v2-feed-linear")["msgs"][1]["msg"]).decode() == example["canonical"]
    assert (len(example["canonical"]), len(example["content"]) // 2) == (422, 149)


def every_message(value: object):
    """Yield everything in *value* that looks like a message, at any depth."""
    if isinstance(value, dict):
        if "metadata" in value and "sig" in value:
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from every_message(one)


def test_all_messages_of_the_original_even_those_it_refuses() -> None:
    compact = text = 0
    for path in sorted(FOLDER.glob("*.json")):
        for whole in every_message(json.loads(path.read_text("utf-8"))):
            try:
                before = canonical(whole)
                restored = parse_air(carried(whole))
                assert restored is not None
                assert canonical(restored) == before
                text += is_text(carried(whole))
                compact += not is_text(carried(whole))
            except MessageError as error:
                if error.rule not in (PzpRule.SURROGATE, PzpRule.NUMBER):
                    raise
    assert compact > 8 * text > 500


def test_whatever_is_taken_is_carried_without_its_names() -> None:
    for name, record in made():
        whole = record["msg"]
        assert not is_text(carried(whole))
        assert len(carried(whole)) < 0.65 * len(canonical(whole))
        assert message.message_id(VERSION[name].fields, parse_air(carried(whole)) or {}) == record["hash"]


@pytest.mark.parametrize("version", ["v1", "v2", "v4"])
@given(st.data())
def test_a_message_comes_out_as_it_went_in(version: str, data: st.DataObject) -> None:
    whole = data.draw(messages(version))
    restored = parse_air(carried(whole))
    assert restored is not None
    assert canonical(restored) == canonical(whole)


@given(
    st.dictionaries(st.text() | st.sampled_from(["data", "metadata", "pubkey", "sig"]), values, max_size=4)
)
def test_what_is_no_message_goes_as_text(whole: dict[str, Any]) -> None:
    content = carried(whole)
    assert is_text(content)
    assert canonical(parse_air(content) or {}) == canonical(whole)


@given(st.data())
def test_one_message_has_one_form(data: st.DataObject) -> None:
    content = bytearray(carried(data.draw(messages() | st.sampled_from([whole for _, whole in typical()]))))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with suppress(AirFormError):
        whole = parse_air(bytes(content))
        assert whole is None or carried(whole) == content


@given(st.binary(max_size=80))
def test_any_head_has_an_answer(head: bytes) -> None:
    bodies: list[list[bipf.Value]] = [[head], [head, None], [head, {"text": ""}], ["PZP"], [[]]]
    for items in bodies:
        with suppress(AirFormError):
            assert parse_air(bipf.encode(["PZP", *items])) is not None


@given(st.binary(max_size=60))
def test_any_content_has_an_answer(content: bytes) -> None:
    with suppress(AirFormError):
        parse_air(content)


def long_message(letters: int) -> dict[str, Any]:
    payload: Json = {"text": "x" * letters}
    whole: dict[str, Any] = json.loads(canonical(load("v2-feed-linear")["msgs"][1]["msg"]))
    found = message.hash_and_size(V2.fields, payload)
    whole["metadata"].update(dataHash=found[0], dataSize=found[1])
    return {**whole, "data": payload}


def test_what_no_entry_carries_is_answered_with_its_size() -> None:
    fits = limits.AIR_MAX - len(carried(long_message(60_000))) + 60_000
    assert len(carried(long_message(fits))) == limits.AIR_MAX
    assert serialize_air(long_message(fits + 1)) == AirFormTooLarge(limits.AIR_MAX + 1, limits.AIR_MAX)
    huge = serialize_air(long_message(limits.TEXT_MAX))
    assert isinstance(huge, AirFormTooLarge)
    assert huge.size > limits.TEXT_MAX
    with pytest.raises(AirFormError, match="at most 65536 bytes"):
        parse_air(bipf.encode(["PZP", "{}" + " " * limits.AIR_MAX]))


def test_ids_are_bounded() -> None:
    whole = json.loads(canonical(load("v2-feed-linear")["msgs"][1]["msg"]))
    (place,) = whole["metadata"]["tangles"].values()
    place["prev"] *= limits.AIR_IDS_MAX - 2
    content = carried(whole)
    assert not is_text(content)
    assert len(canonical(parse_air(content) or {})) < limits.TEXT_MAX
    place["prev"] *= 2
    assert serialize_air(whole) == AirFormTooLarge(
        len(bipf.encode(["PZP", canonical(whole).decode()])), limits.AIR_MAX
    )
    claims_more = content.replace(b"\x02\x01\xfe\x0f\x02", b"\x02\x01\xff\x0f\x02")
    assert claims_more != content
    with pytest.raises(AirFormError, match="at most 2048 in all"):
        parse_air(claims_more)


def test_text_is_taken_where_it_is_shorter() -> None:
    payload: Json = {"readings": [number + 0.5 for number in range(100)]}
    whole: dict[str, Any] = json.loads(canonical(load("v2-feed-linear")["msgs"][1]["msg"]))
    found = message.hash_and_size(V2.fields, payload)
    whole["metadata"].update(dataHash=found[0], dataSize=found[1])
    assert is_text(carried({**whole, "data": payload}))
    assert canonical(parse_air(carried({**whole, "data": payload})) or {}) == canonical(
        {**whole, "data": payload}
    )


def test_other_numbers_for_the_same_are_carried_alike() -> None:
    whole = load("v2-feed-linear")["msgs"][1]["msg"]
    assert carried({**whole, "metadata": {**whole["metadata"], "v": 2.0}}) == carried(whole)


def test_the_table_of_the_page() -> None:
    assert "\n".join(table()) in pages.read("docs/formats/pzp-air.md")
