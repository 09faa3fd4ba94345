"""Protobuf's wire format: fields come back, any bytes are fields or a typed error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge.serial import limits
from firmware_bridge.serial.protobuf import (
    Fixed32,
    ProtobufError,
    Value,
    blob,
    fixed_float,
    number,
    parse_fields,
    real,
    serialize_fields,
    signed,
)

values: st.SearchStrategy[Value] = st.one_of(
    st.integers(0, 2**64 - 1), st.binary(max_size=200), st.builds(Fixed32, st.integers(0, 2**32 - 1))
)
field_lists = st.lists(st.tuples(st.integers(1, 2**20), values), max_size=8)


@given(field_lists)
def test_fields_come_back_in_order(fields: list[tuple[int, Value]]) -> None:
    expected: dict[int, list[Value]] = {}
    for field, value in fields:
        expected.setdefault(field, []).append(value)
    assert parse_fields(serialize_fields(fields)) == expected


@given(st.integers(-(2**31), 2**31 - 1))
def test_negative_numbers_come_back(value: int) -> None:
    assert signed(parse_fields(serialize_fields([(12, value)])), 12) == value


@given(st.floats(width=32, allow_nan=False))
def test_fractions_come_back(value: float) -> None:
    assert real(parse_fields(serialize_fields([(8, fixed_float(value))])), 8) == value


@given(st.binary(max_size=300))
def test_any_bytes_are_fields_or_a_typed_error(data: bytes) -> None:
    try:
        fields = parse_fields(data)
    except ProtobufError:
        return
    for field in fields:
        assert isinstance(blob(fields, field), bytes)
        assert 0 <= number(fields, field) < 2**64
        assert isinstance(real(fields, field), float)


def test_bytes_of_the_documentation() -> None:
    # The examples of protobuf.dev: a = 150, and b = "testing".
    assert serialize_fields([(1, 150)]) == bytes.fromhex("089601")
    assert serialize_fields([(2, b"testing")]) == bytes.fromhex("120774657374696e67")


@pytest.mark.parametrize(
    "data",
    [
        b"\x08",
        b"\x12\x05ab",
        b"\x0d\x01\x02",
        b"\x09\x01",
        b"\x0b",
        b"\x00\x01",
        b"\xff" * 11,
        b"\x08\x01" * (limits.PROTOBUF_FIELDS_MAX + 1),
    ],
)
def test_what_ends_too_early_or_means_nothing_is_refused(data: bytes) -> None:
    with pytest.raises(ProtobufError):
        parse_fields(data)


def test_values_of_eight_bytes_are_passed_over() -> None:
    assert parse_fields(b"\x09" + bytes(8) + b"\x10\x05") == {2: [5]}


def test_what_is_not_there_is_nought() -> None:
    assert (number({}, 1), blob({}, 1), real({}, 1), signed({}, 1)) == (0, b"", 0.0, 0)
