"""Discovery and states of a node, rendered as Home Assistant renders them."""

import dataclasses
import json
import re
from typing import Any

from jinja2 import Environment

from tests.catalog.fake import ANA, BOB, CYD
from tinyssb_node.alerts.homeassistant.discovery import messages
from tinyssb_node.alerts.homeassistant.report import LastMessage, NodeReport, OtherNode
from tinyssb_node.content.telemetry import PositionRecord, SensorRecord
from tinyssb_node.screens.check_result import CheckResult

NODE = ANA.hex()[:16]
START_US = 1_760_000_000_000_000
SENSORS = SensorRecord(
    battery_percent=87,
    voltage_mv=3_912,
    solar_mw=512,
    temperature_dc=-185,
    humidity_percent=71,
    pressure_dhpa=9_312,
    status="Hut {{ open }}",
    version="tinyssb 0.9",
    hardware="Pi Zero 2 W",
)
REPORT = NodeReport(
    name="hut",
    feed=ANA.hex(),
    version="0.1.0",
    problems=[CheckResult("daemon", ok=False, found="not open", advice="Open it.", about="face lora:hut")],
    free_bytes=12_345_678_901,
    entries=1_234,
    airtime=0.34567,
    heard_us=START_US + 61_000_000,
    last=LastMessage(id="ab" * 20, author="Bob 12", text='Soup {{ 1 }} "now"', committed_us=START_US),
    others=[
        OtherNode(
            feed=BOB,
            name="Bob",
            heard_us=START_US,
            sensors=SENSORS,
            position=PositionRecord(latitude=4_737_690, longitude=-854_170, radius_m=12, altitude_m=408),
        ),
        OtherNode(feed=CYD, name="Cyd", heard_us=None, sensors=SensorRecord(battery_percent=101)),
    ],
)
Documents = dict[str, dict[str, Any]]


def documents(report: NodeReport = REPORT, *, says: bool = True) -> Documents:
    return {topic: json.loads(payload) for topic, payload in messages(report, NODE, says=says).items()}


def states(found: Documents, device: str) -> dict[str, object]:
    """Return what the templates of a device say, by component: the state, else the attributes."""
    config = found[f"homeassistant/device/{device}/config"]
    said: dict[str, object] = {}
    for name, part in config["components"].items():
        template = part.get("value_template", part.get("json_attributes_template"))
        if template is not None:
            value = found[config["state_topic"]]
            said[name] = Environment(autoescape=False).from_string(template).render(value_json=value)
    return said


def attributes(found: Documents, device: str, name: str) -> object:
    config = found[f"homeassistant/device/{device}/config"]
    part = config["components"][name]
    value = found[part["json_attributes_topic"]]
    template = Environment(autoescape=False).from_string(part["json_attributes_template"])
    return json.loads(template.render(value_json=value))


def test_our_node_says_how_it_is() -> None:
    found = documents()
    assert states(found, f"tinyssb_{NODE}") == {
        "problem": "ON",
        "message": 'Soup {{ 1 }} "now"',
        "entries": "1234",
        "heard": "2025-10-09T08:54:00+00:00",
        "free": "12340",
        "airtime": "34.6",
    }
    assert attributes(found, f"tinyssb_{NODE}", "problem") == {
        "problems": [{"check": "daemon", "found": "not open", "advice": "Open it."}]
    }
    assert attributes(found, f"tinyssb_{NODE}", "message") == {
        "text": 'Soup {{ 1 }} "now"',
        "author": "Bob 12",
        "id": "ab" * 20,
        "time": "2025-10-09T08:53:20+00:00",
    }
    config = found[f"homeassistant/device/tinyssb_{NODE}/config"]
    assert config["components"]["say"] == {
        "platform": "notify",
        "name": "Message",
        "command_topic": f"tinyssb-ha/{NODE}/say",
        "qos": 1,
        "unique_id": f"tinyssb_{NODE}_say",
    }
    assert config["device"]["sw_version"] == "0.1.0"


def test_a_node_that_is_well_alone_and_without_a_radio_has_less_to_say() -> None:
    quiet = NodeReport(name="hut", feed=ANA.hex(), version="0.1.0", problems=[], free_bytes=0)
    found = documents(quiet, says=False)
    assert len(found) == 2
    assert states(found, f"tinyssb_{NODE}") == {
        "problem": "OFF",
        "message": "None",
        "entries": "None",
        "heard": "None",
        "free": "0",
    }
    assert attributes(found, f"tinyssb_{NODE}", "message") == {}


def test_other_nodes_are_devices_behind_ours() -> None:
    found = documents()
    bob = f"tinyssb_{NODE}_{BOB.hex()[:16]}"
    assert states(found, bob) == {
        "heard": "2025-10-09T08:53:20+00:00",
        "battery_percent": "87",
        "voltage_v": "3.912",
        "solar_w": "0.512",
        "temperature_c": "-18.5",
        "humidity_percent": "71",
        "pressure_hpa": "931.2",
        "status": "Hut {{ open }}",
        "position": '{"altitude": 408, "gps_accuracy": 12, "latitude": 47.3769, "longitude": -8.5417}',
    }
    device = found[f"homeassistant/device/{bob}/config"]["device"]
    assert (device["name"], device["via_device"]) == ("Bob", f"tinyssb_{NODE}")
    assert (device["sw_version"], device["model"]) == ("tinyssb 0.9", "Pi Zero 2 W")
    cyd = found[f"homeassistant/device/tinyssb_{NODE}_{CYD.hex()[:16]}/config"]
    assert list(cyd["components"]) == ["heard"], "powered from outside is no level of a battery"


def test_what_expires_is_unknown_and_its_entity_stays() -> None:
    (bob, _) = REPORT.others
    before, after = documents(), documents(dataclasses.replace(REPORT, others=[bob]))
    gone = set(before) - set(after)
    key = CYD.hex()[:16]
    assert gone == {f"homeassistant/device/tinyssb_{NODE}_{key}/config", f"tinyssb-ha/{NODE}/nodes/{key}"}


def test_each_document_has_what_home_assistant_demands() -> None:
    found = documents()
    configs = {topic: document for topic, document in found.items() if topic.startswith("homeassistant/")}
    unique = [part["unique_id"] for config in configs.values() for part in config["components"].values()]
    assert len(unique) == len(set(unique))
    assert len(configs) == 3
    for topic, config in configs.items():
        assert re.fullmatch(r"homeassistant/device/[a-zA-Z0-9_-]+/config", topic)
        assert config["origin"]["name"]
        assert config["device"]["identifiers"]
        assert config["state_topic"] in found
        assert config["availability_topic"] == f"tinyssb-ha/{NODE}/status"
        for part in config["components"].values():
            assert part["platform"] in {"sensor", "binary_sensor", "notify", "device_tracker"}
