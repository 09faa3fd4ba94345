"""Spec strings of MQTT."""

import dataclasses
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.faces.spec_writer import serialize_spec
from tinyssb_node.faces import limits
from tinyssb_node.faces.errors import FaceSpecError
from tinyssb_node.faces.mqtt import MqttEndpoint
from tinyssb_node.faces.mqtt_spec import MQTT_OPTIONS, MqttSpec
from tinyssb_node.faces.spec import open_endpoint, parse_spec

FACES = (Path(__file__).parents[2] / "docs" / "reference" / "faces.md").read_text()
FILES = st.from_regex(r"/[A-Za-z0-9._/ %=-]{1,30}", fullmatch=True)
ROOTS = st.from_regex(r"[a-z0-9._-]{1,9}(/[a-z0-9._-]{1,9}){0,2}", fullmatch=True)
NAMES = st.none() | st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}", fullmatch=True)


@st.composite
def specs(draw: st.DrawFn) -> MqttSpec:
    tls = draw(st.booleans())
    pair = draw(st.none() | st.tuples(FILES, FILES)) if tls else None
    user = draw(st.none() | st.from_regex(r"[ -~é]{1,20}", fullmatch=True))
    here = user is not None and not tls
    private = draw(st.booleans())
    return MqttSpec(
        host="localhost"
        if here
        else draw(st.sampled_from(["broker.example.org", "192.0.2.1", "2001:db8::1"])),
        port=draw(st.integers(1, 65_535)),
        tls=tls,
        ca=draw(st.none() | FILES) if tls else None,
        cert=pair and pair[0],
        key=pair and pair[1],
        user=user,
        password=draw(FILES) if user and private else None,
        credential="mqtt.password" if user and not private else None,
        root=draw(ROOTS),
        gossip=draw(st.booleans()),
        version=draw(st.sampled_from(["5", "3.1.1"])),
        name=draw(NAMES),
    )


@given(specs())
def test_what_is_written_is_read_the_same(spec: MqttSpec) -> None:
    assert parse_spec(serialize_spec(spec)) == spec


EXAMPLES = re.findall(r"^mqtt:\S+$", FACES, re.MULTILINE)


@pytest.mark.parametrize("text", EXAMPLES)
def test_examples_can_be_read(text: str) -> None:
    assert serialize_spec(parse_spec(text)) == text
    assert isinstance(open_endpoint(text), MqttEndpoint)


def test_there_are_examples() -> None:
    assert EXAMPLES


def test_every_option_has_its_row() -> None:
    options = {field.name for field in dataclasses.fields(MqttSpec)} - {"host", "port"}
    assert options == set(MQTT_OPTIONS.split(", "))
    rows = re.findall(r"^\| `mqtt` \| ([^|]*)\|", FACES, re.MULTILINE)
    assert {option for row in rows for option in re.findall(r"`(\w+)`", row)} == options - {"name"}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("mqtt:broker", "'broker' is no address"),
        ("mqtt:broker:0", "the port is 0"),
        ("mqtt:broker:1883?tls=yes", "tls is 'yes'. Possible: on, off"),
        ("mqtt:broker:1883?ca=/ca.pem", "it names certificates, but uses no TLS. Possible: tls=on"),
        ("mqtt:broker:8883?tls=on&ca=ca.pem", "ca is 'ca.pem'. Possible: an absolute path"),
        ("mqtt:broker:8883?tls=on&cert=/a", "a certificate and its key go together"),
        ("mqtt:broker:8883?tls=on&user=ana", "a user and the password go together"),
        ("mqtt:broker:8883?tls=on&password=/p", "a user and the password go together"),
        ("mqtt:broker:8883?tls=on&user=a&password=/p&credential=c", "it names two places of the password"),
        ("mqtt:broker:1883?user=a&password=/p", "without TLS the password could be read on the way"),
        ("mqtt:192.0.2.7:1883?user=a&credential=c", "without TLS the password could be read on the way"),
        ("mqtt:broker:1883?root=a/%23", "root is 'a/#'. Possible: levels like home/tinyssb"),
        ("mqtt:broker:1883?root=" + "a" * (limits.MQTT_ROOT_MAX + 1), "root is"),
        ("mqtt:broker:1883?version=3", "version is '3'. Possible: 5, 3.1.1"),
        ("mqtt:broker:1883?qos=1", "there is no option 'qos'. Possible: tls, ca,"),
        ("mqtt:ana:secret@broker:1883", "is no address"),
    ],
)
def test_what_makes_no_sense_is_named(text: str, what: str) -> None:
    with pytest.raises(FaceSpecError) as caught:
        parse_spec(text)
    assert what in str(caught.value)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
def test_on_this_machine_a_password_needs_no_tls(host: str) -> None:
    parse_spec(f"mqtt:{host}:1883?user=ana&password=/p")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("mqtt:broker:1883", "mqtt:broker:1883"),
        ("mqtt:[::1]:1883", "mqtt:[::1]:1883"),
        ("mqtt:broker:1883?name=home", "home"),
    ],
)
def test_how_the_face_is_called(text: str, name: str) -> None:
    spec = parse_spec(text)
    assert isinstance(spec, MqttSpec)
    assert spec.face_name == name
