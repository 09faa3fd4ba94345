"""The protocol between an ether, the modelled LoRa channel, and its clients: docs/formats/ether.md. Pure.

One JSON object a line; field ``t`` gives its kind. Lines come from strangers: ``parse_*`` returns None for malformed
ones.
"""

from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from firmware_bridge.lora import LoraSettings
from tinyssb_node import limits

Name = Annotated[str, Meta(pattern=rf"\A[A-Za-z0-9][A-Za-z0-9._-]{{0,{limits.FACE_NAME_MAX - 1}}}\Z")]
"""A node's name on the ether."""
PacketHex = Annotated[
    str, Meta(pattern=rf"\A([0-9a-f]{{2}}){{{limits.PACKET_MIN_SIZE},{limits.PACKET_SIZE}}}\Z")
]
"""A packet in hexadecimal digits, lower case."""
Loss = Annotated[float, Meta(ge=0.0, le=1.0)]
"""Probability that a packet is lost, over and above collisions."""
Number = Annotated[int, Meta(ge=0, le=2**53)]
"""A count, or microseconds."""


class EtherHello(msgspec.Struct, frozen=True, tag_field="t", tag="hello", kw_only=True):
    """First line of every client."""

    version: int
    """Of this protocol."""
    name: Name | None = None
    """The node's name; None for a client that only sends commands."""


class EtherSend(msgspec.Struct, frozen=True, tag_field="t", tag="send", kw_only=True):
    """A node's request to send a packet."""

    id: Number
    """The node's number for it."""
    packet: PacketHex
    """The packet."""


class EtherCut(msgspec.Struct, frozen=True, tag_field="t", tag="cut", kw_only=True):
    """Command: no node of one side hears a node of the other any more."""

    left: Annotated[tuple[Name, ...], Meta(min_length=1, max_length=limits.ETHER_NODES_MAX)]
    """One side."""
    right: Annotated[tuple[Name, ...], Meta(min_length=1, max_length=limits.ETHER_NODES_MAX)]
    """The other."""


class EtherUnplug(msgspec.Struct, frozen=True, tag_field="t", tag="unplug", kw_only=True):
    """Command: a node's radio comes loose. Its connection ends, and the name is refused until it is plugged in."""

    name: Name
    """The node."""


class EtherPlug(msgspec.Struct, frozen=True, tag_field="t", tag="plug", kw_only=True):
    """Command: undo `EtherUnplug`."""

    name: Name
    """The node."""


class EtherHeal(msgspec.Struct, frozen=True, tag_field="t", tag="heal", kw_only=True):
    """Command: undo all cuts."""


class EtherSetLink(msgspec.Struct, frozen=True, tag_field="t", tag="link", kw_only=True):
    """Command: set how two nodes hear each other."""

    left: Name
    """One of them."""
    right: Name
    """The other."""
    rssi_dbm: Annotated[float, Meta(ge=-200.0, le=30.0)]
    """Signal strength, both ways; below the sensitivity they do not hear each other."""
    loss: Loss = 0.0
    """Share of packets lost."""


class EtherSetLoss(msgspec.Struct, frozen=True, tag_field="t", tag="loss", kw_only=True):
    """Command: set the loss on every link without a loss of its own."""

    loss: Loss
    """Share of packets lost."""


class EtherGetStatus(msgspec.Struct, frozen=True, tag_field="t", tag="status", kw_only=True):
    """Command: only return the status."""


Command = EtherCut | EtherHeal | EtherUnplug | EtherPlug | EtherSetLink | EtherSetLoss | EtherGetStatus
"""A client's command to an ether. Each is answered by a Status, or by Refused."""


_LORA_FIELDS = (
    "frequency_hz", "bandwidth_hz", "spreading_factor", "coding_rate", "preamble_symbols", "sync_word", "crc",
)  # fmt: skip


class EtherWelcome(msgspec.Struct, frozen=True, tag_field="t", tag="welcome", kw_only=True):
    """First answer: the channel's settings, which every client must know."""

    version: int
    """Of this protocol."""
    frequency_hz: int
    """As in LoraSettings, and so on."""
    bandwidth_hz: int
    spreading_factor: int
    coding_rate: int
    preamble_symbols: int
    sync_word: int
    crc: bool
    time_scale: Annotated[float, Meta(gt=0.0, le=limits.ETHER_TIME_SCALE_MAX)]
    """Modelled seconds in a second: airtime on the clock is airtime by the formula divided by this."""

    def lora(self) -> LoraSettings:
        """Return the modem's settings. Raises ValueError for settings that no modem has."""
        return LoraSettings(**{name: getattr(self, name) for name in _LORA_FIELDS})


class EtherRefused(msgspec.Struct, frozen=True, tag_field="t", tag="refused", kw_only=True):
    """The ether refused a request; after a HELLO it closes the connection."""

    reason: Annotated[str, Meta(max_length=400)]
    """The reason, in plain words."""


class EtherSent(msgspec.Struct, frozen=True, tag_field="t", tag="sent", kw_only=True):
    """The airtime of a packet is over."""

    id: Number
    """The node's number for it."""


class EtherBusy(msgspec.Struct, frozen=True, tag_field="t", tag="busy", kw_only=True):
    """A packet was not sent: carrier sense found another node sending."""

    id: Number
    """The node's number for it."""


class EtherFrame(msgspec.Struct, frozen=True, tag_field="t", tag="frame", kw_only=True):
    """A packet reached this node."""

    packet: PacketHex
    """The packet."""
    rssi_dbm: int
    """Signal strength."""
    snr_db: float
    """Above the noise by how much."""


class EtherNodeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The ether's record of a node."""

    name: Name
    """Its name."""
    connected: bool
    """True if it is connected now."""
    sent: Number
    """Packets sent."""
    airtime_us: Number
    """Modelled microseconds they took."""
    heard: Number
    """Packets received whole."""
    collided: Number
    """Packets lost to others sent at the same time, or while it could not listen."""
    lost: Number
    """Packets lost by the link: too weak, or by its probability of loss."""


class EtherStatus(msgspec.Struct, frozen=True, tag_field="t", tag="state", kw_only=True):
    """Answer to every command: the current state."""

    nodes: tuple[EtherNodeStatus, ...]
    """In the order of their names."""
    cuts: tuple[tuple[tuple[Name, ...], tuple[Name, ...]], ...]
    """Cuts in force, oldest first."""
    time_us: Number
    """Modelled microseconds since the ether began."""


FromClient = EtherHello | EtherSend | Command
"""A line from a client."""
FromEther = EtherWelcome | EtherRefused | EtherSent | EtherBusy | EtherFrame | EtherStatus
"""A line from the ether."""

_Message = TypeVar("_Message")
_ENCODER = msgspec.json.Encoder()
_FROM_CLIENT = msgspec.json.Decoder(FromClient)
_FROM_ETHER = msgspec.json.Decoder(FromEther)


def serialize_message(message: FromClient | FromEther) -> bytes:
    """Return one line, line feed included."""
    return _ENCODER.encode(message) + b"\n"


def parse_from_client(line: bytes) -> FromClient | None:
    """Parse a line from a client; None for anything else."""
    return _parse(_FROM_CLIENT, line)


def parse_from_ether(line: bytes) -> FromEther | None:
    """Parse a line from an ether; None for anything else."""
    return _parse(_FROM_ETHER, line)


def _parse(decoder: msgspec.json.Decoder[_Message], line: bytes) -> _Message | None:
    try:
        return decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # A tag that is no UTF-8 is reported in Python's own way.
        return None


def welcome(lora: LoraSettings, time_scale: float) -> EtherWelcome:
    """Return the WELCOME of an ether with these settings."""
    fields = {name: getattr(lora, name) for name in _LORA_FIELDS}
    return EtherWelcome(version=limits.ETHER_VERSION, time_scale=time_scale, **fields)
