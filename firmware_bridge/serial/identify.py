"""Identification of the device at a serial port. Pure.

Each kind of radio answers its own greeting and ignores the others. Nothing here sets a radio up, or sends by radio.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from firmware_bridge.firmware import kiss
from firmware_bridge.serial import kiss as kiss_host
from firmware_bridge.serial import meshcore, meshtastic, rnode
from firmware_bridge.serial.framing import KissFrameReader, serialize_frame

_ANY_NONCE: Final = 1_559
"""A number that a Meshtastic device repeats at the end of its configuration; not used here."""
_BRIDGE_HEADER_SIZE: Final = 2
"""Bytes before the name in BRIDGE (docs/formats/kiss.md)."""


@dataclass(frozen=True, slots=True)
class DetectedRadio:
    """A radio that answered a greeting."""

    scheme: str
    """The kind of face for it: ``kiss``, ``rnode``, ``meshtastic`` or ``meshcore``."""
    device: str
    """The device's name for itself, for people."""
    stock: bool = False
    """True if the radio is a KISS modem without our extension."""


GREETINGS: Final[tuple[bytes, ...]] = (
    # First, since a frame for a KISS modem could be a setting of an RNode.
    b"".join(
        serialize_frame(rnode.serialize_message(message))
        for message in (
            rnode.RnodeMessage(rnode.RnodeCommand.DETECT, bytes([rnode.DETECT_REQUEST])),
            rnode.RnodeMessage(rnode.RnodeCommand.FIRMWARE, b"\0"),
        )
    ),
    b"".join(
        serialize_frame(kiss_host.serialize_message(kiss_host.HardwareCommand(sub)))
        for sub in (kiss.PING, kiss.GET_VERSION, kiss.GET_BRIDGE)
    ),
    meshcore.serialize_request(meshcore.Request.DEVICE_QUERY, bytes([meshcore.APP_VERSION])),
    meshtastic.WAKE
    + meshtastic.serialize_frame(meshtastic.serialize_to_radio(meshtastic.WantConfig(_ANY_NONCE))),
)
"""Bytes to write, one after the other, each with time for an answer."""


def identify(seen: bytes) -> DetectedRadio | None:
    """Identify a radio by *seen*, all bytes since the first greeting; None if its kind is not known."""
    return next(_radios(seen), None)


def _radios(seen: bytes) -> Iterator[DetectedRadio]:
    frames = [frame for frame in KissFrameReader().feed(seen) if isinstance(frame, bytes)]
    yield from _rnode(frames)
    yield from _kiss(frames)
    for companion in map(meshcore.parse_message, meshcore.frame_reader(meshcore.FROM_COMPANION).feed(seen)):
        if isinstance(companion, meshcore.DeviceInfo):
            yield DetectedRadio(
                "meshcore", f"a MeshCore companion, {companion.firmware} on {companion.model}"
            )
    for message in map(meshtastic.parse_from_radio, meshtastic.frame_reader().feed(seen)):
        # An echo of our greeting parses as a node without a number.
        if isinstance(message, meshtastic.MyInfo) and message.node:
            yield DetectedRadio("meshtastic", f"a Meshtastic device, node !{message.node:08x}")


def _rnode(frames: list[bytes]) -> Iterator[DetectedRadio]:
    said = {
        message.command: message
        for message in map(rnode.parse_message, frames)
        if isinstance(message, rnode.RnodeMessage)
    }
    if rnode.number(said.get(rnode.RnodeCommand.DETECT)) == rnode.DETECT_ANSWER:
        firmware = said.get(rnode.RnodeCommand.FIRMWARE)
        version = ".".join(map(str, firmware.data)) if firmware is not None else "unknown"
        yield DetectedRadio("rnode", f"an RNode, firmware {version}")


def _kiss(frames: list[bytes]) -> Iterator[DetectedRadio]:
    said = {
        message.sub: message.data
        for message in map(kiss_host.parse_message, frames)
        if isinstance(message, kiss_host.HardwareCommand)
    }
    if kiss.PONG not in said:
        return
    bridge = said.get(kiss.BRIDGE, b"")
    if len(bridge) >= _BRIDGE_HEADER_SIZE:
        name = bridge[_BRIDGE_HEADER_SIZE:].decode("utf-8", "replace") or "bridge firmware"
        yield DetectedRadio("kiss", f"a KISS modem, {name}")
    else:
        version = said.get(kiss.VERSION, b"")[:1].hex() or "?"
        yield DetectedRadio("kiss", f"a KISS modem, MeshCore's firmware version {version}", stock=True)


_NMEA: Final = re.compile(rb"\$(G[PNLAB]|BD)[A-Z]{3},")
_AT: Final = re.compile(rb"\r\n(OK|ERROR|RING|\+C[A-Z]+)\b")
_BOOT: Final = re.compile(rb"rst:0x|ESP-ROM:|Brownout")
_CODES: Final = re.compile(rb"\x1b(\[[0-9;]*[A-Za-z])?")
"""Colour codes of terminals."""
_PRINTABLE: Final = frozenset(range(0x20, 0x7F)) | frozenset(b"\t\r\n\x1b")


def guess(seen: bytes, asked: bytes) -> str | None:
    """Guess the device that sent *seen* when it was *asked*, as the rest of a sentence "it is …"; None if silent."""
    if not seen:
        return None
    if (match := _NMEA.search(seen)) is not None:
        return f"a GPS receiver (it sends {match[0].decode().rstrip(',')} sentences)"
    if asked and asked in seen:
        return "a device that echoes what it is sent"
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
        return f"a device that prints text: '{words[:60]}'"
    return "another device, or the port has another speed: its bytes make no sense"
