"""Spec strings of Bluetooth."""

import dataclasses
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge.ble import gatt
from firmware_bridge.ble import limits as ble_limits
from tests.faces.spec_writer import serialize_spec
from tinyssb_node import limits
from tinyssb_node.faces.ble import BleCentralEndpoint, BlePeripheralEndpoint
from tinyssb_node.faces.ble_spec import BleCentralSpec, BlePeripheralSpec, BleSpec
from tinyssb_node.faces.errors import FaceSpecError
from tinyssb_node.faces.spec import open_endpoint, parse_spec

NAMES = st.none() | st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}", fullmatch=True)
ROLES = st.sampled_from([BlePeripheralSpec, BleCentralSpec])
ADAPTERS = st.none() | st.from_regex(r"hci[0-9]{1,2}", fullmatch=True)
DONGLES = st.sampled_from(["usb:0", "usb:0a12:0001#2", "serial:/dev/ttyUSB0,115200", "hci-socket:0"])
LINKS = st.integers(1, 7)
SPECS = st.one_of(
    st.builds(lambda role, **rest: role(**rest), ROLES, adapter=ADAPTERS, links=LINKS, name=NAMES),
    st.builds(lambda role, **rest: role(**rest), ROLES, dongle=DONGLES, links=LINKS, name=NAMES),
)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("ble:peripheral", BlePeripheralSpec()),
        ("ble:central", BleCentralSpec()),
        (
            "ble:peripheral?adapter=hci1&links=3&name=app",
            BlePeripheralSpec(adapter="hci1", links=3, name="app"),
        ),
        ("ble:central?dongle=usb:0", BleCentralSpec(dongle="usb:0")),
    ],
)
def test_what_is_said(text: str, spec: BleSpec) -> None:
    assert parse_spec(text) == spec
    assert serialize_spec(spec) == text


@given(SPECS)
def test_what_is_written_is_read_the_same(spec: BleSpec) -> None:
    assert parse_spec(serialize_spec(spec)) == spec


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("ble:", "'' is no address. Possible: peripheral (be found by phones), central (find boards)"),
        ("ble:both", "'both' is no address"),
        ("ble:central?adapter=eth0", "adapter is 'eth0'. Possible: hci0"),
        ("ble:central?dongle=/dev/sda", "dongle is '/dev/sda'. Possible: usb:0"),
        ("ble:central?dongle=usb:0&adapter=hci0", "names both an adapter and a dongle"),
        ("ble:peripheral?links=8", "links is '8'. Possible: 1 to 7"),
        ("ble:peripheral?board=1", "there is no option 'board'. Possible: adapter, dongle, links, name"),
    ],
)
def test_what_cannot_be_read_is_told(text: str, what: str) -> None:
    with pytest.raises(FaceSpecError) as caught:
        parse_spec(text)
    assert what in str(caught.value)


def test_the_page_has_every_option_and_its_examples_can_be_read() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/faces.md").read_text()
    told = re.findall(r"^\| `ble:peripheral`, `ble:central` \| `(\w+)`", page, re.MULTILINE)
    assert told == [field.name for field in dataclasses.fields(BleCentralSpec) if field.name != "name"]
    examples = re.findall(r"^ble:\S+$", page, re.MULTILINE)
    assert {type(parse_spec(text)) for text in examples} == {BlePeripheralSpec, BleCentralSpec}
    assert [serialize_spec(parse_spec(text)) for text in examples] == examples
    for uuid in (gatt.SERVICE_UUID, gatt.WRITE_UUID, gatt.NOTIFY_UUID, gatt.STATUS_UUID):
        assert f"`{uuid}`" in page
    for told_number in (
        f"listens for {limits.BLE_SCAN_S:.0f} s, then leaves the adapter to its links for {limits.BLE_REST_S:.0f} s",
        f"sent a packet every {limits.BLE_PHONE_GAP_US // 1000} ms at most",
        f"boards one every {limits.BLE_BOARD_GAP_US // 1000} ms",
        f"MTU is below {ble_limits.VALUE_SIZE_MAX + ble_limits.ATT_HEADER_SIZE}",
    ):
        assert told_number in page


def test_faces_are_named_after_their_role() -> None:
    assert (BlePeripheralSpec().face_name, BleCentralSpec().face_name) == ("ble", "board")
    assert (BlePeripheralSpec(name="x").face_name, BleCentralSpec(name="y").face_name) == ("x", "y")


def test_each_role_opens_its_endpoint() -> None:
    assert isinstance(open_endpoint("ble:peripheral"), BlePeripheralEndpoint)
    assert isinstance(open_endpoint("ble:central?dongle=usb:0"), BleCentralEndpoint)
