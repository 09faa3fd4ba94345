import json
from contextlib import suppress
from math import isfinite

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from tests.pzp.messages.broken import breaking
from tests.pzp.messages.vectors import FOLDER, load
from tinyssb_node.pzp.messages.errors import MessageError, PzpRule
from tinyssb_node.pzp.messages.jsontext import Json, canonical, read
from tinyssb_node.pzp.messages.message import hash_and_size
from tinyssb_node.pzp.messages.versions import V2

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(), below, max_size=4),
    max_leaves=12,
)


def test_canonical_form_and_hash_of_the_original() -> None:
    vectors = load("v2-data")
    lines = (FOLDER / "v2-data-fuzz.jsonl").read_bytes().split(b"\n")
    records = [*vectors["data"], *vectors["leadingZeroHashes"], *(json.loads(line) for line in lines if line)]
    assert len(records) > 250
    for record in records:
        value = read(record["wire"])
        assert canonical(value).decode() == record["canonical"]
        assert hash_and_size(V2.fields, value) == (record["dataHash"], record["dataSize"])


def test_what_the_original_cannot_make_canonical_is_not_read() -> None:
    for record in load("v2-data")["canonicalizationThrows"]:
        with breaking(PzpRule.SURROGATE, PzpRule.NUMBER):
            read(record["wire"])


@given(values)
def test_the_fast_way_writes_what_the_library_writes(value) -> None:
    assert canonical(value) == rfc8785.dumps(value)


def test_every_character_is_written_alike() -> None:
    text = "".join(chr(code) for code in range(0x11000) if not 0xD800 <= code < 0xE000)
    assert canonical(text) == rfc8785.dumps(text)


@given(values)
def test_canonical_form_is_read_as_itself(value) -> None:
    assert canonical(read(canonical(value))) == canonical(value)


@given(st.floats())
def test_numbers_are_whole_where_a_double_is(number: float) -> None:
    if isfinite(number):
        found = read(json.dumps(number))
        assert found == number
        assert isinstance(found, int) == (number.is_integer() and abs(number) < 2**53)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (b"", PzpRule.JSON),
        (b"{} {}", PzpRule.JSON),
        (b"01", PzpRule.JSON),
        (b"'a'", PzpRule.JSON),
        (b'"\n"', PzpRule.JSON),
        (b'{"a":1,}', PzpRule.JSON),
        (b"NaN", PzpRule.NUMBER),
        (b"[-Infinity]", PzpRule.NUMBER),
        (b"1e400", PzpRule.NUMBER),
        (b"-" + b"9" * 400, PzpRule.NUMBER),
        (b'"\\ud800"', PzpRule.SURROGATE),
        (b'{"\\uDFFF":1}', PzpRule.SURROGATE),
        ('"\ud800"', PzpRule.SURROGATE),
        (b"\xef\xbb\xbf{}", PzpRule.ENCODING),
        (b'"\xff"', PzpRule.ENCODING),
        (b'"\xed\xa0\x80"', PzpRule.ENCODING),
        (b"[" * 130 + b"]" * 130, PzpRule.NESTING),
        (b"[" * 100_000, PzpRule.NESTING),
        (b'"' + b"a" * 2**20 + b'"', PzpRule.TEXT_SIZE),
    ],
)
def test_what_is_no_strict_json_is_refused(text: bytes | str, rule: PzpRule) -> None:
    with breaking(rule):
        read(text)


def test_what_is_allowed() -> None:
    assert read(b' {"a":1,"a":2} ') == {"a": 2}
    assert read('"\\ud83d\\ude00"') == "😀"
    assert read(b"[" * 128 + b"]" * 128) is not None
    assert read(b"[7.0,70e-1,-0,9007199254740993,true]") == [7, 7, 0, 9007199254740992.0, True]
    assert read(b"[]" + b" " * 9) == []
    assert read(b"[" + b"[]," * 500 + b"[]]") == [[]] * 501


@given(st.binary(max_size=60) | st.text(max_size=60))
def test_any_text_has_an_answer(data: bytes | str) -> None:
    with suppress(MessageError):
        canonical(read(data))


def test_integers_that_no_double_holds_are_not_written() -> None:
    numbers: list[Json] = [2**53, [float("inf")], [float("nan")]]
    for value in numbers:
        with breaking(PzpRule.NUMBER):
            canonical(value)
    texts: list[Json] = ["\ud800", {"\udc00": 1}, {"é": "\ud800"}]
    for value in texts:
        with breaking(PzpRule.SURROGATE):
            canonical(value)
