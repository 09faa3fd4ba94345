"""The GATT service that tinySSB phones look for and boards offer, and what follows from it. Pure.

UUIDs and flags are those of the board's firmware (const.h, io.cpp ble_init). The app adds a descriptor with its user's
key to the write characteristic of its own service; nobody else may: phones that find it ask for it and for
notifications in one breath, and of two requests at once Android drops the second.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from firmware_bridge.ble import limits

SERVICE_UUID: Final = "6e400001-7646-4b5b-9a50-71becce51558"
"""The service, as advertised. Not Nordic's serial port, whose UUIDs begin alike."""
WRITE_UUID: Final = "6e400002-7646-4b5b-9a50-71becce51558"
"""Packets to the server are written here (the firmware's RX)."""
NOTIFY_UUID: Final = "6e400003-7646-4b5b-9a50-71becce51558"
"""Packets from the server are notified here (the firmware's TX)."""
STATUS_UUID: Final = "6e400004-7646-4b5b-9a50-71becce51558"
"""Boards tell their statistics here; ours stays empty."""
PHONE_KEY_UUID: Final = "6e400002-7646-4b5b-9a50-71becce51559"
"""Descriptor of the write characteristic that only phones have: their user's public key."""
NAME_PREFIX: Final = "tinySSB-"
"""Boards' names begin so, with four hexadecimal digits of the address behind it."""


class Flag(StrEnum):
    """What may be done with a characteristic, in BlueZ's words."""

    READ = "read"
    WRITE = "write"
    """With an answer: the writer knows that it was taken, and may write the next."""
    COMMAND = "write-without-response"
    NOTIFY = "notify"


@dataclass(frozen=True, slots=True)
class Characteristic:
    """One value of the service."""

    uuid: str
    flags: tuple[Flag, ...]


CHARACTERISTICS: Final = (
    Characteristic(NOTIFY_UUID, (Flag.READ, Flag.NOTIFY)),
    Characteristic(STATUS_UUID, (Flag.READ, Flag.NOTIFY)),
    Characteristic(WRITE_UUID, (Flag.WRITE,)),
)
"""The service as boards lay it out, and as we do. Where notifying is possible, the Bluetooth stack adds the one
descriptor that switches it on; the app takes the first one for it, so there must be no other."""


class Offer(StrEnum):
    """What somebody that has the service is good for."""

    LINK = "link"
    """Takes packets and gives some: a board, or another node."""
    PHONE = "phone"
    """Takes packets only. It connects to us by itself when we advertise, and that link goes both ways."""
    INCOMPLETE = "incomplete"
    """Has not what a link needs."""


def judge_offer(flags: Mapping[str, AbstractSet[str]], write_descriptors: AbstractSet[str]) -> Offer:
    """What a service is good for whose characteristics have these *flags* by UUID, and whose write characteristic has
    these descriptors."""
    writable = flags.get(WRITE_UUID, frozenset()) & {Flag.WRITE, Flag.COMMAND}
    if not writable or Flag.NOTIFY not in flags.get(NOTIFY_UUID, frozenset()):
        return Offer.INCOMPLETE
    return Offer.PHONE if PHONE_KEY_UUID in write_descriptors else Offer.LINK


def answers_writes(flags: AbstractSet[str]) -> bool:
    """Whether to write with an answer where a characteristic has these *flags*. Boards keep three packets and say in no
    other way that they took one."""
    return Flag.WRITE in flags


def value_room(mtu: int) -> int:
    """Bytes of the longest value that one write or notification carries when the ATT MTU is *mtu*."""
    return max(mtu, limits.ATT_MTU_MIN) - limits.ATT_HEADER_SIZE


def carries_packets(mtu: int) -> bool:
    """Whether whole packets pass at this *mtu*. Longer values are cut short without a word to anybody."""
    return value_room(mtu) >= limits.VALUE_SIZE_MAX


def local_name(address: str) -> str:
    """What an adapter with this address (``AA:BB:CC:DD:EE:FF``) is advertised as, the way boards do it."""
    return NAME_PREFIX + address.replace(":", "")[-4:].upper()
