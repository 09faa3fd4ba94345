"""Frames: packets come back whole, everything else is junk of a named kind."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.faces.frames import FrameFault, parse_bare, parse_crc_frame, serialize_crc_frame

packets = st.binary(min_size=8, max_size=120)


def test_the_crc_is_zlibs_big_endian() -> None:
    packet = bytes(range(120))
    assert serialize_crc_frame(packet) == packet + bytes.fromhex("23455e6e")


@given(packets)
def test_frames_with_crc_come_back(packet: bytes) -> None:
    assert parse_crc_frame(serialize_crc_frame(packet)) == packet


@given(packets, st.integers(min_value=0), st.integers(min_value=1, max_value=255))
def test_no_byte_can_change_unnoticed(packet: bytes, place: int, flip: int) -> None:
    frame = bytearray(serialize_crc_frame(packet))
    frame[place % len(frame)] ^= flip
    assert parse_crc_frame(bytes(frame)) is FrameFault.WRONG_CRC


@given(st.binary(max_size=300))
def test_any_bytes_are_a_packet_or_junk(frame: bytes) -> None:
    packet = parse_crc_frame(frame)
    assert isinstance(packet, FrameFault) or serialize_crc_frame(packet) == frame


@pytest.mark.parametrize(
    ("message", "junk"),
    [
        (b"", FrameFault.TOO_SHORT),
        (bytes(7), FrameFault.TOO_SHORT),
        (bytes(121), FrameFault.TOO_LONG),
        ("eight characters", FrameFault.TEXT),
    ],
)
def test_bare_messages_that_are_no_packet(message: bytes | str, junk: FrameFault) -> None:
    assert parse_bare(message) is junk


@given(st.binary(max_size=300) | st.text(max_size=300))
def test_any_message_is_a_packet_or_junk(message: bytes | str) -> None:
    packet = parse_bare(message)
    assert isinstance(packet, FrameFault) or packet == message


@pytest.mark.parametrize(
    ("size", "junk"), [(0, FrameFault.TOO_SHORT), (11, FrameFault.TOO_SHORT), (125, FrameFault.TOO_LONG)]
)
def test_sizes_of_frames_with_crc(size: int, junk: FrameFault) -> None:
    assert parse_crc_frame(bytes(size)) is junk


@pytest.mark.parametrize("size", [8, 120])
def test_bare_packets_at_the_limits(size: int) -> None:
    assert parse_bare(bytes(size)) == bytes(size)
