"""Framing on serial cables: KISS for MeshCore's KISS modem and RNode, length prefixes for Meshtastic and MeshCore.

Source of KISS: M. Chepponis, P. Karn, "The KISS TNC", 1987, section 2.
"""

from typing import Final, Literal

from firmware_bridge.firmware import kiss
from firmware_bridge.firmware.limits import FRAME_MAX
from firmware_bridge.serial import limits
from firmware_bridge.serial.session import Noise

_ESCAPES: Final = {kiss.TFEND: kiss.FEND, kiss.TFESC: kiss.FESC}

serialize_frame = kiss.frame


class KissFrameReader:
    """The host's KISS decoder: from a stream of bytes to frames and noise. Never raises."""

    def __init__(self) -> None:
        self._frame = bytearray()
        self._inside = False
        self._escaped = False
        self._fault: str | None = None
        self._length = 0

    def feed(self, data: bytes) -> list[bytes | Noise]:
        """Return the frames that end in *data*, unescaped, in order, without empty ones."""
        found: list[bytes | Noise] = []
        for byte in data:
            if byte == kiss.FEND:
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
        elif byte == kiss.FESC:
            self._escaped = True
        else:
            self._frame.append(byte)
        if len(self._frame) > FRAME_MAX:
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


class LengthFrameReader:
    """Decodes frames of a start mark, a length u16 and a message; ignores text between them. Never raises."""

    def __init__(
        self, start: bytes, byteorder: Literal["little", "big"], shortest: int, longest: int
    ) -> None:
        """*start*: the mark. *shortest*, *longest*: bytes of a message; other lengths are noise."""
        self._start = start
        self._byteorder = byteorder
        self._lengths = range(shortest, longest + 1)
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Return the messages that end in *data*, in order."""
        self._buffer += data
        found = []
        while (message := self._take()) is not None:
            found.append(message)
        return found

    def reset(self) -> None:
        """Drop an incomplete frame."""
        self._buffer.clear()

    @property
    def pending(self) -> int:
        """Bytes of an incomplete frame."""
        return len(self._buffer)

    def _take(self) -> bytes | None:
        buffer, size = self._buffer, len(self._start)
        while (begin := buffer.find(self._start)) >= 0:
            del buffer[:begin]
            if len(buffer) < size + 2:
                return None
            length = int.from_bytes(buffer[size : size + 2], self._byteorder)
            if length in self._lengths:
                end = size + 2 + length
                message = bytes(buffer[size + 2 : end])
                if len(message) < length:
                    return None
                del buffer[:end]
                return message
            del buffer[:size]
        # The last byte may be the first half of a start mark.
        del buffer[: -1 if size > 1 and buffer.endswith(self._start[:1]) else None]
        return None
