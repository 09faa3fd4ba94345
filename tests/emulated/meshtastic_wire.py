"""The device's side of Meshtastic's messages: what an emulated device reads and writes."""

from firmware_bridge.serial import protobuf
from firmware_bridge.serial.meshtastic import (
    Channel,
    ConfigComplete,
    FromRadio,
    Heartbeat,
    Metadata,
    MyInfo,
    OtherField,
    Packet,
    QueueStatus,
    Rebooted,
    ToRadio,
    WantConfig,
    parse_packet,
    serialize_packet,
)
from firmware_bridge.serial.meshtastic_air import LoraConfig
from firmware_bridge.serial.protobuf import Fixed32, ProtobufError, Value
from firmware_bridge.serial.session import Noise


def parse_to_radio(data: bytes) -> ToRadio | Noise:
    """Parse the protobuf message ToRadio."""
    try:
        fields = protobuf.parse_fields(data)
        if 1 in fields:
            return parse_packet(protobuf.blob(fields, 1)) or Noise("an encrypted packet", len(data))
    except ProtobufError as error:
        return Noise(str(error), len(data))
    if 3 in fields:
        return WantConfig(protobuf.number(fields, 3))
    return Heartbeat() if 7 in fields else Noise("a message of a kind that is not known", len(data))


def serialize_from_radio(message: FromRadio) -> bytes:
    """Return the protobuf message FromRadio."""
    match message:
        case Packet():
            field: tuple[int, Value] = (2, serialize_packet(message))
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
        case OtherField(number):
            field = (number, b"")
    return protobuf.serialize_fields([field])


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


def serialize_routing(error: int) -> bytes:
    """Return the payload of a packet of ROUTING_APP."""
    return protobuf.serialize_fields([(3, error)])
