"""A port of which nobody says what is there: looked at once, and told in a sentence."""

import os
import pty
import tty
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from firmware_bridge.drivers.probe import Finding
from tests.emulated.serial_air import Air
from tests.faces.serial_rig import KINDS, plugged
from tests.faces.test_serial import Impostor
from tinyssb_node.faces.serial_port import UsbPort
from tinyssb_node.faces.serial_probe import probe_port

pytestmark = pytest.mark.realtime

QUICK_S = 0.02
SPEED = 115_200


async def look(device: str, ports: list[UsbPort] | None = None) -> list[Finding]:
    return [finding async for finding in probe_port(device, SPEED, QUICK_S, list_ports=lambda: ports or [])]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_radio_is_named_with_the_face_it_is_for(kind: str) -> None:
    scheme, _, make = KINDS[kind]
    with plugged(make(Air(), 1)) as plug:
        port, device = await look(plug.path)
    assert port == Finding(check="port", ok=True, found=f"{plug.path} is ours, at 115200 bits a second")
    assert device.ok
    assert f'"{scheme}:{plug.path}?region=EU868' in device.advice
    assert ("&plan=" in device.advice) == (scheme in {"kiss", "rnode"})
    assert ("&stock=on" in device.advice) == (kind == "kiss-stock")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9\r\n", "it is a GPS receiver"),
        (b"\r\nERROR\r\n", "it is a telephone modem"),
        (b"", "nothing answers"),
    ],
)
async def test_what_is_no_radio_is_named_with_what_to_do(text: bytes, words: str) -> None:
    with plugged(Impostor(text)) as plug:
        _, device = await look(plug.path)
    assert not device.ok
    assert device.found.startswith(words)
    assert device.advice


async def test_a_port_that_is_not_there_is_said() -> None:
    (port,) = await look("/dev/nowhere")
    assert (port.ok, port.found) == (False, "there is no /dev/nowhere")
    (port,) = await look("usb:E66")
    assert port.found == "no USB device with the serial number E66 is plugged in"
    assert "Plug the radio in" in port.advice


async def test_a_usb_device_is_found_by_its_serial_number() -> None:
    with plugged(KINDS["kiss"][2](Air(), 1)) as plug:
        usb = UsbPort(path=plug.path, serial_number="E66", vendor_id=1, product_id=2, interface=0)
        port, device = await look("usb:E66", [usb])
    assert plug.path in port.found
    assert '"kiss:usb:E66?region=EU868' in device.advice


@contextmanager
def an_open_terminal() -> Iterator[tuple[int, str]]:
    master, slave = pty.openpty()
    tty.setraw(slave)
    path = os.ttyname(slave)
    os.close(slave)
    yield master, path


async def test_a_port_that_is_unplugged_meanwhile_is_one_where_nothing_answers() -> None:
    with an_open_terminal() as (master, path):
        looking = probe_port(path, SPEED, QUICK_S, list_ports=list)
        assert (await anext(looking)).ok
        os.close(master)
        assert (await anext(looking)).found == "nothing answers"
