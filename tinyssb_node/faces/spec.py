"""Spec strings: how a user names a face. The grammar, with all options and examples, is in docs/reference/faces.md.

udp:GROUP:PORT   ws:listen:HOST:PORT   ws:connect:HOST:PORT   ether:HOST:PORT      each with ?option=value&…
kiss:DEVICE      rnode:DEVICE          meshtastic:DEVICE      meshcore:DEVICE
ble:peripheral   ble:central           lora:BOARD             mqtt:HOST:PORT
"""

import ipaddress
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from tinyssb_node import limits
from tinyssb_node.faces.ble_spec import (
    BleCentralSpec,
    BlePeripheralSpec,
    BleSpec,
    parse_ble,
    serialize_ble,
)
from tinyssb_node.faces.errors import FaceSpecError
from tinyssb_node.faces.face import Endpoint
from tinyssb_node.faces.lora_spec import LoraSpec, parse_lora, serialize_lora
from tinyssb_node.faces.mqtt_spec import MqttSpec, parse_mqtt, serialize_mqtt
from tinyssb_node.faces.radio import RadioChoice
from tinyssb_node.faces.radio_options import RADIO_OPTIONS, read_radio, write_radio
from tinyssb_node.faces.serial_spec import (
    KissSpec,
    MeshcoreSpec,
    MeshtasticSpec,
    RnodeSpec,
    SerialSpec,
    parse_serial,
    serialize_serial,
)
from tinyssb_node.faces.spec_reader import NAME_RULE, SpecReader, bracketed, read_interface
from tinyssb_node.faces.ws_spec import WsConnectSpec, WsListenSpec, parse_ws, serialize_ws
from tinyssb_node.ids import FaceName

SCHEMES: Final = (
    "udp:GROUP:PORT, ws:listen:HOST:PORT, ws:connect:HOST:PORT, ether:HOST:PORT, kiss:DEVICE, rnode:DEVICE, "
    "meshtastic:DEVICE, meshcore:DEVICE, ble:peripheral, ble:central, lora:BOARD, mqtt:HOST:PORT"
)
"""The forms of a spec string, as errors show them."""
TTL_MAX: Final = 255
"""Highest time to live of an IP packet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UdpSpec:
    """A UDP multicast group."""

    group: str = limits.UDP_GROUP
    """IPv4 multicast address."""
    port: int = limits.UDP_PORT
    """1 to 65535."""
    interface: str | None = None
    """Name or IPv4 address of the network interface; None: the one the system picks."""
    ttl: int = limits.UDP_TTL_DEFAULT
    """Hops a datagram may take, 0 (this host only) to 255."""
    copies: bool = True
    """Whether peers heard lately also get a unicast copy: phones often sleep through multicast."""
    name: str | None = None
    """The face's name; None: made from the rest."""

    @property
    def face_name(self) -> FaceName:
        """``udp``, or ``udp:INTERFACE``."""
        return FaceName(self.name or ("udp" if self.interface is None else f"udp:{self.interface}"))


@dataclass(frozen=True, slots=True, kw_only=True)
class EtherSpec:
    """A place on a modelled LoRa channel."""

    host: str
    """Host of the ether."""
    port: int
    """1 to 65535."""
    name: str
    """The node's name on the ether, by which links are cut."""
    radio: RadioChoice | None = None
    """Whose law to keep, and what the ether must be set to; None: neither, since a modelled channel knows no law."""

    @property
    def face_name(self) -> FaceName:
        """``ether:NAME``."""
        return FaceName(f"ether:{self.name}")


FaceSpec = UdpSpec | WsListenSpec | WsConnectSpec | EtherSpec | SerialSpec | BleSpec | LoraSpec | MqttSpec
"""What a spec string can say."""


def _is_multicast(host: str) -> bool:
    try:
        return ipaddress.IPv4Address(host).is_multicast
    except ValueError:
        return False


def parse_spec(text: str) -> FaceSpec:
    """Read a spec string. Raises FaceSpecError, which names what is wrong and what could stand there."""
    if len(text) > limits.FACE_SPEC_MAX:
        raise FaceSpecError(
            text[:40] + "…", f"it has {len(text)} characters", f"up to {limits.FACE_SPEC_MAX}"
        )
    reader = SpecReader(text)
    if reader.skip("udp:"):
        return _parse_udp(reader)
    if (websocket := parse_ws(reader)) is not None:
        return websocket
    if reader.skip("ether:"):
        return _parse_ether(reader)
    if (serial := parse_serial(reader)) is not None:
        return serial
    if (bluetooth := parse_ble(reader)) is not None:
        return bluetooth
    if (board := parse_lora(reader)) is not None:
        return board
    if (broker := parse_mqtt(reader)) is not None:
        return broker
    raise FaceSpecError(text, "it begins with nothing known", SCHEMES)


def _parse_udp(reader: SpecReader) -> UdpSpec:
    group, port = reader.place(port_min=1)
    if not _is_multicast(group):
        reader.fail(
            f"'{group}' is no multicast group", f"224.0.0.0 to 239.255.255.255, usually {limits.UDP_GROUP}"
        )
    spec = UdpSpec(
        group=group,
        port=port,
        interface=reader.option(
            "interface", None, read_interface, "the name or IPv4 address of an interface"
        ),
        ttl=reader.number("ttl", limits.UDP_TTL_DEFAULT, 0, TTL_MAX),
        copies=reader.switch("copies", default=True),
        name=reader.name(),
    )
    reader.end("interface, ttl, copies, name")
    return spec


def _parse_ether(reader: SpecReader) -> EtherSpec:
    host, port = reader.place(port_min=1)
    name = reader.name()
    if name is None:
        reader.fail("it gives no name", "?name= and " + NAME_RULE)
    radio = read_radio(reader)
    reader.end(f"name, {RADIO_OPTIONS}")
    return EtherSpec(host=host, port=port, name=name, radio=radio)


def serialize_spec(spec: FaceSpec) -> str:
    """The shortest spec string that ``parse_spec`` reads as *spec*."""
    match spec:
        case UdpSpec():
            address = f"udp:{spec.group}:{spec.port}"
            options = {
                "interface": spec.interface,
                "ttl": str(spec.ttl) if spec.ttl != limits.UDP_TTL_DEFAULT else None,
                "copies": None if spec.copies else "off",
            }
        case WsListenSpec() | WsConnectSpec():
            address, options = serialize_ws(spec)
        case EtherSpec():
            address = f"ether:{bracketed(spec.host)}:{spec.port}"
            options = {} if spec.radio is None else write_radio(spec.radio)
        case KissSpec() | RnodeSpec() | MeshtasticSpec() | MeshcoreSpec():
            address, options = serialize_serial(spec)
        case BlePeripheralSpec() | BleCentralSpec():
            address, options = serialize_ble(spec)
        case LoraSpec():
            address, options = serialize_lora(spec)
        case MqttSpec():
            address, options = serialize_mqtt(spec)
    named = {"name": spec.name}
    ordered = named | options if isinstance(spec, EtherSpec) else options | named
    given = [f"{key}={quote(value, safe='/:')}" for key, value in ordered.items() if value]
    return address + ("?" + "&".join(given) if given else "")


def open_endpoint(text: str) -> Endpoint:
    """The endpoint that *text* names, not yet running. Raises FaceSpecError.

    Back ends are imported here and not above, so that a daemon loads only what its faces need.
    """
    spec = parse_spec(text)
    match spec:
        case UdpSpec():
            from tinyssb_node.faces.udp import UdpEndpoint  # noqa: PLC0415 - lazy, see above

            return UdpEndpoint(text, spec)
        case WsListenSpec():
            from tinyssb_node.faces.websocket import WsServerEndpoint  # noqa: PLC0415 - lazy, see above

            return WsServerEndpoint(text, spec)
        case WsConnectSpec():
            from tinyssb_node.faces.websocket import WsClientEndpoint  # noqa: PLC0415 - lazy, see above

            return WsClientEndpoint(text, spec)
        case EtherSpec():
            from tinyssb_node.faces.ether import EtherEndpoint  # noqa: PLC0415 - lazy, see above

            return EtherEndpoint(text, spec)
        case KissSpec() | RnodeSpec() | MeshtasticSpec() | MeshcoreSpec():
            from tinyssb_node.faces.serial import SerialEndpoint  # noqa: PLC0415 - lazy, see above

            return SerialEndpoint(text, spec)
        case BlePeripheralSpec() | BleCentralSpec():
            from tinyssb_node.faces.ble import open_ble  # noqa: PLC0415 - lazy, see above

            return open_ble(text, spec)
        case LoraSpec():
            from tinyssb_node.faces.lora import LoraEndpoint  # noqa: PLC0415 - lazy, see above

            return LoraEndpoint(text, spec)
        case MqttSpec():
            from tinyssb_node.faces.mqtt import MqttEndpoint  # noqa: PLC0415 - lazy, see above

            return MqttEndpoint(text, spec)
