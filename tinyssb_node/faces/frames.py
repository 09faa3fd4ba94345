"""Framing of packets: with a CRC-32 on UDP and LoRa, bare on WebSocket. Pure.

Frames come from strangers: each ``parse_`` function returns the packet or the kind of junk it was, and never raises.
"""

import zlib
from enum import StrEnum

from tinyssb_node import limits


class FrameFault(StrEnum):
    """The reason why a frame is no packet."""

    TOO_SHORT = "too short"
    TOO_LONG = "too long"
    WRONG_CRC = "wrong CRC"
    TEXT = "text instead of bytes"


def serialize_crc_frame(packet: bytes) -> bytes:
    """Return *packet* (8 to 120 bytes) followed by its CRC-32, big-endian, as on UDP and LoRa."""
    return packet + zlib.crc32(packet).to_bytes(limits.CRC_SIZE, "big")


def parse_crc_frame(frame: bytes) -> bytes | FrameFault:
    """Return the packet in a frame that ends in a CRC-32."""
    packet = parse_bare(frame[: -limits.CRC_SIZE])
    if isinstance(packet, FrameFault):
        return packet
    if zlib.crc32(packet) != int.from_bytes(frame[-limits.CRC_SIZE :], "big"):
        return FrameFault.WRONG_CRC
    return packet


def parse_bare(message: bytes | str) -> bytes | FrameFault:
    """Return the packet that is a whole WebSocket message."""
    if isinstance(message, str):
        return FrameFault.TEXT
    if len(message) < limits.PACKET_MIN_SIZE:
        return FrameFault.TOO_SHORT
    if len(message) > limits.PACKET_SIZE:
        return FrameFault.TOO_LONG
    return message
