"""Spec strings: how a user names a face. The grammar, with all options and examples, is in docs/reference/faces.md.

udp:GROUP:PORT   ws:listen:HOST:PORT   ws:connect:HOST:PORT   ether:HOST:PORT      each with ?option=value&…
kiss:DEVICE      rnode:DEVICE          meshtastic:DEVICE      meshcore:DEVICE
ble:peripheral   ble:central           lora:BOARD             mqtt:HOST:PORT
"""

from collections.abc import Callable
from typing import Final

from tinyssb_node import limits
from tinyssb_node.faces.ble_spec import (
    BleCentralSpec,
    BlePeripheralSpec,
    BleSpec,
    parse_ble,
)
from tinyssb_node.faces.errors import FaceSpecError
from tinyssb_node.faces.ether_spec import EtherSpec, parse_ether
from tinyssb_node.faces.face import Endpoint
from tinyssb_node.faces.lora_spec import LoraSpec, parse_lora
from tinyssb_node.faces.mqtt_spec import MqttSpec, parse_mqtt
from tinyssb_node.faces.serial_spec import (
    KissSpec,
    MeshcoreSpec,
    MeshtasticSpec,
    RnodeSpec,
    SerialSpec,
    parse_serial,
)
from tinyssb_node.faces.spec_reader import SpecReader
from tinyssb_node.faces.udp_spec import UdpSpec, parse_udp
from tinyssb_node.faces.ws_spec import WsConnectSpec, WsListenSpec, parse_ws

SCHEMES: Final = (
    "udp:GROUP:PORT, ws:listen:HOST:PORT, ws:connect:HOST:PORT, ether:HOST:PORT, kiss:DEVICE, rnode:DEVICE, "
    "meshtastic:DEVICE, meshcore:DEVICE, ble:peripheral, ble:central, lora:BOARD, mqtt:HOST:PORT"
)
"""The forms of a spec string, as errors show them."""

FaceSpec = UdpSpec | WsListenSpec | WsConnectSpec | EtherSpec | SerialSpec | BleSpec | LoraSpec | MqttSpec
"""A parsed spec string."""

_PARSERS: Final[tuple[Callable[[SpecReader], FaceSpec | None], ...]] = (
    parse_udp, parse_ws, parse_ether, parse_serial, parse_ble, parse_lora, parse_mqtt,
)  # fmt: skip


def parse_spec(text: str) -> FaceSpec:
    """Parse a spec string. Raises FaceSpecError, which names the mistake and possible values."""
    if len(text) > limits.FACE_SPEC_MAX:
        raise FaceSpecError(
            text[:40] + "…", f"it has {len(text)} characters", f"up to {limits.FACE_SPEC_MAX}"
        )
    reader = SpecReader(text)
    for parse in _PARSERS:
        if (spec := parse(reader)) is not None:
            return spec
    raise FaceSpecError(text, "it begins with nothing known", SCHEMES)


def endpoint_name(spec: FaceSpec) -> str:
    """Return the name of the endpoint of *spec*, which no other one of a node has: the user's name for it, else that of
    its face; of a listening server, whose faces are numbered, that in front of the number."""
    return spec.name or (f"ws:{spec.port}" if isinstance(spec, WsListenSpec) else spec.face_name)


def open_endpoint(text: str) -> Endpoint:
    """Return the endpoint that *text* names, not yet running. Raises FaceSpecError.

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
