"""KISS on the modem's side: frames out of bytes, and the numbers of commands. Runs in MicroPython.

The host's side is ``serial.framing`` and ``serial.kiss``; tests hold the two to each other. Source:
docs/formats/kiss.md.
"""

from firmware_bridge.firmware.limits import FRAME_MAX

FEND = 0xC0
FESC = 0xDB
TFEND = 0xDC
TFESC = 0xDD

DATA = 0x00
TX_DELAY = 0x01
PERSISTENCE = 0x02
SLOT_TIME = 0x03
FULL_DUPLEX = 0x05
HARDWARE = 0x06
RETURN = 0xFF

SET_RADIO = 0x09
SET_POWER = 0x0A
GET_RADIO = 0x0B
GET_VERSION = 0x11
PING = 0x17
SET_SIGNAL_REPORT = 0x19
SET_PHY = 0x40
GET_PHY = 0x41
GET_BRIDGE = 0x42
SET_DUTY = 0x43
GET_DUTY = 0x44
SET_CAD = 0x45

RADIO = 0x8B
VERSION = 0x91
PONG = 0x97
SIGNAL_REPORT = 0x9A
PHY = 0xC1
BRIDGE = 0xC2
DUTY = 0xC4
CAD = 0xC5
OK = 0xF0
ERROR = 0xF1
TX_DONE = 0xF8
RX_META = 0xF9
STARTED = 0xFB

INVALID_LENGTH = 0x01
INVALID_PARAM = 0x02
NOT_AVAILABLE = 0x03
UNKNOWN_COMMAND = 0x05
TX_BUSY = 0x07
NO_RADIO = 0x08

FAILED = 0
SENT = 1
BUSY = 2
DUTY_SPENT = 3


def frame(data: bytes) -> bytes:
    """*data* as it goes over the cable."""
    return b"\xc0" + data.replace(b"\xdb", b"\xdb\xdd").replace(b"\xc0", b"\xdb\xdc") + b"\xc0"


def meta_byte(value: int) -> int:
    """*value* as an i8; what is beyond its range is cut."""
    return max(-128, min(value, 127)) & 0xFF


class Reader:
    """Takes what the host says apart into frames. Never raises: what is no frame is passed over."""

    def __init__(self) -> None:
        self._frame = bytearray(FRAME_MAX)
        self._length = 0
        self._void = True
        self._escaped = False

    def feed(self, data: bytes) -> list[bytes]:
        """The frames that end in *data*, unescaped, in order; empty ones are left out."""
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
