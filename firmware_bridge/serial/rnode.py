"""Messages between a host and an RNode: a command byte and its data in a KISS frame.

Written after the protocol's description and what RNodes answer; numbers as in RNode_Firmware, Framing.h.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from firmware_bridge.serial.session import Noise


class Command(IntEnum):
    """What a frame is about. Settings are answered by what is set now; 0 or 0xFF asks for that only."""

    DATA = 0x00
    """A packet, up to 508 bytes."""
    FREQUENCY = 0x01
    """Hz, u32; 0 asks."""
    BANDWIDTH = 0x02
    """Hz, u32; 0 asks."""
    POWER = 0x03
    """dBm, u8."""
    SPREADING_FACTOR = 0x04
    """u8; 0xFF asks."""
    CODING_RATE = 0x05
    """5 to 8."""
    RADIO_STATE = 0x06
    """1 on, 0 off; 0xFF asks."""
    DETECT = 0x08
    """0x73, answered by 0x46."""
    SHORT_LIMIT = 0x0B
    """Most time on the air in 15 s, in hundredths of a percent, u16; 0: no limit."""
    LONG_LIMIT = 0x0C
    """The same in an hour."""
    READY = 0x0F
    """1: there is room for a packet. Told when asked."""
    RSSI = 0x23
    """Of the packet that follows: dBm + 157."""
    SNR = 0x24
    """Of the packet that follows: quarters of a dB, i8."""
    PLATFORM = 0x48
    """Kind of processor."""
    FIRMWARE = 0x50
    """Version, major and minor."""
    RESET = 0x55
    """0xF8: from a host, start anew; from an RNode, I have."""
    ERROR = 0x90
    """An ``ErrorCode``."""


class ErrorCode(IntEnum):
    """What an RNode cannot do."""

    RADIO = 0x01
    TRANSMIT = 0x02
    EEPROM = 0x03
    QUEUE_FULL = 0x04
    MEMORY = 0x05
    MODEM_TIMEOUT = 0x06


DETECT_REQUEST: Final = 0x73
"""What a host asks with."""
DETECT_ANSWER: Final = 0x46
"""What an RNode answers."""
RESET_DONE: Final = 0xF8
"""Data of RESET."""
RSSI_OFFSET_DB: Final = 157
"""Added to a signal's strength to make it a byte."""


@dataclass(frozen=True, slots=True)
class Message:
    """A command and its data, either way."""

    command: int
    """A ``Command``, or one of those we have no use for."""
    data: bytes = b""


def serialize_message(message: Message) -> bytes:
    """The frame, unescaped."""
    return bytes([message.command]) + message.data


def parse_message(frame: bytes) -> Message | Noise:
    """What an unescaped *frame* of 1 byte or more says."""
    if len(frame) == 1:
        return Noise("a frame of a kind that is not known", 1)
    return Message(frame[0], frame[1:])


def number(message: Message | None) -> int | None:
    """The data of a setting, big-endian; None for none, or for no number."""
    return None if message is None or len(message.data) > 4 else int.from_bytes(message.data)
