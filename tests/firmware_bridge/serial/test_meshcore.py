"""Messages of MeshCore companions come back, and any bytes are one or noise."""

from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge.serial import limits
from firmware_bridge.serial.meshcore import (
    FROM_COMPANION,
    TO_COMPANION,
    ChannelData,
    ChannelInfo,
    CompanionMessage,
    CoreStats,
    DeviceInfo,
    MessagesWaiting,
    NoMore,
    Ok,
    OtherReply,
    Refusal,
    Request,
    SelfInfo,
    channel_data_body,
    frame_reader,
    parse_message,
    serialize_frame,
    serialize_request,
)
from firmware_bridge.serial.session import Noise
from tests.emulated.meshcore_wire import CompanionRequest, parse_request, serialize_message

byte = st.integers(0, 255)
names = st.text(st.characters(codec="ascii", exclude_characters="\x00"), max_size=19)
messages: st.SearchStrategy[CompanionMessage] = st.one_of(
    st.just(Ok()),
    st.just(NoMore()),
    st.just(MessagesWaiting()),
    st.builds(Refusal, byte),
    st.builds(OtherReply, st.sampled_from((2, 6, 9, 12, 0x80, 0x88))),
    st.builds(
        SelfInfo,
        power_dbm=st.integers(-9, 30),
        frequency_hz=st.integers(0, 2**32 - 1).map(lambda khz: 1_000 * khz),
        bandwidth_hz=st.integers(0, 2**32 - 1),
        spreading_factor=byte,
        coding_rate=byte,
        name=names,
    ),
    st.builds(DeviceInfo, version=byte, channels=byte, model=names, firmware=names),
    st.builds(ChannelInfo, index=byte, name=names),
    st.builds(
        ChannelData,
        channel=byte,
        data_type=st.integers(0, 65_535),
        payload=st.binary(max_size=limits.COMPANION_DATA_MAX),
        snr_db=st.integers(-128, 127).map(lambda quarters: quarters / 4),
    ),
    st.builds(CoreStats, uptime_s=st.integers(0, 2**32 - 1), queued=byte),
)


@given(messages)
def test_what_a_companion_says_comes_back(message: CompanionMessage) -> None:
    assert parse_message(serialize_message(message)) == message


@given(st.sampled_from(Request), st.binary(max_size=170))
def test_what_a_host_says_comes_back(code: Request, body: bytes) -> None:
    (message,) = frame_reader(TO_COMPANION).feed(serialize_request(code, body))
    assert parse_request(message) == CompanionRequest(code, body)


@given(st.binary(min_size=1, max_size=300))
def test_any_bytes_are_a_message_or_noise(data: bytes) -> None:
    message = parse_message(data)
    assert not isinstance(message, Noise) or message.length == len(data)


@given(st.lists(st.binary(min_size=1, max_size=300), max_size=4), st.integers(1, 40))
def test_frames_come_back_in_pieces_behind_text(frames: list[bytes], step: int) -> None:
    stream = b"booting...\r\n" + b"".join(serialize_frame(FROM_COMPANION, frame) for frame in frames)
    reader = frame_reader(FROM_COMPANION)
    found = [frame for at in range(0, len(stream), step) for frame in reader.feed(stream[at : at + step])]
    assert found == frames


@given(st.binary(max_size=2_000))
def test_any_stream_is_read_and_little_of_it_kept(data: bytes) -> None:
    reader = frame_reader(FROM_COMPANION)
    assert all(0 < len(frame) <= limits.COMPANION_FRAME_MAX for frame in reader.feed(data))
    assert reader.pending < limits.COMPANION_FRAME_MAX + 3


def test_each_side_begins_frames_in_its_own_way() -> None:
    assert frame_reader(FROM_COMPANION).feed(serialize_frame(TO_COMPANION, b"\x16\x03")) == []
    assert frame_reader(TO_COMPANION).feed(serialize_frame(TO_COMPANION, b"\x16\x03")) == [b"\x16\x03"]


def test_a_datagram_has_no_path() -> None:
    assert channel_data_body(1, b"packet") == bytes.fromhex("01 00 58ff") + b"packet"
