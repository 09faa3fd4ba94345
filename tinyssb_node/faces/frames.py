"""Packets in frames: with a CRC-32 on UDP and LoRa, bare on WebSocket. Pure.

What arrives is a stranger's: each ``parse_`` returns the packet or says what kind of junk it was, and never raises.
"""

import zlib
from enum import StrEnum

from tinyssb_node import limits


class FrameFault(StrEnum):
    """Why something received was no packet."""

    TOO_SHORT = "too short"
    TOO_LONG = "too long"
    WRONG_CRC = "wrong CRC"
    TEXT = "text instead of bytes"


def serialize_crc_frame(packet: bytes) -> bytes:
    """*packet* (8 to 120 bytes) with its CRC-32 behind it, big-endian: what UDP and LoRa carry."""
    return packet + zlib.crc32(packet).to_bytes(limits.CRC_SIZE, "big")


def parse_crc_frame(frame: bytes) -> bytes | FrameFault:
    """The packet in a frame that ends in a CRC-32."""
    packet = parse_bare(frame[: -limits.CRC_SIZE])
    if isinstance(packet, FrameFault):
        return packet
    if zlib.crc32(packet) != int.from_bytes(frame[-limits.CRC_SIZE :], "big"):
        return FrameFault.WRONG_CRC
    return packet


def parse_bare(message: bytes | str) -> bytes | FrameFault:
    """The packet that a WebSocket message is."""
    if isinstance(message, str):
        return FrameFault.TEXT
    if len(message) < limits.PACKET_MIN_SIZE:
        return FrameFault.TOO_SHORT
    if len(message) > limits.PACKET_SIZE:
        return FrameFault.TOO_LONG
    return message
