"""The companion's side of MeshCore's messages: what an emulated companion reads and writes."""

from dataclasses import dataclass
from typing import Final

from firmware_bridge.serial.meshcore import (
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
    Reply,
    SelfInfo,
)


@dataclass(frozen=True, slots=True)
class CompanionRequest:
    """A message of a host: code and bytes."""

    code: int
    body: bytes = b""


def parse_request(message: bytes) -> CompanionRequest:
    """Parse a host's message of 1 byte or more."""
    return CompanionRequest(message[0], message[1:])


def serialize_message(message: CompanionMessage) -> bytes:
    """Return a companion's message, with zeros in unused fields."""
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
        case Refusal(code):
            return bytes([Reply.ERROR, code])
        case OtherReply(code):
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


def _padded(text: str, size: int) -> bytes:
    """Encode *text* in *size* bytes, with a zero at the end."""
    return text.encode()[: size - 1].ljust(size, b"\x00")
