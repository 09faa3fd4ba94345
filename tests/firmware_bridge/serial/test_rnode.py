"""Messages of RNodes come back, and any frame is one or noise."""

from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge.serial.rnode import RnodeCommand, RnodeMessage, number, parse_message, serialize_message
from firmware_bridge.serial.session import Noise


@given(st.builds(RnodeMessage, st.integers(0, 255), st.binary(min_size=1, max_size=508)))
def test_messages_come_back(message: RnodeMessage) -> None:
    assert parse_message(serialize_message(message)) == message


@given(st.binary(min_size=1, max_size=512))
def test_any_frame_is_a_message_or_noise(frame: bytes) -> None:
    message = parse_message(frame)
    assert isinstance(message, Noise) or serialize_message(message) == frame


def test_settings_are_numbers_from_the_big_end() -> None:
    assert number(parse_ok(b"\x01\x33\xc1\x34\xe0")) == 868_300_000
    assert number(RnodeMessage(RnodeCommand.DATA, bytes(5))) is None
    assert number(None) is None


def parse_ok(frame: bytes) -> RnodeMessage:
    message = parse_message(frame)
    assert isinstance(message, RnodeMessage)
    return message
