"""Messages of MeshCore's KISS modem and of our extension to it, between host and modem (docs/formats/kiss.md).

Both directions are here in pairs, so that whoever plays the modem, in firmware or in a test, reads what hosts write.
Source: MeshCore, docs/kiss_modem_protocol.md and examples/kiss_modem.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from firmware_bridge.serial import limits
from firmware_bridge.serial.session import Noise


class Command(IntEnum):
    """The type byte of a frame: port 0 and a command."""

    DATA = 0x00
    """A packet to send, or one received."""
    TX_DELAY = 0x01
    """Time from the decision to send until sending, in 10 ms."""
    PERSISTENCE = 0x02
    """Out of 256, how often a clear channel is taken; one less."""
    SLOT_TIME = 0x03
    """Time until the channel is looked at again, in 10 ms."""
    FULL_DUPLEX = 0x05
    """Not 0: send without looking at the channel."""
    HARDWARE = 0x06
    """A sub-command and its data."""
    RETURN = 0xFF
    """Leave KISS; modems ignore it."""


class Sub(IntEnum):
    """Sub-commands of HARDWARE. An answer has the request's number and the highest bit."""

    SET_RADIO = 0x09
    """Frequency and bandwidth in Hz, u32 each, spreading factor, coding rate: answered by OK."""
    SET_POWER = 0x0A
    """dBm: answered by OK."""
    GET_RADIO = 0x0B
    """Answered by RADIO."""
    GET_VERSION = 0x11
    """Answered by VERSION."""
    PING = 0x17
    """Answered by PONG."""
    SET_SIGNAL_REPORT = 0x19
    """1: follow each packet by RX_META. Answered by SIGNAL_REPORT."""
    SET_PHY = 0x40
    """Extension: sync word, CRC, preamble u16, LDRO. Answered by PHY."""
    GET_PHY = 0x41
    """Extension: answered by PHY."""
    GET_BRIDGE = 0x42
    """Extension: answered by BRIDGE."""
    SET_DUTY = 0x43
    """Extension: most time on the air in any hour, permille, u16; 0: no limit. Answered by DUTY."""
    GET_DUTY = 0x44
    """Extension: answered by DUTY."""
    SET_CAD = 0x45
    """Extension: channel activity detections before each packet, 0 to 8. Answered by CAD."""
    RADIO = 0x8B
    """As in SET_RADIO."""
    VERSION = 0x91
    """Firmware's version, reserved byte."""
    PONG = 0x97
    """I am here."""
    SIGNAL_REPORT = 0x9A
    """Whether it is on."""
    PHY = 0xC1
    """As in SET_PHY: what the chip is set to now."""
    BRIDGE = 0xC2
    """Extension's version u8, packets it can keep u8, name of firmware and board in UTF-8."""
    DUTY = 0xC4
    """Limit in permille u16, milliseconds used of the last hour u32."""
    CAD = 0xC5
    """As in SET_CAD."""
    OK = 0xF0
    """Done."""
    ERROR = 0xF1
    """An ``ErrorCode``."""
    TX_DONE = 0xF8
    """A ``TxResult``."""
    RX_META = 0xF9
    """Of the packet before: SNR in quarters of a dB, RSSI in dBm, i8 each."""
    STARTED = 0xFB
    """Extension, unasked: the modem has just started, and forgotten what it was set to. Cause u8: 0 power or reset,
    1 watchdog."""


class ErrorCode(IntEnum):
    """Why a request was not done."""

    INVALID_LENGTH = 0x01
    INVALID_PARAM = 0x02
    NO_CALLBACK = 0x03
    UNKNOWN_COMMAND = 0x05
    TX_BUSY = 0x07
    UNSUPPORTED = 0x08


class TxResult(IntEnum):
    """What became of a packet."""

    FAILED = 0
    """The radio failed, maybe when part of it was on the air."""
    SENT = 1
    """Its airtime is over."""
    BUSY = 2
    """Extension: not sent, since somebody else is on the air."""
    DUTY = 3
    """Extension: not sent, since the hour's airtime is used up."""


@dataclass(frozen=True, slots=True)
class Data:
    """A packet as it is on the air, 1 to 255 bytes."""

    packet: bytes


@dataclass(frozen=True, slots=True)
class Setting:
    """One of the classic KISS parameters."""

    command: Command
    """TX_DELAY, PERSISTENCE, SLOT_TIME or FULL_DUPLEX."""
    value: int
    """0 to 255."""


@dataclass(frozen=True, slots=True)
class Hardware:
    """A sub-command with its data, either way."""

    sub: int
    """A ``Sub``, or another modem's number."""
    data: bytes = b""


Message = Data | Setting | Hardware
"""What a frame says."""

_SETTINGS: Final = (Command.TX_DELAY, Command.PERSISTENCE, Command.SLOT_TIME, Command.FULL_DUPLEX)


def serialize_message(message: Message) -> bytes:
    """The frame, unescaped."""
    match message:
        case Data(packet):
            return bytes([Command.DATA]) + packet
        case Setting(command, value):
            return bytes([command, value])
        case Hardware(sub, data):
            return bytes([Command.HARDWARE, sub]) + data


def parse_message(frame: bytes) -> Message | Noise:
    """What an unescaped *frame* of 1 byte or more says."""
    command, rest = frame[0], frame[1:]
    if command == Command.DATA and 1 <= len(rest) <= limits.KISS_PACKET_MAX:
        return Data(rest)
    if command == Command.HARDWARE and rest:
        return Hardware(rest[0], rest[1:])
    if command in _SETTINGS and len(rest) == 1:
        return Setting(Command(command), rest[0])
    return Noise("a frame of a kind that is not known", len(frame))


@dataclass(frozen=True, slots=True, kw_only=True)
class Radio:
    """The settings all modems of this kind have."""

    frequency_hz: int
    bandwidth_hz: int
    spreading_factor: int
    coding_rate: int
    """5 to 8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phy:
    """The settings only our extension has."""

    sync_word: int
    """One byte, as a SX127x has it; modems with a SX126x spread it over their two."""
    crc: bool
    """Whether the chip adds a CRC, and drops packets whose CRC is wrong."""
    preamble_symbols: int
    """6 to 65535."""
    low_data_rate: bool
    """Low data rate optimisation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RxMeta:
    """How the packet before was heard."""

    snr_db: float
    """In steps of a quarter."""
    rssi_dbm: int
    """-128 to 127; modems hear more than this says, and say -128."""


def serialize_radio(radio: Radio) -> bytes:
    """Ten bytes."""
    return (
        radio.frequency_hz.to_bytes(4, "little")
        + radio.bandwidth_hz.to_bytes(4, "little")
        + bytes([radio.spreading_factor, radio.coding_rate])
    )


def parse_radio(data: bytes) -> Radio | None:
    """The reverse; None for another length."""
    if len(data) != 10:
        return None
    return Radio(
        frequency_hz=int.from_bytes(data[:4], "little"),
        bandwidth_hz=int.from_bytes(data[4:8], "little"),
        spreading_factor=data[8],
        coding_rate=data[9],
    )


def serialize_phy(phy: Phy) -> bytes:
    """Five bytes."""
    return (
        bytes([phy.sync_word, phy.crc])
        + phy.preamble_symbols.to_bytes(2, "little")
        + bytes([phy.low_data_rate])
    )


def parse_phy(data: bytes) -> Phy | None:
    """The reverse; None for another length or for switches that are neither on nor off."""
    if len(data) != 5 or data[1] > 1 or data[4] > 1:
        return None
    return Phy(
        sync_word=data[0],
        crc=bool(data[1]),
        preamble_symbols=int.from_bytes(data[2:4], "little"),
        low_data_rate=bool(data[4]),
    )


def serialize_rx_meta(meta: RxMeta) -> bytes:
    """Two bytes; what is beyond their range is cut."""
    snr, rssi = round(meta.snr_db * 4), meta.rssi_dbm
    return b"".join(max(-128, min(value, 127)).to_bytes(1, signed=True) for value in (snr, rssi))


def parse_rx_meta(data: bytes) -> RxMeta | None:
    """The reverse; None for another length."""
    if len(data) != 2:
        return None
    return RxMeta(
        snr_db=int.from_bytes(data[:1], signed=True) / 4, rssi_dbm=int.from_bytes(data[1:], signed=True)
    )
