"""Messages of Meshtastic devices come back, and any bytes are one or noise."""

from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge.serial import limits
from firmware_bridge.serial.meshtastic import (
    WAKE,
    Channel,
    ConfigComplete,
    FromRadio,
    Heartbeat,
    Metadata,
    MyInfo,
    Packet,
    QueueStatus,
    Rebooted,
    RoutingError,
    ToRadio,
    WantConfig,
    frame_reader,
    parse_from_radio,
    routing_error,
    serialize_frame,
    serialize_to_radio,
)
from firmware_bridge.serial.meshtastic_air import LoraConfig
from firmware_bridge.serial.session import Noise
from tests.emulated.meshtastic_wire import parse_to_radio, serialize_from_radio, serialize_routing

u32 = st.integers(0, 2**32 - 1)
small = st.integers(0, 1_000)
names = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=11)
packets = st.builds(
    Packet,
    payload=st.binary(max_size=limits.MESHTASTIC_PAYLOAD_MAX),
    port=st.integers(1, 511),
    channel=st.integers(0, 7),
    id=u32,
    sender=u32,
    request_id=u32,
    rssi_dbm=st.integers(-150, 0),
    snr_db=st.integers(-80, 80).map(lambda quarters: quarters / 4),
)
to_radios: st.SearchStrategy[ToRadio] = st.one_of(st.builds(WantConfig, u32), st.just(Heartbeat()), packets)
from_radios: st.SearchStrategy[FromRadio] = st.one_of(
    packets,
    st.builds(MyInfo, u32),
    st.builds(Metadata, names),
    st.builds(
        LoraConfig,
        use_preset=st.booleans(),
        preset=small,
        bandwidth_code=small,
        spreading_factor=small,
        coding_rate=small,
        region=small,
        transmits=st.booleans(),
        power_dbm=st.integers(-20, 40),
        slot=small,
        override_mhz=st.floats(0, 1_000, width=32),
    ),
    st.builds(Channel, index=st.integers(0, 7), name=names, role=st.integers(0, 2)),
    st.builds(ConfigComplete, u32),
    st.just(Rebooted()),
    st.builds(QueueStatus, error=st.integers(-5, 40), free=small, size=small, packet_id=u32),
)


@given(to_radios)
def test_what_a_host_says_comes_back(message: ToRadio) -> None:
    assert parse_to_radio(serialize_to_radio(message)) == message


@given(from_radios)
def test_what_a_device_says_comes_back(message: FromRadio) -> None:
    assert parse_from_radio(serialize_from_radio(message)) == message


@given(st.binary(max_size=512))
def test_any_bytes_are_a_message_or_noise(data: bytes) -> None:
    for message in (parse_to_radio(data), parse_from_radio(data)):
        assert not isinstance(message, Noise) or message.length == len(data)


@given(st.sampled_from((2, 3, 5, 10, 11, 13)), st.binary(max_size=64))
def test_any_bytes_inside_a_known_field_are_a_message_or_noise(field: int, inner: bytes) -> None:
    data = bytes([field << 3 | 2, len(inner)]) + inner
    assert parse_from_radio(data) is not None


@given(st.lists(st.binary(max_size=512), max_size=4), st.integers(1, 40))
def test_frames_come_back_in_pieces_behind_a_log(frames: list[bytes], step: int) -> None:
    stream = b"DEBUG | booting\r\n" + WAKE + b"".join(map(serialize_frame, frames))
    reader = frame_reader()
    found = [frame for at in range(0, len(stream), step) for frame in reader.feed(stream[at : at + step])]
    assert found == frames


@given(st.binary(max_size=2_000))
def test_any_stream_is_read_and_little_of_it_kept(data: bytes) -> None:
    reader = frame_reader()
    assert all(len(frame) <= limits.MESHTASTIC_FRAME_MAX for frame in reader.feed(data))
    assert reader.pending < limits.MESHTASTIC_FRAME_MAX + 4


def test_a_length_that_cannot_be_is_passed_over() -> None:
    assert frame_reader().feed(b"\x94\xc3\xff\xff" + serialize_frame(b"\x40\x01")) == [b"\x40\x01"]


def test_why_a_packet_was_not_sent() -> None:
    refusal = Packet(payload=serialize_routing(RoutingError.DUTY_CYCLE_LIMIT), channel=0, id=1)
    assert routing_error(refusal) == RoutingError.DUTY_CYCLE_LIMIT
    assert routing_error(Packet(payload=b"\x1a", channel=0, id=1)) == RoutingError.NONE


def test_an_encrypted_packet_is_nothing_for_us() -> None:
    # MeshPacket with the field "encrypted" in place of "decoded".
    assert parse_from_radio(bytes.fromhex("1206 2a04 01020304")) is not None
    assert isinstance(parse_to_radio(bytes.fromhex("0a06 2a04 01020304")), Noise)
