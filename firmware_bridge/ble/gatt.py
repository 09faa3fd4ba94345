"""The GATT service that tinySSB phones scan for and boards offer. Pure.

UUIDs and flags are those of the board's firmware (const.h, io.cpp ble_init). The app adds a descriptor with its user's
key to the write characteristic of its own service; no other program may add it. Phones that find the descriptor read it
and subscribe to notifications at the same time, and Android drops the second of two simultaneous requests.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from firmware_bridge.ble import limits

SERVICE_UUID: Final = "6e400001-7646-4b5b-9a50-71becce51558"
"""The service, as advertised. It is not Nordic's serial port, whose UUIDs begin in the same way."""
WRITE_UUID: Final = "6e400002-7646-4b5b-9a50-71becce51558"
"""Packets to the server are written here (the firmware's RX)."""
NOTIFY_UUID: Final = "6e400003-7646-4b5b-9a50-71becce51558"
"""Packets from the server are notified here (the firmware's TX)."""
STATUS_UUID: Final = "6e400004-7646-4b5b-9a50-71becce51558"
"""Statistics of boards; ours stays empty."""
PHONE_KEY_UUID: Final = "6e400002-7646-4b5b-9a50-71becce51559"
"""Descriptor of the write characteristic that only phones have: their user's public key."""
NAME_PREFIX: Final = "tinySSB-"
"""First part of boards' names; four hexadecimal digits of the address follow."""


class Flag(StrEnum):
    """The operations that a characteristic allows, as BlueZ names them."""

    READ = "read"
    WRITE = "write"
    """Write with response: the writer knows that the value was accepted, and may write the next."""
    COMMAND = "write-without-response"
    NOTIFY = "notify"


@dataclass(frozen=True, slots=True)
class Characteristic:
    """One characteristic of the service."""

    uuid: str
    flags: tuple[Flag, ...]


CHARACTERISTICS: Final = (
    Characteristic(NOTIFY_UUID, (Flag.READ, Flag.NOTIFY)),
    Characteristic(STATUS_UUID, (Flag.READ, Flag.NOTIFY)),
    Characteristic(WRITE_UUID, (Flag.WRITE,)),
)
"""The service as boards and we lay it out. Where notifying is possible, the Bluetooth stack adds the descriptor that
switches it on. The app takes the first descriptor for that one, so there must be no other."""


class PeerKind(StrEnum):
    """The kinds of peer that offer the service."""

    LINK = "link"
    """Accepts packets and sends some: a board, or another node."""
    PHONE = "phone"
    """Accepts packets only. It connects to us by itself when we advertise, and that link goes both ways."""
    INCOMPLETE = "incomplete"
    """Lacks what a link needs."""


def classify_peer(flags: Mapping[str, AbstractSet[str]], write_descriptors: AbstractSet[str]) -> PeerKind:
    """Classify a peer by the *flags* of its characteristics, by UUID, and its write characteristic's descriptors."""
    writable = flags.get(WRITE_UUID, frozenset()) & {Flag.WRITE, Flag.COMMAND}
    if not writable or Flag.NOTIFY not in flags.get(NOTIFY_UUID, frozenset()):
        return PeerKind.INCOMPLETE
    return PeerKind.PHONE if PHONE_KEY_UUID in write_descriptors else PeerKind.LINK


def answers_writes(flags: AbstractSet[str]) -> bool:
    """Return whether to write with response where a characteristic has these *flags*. Boards queue three packets and
    acknowledge them in no other way."""
    return Flag.WRITE in flags


def value_room(mtu: int) -> int:
    """Return the bytes of the longest value that one write or notification carries when the ATT MTU is *mtu*."""
    return max(mtu, limits.ATT_MTU_MIN) - limits.ATT_HEADER_SIZE


def carries_packets(mtu: int) -> bool:
    """Return whether whole packets pass at this *mtu*. Longer values are truncated silently."""
    return value_room(mtu) >= limits.VALUE_SIZE_MAX


def local_name(address: str) -> str:
    """Return the name to advertise for this address (``AA:BB:CC:DD:EE:FF``), as boards form it."""
    return NAME_PREFIX + address.replace(":", "")[-4:].upper()
