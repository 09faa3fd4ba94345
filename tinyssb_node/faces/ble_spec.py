"""Spec strings of Bluetooth: ble:peripheral and ble:central. Grammar: docs/reference/faces.md."""

import re
from dataclasses import dataclass
from typing import ClassVar

from firmware_bridge.ble import limits as ble_limits
from tinyssb_node.faces.spec_reader import SpecReader, matching
from tinyssb_node.ids import FaceName

_ROLE = re.compile(r"peripheral|central")
_ADAPTER = re.compile(r"hci[0-9]{1,2}")
_DONGLE = re.compile(r"(usb|serial|hci-socket|tcp-client):[A-Za-z0-9._:/,#-]{1,100}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bluetooth:
    """The options of both roles."""

    adapter: str | None = None
    """``hci0``, ``hci1``, …; None: the first that is on."""
    dongle: str | None = None
    """A dongle to drive directly, without BlueZ, as bumble names it: ``usb:0``."""
    links: int = ble_limits.LINKS_MAX
    """Most links at a time."""
    name: str | None = None
    """Prefix of the faces' names; None: the role's."""
    prefix: ClassVar[str]
    """The role's prefix."""

    @property
    def face_name(self) -> FaceName:
        """The prefix of the faces' names."""
        return FaceName(self.name or self.prefix)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlePeripheralSpec(_Bluetooth):
    """A peripheral, which phones and other nodes find."""

    prefix = "ble"


@dataclass(frozen=True, slots=True, kw_only=True)
class BleCentralSpec(_Bluetooth):
    """A central, which finds boards and other nodes."""

    prefix = "board"


BleSpec = BlePeripheralSpec | BleCentralSpec
"""A role in Bluetooth."""


def parse_ble(reader: SpecReader) -> BleSpec | None:
    """Read the spec string of a Bluetooth role; None if it is none. Raises FaceSpecError."""
    if not reader.skip("ble:"):
        return None
    role = reader.rest(matching(_ROLE), "peripheral (be found by phones), central (find boards)")
    adapter = reader.option(
        "adapter", None, matching(_ADAPTER), "hci0, hci1, … as 'bluetoothctl list' has them"
    )
    dongle = reader.option(
        "dongle", None, matching(_DONGLE), "usb:0, serial:/dev/ttyUSB0,115200, hci-socket:0"
    )
    if adapter is not None and dongle is not None:
        reader.fail("it names both an adapter and a dongle", "one of them")
    links = reader.number("links", ble_limits.LINKS_MAX, 1, ble_limits.LINKS_MAX)
    name = reader.name()
    reader.end("adapter, dongle, links, name")
    kind = BlePeripheralSpec if role == "peripheral" else BleCentralSpec
    return kind(adapter=adapter, dongle=dongle, links=links, name=name)
