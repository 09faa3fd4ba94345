"""KISS framing: frames between FEND bytes, with two bytes escaped. Of MeshCore's KISS modem and of RNode.

Source: M. Chepponis, P. Karn, "The KISS TNC", 1987, section 2.
"""

from typing import Final

from firmware_bridge.serial import limits
from firmware_bridge.serial.session import Noise

FEND: Final = 0xC0
"""Ends a frame, and may begin one."""
FESC: Final = 0xDB
"""Begins an escape."""
TFEND: Final = 0xDC
"""After FESC: a FEND inside the frame."""
TFESC: Final = 0xDD
"""After FESC: a FESC inside the frame."""

_ESCAPES: Final = {TFEND: FEND, TFESC: FESC}


def serialize_frame(frame: bytes) -> bytes:
    """*frame* as it goes over the cable. It may be empty: two FENDs alone end whatever was begun before."""
    escaped = frame.replace(b"\xdb", b"\xdb\xdd").replace(b"\xc0", b"\xdb\xdc")
    return b"\xc0" + escaped + b"\xc0"


class FrameReader:
    """Takes a stream of bytes apart into frames. Never raises."""

    def __init__(self, frame_max: int = limits.KISS_FRAME_MAX) -> None:
        """*frame_max*: bytes of an unescaped frame; longer ones are noise."""
        self._max = frame_max
        self._frame = bytearray()
        self._inside = False
        self._escaped = False
        self._fault: str | None = None
        self._length = 0

    def feed(self, data: bytes) -> list[bytes | Noise]:
        """The frames that end in *data*, unescaped, in order; empty ones are left out."""
        found: list[bytes | Noise] = []
        for byte in data:
            if byte == FEND:
                found += self._end()
                self._inside = True
            else:
                self._take(byte)
                if self._length >= limits.NOISE_MAX:
                    found += self._end()
                    self._inside = False
        return found

    def _take(self, byte: int) -> None:
        self._length += 1
        if not self._inside:
            self._fault = self._fault or "bytes outside of a frame"
        elif self._escaped:
            self._escaped = False
            if byte in _ESCAPES:
                self._frame.append(_ESCAPES[byte])
            else:
                self._fault = self._fault or "a broken escape"
        elif byte == FESC:
            self._escaped = True
        else:
            self._frame.append(byte)
        if len(self._frame) > self._max:
            self._fault = self._fault or "a frame that is too long"
            self._frame.clear()

    def _end(self) -> list[bytes | Noise]:
        if self._escaped:
            self._fault = self._fault or "a broken escape"
        frame, fault, length = bytes(self._frame), self._fault, self._length
        self._frame.clear()
        self._escaped, self._fault, self._length = False, None, 0
        if fault is not None:
            return [Noise(fault, length)]
        return [frame] if frame else []
