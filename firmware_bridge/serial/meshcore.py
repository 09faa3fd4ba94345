"""Messages between a host and a MeshCore companion: the few that carrying packets takes.

Source: MeshCore, examples/companion_radio/MyMesh.cpp, and its serial framing: ``<`` (host) or ``>`` (companion), length
u16 little-endian, message. The first byte of a message is its code.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from firmware_bridge.serial import limits
from firmware_bridge.serial.session import Noise

TO_COMPANION: Final = b"\x3c"
"""Begins what a host sends."""
FROM_COMPANION: Final = b"\x3e"
"""Begins what a companion sends."""
DATA_TYPE: Final = 0xFF58
"""Kind of channel datagram: one of those set aside for experiments, ending in the sync word of tinySSB boards."""
APP_VERSION: Final = 3
"""Version of the protocol we ask for: from 3 on, packets come with their signal-to-noise ratio."""
APP_NAME: Final = b"tinyssb"
"""What we call ourselves."""
ZERO_HOP: Final = 0
"""Length of the path of a packet that nobody repeats."""


class Request(IntEnum):
    """Codes of what a host says."""

    APP_START = 1
    SYNC_NEXT = 10
    DEVICE_QUERY = 22
    GET_CHANNEL = 31
    GET_STATS = 56
    SEND_CHANNEL_DATA = 62


class Reply(IntEnum):
    """Codes of what a companion says."""

    OK = 0
    ERROR = 1
    SELF_INFO = 5
    NO_MORE = 10
    DEVICE_INFO = 13
    CHANNEL_INFO = 18
    STATS = 24
    CHANNEL_DATA = 27
    MESSAGES_WAITING = 0x83


MESSAGE_CODES: Final = frozenset({7, 8, 16, 17})
"""Codes of people's messages, which come in the same queue as packets."""


class ErrorCode(IntEnum):
    """Why a companion refuses."""

    UNSUPPORTED = 1
    NOT_FOUND = 2
    TABLE_FULL = 3
    BAD_STATE = 4
    FILE_IO = 5
    ILLEGAL_ARGUMENT = 6


@dataclass(frozen=True, slots=True)
class Ask:
    """A request with its bytes."""

    request: int
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Ok:
    """Done."""


@dataclass(frozen=True, slots=True)
class Error:
    """Not done."""

    code: int


@dataclass(frozen=True, slots=True)
class NoMore:
    """No packets are waiting."""


@dataclass(frozen=True, slots=True)
class MessagesWaiting:
    """Packets are waiting to be asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfInfo:
    """How its radio is set up."""

    power_dbm: int
    frequency_hz: int
    """In whole kHz."""
    bandwidth_hz: int
    spreading_factor: int
    coding_rate: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceInfo:
    """What it runs."""

    version: int
    """Of the protocol."""
    channels: int
    model: str
    firmware: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelInfo:
    """One of its channels."""

    index: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelData:
    """A packet that came in by radio."""

    channel: int
    data_type: int
    payload: bytes
    snr_db: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreStats:
    """How it is."""

    uptime_s: int
    """Since it started."""
    queued: int
    """Packets that wait to be sent."""


@dataclass(frozen=True, slots=True)
class Other:
    """Something we have no use for."""

    code: int


Message = (
    Ok
    | Error
    | NoMore
    | MessagesWaiting
    | SelfInfo
    | DeviceInfo
    | ChannelInfo
    | ChannelData
    | CoreStats
    | Other
)
"""What a companion says."""


def serialize_frame(start: bytes, message: bytes) -> bytes:
    """A *message* as it goes over the cable, to or from a companion."""
    return start + len(message).to_bytes(2, "little") + message


class FrameReader:
    """Takes a stream of bytes apart into messages; text between them is passed over. Never raises."""

    def __init__(self, start: bytes) -> None:
        """*start*: what the other side's frames begin with."""
        self._start = start
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that end in *data*, in order."""
        self._buffer += data
        found = []
        while (frame := self._take()) is not None:
            found.append(frame)
        return found

    def reset(self) -> None:
        """Forget a frame that was begun: its end does not come."""
        self._buffer.clear()

    def _take(self) -> bytes | None:
        buffer = self._buffer
        while True:
            begin = buffer.find(self._start)
            if begin < 0:
                buffer.clear()
                return None
            del buffer[:begin]
            if len(buffer) < 3:
                return None
            length = int.from_bytes(buffer[1:3], "little")
            if 0 < length <= limits.COMPANION_FRAME_MAX:
                break
            del buffer[:1]
        if len(buffer) < 3 + length:
            return None
        frame = bytes(buffer[3 : 3 + length])
        del buffer[: 3 + length]
        return frame


def serialize_ask(ask: Ask) -> bytes:
    """The message."""
    return bytes([ask.request]) + ask.body


def parse_ask(message: bytes) -> Ask:
    """The reverse, of 1 byte or more."""
    return Ask(message[0], message[1:])


def channel_data_body(channel: int, payload: bytes) -> bytes:
    """The body of SEND_CHANNEL_DATA for a packet that nobody repeats."""
    return bytes([channel, ZERO_HOP]) + DATA_TYPE.to_bytes(2, "little") + payload


def serialize_message(message: Message) -> bytes:
    """The message, with zeros for what we have no use for."""
    match message:
        case SelfInfo():
            return _serialize_self(message)
        case DeviceInfo():
            return _serialize_device(message)
        case ChannelInfo():
            return bytes([Reply.CHANNEL_INFO, message.index]) + _padded(message.name, 32) + bytes(16)
        case ChannelData():
            return _serialize_data(message)
        case CoreStats():
            uptime = message.uptime_s.to_bytes(4, "little")
            return bytes([Reply.STATS, 0, 0, 0]) + uptime + bytes([0, 0, message.queued])
        case Error(code):
            return bytes([Reply.ERROR, code])
        case Other(code):
            return bytes([code])
    return bytes([_BARE[type(message)]])


_BARE: Final = {Ok: Reply.OK, NoMore: Reply.NO_MORE, MessagesWaiting: Reply.MESSAGES_WAITING}


def _serialize_self(info: SelfInfo) -> bytes:
    return (
        bytes([Reply.SELF_INFO, 1])
        + info.power_dbm.to_bytes(1, signed=True)
        + bytes(1 + 32 + 8 + 4)
        + (info.frequency_hz // 1_000).to_bytes(4, "little")
        + info.bandwidth_hz.to_bytes(4, "little")
        + bytes([info.spreading_factor, info.coding_rate])
        + info.name.encode()
    )


def _serialize_device(info: DeviceInfo) -> bytes:
    return (
        bytes([Reply.DEVICE_INFO, info.version, 0, info.channels])
        + bytes(4 + 12)
        + _padded(info.model, 40)
        + _padded(info.firmware, 20)
        + bytes(2)
    )


def _serialize_data(data: ChannelData) -> bytes:
    return (
        bytes([Reply.CHANNEL_DATA])
        + round(4 * data.snr_db).to_bytes(1, signed=True)
        + bytes([0, 0, data.channel, 0xFF])
        + data.data_type.to_bytes(2, "little")
        + bytes([len(data.payload)])
        + data.payload
    )


def parse_message(message: bytes) -> Message | Noise:
    """What a companion says, of 1 byte or more."""
    code, body = message[0], message[1:]
    parsed = _PARSERS[code](body) if code in _PARSERS else Other(code)
    return Noise("a message that is too short", len(message)) if parsed is None else parsed


def _parse_self(body: bytes) -> SelfInfo | None:
    if len(body) < 57:
        return None
    return SelfInfo(
        power_dbm=int.from_bytes(body[1:2], signed=True),
        frequency_hz=1_000 * int.from_bytes(body[47:51], "little"),
        bandwidth_hz=int.from_bytes(body[51:55], "little"),
        spreading_factor=body[55],
        coding_rate=body[56],
        name=body[57:].decode("utf-8", "replace"),
    )


def _parse_device(body: bytes) -> DeviceInfo | None:
    if not body:
        return None
    return DeviceInfo(
        version=body[0],
        channels=body[2] if len(body) > 2 else 0,
        model=_text(body[19:59]),
        firmware=_text(body[59:79]),
    )


def _parse_channel(body: bytes) -> ChannelInfo | None:
    return ChannelInfo(index=body[0], name=_text(body[1:33])) if body else None


def _parse_data(body: bytes) -> ChannelData | None:
    if len(body) < 8 or len(body) < 8 + body[7]:
        return None
    return ChannelData(
        channel=body[3],
        data_type=int.from_bytes(body[5:7], "little"),
        payload=body[8 : 8 + body[7]],
        snr_db=int.from_bytes(body[:1], signed=True) / 4,
    )


def _parse_stats(body: bytes) -> CoreStats | Other | None:
    if not body or body[0] != 0:
        return Other(Reply.STATS) if body else None
    if len(body) < 10:
        return None
    return CoreStats(uptime_s=int.from_bytes(body[3:7], "little"), queued=body[9])


_PARSERS: Final[Mapping[int, Callable[[bytes], Message | None]]] = {
    Reply.OK: lambda _body: Ok(),
    Reply.ERROR: lambda body: Error(body[0]) if body else None,
    Reply.SELF_INFO: _parse_self,
    Reply.NO_MORE: lambda _body: NoMore(),
    Reply.DEVICE_INFO: _parse_device,
    Reply.CHANNEL_INFO: _parse_channel,
    Reply.STATS: _parse_stats,
    Reply.CHANNEL_DATA: _parse_data,
    Reply.MESSAGES_WAITING: lambda _body: MessagesWaiting(),
}


def _padded(text: str, size: int) -> bytes:
    """*text* in *size* bytes, with a zero at its end."""
    return text.encode()[: size - 1].ljust(size, b"\x00")


def _text(data: bytes) -> str:
    """What stands before the first zero."""
    return data.split(b"\x00")[0].decode("utf-8", "replace")
