"""The writer of spec strings: the way back from ``parse_spec``, for tests that go both ways.

Each function but the first returns the address and the options of a face; options at their default are None.
"""

from decimal import Decimal
from pathlib import Path
from urllib.parse import quote

from firmware_bridge.ble import limits as ble_limits
from firmware_bridge.lora import LoraSettings
from firmware_bridge.plans import FirmwareRelease
from firmware_bridge.regions import Antenna
from firmware_bridge.serial import limits as serial_limits
from tinyssb_node import limits
from tinyssb_node.faces.ble_spec import BleCentralSpec, BlePeripheralSpec, BleSpec
from tinyssb_node.faces.ether_spec import EtherSpec
from tinyssb_node.faces.lora_spec import LoraSpec
from tinyssb_node.faces.mqtt_spec import MqttSpec
from tinyssb_node.faces.mqtt_topics import ROOT
from tinyssb_node.faces.radio import RadioChoice
from tinyssb_node.faces.serial_spec import (
    CHANNEL_DEFAULT,
    KissSpec,
    MeshcoreSpec,
    MeshtasticSpec,
    RnodeSpec,
    SerialSpec,
)
from tinyssb_node.faces.spec import FaceSpec
from tinyssb_node.faces.spec_reader import bracketed
from tinyssb_node.faces.udp_spec import UdpSpec
from tinyssb_node.faces.ws_spec import WsConnectSpec, WsListenSpec

_LORA = LoraSettings()
_HALF_WAVE = Antenna()


def serialize_spec(spec: FaceSpec) -> str:
    """Return the shortest spec string that ``parse_spec`` parses as *spec*."""
    match spec:
        case UdpSpec():
            address, options = _udp(spec)
        case WsListenSpec() | WsConnectSpec():
            address, options = _ws(spec)
        case EtherSpec():
            address, options = _ether(spec)
        case KissSpec() | RnodeSpec() | MeshtasticSpec() | MeshcoreSpec():
            address, options = _serial(spec)
        case BlePeripheralSpec() | BleCentralSpec():
            address, options = _ble(spec)
        case LoraSpec():
            address, options = _lora(spec)
        case MqttSpec():
            address, options = _mqtt(spec)
    named = {"name": spec.name}
    ordered = named | options if isinstance(spec, EtherSpec) else options | named
    given = [f"{key}={quote(value, safe='/:')}" for key, value in ordered.items() if value]
    return address + ("?" + "&".join(given) if given else "")


def _udp(spec: UdpSpec) -> tuple[str, dict[str, str | None]]:
    options = {
        "interface": spec.interface,
        "ttl": str(spec.ttl) if spec.ttl != limits.UDP_TTL_DEFAULT else None,
        "copies": None if spec.copies else "off",
    }
    return f"udp:{spec.group}:{spec.port}", options


def _ws(spec: WsListenSpec | WsConnectSpec) -> tuple[str, dict[str, str | None]]:
    if isinstance(spec, WsListenSpec):
        guard = spec.guard
        return f"ws:listen:{bracketed(spec.host)}:{spec.port}", {
            "peers": str(spec.peers) if spec.peers != limits.WS_PEERS_MAX else None,
            **_files(cert=guard.certificate, key=guard.key, clients=guard.clients, token=guard.token),
            "open": "on" if guard.open else None,
            "each": None if guard.each is None else str(guard.each),
            "rate": None if guard.rate is None else str(guard.rate),
            "idle": None if guard.idle_s is None else str(guard.idle_s),
        }
    given = spec.credentials
    return f"ws:connect:{bracketed(spec.host)}:{spec.port}", {
        "path": spec.path if spec.path != "/" else None,
        "tls": "on" if given.tls else None,
        **_files(ca=given.authorities),
        "pin": None if given.pin is None else given.pin.hex(),
        **_files(cert=given.certificate, key=given.key, token=given.token),
    }


def _files(**files: Path | None) -> dict[str, str | None]:
    return {key: None if file is None else str(file) for key, file in files.items()}


def _ether(spec: EtherSpec) -> tuple[str, dict[str, str | None]]:
    options = {} if spec.radio is None else _radio(spec.radio)
    return f"ether:{bracketed(spec.host)}:{spec.port}", options


def _serial(spec: SerialSpec) -> tuple[str, dict[str, str | None]]:
    options = _radio(spec.radio)
    if isinstance(spec, KissSpec):
        options["stock"] = "on" if spec.stock else None
    if isinstance(spec, MeshtasticSpec | MeshcoreSpec):
        options["channel"] = spec.channel if spec.channel != CHANNEL_DEFAULT else None
    options["speed"] = str(spec.speed) if spec.speed != serial_limits.BAUD else None
    return f"{spec.kind}:{spec.device}", options


def _ble(spec: BleSpec) -> tuple[str, dict[str, str | None]]:
    role = "peripheral" if isinstance(spec, BlePeripheralSpec) else "central"
    return f"ble:{role}", {
        "adapter": spec.adapter,
        "dongle": spec.dongle,
        "links": str(spec.links) if spec.links != ble_limits.LINKS_MAX else None,
    }


def _lora(spec: LoraSpec) -> tuple[str, dict[str, str | None]]:
    options = _radio(spec.radio)
    options["crc"] = "on" if spec.crc else None
    options["emulated"] = "on" if spec.emulated else None
    return f"lora:{spec.board}", options


def _mqtt(spec: MqttSpec) -> tuple[str, dict[str, str | None]]:
    return f"mqtt:{spec.place}", {
        "tls": "on" if spec.tls else None,
        "ca": spec.ca,
        "cert": spec.cert,
        "key": spec.key,
        "user": spec.user,
        "password": spec.password,
        "credential": spec.credential,
        "root": spec.root if spec.root != ROOT else None,
        "gossip": None if spec.gossip else "off",
        "version": spec.version if spec.version != "5" else None,
    }


def _radio(choice: RadioChoice) -> dict[str, str | None]:
    lora, antenna = choice.lora, choice.antenna
    options: dict[str, str | None] = {
        "region": choice.region,
        "plan": choice.plan,
        "firmware": choice.firmware if choice.firmware is not FirmwareRelease.FW2025 else None,
    }
    if lora is not None:
        options |= {
            "frequency": _shown(lora.frequency_hz, 1_000_000),
            "bandwidth": _unless(lora.bandwidth_hz, _LORA.bandwidth_hz, 1_000),
            "sf": _unless(lora.spreading_factor, _LORA.spreading_factor),
            "cr": _unless(lora.coding_rate, _LORA.coding_rate),
            "sync": f"{lora.sync_word:#04x}" if lora.sync_word != _LORA.sync_word else None,
        }
    return options | {
        "power": None if choice.power_dbm is None else str(choice.power_dbm),
        "gain": _unless(antenna.gain_cdbi, _HALF_WAVE.gain_cdbi, 100),
        "loss": _unless(antenna.loss_cdb, _HALF_WAVE.loss_cdb, 100),
        "pongs": "on" if choice.pongs else None,
    }


def _unless(value: int, default: int, unit: int = 1) -> str | None:
    return None if value == default else _shown(value, unit)


def _shown(value: int, unit: int) -> str:
    text = f"{Decimal(value) / unit:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
