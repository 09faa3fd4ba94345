from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.codec.varint import encode_varint, read_varint


def test_known_bytes() -> None:
    assert encode_varint(0) == b"\x00"
    assert encode_varint(127) == b"\x7f"
    assert encode_varint(128) == b"\x80\x01"
    assert encode_varint(16384) == b"\x80\x80\x01"


@given(st.integers(0, 2**35 - 1), st.binary(max_size=3), st.binary(max_size=3))
def test_round_trip_wherever_it_stands(number: int, before: bytes, behind: bytes) -> None:
    written = encode_varint(number)
    data = before + written + behind
    assert read_varint(data, len(before), len(data), 5) == (number, len(before) + len(written))


def test_longer_than_needed_is_read() -> None:
    assert read_varint(b"\x81\x80\x00", 0, 3, 5) == (1, 3)


def test_it_has_to_end_before_the_bound() -> None:
    assert read_varint(b"\x80\x01", 0, 1, 5) is None
    assert read_varint(b"", 0, 0, 5) is None


def test_it_has_to_end_within_the_size() -> None:
    assert read_varint(b"\x80\x80\x01", 0, 3, 3) == (16384, 3)
    assert read_varint(b"\x80\x80\x01", 0, 3, 2) is None
