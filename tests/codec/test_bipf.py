import math
from contextlib import suppress

import bipf as oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.codec.vectors import load
from tinyssb_node import limits
from tinyssb_node.codec.bipf import BipfError, Value, decode, decode_prefix, encode, encoded_size
from tinyssb_node.codec.varint import encode_varint
from tinyssb_node.errors import PeerError

INTS = st.integers(-(2**63), 2**63 - 1)
ASCII = st.text(st.characters(codec="ascii"), max_size=40)
SCALARS = (
    st.none()
    | st.booleans()
    | INTS
    | st.floats(allow_nan=False)
    | st.text(max_size=20)
    | st.binary(max_size=20)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5) | INTS, inner, max_size=5)
    ),
    max_leaves=20,
)
VECTORS = load("bipf.json")


def vector_value(vector: dict[str, str]) -> Value:
    """Return the value of a vector; JSON has no bytes."""
    return bytes.fromhex(vector["bytes_hex"]) if "bytes_hex" in vector else vector["json"]


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["hex"][:24] for vector in VECTORS])
def test_vectors_both_ways(vector: dict[str, str]) -> None:
    value, data = vector_value(vector), bytes.fromhex(vector["hex"])
    assert encode(value) == data
    assert decode(data) == value
    assert type(decode(data)) is type(value)
    assert encoded_size(value) == len(data)


def test_the_sign_of_zero_is_kept() -> None:
    number = decode(encode(-0.0))
    assert isinstance(number, float)
    assert math.copysign(1, number) == -1


def test_not_a_number_is_a_number() -> None:
    number = decode(encode(math.nan))
    assert isinstance(number, float)
    assert math.isnan(number)


@given(VALUES)
def test_round_trip(value: Value) -> None:
    data = encode(value)
    assert decode(data) == value
    assert encode(decode(data)) == data


@given(VALUES, st.binary(max_size=8))
def test_prefix_leaves_what_follows(value: Value, behind: bytes) -> None:
    data = encode(value)
    assert decode_prefix(data + behind) == (value, len(data))


@given(st.binary(max_size=160))
def test_any_bytes_decode_or_raise_the_one_error(data: bytes) -> None:
    with suppress(BipfError):
        encode(decode(data))


@given(VALUES, st.data())
def test_damaged_values_decode_or_raise_the_one_error(value: Value, data: st.DataObject) -> None:
    damaged = bytearray(encode(value))
    damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
    with suppress(BipfError):
        encode(decode(bytes(damaged)))


def test_the_error_is_a_strangers() -> None:
    assert issubclass(BipfError, PeerError)


def oracle_encode(value: Value) -> bytes:
    """Encode *value* by the PyPI package."""
    buffer = bytearray(oracle.encodingLength(value))
    oracle.encode(value, buffer, 0)
    return bytes(buffer)


ORACLE_VALUES = st.recursive(
    st.none() | st.booleans() | INTS | ASCII | st.floats(allow_nan=False) | st.binary(max_size=40),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(ASCII, inner, max_size=5),
    max_leaves=15,
)


@given(ORACLE_VALUES)
def test_the_other_implementation_writes_the_same(value: Value) -> None:
    assert oracle_encode(value) == encode(value)


@given(ORACLE_VALUES)
def test_the_other_implementation_reads_what_we_write(value: Value) -> None:
    found, size = oracle.decode(encode(value), 0)
    assert found == value
    assert size == encoded_size(value)


@pytest.mark.parametrize(
    ("data", "value"),
    [("2201000000", 1), ("22ffffffff", -1), ("420000000000000080", -(2**63)), ("120000", 0)],
)
def test_integers_of_more_bytes_than_needed_are_read(data: str, value: int) -> None:
    assert decode(bytes.fromhex(data)) == value


@pytest.mark.parametrize(("data", "value"), [("0aff", 255), ("0a80", 128), ("12ffff", 65535), ("0a7f", 127)])
def test_unsigned_reading_takes_the_same_bytes(data: str, value: int) -> None:
    assert decode_prefix(bytes.fromhex(data), unsigned=True) == (value, len(data) // 2)


def test_unsigned_reading_reaches_into_lists() -> None:
    assert decode_prefix(bytes.fromhex("240aff0a01"), unsigned=True) == ([255, 1], 5)


@pytest.mark.parametrize(
    ("data", "reason", "offset"),
    [
        pytest.param("", "the tag does not end", 0, id="nothing"),
        pytest.param("80", "the tag does not end", 0, id="half a tag"),
        pytest.param("808080808001", "the tag does not end", 0, id="tag of six bytes"),
        pytest.param("07", "type 7 is not in use", 0, id="reserved type"),
        pytest.param("02", "an integer has 1 to 8 bytes", 1, id="int of no bytes"),
        pytest.param("4a" + "00" * 9, "an integer has 1 to 8 bytes", 1, id="int of nine bytes"),
        pytest.param("3b" + "00" * 7, "a double has 8 bytes", 1, id="double of seven bytes"),
        pytest.param("03", "a double has 8 bytes", 1, id="double of no bytes"),
        pytest.param("0e02", "a bool is one byte, 0 or 1", 1, id="bool 2"),
        pytest.param("160000", "a bool is one byte, 0 or 1", 1, id="bool of two bytes"),
        pytest.param("10c328", "text that is not UTF-8", 1, id="broken UTF-8"),
        pytest.param("1061ff", "text that is not UTF-8", 2, id="broken UTF-8 further on"),
        pytest.param("18eda080", "text that is not UTF-8", 1, id="half a surrogate pair"),
        pytest.param("1061", "the value is longer than what holds it", 0, id="beyond the buffer"),
        pytest.param("0c10616161", "the value is longer than what holds it", 1, id="beyond its list"),
        pytest.param("0600", "more bytes than one value has", 1, id="trailing byte"),
        pytest.param("0d0861", "the value is longer than what holds it", 1, id="key beyond its dict"),
        pytest.param("150861", "the tag does not end", 3, id="key without value"),
        pytest.param("150406", "a key is no list or dict", 1, id="list as key"),
        pytest.param("150506", "a key is no list or dict", 1, id="dict as key"),
        pytest.param("350861060861" + "06", "a key comes twice", 4, id="key twice"),
    ],
)
def test_broken_bytes_say_which_rule_and_where(data: str, reason: str, offset: int) -> None:
    with pytest.raises(BipfError) as caught:
        decode(bytes.fromhex(data))
    assert (caught.value.reason, caught.value.offset) == (reason, offset)
    assert str(caught.value) == f"not BIPF at byte {offset}: {reason}"


def nested(depth: int) -> bytes:
    """An empty list in *depth* - 1 lists."""
    data = b""
    for _ in range(depth):
        data = encode_varint(len(data) << 3 | 4) + data
    return data


def test_depth_is_bounded_when_reading() -> None:
    decode(nested(limits.BIPF_DEPTH_MAX))
    with pytest.raises(BipfError, match="nested deeper"):
        decode(nested(limits.BIPF_DEPTH_MAX + 1))


def test_depth_counts_dicts() -> None:
    value: Value = 1
    for _ in range(limits.BIPF_DEPTH_MAX):
        value = {"a": value}
    assert decode(encode(value)) == value
    with pytest.raises(BipfError, match="nested deeper"):
        encode({"a": value})


def test_what_is_read_can_be_written() -> None:
    data = nested(limits.BIPF_DEPTH_MAX)
    assert encode(decode(data)) == data


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        pytest.param(2**63, "an integer has at most 8 bytes", id="too large"),
        pytest.param(-(2**63) - 1, "an integer has at most 8 bytes", id="too small"),
        pytest.param("\ud800", "text with half a surrogate pair", id="surrogate"),
    ],
)
def test_values_that_cannot_be_said(value: Value, reason: str) -> None:
    with pytest.raises(BipfError) as caught:
        encode(value)
    assert (caught.value.reason, caught.value.offset) == (reason, 0)
