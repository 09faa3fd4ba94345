"""The host of a Meshtastic device: our packets on a channel of their own, without hops, after all other traffic.

Only the fields of ToRadio and FromRadio that carry packets are here. Numbers of fields and values: protobufs of
Meshtastic 2.7 (mesh.proto, config.proto, channel.proto). Framing: its StreamAPI: 0x94 0xC3, length u16 big-endian,
message; bytes between frames are text of the device's log.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from firmware_bridge.lora import LoraSettings
from firmware_bridge.serial import limits, protobuf
from firmware_bridge.serial.framing import LengthFrameReader
from firmware_bridge.serial.meshtastic_air import LoraConfig, MeshSetupError, on_air
from firmware_bridge.serial.protobuf import Fixed32, ProtobufError, Value
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
)

START: Final = b"\x94\xc3"
"""First bytes of a frame."""
WAKE: Final = b"\xc3" * 32
"""Wakes a sleeping device, and ends a frame that it has half read."""
PRIVATE_APP: Final = 256
"""Port number of private applications."""
ROUTING_APP: Final = 5
"""Port number of the mesh's reports on packets."""
BROADCAST: Final = 0xFFFF_FFFF
"""Address of all nodes."""
PRIORITY_BACKGROUND: Final = 10
"""Priority after all that people wait for."""
PRIMARY: Final = 1
"""Role of a device's first channel; 0: the channel is not used."""


class RoutingError(IntEnum):
    """Why a packet was not sent: the codes that matter here."""

    NONE = 0
    DUTY_CYCLE_LIMIT = 9
    RATE_LIMIT_EXCEEDED = 38


# --- from the host


@dataclass(frozen=True, slots=True)
class WantConfig:
    """Requests the device's configuration, which ends with this number."""

    nonce: int


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Shows that the host is alive; the device answers with QueueStatus."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packet:
    """A packet, in either direction. We send to all nodes, without hops and acknowledgements."""

    payload: bytes
    """Up to 233 bytes."""
    port: int = PRIVATE_APP
    channel: int
    """The channel's index."""
    id: int
    """Number of the packet at its sender."""
    sender: int = 0
    """Number of the sending node; 0: this one."""
    request_id: int = 0
    """Number of the packet that this answers."""
    rssi_dbm: int = 0
    snr_db: float = 0.0


# --- from the device


@dataclass(frozen=True, slots=True)
class MyInfo:
    """The identity of the device."""

    node: int


@dataclass(frozen=True, slots=True)
class Metadata:
    """The device's firmware."""

    firmware: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """One of the device's channels."""

    index: int
    name: str
    role: int


@dataclass(frozen=True, slots=True)
class ConfigComplete:
    """The end of the configuration, with the number of WantConfig."""

    nonce: int


@dataclass(frozen=True, slots=True)
class Rebooted:
    """The device has just started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueStatus:
    """The fate of a packet to be sent, and the room in the queue."""

    error: int
    """0: queued. Otherwise an error number of the firmware."""
    free: int
    """Free places in the queue."""
    size: int
    """Places in the queue."""
    packet_id: int
    """The packet's number; 0: none."""


@dataclass(frozen=True, slots=True)
class OtherField:
    """A message that is not used here."""

    field: int


ToRadio = WantConfig | Heartbeat | Packet
"""A message of a host."""
FromRadio = (
    MyInfo | Metadata | LoraConfig | Channel | ConfigComplete | Rebooted | QueueStatus | Packet | OtherField
)
"""A message of a device."""


def serialize_frame(message: bytes) -> bytes:
    """Return the frame of a protobuf *message* of up to 512 bytes."""
    return START + len(message).to_bytes(2) + message


def frame_reader() -> LengthFrameReader:
    """Make a decoder of frames."""
    return LengthFrameReader(START, "big", 0, limits.MESHTASTIC_FRAME_MAX)


def serialize_to_radio(message: ToRadio) -> bytes:
    """Return the protobuf message ToRadio."""
    match message:
        case WantConfig(nonce):
            return protobuf.serialize_fields([(3, nonce)])
        case Heartbeat():
            return protobuf.serialize_fields([(7, b"")])
        case Packet():
            return protobuf.serialize_fields([(1, serialize_packet(message))])


def parse_from_radio(data: bytes) -> FromRadio | Noise:
    """Parse the protobuf message FromRadio."""
    try:
        fields = protobuf.parse_fields(data)
        # In devices' messages, field 1 is the message's own number.
        number = next((field for field in fields if field != 1), 1)
        return _parse_field(number, fields)
    except ProtobufError as error:
        return Noise(str(error), len(data))


def _parse_field(number: int, fields: protobuf.Fields) -> FromRadio:
    if number == 7:
        return ConfigComplete(protobuf.number(fields, 7))
    if number == 8:
        return Rebooted()
    if number not in {2, 3, 5, 10, 11, 13}:
        return OtherField(number)
    inner = protobuf.blob(fields, number)
    if number == 2:
        return parse_packet(inner) or OtherField(2)
    values = protobuf.parse_fields(inner)
    match number:
        case 3:
            return MyInfo(protobuf.number(values, 1))
        case 5:
            return _parse_lora(protobuf.blob(values, 6)) if 6 in values else OtherField(5)
        case 10:
            settings = protobuf.parse_fields(protobuf.blob(values, 2))
            name = protobuf.blob(settings, 3).decode("utf-8", "replace")
            return Channel(index=protobuf.number(values, 1), name=name, role=protobuf.number(values, 3))
        case 11:
            return QueueStatus(
                error=protobuf.signed(values, 1),
                free=protobuf.number(values, 2),
                size=protobuf.number(values, 3),
                packet_id=protobuf.number(values, 4),
            )
    return Metadata(protobuf.blob(values, 1).decode("utf-8", "replace"))


def serialize_packet(packet: Packet) -> bytes:
    """Return the message MeshPacket."""
    data: list[tuple[int, Value]] = [(1, packet.port), (2, packet.payload)]
    if packet.request_id:
        data.append((6, Fixed32(packet.request_id)))
    fields: list[tuple[int, Value]] = [
        (1, Fixed32(packet.sender)),
        (2, Fixed32(BROADCAST)),
        (3, packet.channel),
        (4, protobuf.serialize_fields(data)),
        (6, Fixed32(packet.id)),
        (8, protobuf.fixed_float(packet.snr_db)),
        (9, 0),
        (11, PRIORITY_BACKGROUND),
        (12, packet.rssi_dbm),
    ]
    # Protobuf does not write zeros.
    return protobuf.serialize_fields(field for field in fields if field[1] not in (0, Fixed32(0)))


def parse_packet(data: bytes) -> Packet | None:
    """Parse MeshPacket; None if the device could not decrypt it. Raises ProtobufError."""
    fields = protobuf.parse_fields(data)
    if 4 not in fields:
        return None
    decoded = protobuf.parse_fields(protobuf.blob(fields, 4))
    return Packet(
        payload=protobuf.blob(decoded, 2),
        port=protobuf.number(decoded, 1),
        channel=protobuf.number(fields, 3),
        id=protobuf.number(fields, 6),
        sender=protobuf.number(fields, 1),
        request_id=protobuf.number(decoded, 6),
        rssi_dbm=protobuf.signed(fields, 12),
        snr_db=protobuf.real(fields, 8),
    )


def _parse_lora(data: bytes) -> LoraConfig:
    fields = protobuf.parse_fields(data)
    return LoraConfig(
        use_preset=bool(protobuf.number(fields, 1)),
        preset=protobuf.number(fields, 2),
        bandwidth_code=protobuf.number(fields, 3),
        spreading_factor=protobuf.number(fields, 4),
        coding_rate=protobuf.number(fields, 5),
        region=protobuf.number(fields, 7),
        transmits=bool(protobuf.number(fields, 9)),
        power_dbm=protobuf.signed(fields, 10),
        slot=protobuf.number(fields, 11),
        override_mhz=protobuf.real(fields, 14),
    )


def routing_error(packet: Packet) -> int:
    """Return the error in a packet of ROUTING_APP; 0 for none, or for another message."""
    try:
        return protobuf.number(protobuf.parse_fields(packet.payload), 3)
    except ProtobufError:
        return RoutingError.NONE


_NONCE = 1_558
_OVERHEAD = limits.MESHTASTIC_HEADER + 7
"""Bytes on the air: the header, and in the message Data the port number, the payload's tag and length, a bit field."""
_HOLD_ERRORS = (RoutingError.DUTY_CYCLE_LIMIT, RoutingError.RATE_LIMIT_EXCEEDED)
_REMEDY = "Set it up with Meshtastic's app."


class MeshtasticSession(Session[FromRadio]):
    """One conversation with a Meshtastic device."""

    packet_max = limits.MESHTASTIC_PAYLOAD_MAX
    """Bytes of the longest packet: the payload of a message."""

    def __init__(self, channel: str, entropy: Callable[[], float]) -> None:
        """*channel*: the name of the channel to use. *entropy*: returns random numbers from 0 to below 1, for packet
        numbers; neighbours drop a packet whose number they know."""
        super().__init__()
        self._name = channel
        self._entropy = entropy
        self._reader = frame_reader()
        self._node = 0
        self._firmware = ""
        self._config: LoraConfig | None = None
        self._channels: dict[int, Channel] = {}
        self._index = 0
        self._lora = LoraSettings()

    def air_bytes(self, length: int) -> int:
        """See Session. A packet has a header and the wrapping of a message."""
        return length + _OVERHEAD

    def _decode(self, data: bytes) -> list[FromRadio | Noise]:
        return [parse_from_radio(frame) for frame in self._reader.feed(data)]

    def _greet(self) -> Dialogue[FromRadio]:
        for _ in range(limits.HELLO_TRIES):
            started = yield _ask(WantConfig(_NONCE), lambda message: isinstance(message, MyInfo), WAKE)
            if started is not None:
                break
        else:
            return Failed(what="nothing there answers as a Meshtastic device")
        assert isinstance(started, MyInfo)
        self._node = started.node
        ended = yield Ask(
            b"",
            lambda message: message == ConfigComplete(_NONCE),
            10_000_000,  # 100 neighbours and 8 channels take about 2 s
        )
        if ended is None or self._config is None:
            return Failed(what="the radio did not send its whole configuration")
        return self._judge(self._config)

    def _judge(self, config: LoraConfig) -> Ready | Failed:
        """Check whether the device is set up for us."""
        channels = self._channels.values()
        ours = [channel for channel in channels if channel.name == self._name and channel.role]
        if not ours:
            return Failed(
                what=f"the device has no channel named {self._name}, and other channels are not for our packets",
                remedy=f"Type: meshtastic --ch-add {self._name}; and give all its devices the same key.",
            )
        self._index = ours[0].index
        primary = next((channel.name for channel in channels if channel.role == PRIMARY), "")
        try:
            lora, power_dbm = on_air(config, primary)
        except MeshSetupError as error:
            return Failed(what=f"the device cannot be used: {error}", remedy=_REMEDY)
        self._lora = lora
        return Ready(device=f"Meshtastic {self._firmware}".rstrip(), lora=lora, power_dbm=power_dbm)

    def _check(self) -> Steps[FromRadio]:
        answer = yield _ask(
            Heartbeat(), lambda message: isinstance(message, QueueStatus), tries=limits.ASK_TRIES
        )
        return None if answer is not None else Failed(what="the radio no longer answers")

    def _transmit(self, packet: bytes) -> Dialogue[FromRadio]:
        number = 1 + int(self._entropy() * 0xFFFF_FFFE)
        message = Packet(payload=packet, channel=self._index, id=number)
        air_us = self._air_us(self._lora, packet)
        told = yield _ask(message, lambda answer: self._is_about(answer, number))
        refused = told if told is not None and self._is_refusal(told, number) else None
        # An unreported packet may be in the queue all the same.
        refused = refused or (yield from self._wait_until_left(number, air_us))
        if refused is None:
            return self._unreported() if told is None else self._sent()
        is_over = isinstance(refused, Packet) and routing_error(refused) in _HOLD_ERRORS
        yield Ask(b"", wait_us=limits.MESHTASTIC_HOLD_US if is_over else limits.GUEST_WAITS * air_us)
        return Done(Outcome.KEPT)

    def _wait_until_left(
        self, number: int, air_us: int
    ) -> Generator[Ask[FromRadio], FromRadio | None, FromRadio | None]:
        """Wait until the device's queue is empty, its only report of packets that have left. Returns a refusal."""
        for _ in range(limits.GUEST_POLLS_MAX):
            refused = yield Ask(b"", lambda answer: self._is_refusal(answer, number), air_us)
            if refused is not None:
                return refused
            status = yield _ask(Heartbeat(), lambda answer: isinstance(answer, QueueStatus))
            if not isinstance(status, QueueStatus) or status.free >= status.size:
                break
        return None

    def _is_about(self, message: FromRadio, number: int) -> bool:
        """Return whether *message* reports the fate of the packet *number*."""
        if isinstance(message, QueueStatus):
            return message.packet_id == number
        return self._is_refusal(message, number)

    def _is_refusal(self, message: FromRadio, number: int) -> bool:
        """Return whether *message* reports that the packet *number* was not sent. Only the device itself can know."""
        if isinstance(message, QueueStatus):
            return message.packet_id == number and message.error != 0
        return (
            isinstance(message, Packet)
            and message.port == ROUTING_APP
            and message.sender in (0, self._node)
            and message.request_id == number
            and routing_error(message) != RoutingError.NONE
        )

    def _take(self, message: FromRadio) -> list[Action]:
        match message:
            case Metadata(firmware):
                self._firmware = firmware
            case LoraConfig():
                self._config = message
            case Channel():
                if len(self._channels) < limits.MESHTASTIC_CHANNELS_MAX:
                    self._channels[message.index] = message
            case Rebooted():
                return self._restarted()
            case Packet():
                return self._take_packet(message)
        return []

    def _take_packet(self, packet: Packet) -> list[Action]:
        if packet.port != PRIVATE_APP or packet.channel != self._index:
            return []
        if packet.sender in (0, self._node):
            return [Noise("an echo of what was sent", len(packet.payload))]
        return [Heard(packet=packet.payload, rssi_dbm=packet.rssi_dbm or None, snr_db=packet.snr_db)]


def _ask(
    message: ToRadio, answers: Callable[[FromRadio], bool], before: bytes = b"", tries: int = 1
) -> Ask[FromRadio]:
    return Ask(before + serialize_frame(serialize_to_radio(message)), answers, tries=tries)
