"""Discovery and states as messages of MQTT (docs/formats/homeassistant.md). Pure: they follow from a report."""

import datetime as dt
import json
from collections.abc import Mapping
from typing import Final

from tinyssb_node.alerts.homeassistant.report import NodeReport, OtherNode
from tinyssb_node.content.telemetry import DEGREE, SensorRecord

Document = dict[str, object]
PREFIX: Final = "homeassistant"
"""Home Assistant's default discovery prefix."""
ROOT: Final = "tinyssb-ha"
"""First part of our own topics."""
_POWERED: Final = 101
_TOLD: Final = "{{ value_json.%s }}"


def status_topic(node: str) -> str:
    """Return the topic that says whether the bridge of *node*, 16 digits, is `online` or `offline`."""
    return f"{ROOT}/{node}/status"


def say_topic(node: str) -> str:
    """Return the topic to which Home Assistant publishes texts."""
    return f"{ROOT}/{node}/say"


def nodes_topics(node: str) -> str:
    """Return the topic filter for the states of other nodes."""
    return _other_state(node, "+")


def topics_of_other(node: str, topic: str) -> tuple[str, str] | None:
    """Return the topics of the device whose state is published at *topic*; None if that is no such topic."""
    key = topic.removeprefix(_other_state(node, ""))
    return None if key == topic or "/" in key else (_other_config(node, key), topic)


def _other_state(node: str, key: str) -> str:
    return f"{ROOT}/{node}/nodes/{key}"


def _other_config(node: str, key: str) -> str:
    return f"{PREFIX}/device/tinyssb_{node}_{key}/config"


def messages(report: NodeReport, node: str, *, says: bool) -> dict[str, bytes]:
    """Return the payload of each topic, all of them retained; *says*: texts of Home Assistant are published."""
    found = {
        f"{PREFIX}/device/tinyssb_{node}/config": _own_device(report, node, says=says),
        f"{ROOT}/{node}/state": _own_state(report),
    }
    for other in report.others:
        key = other.feed.hex()[:16]
        found[_other_config(node, key)] = _device(report, other, node, key)
        found[_other_state(node, key)] = _state(other)
    return {topic: json.dumps(document, sort_keys=True).encode() for topic, document in found.items()}


def _own_device(report: NodeReport, node: str, *, says: bool) -> Document:
    parts: dict[str, Document] = {
        "problem": {
            "platform": "binary_sensor",
            "name": "Problem",
            "device_class": "problem",
            "value_template": "{{ 'ON' if value_json.problems else 'OFF' }}",
            "json_attributes_topic": f"{ROOT}/{node}/state",
            "json_attributes_template": "{{ {'problems': value_json.problems} | tojson }}",
            "entity_category": "diagnostic",
        },
        "message": {
            "platform": "sensor",
            "name": "Last message",
            "icon": "mdi:message-text",
            "value_template": "{{ value_json.message.text if value_json.message else None }}",
            "json_attributes_topic": f"{ROOT}/{node}/state",
            "json_attributes_template": "{{ (value_json.message or {}) | tojson }}",
        },
        "entries": _sensor("Entries", "entries", state_class="measurement", diagnostic=True),
        "heard": _sensor("Last packet received", "heard", device_class="timestamp", diagnostic=True),
        "free": _sensor(
            "Free disk", "free", "MB", device_class="data_size", state_class="measurement", diagnostic=True
        ),
    }
    if report.airtime is not None:
        parts["airtime"] = _sensor("Airtime used", "airtime", "%", state_class="measurement", diagnostic=True)
    if says:
        parts["say"] = {"platform": "notify", "name": "Message", "command_topic": say_topic(node), "qos": 1}
    return {
        "device": _about(report.name, f"tinyssb_{node}", report.version),
        **_shared(report, node, f"{ROOT}/{node}/state", parts),
    }


def _own_state(report: NodeReport) -> Document:
    last = report.last
    return {
        "problems": [
            {"check": one.check, "found": one.found, "advice": one.advice} for one in report.problems
        ],
        "entries": report.entries,
        "airtime": None if report.airtime is None else round(100 * report.airtime, 1),
        "heard": _moment(report.heard_us, 60),
        "free": report.free_bytes // 10_000_000 * 10,
        "message": None
        if last is None
        else {"text": last.text, "author": last.author, "id": last.id, "time": _moment(last.committed_us)},
    }


_SENSORS: Final[Mapping[str, Document]] = {
    "battery_percent": {"name": "Battery", "device_class": "battery", "unit_of_measurement": "%"},
    "voltage_v": {"name": "Voltage", "device_class": "voltage", "unit_of_measurement": "V"},
    "solar_w": {"name": "Solar power", "device_class": "power", "unit_of_measurement": "W"},
    "temperature_c": {"name": "Temperature", "device_class": "temperature", "unit_of_measurement": "°C"},
    "humidity_percent": {"name": "Humidity", "device_class": "humidity", "unit_of_measurement": "%"},
    "pressure_hpa": {
        "name": "Pressure",
        "device_class": "atmospheric_pressure",
        "unit_of_measurement": "hPa",
    },
}


def _device(report: NodeReport, other: OtherNode, node: str, key: str) -> Document:
    topic = _other_state(node, key)
    parts: dict[str, Document] = {"heard": _sensor("Last entry", "heard", device_class="timestamp")}
    for name, value in _values(other.sensors).items():
        if value is not None and name in _SENSORS:
            parts[name] = {
                "platform": "sensor",
                "state_class": "measurement",
                "value_template": _TOLD % name,
                **_SENSORS[name],
            }
    if other.sensors is not None and other.sensors.status:
        parts["status"] = _sensor("Status", "status")
    if other.position is not None:
        parts["position"] = {
            "platform": "device_tracker",
            "name": "Position",
            "source_type": "gps",
            "json_attributes_topic": topic,
            "json_attributes_template": "{{ (value_json.position or {}) | tojson }}",
        }
    sensors = other.sensors or SensorRecord()
    about = _about(other.name, f"tinyssb_{key}", sensors.version, sensors.hardware)
    return {
        "device": {**about, "via_device": f"tinyssb_{node}"},
        **_shared(report, f"{node}_{key}", topic, parts, node),
    }


def _state(other: OtherNode) -> Document:
    place = other.position
    position: Document | None = None
    if place is not None and place.latitude is not None and place.longitude is not None:
        position = {"latitude": place.latitude / DEGREE, "longitude": place.longitude / DEGREE}
        if place.radius_m is not None:
            position["gps_accuracy"] = place.radius_m
        if place.altitude_m is not None:
            position["altitude"] = place.altitude_m
    return {**_values(other.sensors), "heard": _moment(other.heard_us), "position": position}


def _values(record: SensorRecord | None) -> Document:
    """Return the values of sensors in the units of ``_SENSORS``."""
    if record is None:
        record = SensorRecord()
    percent = record.battery_percent
    return {
        "battery_percent": None if percent == _POWERED else percent,
        "voltage_v": _scaled(record.voltage_mv, 1_000),
        "solar_w": _scaled(record.solar_mw, 1_000),
        "temperature_c": _scaled(record.temperature_dc, 10),
        "humidity_percent": record.humidity_percent,
        "pressure_hpa": _scaled(record.pressure_dhpa, 10),
        "status": record.status,
    }


def _shared(
    report: NodeReport, key: str, topic: str, parts: Mapping[str, Document], node: str | None = None
) -> Document:
    """Return what the parts of a device have in common, and the parts, each with an id that is unique for ever."""
    return {
        "origin": {"name": "tinySSB", "sw_version": report.version},
        "availability_topic": status_topic(node or key),
        "state_topic": topic,
        "components": {name: {"unique_id": f"tinyssb_{key}_{name}", **part} for name, part in parts.items()},
    }


def _about(name: str, identifier: str, version: str | None, hardware: str | None = None) -> Document:
    about: Document = {"identifiers": [identifier], "name": name, "manufacturer": "tinySSB"}
    stated = {"sw_version": version, "model": hardware}
    return {**about, **{key: text for key, text in stated.items() if text is not None}}


def _sensor(
    name: str,
    value: str,
    unit: str | None = None,
    *,
    device_class: str | None = None,
    state_class: str | None = None,
    diagnostic: bool = False,
) -> Document:
    optional = {"unit_of_measurement": unit, "device_class": device_class, "state_class": state_class}
    part: Document = {"platform": "sensor", "name": name, "value_template": _TOLD % value}
    part |= {key: given for key, given in optional.items() if given is not None}
    return {**part, "entity_category": "diagnostic"} if diagnostic else part


def _moment(us: int | None, step_s: int = 1) -> str | None:
    """Return a time as ISO 8601, in whole steps so that it does not change with each look."""
    if us is None:
        return None
    return dt.datetime.fromtimestamp(us // 1_000_000 // step_s * step_s, dt.UTC).isoformat()


def _scaled(value: int | None, factor: int) -> float | None:
    return None if value is None else value / factor
