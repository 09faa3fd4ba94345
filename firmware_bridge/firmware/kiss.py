"""KISS: the numbers of types and sub-commands for both sides, and the modem's framing. Runs in MicroPython.

Sources: docs/formats/kiss.md; MeshCore, docs/kiss_modem_protocol.md and examples/kiss_modem.
"""

from firmware_bridge.firmware.limits import FRAME_MAX

FEND = 0xC0
"""Ends a frame, and may begin one (The KISS TNC, section 2)."""
FESC = 0xDB
"""Begins an escape."""
TFEND = 0xDC
"""After FESC: a FEND inside the frame."""
TFESC = 0xDD
"""After FESC: a FESC inside the frame."""

DATA = 0x00
"""Type: a packet to send, or one received."""
TX_DELAY = 0x01
"""Type: time from the decision to send until sending, in 10 ms."""
PERSISTENCE = 0x02
"""Type: a clear channel is used with probability (this + 1) / 256."""
SLOT_TIME = 0x03
"""Type: time until the channel is checked again, in 10 ms."""
FULL_DUPLEX = 0x05
"""Type: if not 0, send without checking the channel."""
HARDWARE = 0x06
"""Type: a sub-command and its data."""
RETURN = 0xFF
"""Type: leave KISS; modems ignore it."""

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
"""1: send RX_META after each packet. Answered by SIGNAL_REPORT."""
SET_PHY = 0x40
"""Extension: sync word, CRC, preamble u16, LDRO. Answered by PHY."""
GET_PHY = 0x41
"""Extension: answered by PHY."""
GET_BRIDGE = 0x42
"""Extension: answered by BRIDGE."""
SET_DUTY = 0x43
"""Extension: limit of the duty cycle in any hour, permille, u16; 0: no limit. Answered by DUTY."""
GET_DUTY = 0x44
"""Extension: answered by DUTY."""
SET_CAD = 0x45
"""Extension: channel activity detections before each packet, 0 to 8. Answered by CAD."""

RADIO = 0x8B
"""As in SET_RADIO."""
VERSION = 0x91
"""Firmware's version, reserved byte."""
PONG = 0x97
"""The modem is there."""
SIGNAL_REPORT = 0x9A
"""State of signal reports: on or off."""
PHY = 0xC1
"""As in SET_PHY: the chip's present settings."""
BRIDGE = 0xC2
"""Extension's version u8, packets it can keep u8, name of firmware and board in UTF-8."""
DUTY = 0xC4
"""Limit in permille u16, milliseconds used of the last hour u32."""
CAD = 0xC5
"""As in SET_CAD."""
OK = 0xF0
"""Done."""
ERROR = 0xF1
"""One of the error codes below."""
TX_DONE = 0xF8
"""One of the results below."""
RX_META = 0xF9
"""Of the packet before: SNR in quarters of a dB, RSSI in dBm, i8 each."""
STARTED = 0xFB
"""Extension, unasked: the modem has just started, with default settings. Cause u8: 0 power or reset, 1 watchdog."""

INVALID_LENGTH = 0x01
INVALID_PARAM = 0x02
NOT_AVAILABLE = 0x03
UNKNOWN_COMMAND = 0x05
TX_BUSY = 0x07
NO_RADIO = 0x08

FAILED = 0
"""The radio failed, maybe when part of the packet was on the air."""
SENT = 1
"""The packet has been sent."""
BUSY = 2
"""Extension: not sent, since the channel is busy."""
DUTY_SPENT = 3
"""Extension: not sent, since the hour's airtime is used up."""


def frame(data: bytes) -> bytes:
    """Encode *data* as a frame. It may be empty: two FENDs alone end any frame that was begun before."""
    return b"\xc0" + data.replace(b"\xdb", b"\xdb\xdd").replace(b"\xc0", b"\xdb\xdc") + b"\xc0"


def meta_byte(value: int) -> int:
    """Encode *value* as an i8, clipped to its range."""
    return max(-128, min(value, 127)) & 0xFF


class KissReader:
    """The modem's frame decoder. It ignores malformed frames, and never raises."""

    def __init__(self) -> None:
        self._frame = bytearray(FRAME_MAX)
        self._length = 0
        self._void = True
        self._escaped = False

    def feed(self, data: bytes) -> list[bytes]:
        """Return the frames that end in *data*, unescaped, in order, without empty ones."""
        found = []
        for byte in data:
            if byte == FEND:
                if self._length and not self._void and not self._escaped:
                    found.append(bytes(self._frame[: self._length]))
                self._length = 0
                self._void = self._escaped = False
            elif not self._void:
                self._take(byte)
        return found

    def _take(self, byte: int) -> None:
        if self._escaped:
            self._escaped = False
            if byte == TFEND:
                byte = FEND
            elif byte == TFESC:
                byte = FESC
            else:
                self._void = True
                return
        elif byte == FESC:
            self._escaped = True
            return
        if self._length == FRAME_MAX:
            self._void = True
            return
        self._frame[self._length] = byte
        self._length += 1
