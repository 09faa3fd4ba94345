"""Which kind of radio is at a serial port: greetings that each kind answers and the others pass over. Pure.

Nothing here sets a radio up, and nothing is sent by radio.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from firmware_bridge.serial import kiss, meshcore, meshtastic, rnode
from firmware_bridge.serial.framing import FrameReader, serialize_frame

_ANY_NONCE: Final = 1_559
"""A number that a Meshtastic device repeats when it has told its configuration; nobody waits for it here."""
_BRIDGE_HEADER_SIZE: Final = 2
"""Bytes before the name in what bridge firmware says of itself (docs/formats/kiss.md)."""


@dataclass(frozen=True, slots=True)
class Radio:
    """A radio that made itself known."""

    scheme: str
    """The kind of face that it is for: ``kiss``, ``rnode``, ``meshtastic`` or ``meshcore``."""
    device: str
    """What it said it is, for people."""
    stock: bool = False
    """Whether it is a KISS modem without our extension."""


GREETINGS: Final[tuple[bytes, ...]] = (
    # First, since a frame for a KISS modem could be a setting of an RNode's.
    b"".join(
        serialize_frame(rnode.serialize_message(message))
        for message in (
            rnode.Message(rnode.Command.DETECT, bytes([rnode.DETECT_REQUEST])),
            rnode.Message(rnode.Command.FIRMWARE, b"\0"),
        )
    ),
    b"".join(
        serialize_frame(kiss.serialize_message(kiss.Hardware(sub)))
        for sub in (kiss.Sub.PING, kiss.Sub.GET_VERSION, kiss.Sub.GET_BRIDGE)
    ),
    meshcore.serialize_frame(
        meshcore.TO_COMPANION,
        meshcore.serialize_ask(meshcore.Ask(meshcore.Request.DEVICE_QUERY, bytes([meshcore.APP_VERSION]))),
    ),
    meshtastic.WAKE
    + meshtastic.serialize_frame(meshtastic.serialize_to_radio(meshtastic.WantConfig(_ANY_NONCE))),
)
"""What to write, one after the other, each with time for an answer."""


def identify(seen: bytes) -> Radio | None:
    """Which radio has said *seen*, all that came since the first greeting; None if it is none we know."""
    return next(_radios(seen), None)


def _radios(seen: bytes) -> Iterator[Radio]:
    frames = [frame for frame in FrameReader().feed(seen) if isinstance(frame, bytes)]
    yield from _rnode(frames)
    yield from _kiss(frames)
    for companion in map(meshcore.parse_message, meshcore.FrameReader(meshcore.FROM_COMPANION).feed(seen)):
        if isinstance(companion, meshcore.DeviceInfo):
            yield Radio("meshcore", f"a MeshCore companion, {companion.firmware} on {companion.model}")
    for message in map(meshtastic.parse_from_radio, meshtastic.FrameReader().feed(seen)):
        # An echo of our greeting reads like a node without a number.
        if isinstance(message, meshtastic.MyInfo) and message.node:
            yield Radio("meshtastic", f"a Meshtastic device, node !{message.node:08x}")


def _rnode(frames: list[bytes]) -> Iterator[Radio]:
    said = {
        message.command: message
        for message in map(rnode.parse_message, frames)
        if isinstance(message, rnode.Message)
    }
    if rnode.number(said.get(rnode.Command.DETECT)) == rnode.DETECT_ANSWER:
        firmware = said.get(rnode.Command.FIRMWARE)
        version = ".".join(map(str, firmware.data)) if firmware is not None else "unknown"
        yield Radio("rnode", f"an RNode, firmware {version}")


def _kiss(frames: list[bytes]) -> Iterator[Radio]:
    said = {
        message.sub: message.data
        for message in map(kiss.parse_message, frames)
        if isinstance(message, kiss.Hardware)
    }
    if kiss.Sub.PONG not in said:
        return
    bridge = said.get(kiss.Sub.BRIDGE, b"")
    if len(bridge) >= _BRIDGE_HEADER_SIZE:
        name = bridge[_BRIDGE_HEADER_SIZE:].decode("utf-8", "replace") or "bridge firmware"
        yield Radio("kiss", f"a KISS modem, {name}")
    else:
        version = said.get(kiss.Sub.VERSION, b"")[:1].hex() or "?"
        yield Radio("kiss", f"a KISS modem, MeshCore's firmware version {version}", stock=True)
