"""Spec strings of radios on serial cables: kiss, rnode, meshtastic, meshcore. Grammar: docs/reference/faces.md."""

import re
from dataclasses import dataclass
from typing import ClassVar, Final

from firmware_bridge.serial import limits as serial_limits
from tinyssb_node.faces.radio import RadioChoice
from tinyssb_node.faces.radio_options import RADIO_OPTIONS, read_radio
from tinyssb_node.faces.spec_reader import SpecReader, matching
from tinyssb_node.ids import FaceName

SPEEDS: Final = (9_600, 19_200, 38_400, 57_600, 115_200, 230_400, 460_800, 921_600)
"""Bits a second that serial ports know and radios are built with."""
CHANNEL_DEFAULT: Final = "tinySSB"
"""Name of the channel of a mesh that is ours."""
USB: Final = "usb:"
"""Prefix of a device that is named by its USB serial number."""

_DEVICE = re.compile(r"/[A-Za-z0-9._:/+@#=-]{1,200}|usb:[A-Za-z0-9._:-]{1,64}")
_DEVICE_RULE = "a path such as /dev/serial/by-id/usb-…, or usb: and a USB serial number"
_CHANNEL = re.compile(r"[A-Za-z0-9._-]{1,11}")
_LAW_OPTIONS = "region, gain, loss"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cable:
    """The options of all kinds."""

    device: str
    """Path of the port, or ``usb:`` and the serial number of a USB device."""
    radio: RadioChoice
    """The radio's settings, and the law it is under."""
    speed: int = serial_limits.BAUD
    """Bits a second on the cable."""
    name: str | None = None
    """The face's name; None: the kind's."""
    kind: ClassVar[str]
    """The scheme of the spec string."""

    @property
    def face_name(self) -> FaceName:
        """The name that was chosen, or else the kind's."""
        return FaceName(self.name or self.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class KissSpec(_Cable):
    """A KISS modem: MeshCore's firmware or our bridge firmware."""

    kind = "kiss"
    stock: bool = False
    """True to accept a firmware that cannot set the sync word: only nodes with the same firmware hear this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RnodeSpec(_Cable):
    """An RNode, heard by other RNodes."""

    kind = "rnode"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshtasticSpec(_Cable):
    """A Meshtastic device, whose radio is set up by its own app."""

    kind = "meshtastic"
    channel: str = CHANNEL_DEFAULT
    """Name of the channel to use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshcoreSpec(_Cable):
    """A MeshCore companion, whose radio is set up by its own app."""

    kind = "meshcore"
    channel: str = CHANNEL_DEFAULT
    """Name of the channel to use."""


SerialSpec = KissSpec | RnodeSpec | MeshtasticSpec | MeshcoreSpec
"""A radio on a serial cable."""


def parse_serial(reader: SpecReader) -> SerialSpec | None:
    """Read the spec string of a radio on a cable; None if it is none. Raises FaceSpecError."""
    if reader.skip("kiss:"):
        device, speed, name = _cable(reader)
        stock = reader.switch("stock", default=False)
        radio = _full_radio(reader)
        reader.end(f"{RADIO_OPTIONS}, stock, speed, name")
        return KissSpec(device=device, radio=radio, speed=speed, stock=stock, name=name)
    if reader.skip("rnode:"):
        device, speed, name = _cable(reader)
        radio = _full_radio(reader)
        reader.end(f"{RADIO_OPTIONS}, speed, name")
        return RnodeSpec(device=device, radio=radio, speed=speed, name=name)
    for spec in (MeshtasticSpec, MeshcoreSpec):
        if reader.skip(f"{spec.kind}:"):
            device, speed, name = _cable(reader)
            channel = reader.option(
                "channel", CHANNEL_DEFAULT, matching(_CHANNEL), "1 to 11 letters, digits, '.', '_' or '-'"
            )
            radio = _law_only(reader)
            reader.end(f"{_LAW_OPTIONS}, channel, speed, name")
            return spec(device=device, radio=radio, speed=speed, channel=channel, name=name)
    return None


def _cable(reader: SpecReader) -> tuple[str, int, str | None]:
    device = reader.rest(matching(_DEVICE), _DEVICE_RULE)
    speed = reader.option(
        "speed",
        serial_limits.BAUD,
        lambda text: int(text) if text.isascii() and text.isdigit() and int(text) in SPEEDS else None,
        ", ".join(map(str, SPEEDS)),
    )
    return device, speed, reader.name()


def _full_radio(reader: SpecReader) -> RadioChoice:
    """Parse the settings of a radio that we set up."""
    radio = _law(reader)
    if radio.wanted is None:
        reader.fail(
            "it has no settings for the radio",
            "&plan= such as EU868.a, or &frequency= and what follows",
        )
    return radio


def _law_only(reader: SpecReader) -> RadioChoice:
    """Parse the region of a radio that is set up by its own app."""
    radio = _law(reader)
    if radio.wanted is not None or radio.power_dbm is not None or radio.pongs:
        reader.fail(
            "it asks a radio to reach boards, or to be set up otherwise than by its own app", _LAW_OPTIONS
        )
    return radio


def _law(reader: SpecReader) -> RadioChoice:
    radio = read_radio(reader)
    if radio is None:
        reader.fail(
            "it names no region, whose law a radio must keep",
            f"{'?' if not reader.spec.count('?') else '&'}region=EU868, or another region",
        )
    return radio
