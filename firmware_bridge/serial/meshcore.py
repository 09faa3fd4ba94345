"""The host of a MeshCore companion: our packets as datagrams on a channel of their own, which no node repeats.

Only the messages that carry packets are here. Source: MeshCore, examples/companion_radio/MyMesh.cpp, and its serial
framing: ``<`` (host) or ``>`` (companion), length u16 little-endian, message. The first byte of a message is its code.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from firmware_bridge.lora import LoraSettings
from firmware_bridge.serial import limits
from firmware_bridge.serial.framing import LengthFrameReader
from firmware_bridge.serial.kiss import meshcore_settings
from firmware_bridge.serial.session import (
    Action,
    Ask,
    Dialogue,
    Done,
    Failed,
    Heard,
    Noise,
    Outcome,
    Ready,
    Session,
    Steps,
    Write,
)

TO_COMPANION: Final = b"\x3c"
"""First byte of a host's frame."""
FROM_COMPANION: Final = b"\x3e"
"""First byte of a companion's frame."""
DATA_TYPE: Final = 0xFF58
"""Type of our channel datagrams: one of those for experiments, ending in the sync word of tinySSB boards."""
APP_VERSION: Final = 3
"""Protocol version that we request: from 3 on, packets come with their signal-to-noise ratio."""
APP_NAME: Final = b"tinyssb"
"""Our name towards the companion."""


class Request(IntEnum):
    """Codes of a host's messages."""

    APP_START = 1
    SYNC_NEXT = 10
    DEVICE_QUERY = 22
    GET_CHANNEL = 31
    GET_STATS = 56
    SEND_CHANNEL_DATA = 62


class Reply(IntEnum):
    """Codes of a companion's messages."""

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
"""Codes of people's messages, which are in the same queue as packets."""
TABLE_FULL: Final = 3
"""The error of a companion whose send queue is full."""


@dataclass(frozen=True, slots=True)
class Ok:
    """Done."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error reply."""

    code: int


@dataclass(frozen=True, slots=True)
class NoMore:
    """The queue of packets is empty."""


@dataclass(frozen=True, slots=True)
class MessagesWaiting:
    """Packets are waiting in the queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfInfo:
    """The settings of the companion's radio."""

    power_dbm: int
    frequency_hz: int
    """In whole kHz."""
    bandwidth_hz: int
    spreading_factor: int
    coding_rate: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceInfo:
    """The companion's firmware."""

    version: int
    """Version of the protocol."""
    channels: int
    model: str
    firmware: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelInfo:
    """One of the companion's channels."""

    index: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelData:
    """A packet received by radio."""

    channel: int
    data_type: int
    payload: bytes
    snr_db: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreStats:
    """Statistics of the companion."""

    uptime_s: int
    """Time since it started."""
    queued: int
    """Packets that wait to be sent."""


@dataclass(frozen=True, slots=True)
class OtherReply:
    """A message that is not used here."""

    code: int


CompanionMessage = (
    Ok
    | Refusal
    | NoMore
    | MessagesWaiting
    | SelfInfo
    | DeviceInfo
    | ChannelInfo
    | ChannelData
    | CoreStats
    | OtherReply
)
"""A message of a companion."""


def serialize_frame(start: bytes, message: bytes) -> bytes:
    """Return the frame of a *message*, to or from a companion."""
    return start + len(message).to_bytes(2, "little") + message


def frame_reader(start: bytes) -> LengthFrameReader:
    """Make a decoder of frames that begin with *start*."""
    return LengthFrameReader(start, "little", 1, limits.COMPANION_FRAME_MAX)


def serialize_request(request: Request, body: bytes = b"") -> bytes:
    """Return the frame of a host's message."""
    return serialize_frame(TO_COMPANION, bytes([request]) + body)


def channel_data_body(channel: int, payload: bytes) -> bytes:
    """Return the body of SEND_CHANNEL_DATA for a packet that no node repeats: its path has the length 0."""
    return bytes([channel, 0]) + DATA_TYPE.to_bytes(2, "little") + payload


def parse_message(message: bytes) -> CompanionMessage | Noise:
    """Parse a companion's message of 1 byte or more."""
    code, body = message[0], message[1:]
    parsed = _PARSERS[code](body) if code in _PARSERS else OtherReply(code)
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


def _parse_stats(body: bytes) -> CoreStats | OtherReply | None:
    if not body or body[0] != 0:
        return OtherReply(Reply.STATS) if body else None
    if len(body) < 10:
        return None
    return CoreStats(uptime_s=int.from_bytes(body[3:7], "little"), queued=body[9])


_PARSERS: Final[Mapping[int, Callable[[bytes], CompanionMessage | None]]] = {
    Reply.OK: lambda _body: Ok(),
    Reply.ERROR: lambda body: Refusal(body[0]) if body else None,
    Reply.SELF_INFO: _parse_self,
    Reply.NO_MORE: lambda _body: NoMore(),
    Reply.DEVICE_INFO: _parse_device,
    Reply.CHANNEL_INFO: _parse_channel,
    Reply.STATS: _parse_stats,
    Reply.CHANNEL_DATA: _parse_data,
    Reply.MESSAGES_WAITING: lambda _body: MessagesWaiting(),
}


def _text(data: bytes) -> str:
    """Decode the text before the first zero."""
    return data.split(b"\x00")[0].decode("utf-8", "replace")


_HEADER = 2
"""Bytes on the air: type of packet, and length of its path."""
_WRAPPING = 3
"""Bytes of the channel's hash and a MAC, around the encrypted part."""
_BLOCK = 16
"""Bytes of an AES block: the encrypted part is padded to blocks."""
_INNER = 3
"""Encrypted bytes before the packet: type of datagram, and its length."""


class MeshcoreSession(Session[CompanionMessage]):
    """One conversation with a MeshCore companion."""

    packet_max = limits.COMPANION_DATA_MAX
    """Bytes of the longest packet: a channel datagram."""

    def __init__(self, channel: str) -> None:
        """*channel*: the name of the channel to use."""
        super().__init__()
        self._name = channel
        self._reader = frame_reader(FROM_COMPANION)
        self._index = 0
        self._lora = LoraSettings()
        self._fetching = False

    def air_bytes(self, length: int) -> int:
        """See Session. A packet is wrapped, padded and encrypted."""
        return _HEADER + _WRAPPING + -(-(_INNER + length) // _BLOCK) * _BLOCK

    def _decode(self, data: bytes) -> list[CompanionMessage | Noise]:
        return [parse_message(frame) for frame in self._reader.feed(data)]

    def _greet(self) -> Dialogue[CompanionMessage]:
        device = None
        for _ in range(limits.HELLO_TRIES):
            device = yield _ask(Request.DEVICE_QUERY, bytes([APP_VERSION]), DeviceInfo, tries=1)
            if device is not None:
                break
            # An incomplete frame from before would hide the answer.
            self._reader.reset()
        if not isinstance(device, DeviceInfo):
            return Failed(what="nothing there answers as a MeshCore companion")
        name = f"MeshCore {device.firmware} on {device.model}"
        if device.version < 11:  # the first with channel datagrams
            return Failed(
                what=f"the firmware of the companion is too old: {name} has no channel datagrams",
                remedy="Flash companion firmware 1.15 or later.",
            )
        info = yield _ask(Request.APP_START, bytes(7) + APP_NAME, SelfInfo)
        if not isinstance(info, SelfInfo):
            return Failed(what="the radio stopped answering while it was set up")
        failed = yield from self._find_channel(min(device.channels, 64))  # devices have 8 to 40
        return failed or self._judge(name, info)

    def _find_channel(self, count: int) -> Steps[CompanionMessage]:
        for index in range(count):
            found = yield _ask(Request.GET_CHANNEL, bytes([index]), ChannelInfo)
            if isinstance(found, ChannelInfo) and found.name == self._name:
                self._index = found.index
                return None
        return Failed(
            what=f"the companion has no channel named {self._name}, and other channels are not for our packets",
            remedy="Add one in MeshCore's app, with the same key on all devices that should receive it.",
        )

    def _judge(self, name: str, info: SelfInfo) -> Ready | Failed:
        try:
            settings = LoraSettings(
                frequency_hz=info.frequency_hz,
                bandwidth_hz=info.bandwidth_hz,
                spreading_factor=info.spreading_factor,
                coding_rate=info.coding_rate,
            )
        except ValueError as error:
            return Failed(
                what=f"the companion's modem is set up in an unknown way: {error}",
                remedy="Set it up with MeshCore's app.",
            )
        self._lora = meshcore_settings(settings)
        self._timer_us = self._now_us
        return Ready(device=name, lora=self._lora, power_dbm=info.power_dbm)

    def _check(self) -> Steps[CompanionMessage]:
        answer = yield _ask(Request.APP_START, bytes(7) + APP_NAME, SelfInfo)
        if not isinstance(answer, SelfInfo):
            return Failed(what="the radio no longer answers")
        ours = (self._lora.frequency_hz, self._lora.bandwidth_hz, self._lora.spreading_factor)
        if (answer.frequency_hz, answer.bandwidth_hz, answer.spreading_factor) != ours:
            return Failed(what="the settings of the radio have changed")
        return None

    def _transmit(self, packet: bytes) -> Dialogue[CompanionMessage]:
        body = channel_data_body(self._index, packet)
        answer = yield _ask(Request.SEND_CHANNEL_DATA, body, Ok, tries=1)
        if isinstance(answer, Refusal):
            if answer.code != TABLE_FULL:
                return Failed(what=f"the companion does not accept packets (error {answer.code})")
            yield Ask(b"", wait_us=limits.GUEST_WAITS * self._air_us(self._lora, packet))
            return Done(Outcome.KEPT)
        # It does not report when a packet has left, but how many have not. An unreported one may be among them.
        for _ in range(limits.GUEST_POLLS_MAX):
            yield Ask(b"", wait_us=self._air_us(self._lora, packet))
            stats = yield _ask(Request.GET_STATS, b"\x00", CoreStats)
            if not isinstance(stats, CoreStats) or stats.queued == 0:
                break
        return self._unreported() if answer is None else self._sent()

    def _take(self, message: CompanionMessage) -> list[Action]:
        match message:
            case MessagesWaiting():
                return [] if self._fetching else self._fetch()
            case NoMore():
                self._fetching = False
                self._timer_us = None
                return []
            case ChannelData():
                return [*self._take_data(message), *self._fetch()]
            case OtherReply(code) if code in MESSAGE_CODES:
                return self._fetch()
        return []

    def _take_data(self, data: ChannelData) -> list[Action]:
        if data.channel != self._index or data.data_type != DATA_TYPE:
            return []
        return [Heard(packet=data.payload, snr_db=data.snr_db)]

    def _ring(self) -> list[Action]:
        # Packets that waited when the session began, or a lost answer.
        return self._fetch()

    def _fetch(self) -> list[Action]:
        self._fetching = True
        self._timer_us = self._now_us + limits.COMPANION_FETCH_US
        return [Write(serialize_request(Request.SYNC_NEXT))]


def _ask(
    request: Request, body: bytes, answer: type[CompanionMessage], tries: int = limits.ASK_TRIES
) -> Ask[CompanionMessage]:
    return Ask(
        serialize_request(request, body),
        lambda message: isinstance(message, answer | Refusal),
        tries=tries,
    )
