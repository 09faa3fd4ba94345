"""Spec strings of radios on cables: they come back, are documented, and are refused with what could stand there."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge.lora import LoraSettings
from firmware_bridge.regions import Antenna, Region
from tests.faces.spec_writer import serialize_spec
from tinyssb_node.faces.errors import FaceSpecError
from tinyssb_node.faces.radio import RadioChoice
from tinyssb_node.faces.radio_options import RADIO_OPTIONS
from tinyssb_node.faces.serial_spec import (
    SPEEDS,
    KissSpec,
    MeshcoreSpec,
    MeshtasticSpec,
    RnodeSpec,
    SerialSpec,
)
from tinyssb_node.faces.spec import open_endpoint, parse_spec

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (DOCS / "reference/faces.md").read_text() + (DOCS / "howto/serial-radio.md").read_text()
EXAMPLES = sorted(set(re.findall(r"(?:kiss|rnode|meshtastic|meshcore):[/u][^\s\"]+", PAGES)))
EUROPE = RadioChoice(region=Region.EU868)
PLANNED = "region=EU868&plan=EU868.a"

devices = st.from_regex(r"/dev/[A-Za-z0-9._:/+@#=-]{1,60}", fullmatch=True).filter(
    lambda text: "#" not in text
) | st.from_regex(r"usb:[A-Za-z0-9._:-]{1,64}", fullmatch=True)
speeds = st.sampled_from(SPEEDS)
names = st.none() | st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}", fullmatch=True)
channels = st.from_regex(r"[A-Za-z0-9._-]{1,11}", fullmatch=True)
radios = st.sampled_from(
    (
        RadioChoice(region=Region.EU868, plan="EU868.a"),
        RadioChoice(region=Region.EU868, plan="E22-868", power_dbm=10, pongs=True),
        RadioChoice(region=Region.EU868, lora=LoraSettings(frequency_hz=869_525_000, bandwidth_hz=250_000)),
    )
)
laws = st.sampled_from((EUROPE, RadioChoice(region=Region.EU868, antenna=Antenna(gain_cdbi=500))))
specs: st.SearchStrategy[SerialSpec] = st.one_of(
    st.builds(KissSpec, device=devices, radio=radios, speed=speeds, stock=st.booleans(), name=names),
    st.builds(RnodeSpec, device=devices, radio=radios, speed=speeds, name=names),
    st.builds(MeshtasticSpec, device=devices, radio=laws, speed=speeds, channel=channels, name=names),
    st.builds(MeshcoreSpec, device=devices, radio=laws, speed=speeds, channel=channels, name=names),
)


@given(specs)
def test_specs_come_back(spec: SerialSpec) -> None:
    assert parse_spec(serialize_spec(spec)) == spec


@given(st.sampled_from(("kiss:", "rnode:", "meshtastic:", "meshcore:")), st.text(max_size=100))
def test_any_text_is_a_spec_or_refused(scheme: str, rest: str) -> None:
    try:
        spec = parse_spec(scheme + rest)
    except FaceSpecError:
        return
    assert parse_spec(serialize_spec(spec)) == spec


@pytest.mark.parametrize("text", [text for text in EXAMPLES if "…" not in text])
def test_examples_in_the_docs_can_be_read(text: str) -> None:
    assert serialize_spec(parse_spec(text)) == text


def test_there_are_examples_of_every_kind() -> None:
    kinds = {type(parse_spec(text)) for text in EXAMPLES if "…" not in text}
    assert kinds == {KissSpec, RnodeSpec, MeshtasticSpec, MeshcoreSpec}


@pytest.mark.parametrize(
    ("scheme", "options"),
    [
        ("kiss", {*RADIO_OPTIONS.split(", "), "stock", "speed"}),
        ("rnode", {*RADIO_OPTIONS.split(", "), "speed"}),
        ("meshtastic", {"region", "gain", "loss", "channel", "speed"}),
        ("meshcore", {"region", "gain", "loss", "channel", "speed"}),
    ],
)
def test_every_option_has_its_row(scheme: str, options: set[str]) -> None:
    rows = re.findall(rf"^\| [^|]*`{scheme}`[^|]* \| ([^|]+) \|", PAGES, re.MULTILINE)
    assert {option for row in rows for option in re.findall(r"`(\w+)`", row)} == options


@pytest.mark.parametrize("speed", SPEEDS)
def test_every_speed_is_documented(speed: int) -> None:
    assert str(speed) in PAGES


@pytest.mark.parametrize(
    ("text", "what", "allowed"),
    [
        ("kiss:/dev/ttyUSB0", "names no region", "?region=EU868"),
        ("kiss:/dev/ttyUSB0?speed=9600", "names no region", "&region=EU868"),
        ("kiss:/dev/ttyUSB0?region=EU868", "has no settings for the radio", "&plan="),
        (f"kiss:ttyUSB0?{PLANNED}", "'ttyUSB0' is no address", "/dev/serial/by-id"),
        (f"kiss:usb:?{PLANNED}", "'usb:' is no address", "USB serial number"),
        (f"kiss:/dev/tty USB0?{PLANNED}", "is no address", "a path"),
        (f"kiss:/dev/ttyUSB0?{PLANNED}&speed=100", "speed is '100'", "115200"),
        (f"kiss:/dev/ttyUSB0?{PLANNED}&stock=yes", "stock is 'yes'", "on, off"),
        (f"kiss:/dev/ttyUSB0?{PLANNED}&channel=a", "no option 'channel'", "stock"),
        ("rnode:/dev/ttyUSB0?region=US915&plan=US915.a", "not legal", "500 kHz"),
        (f"rnode:/dev/ttyUSB0?{PLANNED}&stock=on", "no option 'stock'", "plan"),
        (f"meshtastic:/dev/ttyACM0?{PLANNED}", "by its own app", "region"),
        ("meshcore:/dev/ttyACM0?region=EU868&power=14", "by its own app", "gain"),
        ("meshcore:/dev/ttyACM0?region=EU868&pongs=on", "reach boards", "gain"),
        ("meshcore:/dev/ttyACM0?region=EU868&channel=a+b", "channel is", "1 to 11"),
    ],
)
def test_what_cannot_be_is_refused_with_what_could(text: str, what: str, allowed: str) -> None:
    with pytest.raises(FaceSpecError) as error:
        parse_spec(text)
    assert what in error.value.what
    assert allowed in error.value.allowed


@pytest.mark.parametrize("text", [text for text in EXAMPLES if "…" not in text])
def test_endpoints_are_made_without_touching_a_port(text: str) -> None:
    endpoint = open_endpoint(text)
    assert (endpoint.spec, endpoint.problem) == (text, None)
