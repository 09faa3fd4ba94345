"""docs/reference/faces.md and docs/formats/ether.md say what the code does."""

import dataclasses
import re
from pathlib import Path

import msgspec
import pytest

from tests.faces.spec_writer import serialize_spec
from tinyssb_node import limits
from tinyssb_node.faces import ether_protocol
from tinyssb_node.faces.ether_spec import EtherSpec
from tinyssb_node.faces.radio_options import RADIO_OPTIONS
from tinyssb_node.faces.spec import parse_spec
from tinyssb_node.faces.udp_spec import UdpSpec
from tinyssb_node.faces.ws_spec import CONNECT_OPTIONS, LISTEN_OPTIONS, WsConnectSpec, WsListenSpec

DOCS = Path(__file__).parents[2] / "docs"
FACES = (DOCS / "reference" / "faces.md").read_text()
ETHER = (DOCS / "formats" / "ether.md").read_text()
EXAMPLES = re.findall(r"^(?:udp|ws|ether):\S+$", FACES, re.MULTILINE)


@pytest.mark.parametrize("text", EXAMPLES)
def test_examples_can_be_read(text: str) -> None:
    assert serialize_spec(parse_spec(text)) == text


def test_there_are_examples_of_every_kind() -> None:
    assert {type(parse_spec(text)) for text in EXAMPLES} == {UdpSpec, WsListenSpec, WsConnectSpec, EtherSpec}


@pytest.mark.parametrize(
    ("scheme", "spec"),
    [("udp", UdpSpec), ("ws:listen", WsListenSpec), ("ws:connect", WsConnectSpec), ("ether", EtherSpec)],
)
def test_every_option_has_its_row(
    scheme: str, spec: type[UdpSpec | WsListenSpec | WsConnectSpec | EtherSpec]
) -> None:
    options = {field.name for field in dataclasses.fields(spec)} - {"group", "host", "port", "name"}
    if "radio" in options:
        options = options - {"radio"} | set(RADIO_OPTIONS.split(", "))
    if "guard" in options:
        options = set(LISTEN_OPTIONS.split(", ")) - {"name"}
    if "credentials" in options:
        options = set(CONNECT_OPTIONS.split(", ")) - {"name"}
    assert set(re.findall(rf"^\| `{scheme}` \| `(\w+)`", FACES, re.MULTILINE)) == options


MESSAGES = [
    message
    for message in vars(ether_protocol).values()
    if isinstance(message, type) and issubclass(message, msgspec.Struct) and message.__struct_config__.tag
]


@pytest.mark.parametrize("message", MESSAGES)
def test_every_line_of_the_ether_has_its_row_with_its_fields(message: type[msgspec.Struct]) -> None:
    row = re.search(rf"^\| `{message.__struct_config__.tag}` \|.*$", ETHER, re.MULTILINE)
    assert row is not None
    assert [field for field in message.__struct_fields__ if f"`{field}`" not in row[0]] == []


def test_the_example_conversation_is_one() -> None:
    said = re.findall(r"^> (.*)$", ETHER, re.MULTILINE)
    answered = re.findall(r"^< (.*)$", ETHER, re.MULTILINE)
    assert len(said) == 2
    assert len(answered) == 3
    assert None not in [ether_protocol.parse_from_client(line.encode()) for line in said]
    assert None not in [ether_protocol.parse_from_ether(line.encode()) for line in answered]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (ETHER, f"version {limits.ETHER_VERSION}"),
        (ETHER, f"port {limits.ETHER_PORT}"),
        (ETHER, f"{limits.ETHER_LINE_MAX:,} bytes"),
        (ETHER, f"queue of {limits.ETHER_QUEUE}"),
        (ETHER, f"{limits.ETHER_NODES_MAX} nodes at a time and {limits.ETHER_CONTROLS_MAX} connections"),
        (ETHER, f"{limits.ETHER_CUTS_MAX} at most"),
        (ETHER, f"within {limits.ETHER_HELLO_S:.0f} s"),
        (FACES, f"at most {limits.FACE_SPEC_MAX} characters"),
        (FACES, f"within {limits.UDP_COPY_WINDOW_S} s"),
        (FACES, f"{limits.BACKOFF_MIN_S:.0f} to {limits.BACKOFF_MAX_S:.0f} s"),
        (FACES, f"beyond {limits.WS_MESSAGE_MAX:,} bytes"),
        (FACES, f"ping every {limits.WS_PING_S:.0f} s"),
    ],
)
def test_numbers_are_those_of_the_code(text: str, number: str) -> None:
    assert number in text
