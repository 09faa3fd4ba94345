"""Messages between a host and a Meshtastic device: the few fields of ToRadio and FromRadio that carrying packets takes.

Numbers of fields and values: protobufs of Meshtastic 2.7 (mesh.proto, config.proto, channel.proto). Framing: its
StreamAPI: 0x94 0xC3, length u16 big-endian, message; anything between frames is text of the device's log.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from firmware_bridge.serial import limits, protobuf
from firmware_bridge.serial.protobuf import Fixed32, ProtobufError, Value
from firmware_bridge.serial.session import Noise

START: Final = b"\x94\xc3"
"""Begins a frame."""
WAKE: Final = b"\xc3" * 32
"""Wakes a device that sleeps, and ends what it had half read."""
PRIVATE_APP: Final = 256
"""Port number of applications that are nobody else's."""
ROUTING_APP: Final = 5
"""Port number of what the mesh says about packets."""
BROADCAST: Final = 0xFFFF_FFFF
"""To everybody."""
PRIORITY_BACKGROUND: Final = 10
"""Behind everything that people wait for."""


class RoutingError(IntEnum):
    """Why a packet was not sent, where it matters to us."""

    NONE = 0
    NO_CHANNEL = 6
    TOO_LARGE = 7
    DUTY_CYCLE_LIMIT = 9
    RATE_LIMIT_EXCEEDED = 38


class Role(IntEnum):
    """What a channel is."""

    DISABLED = 0
    PRIMARY = 1
    SECONDARY = 2


# --- from the host


@dataclass(frozen=True, slots=True)
class WantConfig:
    """Tell all about yourself, and end with this number."""

    nonce: int


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """I am still here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packet:
    """A packet, either way. To be sent it goes to everybody, over no hops, without an acknowledgement."""

    payload: bytes
    """Up to 233 bytes."""
    port: int = PRIVATE_APP
    channel: int
    """The channel's index."""
    id: int
    """Which of its sender's packets it is."""
    sender: int = 0
    """Number of the node it is from; 0: this one."""
    request_id: int = 0
    """Which packet this answers."""
    rssi_dbm: int = 0
    snr_db: float = 0.0


# --- from the device


@dataclass(frozen=True, slots=True)
class MyInfo:
    """Who it is."""

    node: int


@dataclass(frozen=True, slots=True)
class Metadata:
    """What it runs."""

    firmware: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoraConfig:
    """How its radio is set up."""

    use_preset: bool
    preset: int
    bandwidth_code: int
    spreading_factor: int
    coding_rate: int
    region: int
    transmits: bool
    power_dbm: int
    slot: int
    """Frequency slot, from 1; 0: by the name of the primary channel."""
    override_mhz: float
    """Frequency, if not 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """One of its channels."""

    index: int
    name: str
    role: int


@dataclass(frozen=True, slots=True)
class ConfigComplete:
    """That was all; the number is that of WantConfig."""

    nonce: int


@dataclass(frozen=True, slots=True)
class Rebooted:
    """It has just started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueStatus:
    """After each packet to be sent: what became of it, and how much room there is."""

    error: int
    """0: queued. Else a number of the firmware's."""
    free: int
    """Packets it has room for."""
    size: int
    """Packets it has room for while it is empty."""
    packet_id: int
    """Which packet it speaks of; 0: none."""


@dataclass(frozen=True, slots=True)
class Other:
    """Something we have no use for."""

    field: int


ToRadio = WantConfig | Heartbeat | Packet
"""What a host says."""
FromRadio = (
    MyInfo | Metadata | LoraConfig | Channel | ConfigComplete | Rebooted | QueueStatus | Packet | Other
)
"""What a device says."""


def serialize_frame(message: bytes) -> bytes:
    """A protobuf *message* of up to 512 bytes as it goes over the cable."""
    return START + len(message).to_bytes(2) + message


class FrameReader:
    """Takes a stream of bytes apart into messages; the text of the log between them is passed over. Never raises."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that end in *data*, in order."""
        self._buffer += data
        found = []
        while (frame := self._take()) is not None:
            found.append(frame)
        return found

    def _take(self) -> bytes | None:
        buffer = self._buffer
        while True:
            begin = buffer.find(START)
            if begin < 0:
                # The last byte may be the first half of a start.
                del buffer[: -1 if buffer.endswith(START[:1]) else None]
                return None
            del buffer[:begin]
            if len(buffer) < 4:
                return None
            length = int.from_bytes(buffer[2:4])
            if length <= limits.MESHTASTIC_FRAME_MAX:
                break
            del buffer[:2]
        if len(buffer) < 4 + length:
            return None
        frame = bytes(buffer[4 : 4 + length])
        del buffer[: 4 + length]
        return frame


def serialize_to_radio(message: ToRadio) -> bytes:
    """The protobuf message ToRadio."""
    match message:
        case WantConfig(nonce):
            return protobuf.serialize_fields([(3, nonce)])
        case Heartbeat():
            return protobuf.serialize_fields([(7, b"")])
        case Packet():
            return protobuf.serialize_fields([(1, _serialize_packet(message))])


def parse_to_radio(data: bytes) -> ToRadio | Noise:
    """The reverse."""
    try:
        fields = protobuf.parse_fields(data)
        if 1 in fields:
            return _parse_packet(protobuf.blob(fields, 1)) or Noise("an encrypted packet", len(data))
    except ProtobufError as error:
        return Noise(str(error), len(data))
    if 3 in fields:
        return WantConfig(protobuf.number(fields, 3))
    return Heartbeat() if 7 in fields else Noise("a message of a kind that is not known", len(data))


def serialize_from_radio(message: FromRadio) -> bytes:
    """The protobuf message FromRadio."""
    match message:
        case Packet():
            field: tuple[int, Value] = (2, _serialize_packet(message))
        case MyInfo(node):
            field = (3, protobuf.serialize_fields([(1, node)]))
        case LoraConfig():
            field = (5, protobuf.serialize_fields([(6, _serialize_lora(message))]))
        case ConfigComplete(nonce):
            field = (7, nonce)
        case Rebooted():
            field = (8, 1)
        case Channel(index=index, name=name, role=role):
            settings = protobuf.serialize_fields([(3, name.encode())])
            field = (10, protobuf.serialize_fields([(1, index), (2, settings), (3, role)]))
        case QueueStatus():
            values = [(1, message.error), (2, message.free), (3, message.size), (4, message.packet_id)]
            field = (11, protobuf.serialize_fields(values))
        case Metadata(firmware):
            field = (13, protobuf.serialize_fields([(1, firmware.encode())]))
        case Other(number):
            field = (number, b"")
    return protobuf.serialize_fields([field])


def parse_from_radio(data: bytes) -> FromRadio | Noise:
    """The reverse."""
    try:
        fields = protobuf.parse_fields(data)
        # Its own number comes in front in what devices send.
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
        return Other(number)
    inner = protobuf.blob(fields, number)
    if number == 2:
        return _parse_packet(inner) or Other(2)
    values = protobuf.parse_fields(inner)
    match number:
        case 3:
            return MyInfo(protobuf.number(values, 1))
        case 5:
            return _parse_lora(protobuf.blob(values, 6)) if 6 in values else Other(5)
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


def _serialize_packet(packet: Packet) -> bytes:
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
    # What is nought is not written, as protobuf has it.
    return protobuf.serialize_fields(field for field in fields if field[1] not in (0, Fixed32(0)))


def _parse_packet(data: bytes) -> Packet | None:
    """None for one that the device could not decrypt. Raises ProtobufError."""
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


def _serialize_lora(config: LoraConfig) -> bytes:
    fields: tuple[tuple[int, Value], ...] = (
        (1, int(config.use_preset)),
        (2, config.preset),
        (3, config.bandwidth_code),
        (4, config.spreading_factor),
        (5, config.coding_rate),
        (7, config.region),
        (9, int(config.transmits)),
        (10, config.power_dbm),
        (11, config.slot),
        (14, protobuf.fixed_float(config.override_mhz)),
    )
    return protobuf.serialize_fields(field for field in fields if field[1] not in (0, Fixed32(0)))


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
    """What a packet of ROUTING_APP says went wrong; 0: nothing, or it says something else."""
    try:
        return protobuf.number(protobuf.parse_fields(packet.payload), 3)
    except ProtobufError:
        return RoutingError.NONE


def serialize_routing(error: RoutingError) -> bytes:
    """The payload of a packet of ROUTING_APP."""
    return protobuf.serialize_fields([(3, error)])
