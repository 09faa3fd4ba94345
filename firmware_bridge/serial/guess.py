"""What may be at the other end of a cable that does not answer as it should, from what it says by itself. Pure."""

import re
from typing import Final

_NMEA = re.compile(rb"\$(G[PNLAB]|BD)[A-Z]{3},")
_AT = re.compile(rb"\r\n(OK|ERROR|RING|\+C[A-Z]+)\b")
_BOOT = re.compile(rb"rst:0x|ESP-ROM:|Brownout")
_CODES = re.compile(rb"\x1b(\[[0-9;]*[A-Za-z])?")
"""What makes a terminal change colour."""
_PRINTABLE: Final = frozenset(range(0x20, 0x7F)) | frozenset(b"\t\r\n\x1b")


def guess(seen: bytes, asked: bytes) -> str | None:
    """What sent *seen* when it was *asked*, as the rest of a sentence that begins with "it is"; None if silent."""
    if not seen:
        return None
    if (match := _NMEA.search(seen)) is not None:
        return f"a GPS receiver (it sends {match[0].decode().rstrip(',')} sentences)"
    if asked and asked in seen:
        return "something that echoes what it is sent"
    if _AT.search(seen) is not None:
        return "a telephone modem (it answers to AT commands)"
    if b"tinySSB" in seen or b"tinyssb" in seen:
        return "a board with tinySSB's own firmware, whose USB port is a console for people"
    if b"\x94\xc3" in seen:
        return "a Meshtastic device"
    if b"MicroPython" in seen or b">>> " in seen:
        return "a MicroPython prompt: the board runs no bridge firmware"
    if _BOOT.search(seen) is not None:
        return "an ESP32 that starts over and over, or runs another program"
    if sum(byte in _PRINTABLE for byte in seen) >= 0.9 * len(seen):
        text = _CODES.sub(b"", seen).decode("ascii", "replace")
        words = " ".join("".join(char if char.isprintable() else " " for char in text).split())
        return f"something that prints text: '{words[:60]}'"
    return "something else, or the port has another speed: what it says makes no sense"
