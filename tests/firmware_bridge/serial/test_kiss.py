"""Messages of KISS modems: pairs come back, any bytes are a message or noise, and the page has all of them."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge.firmware import kiss
from firmware_bridge.lora import LoraSettings
from firmware_bridge.serial.framing import KissFrameReader, serialize_frame
from firmware_bridge.serial.kiss import (
    Data,
    HardwareCommand,
    KissMessage,
    KissSession,
    Setting,
    parse_message,
    phy_body,
    radio_body,
    serialize_message,
)
from firmware_bridge.serial.session import Action, Heard, Noise
from tests.emulated.kiss_wire import (
    Phy,
    RadioSettings,
    RxMeta,
    parse_phy,
    parse_radio,
    phy_of,
    radio_of,
    serialize_phy,
    serialize_radio,
    serialize_rx_meta,
)

FRAMING = {"FEND", "FESC", "TFEND", "TFESC", "FRAME_MAX"}
TYPES = {
    kiss.DATA, kiss.TX_DELAY, kiss.PERSISTENCE, kiss.SLOT_TIME, kiss.FULL_DUPLEX, kiss.HARDWARE, kiss.RETURN,
}  # fmt: skip
RESULTS = {kiss.FAILED, kiss.SENT, kiss.BUSY, kiss.DUTY_SPENT}
ERRORS = {
    kiss.INVALID_LENGTH, kiss.INVALID_PARAM, kiss.NOT_AVAILABLE, kiss.UNKNOWN_COMMAND, kiss.TX_BUSY, kiss.NO_RADIO,
}  # fmt: skip
SUBS = (
    {value for name, value in vars(kiss).items() if name.isupper() and name not in FRAMING}
    - TYPES
    - RESULTS
    - ERRORS
)
"""All other numbers: sub-commands."""
PAGE = (Path(__file__).parents[3] / "docs/formats/kiss.md").read_text()

messages: st.SearchStrategy[KissMessage] = st.one_of(
    st.builds(Data, st.binary(min_size=1, max_size=255)),
    st.builds(
        Setting,
        st.sampled_from((kiss.TX_DELAY, kiss.PERSISTENCE, kiss.SLOT_TIME, kiss.FULL_DUPLEX)),
        st.integers(0, 255),
    ),
    st.builds(HardwareCommand, st.integers(0, 255), st.binary(max_size=64)),
)
radios = st.builds(
    RadioSettings,
    frequency_hz=st.integers(0, 2**32 - 1),
    bandwidth_hz=st.integers(0, 2**32 - 1),
    spreading_factor=st.integers(0, 255),
    coding_rate=st.integers(0, 255),
)
phys = st.builds(
    Phy,
    sync_word=st.integers(0, 255),
    crc=st.booleans(),
    preamble_symbols=st.integers(0, 65_535),
    low_data_rate=st.booleans(),
)


@given(messages)
def test_messages_come_back(message: KissMessage) -> None:
    assert parse_message(serialize_message(message)) == message


@given(radios)
def test_radio_settings_come_back(radio: RadioSettings) -> None:
    assert parse_radio(serialize_radio(radio)) == radio


@given(phys)
def test_the_extension_s_settings_come_back(phy: Phy) -> None:
    assert parse_phy(serialize_phy(phy)) == phy


@pytest.mark.parametrize("low_data_rate_sf", [7, 12])
def test_the_host_sends_the_same_settings(low_data_rate_sf: int) -> None:
    lora = LoraSettings(spreading_factor=low_data_rate_sf, crc=True, preamble_symbols=300, sync_word=0x34)
    assert parse_radio(radio_body(lora)) == radio_of(lora)
    assert parse_phy(phy_body(lora)) == phy_of(lora)


@given(st.integers(-128, 127), st.integers(-128, 127))
def test_signal_reports_come_back(quarters: int, rssi_dbm: int) -> None:
    meta = RxMeta(snr_db=quarters / 4, rssi_dbm=rssi_dbm)
    assert heard_with(meta) == Heard(packet=b"packet", snr_db=quarters / 4, rssi_dbm=rssi_dbm)


def test_a_signal_too_weak_for_a_byte_is_told_as_the_weakest() -> None:
    meta = RxMeta(snr_db=-40.0, rssi_dbm=-140)
    assert heard_with(meta) == Heard(packet=b"packet", snr_db=-32.0, rssi_dbm=-128)


def heard_with(meta: RxMeta) -> Action:
    session = KissSession(LoraSettings(), 14)
    session.start(0)
    packet, report = Data(b"packet"), HardwareCommand(kiss.RX_META, serialize_rx_meta(meta))
    frames = b"".join(serialize_frame(serialize_message(message)) for message in (packet, report))
    (action,) = session.receive(frames, 1)
    return action


@given(st.binary(min_size=1, max_size=512))
def test_any_frame_is_a_message_or_noise(frame: bytes) -> None:
    message = parse_message(frame)
    assert isinstance(message, Noise) or serialize_message(message) == frame


@given(st.binary(max_size=12))
def test_any_body_is_settings_or_none(body: bytes) -> None:
    radio, phy = parse_radio(body), parse_phy(body)
    assert radio is None or serialize_radio(radio) == body
    assert phy is None or serialize_phy(phy) == body


def test_settings_on_the_page_are_those_of_a_plan() -> None:
    lora = LoraSettings(frequency_hz=868_300_000, bandwidth_hz=125_000, spreading_factor=7, coding_rate=5)
    shown = " ".join(f"{byte:02X}" for byte in radio_body(lora))
    assert f"> C0 06 09 {shown} C0" in PAGE


@pytest.mark.parametrize("line", re.findall(r"^[<>] ((?:[0-9A-F]{2} )+)", PAGE, re.MULTILINE))
def test_the_conversation_on_the_page_is_one(line: str) -> None:
    (frame,) = KissFrameReader().feed(bytes.fromhex(line))
    assert isinstance(frame, bytes)
    message = parse_message(frame)
    assert not isinstance(message, Noise)
    assert not isinstance(message, HardwareCommand) or message.sub in SUBS


@pytest.mark.parametrize("sub", SUBS)
def test_every_sub_command_is_on_the_page(sub: int) -> None:
    assert re.search(rf"(^\| |\| ){sub:02X} [A-Z]\w+ \|", PAGE, re.MULTILINE) is not None


@pytest.mark.parametrize("command", TYPES - {kiss.RETURN})
def test_every_type_is_on_the_page(command: int) -> None:
    assert re.search(rf"^\| {command:02X} \w+ \|", PAGE, re.MULTILINE) is not None


@pytest.mark.parametrize("result", RESULTS)
def test_every_result_is_on_the_page(result: int) -> None:
    assert re.search(rf"^\| {result} \| ", PAGE, re.MULTILINE) is not None
