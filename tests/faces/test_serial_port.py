"""Finding a device's port, whatever it is called now."""

import sys
from pathlib import Path

import pytest

from tinyssb_node.faces.serial_port import (
    PLUG_IN,
    PortFinder,
    PortProblem,
    UsbPort,
    list_usb_ports,
    open_port,
)

pytestmark = pytest.mark.realtime


def port(path: str, serial_number: str | None = "one", interface: int = 0) -> UsbPort:
    return UsbPort(
        path=path, serial_number=serial_number, vendor_id=0x10C4, product_id=0xEA60, interface=interface
    )


def test_a_path_is_taken_as_it_is(tmp_path: Path) -> None:
    device = tmp_path / "radio"
    device.touch()
    assert PortFinder(str(device), list).find() == str(device)


def test_a_device_is_found_by_its_serial_number() -> None:
    ports = [port("/dev/ttyUSB0", "two"), port("/dev/ttyUSB1", "one")]
    assert PortFinder("usb:one", lambda: ports).find() == "/dev/ttyUSB1"


def test_one_that_is_not_plugged_in_is_told() -> None:
    assert PortFinder("usb:one", list).find() == PortProblem(
        "no USB device with the serial number one is plugged in", PLUG_IN
    )
    assert PortFinder("/dev/none", list).find() == PortProblem("there is no /dev/none", PLUG_IN)


def test_a_device_known_is_found_under_another_name(tmp_path: Path) -> None:
    device = tmp_path / "ttyUSB0"
    device.touch()
    link = tmp_path / "by-id"
    link.symlink_to(device)
    ports = [port(str(device))]
    finder = PortFinder(str(link), lambda: ports)
    finder.opened(str(link))
    ports[:] = [
        port(str(device), "two"),
        port("/dev/ttyUSB7", "one", interface=1),
        port("/dev/ttyUSB8", "one"),
    ]
    assert finder.find() == "/dev/ttyUSB8"


def test_another_device_of_its_name_is_not_taken_for_it(tmp_path: Path) -> None:
    device = tmp_path / "ttyUSB0"
    device.touch()
    ports = [port(str(device))]
    finder = PortFinder(str(device), lambda: ports)
    finder.opened(str(device))
    ports[:] = [port(str(device), "two")]
    assert finder.find() == PortProblem(f"the radio of {device} is unplugged", PLUG_IN)


@pytest.mark.parametrize("ports", [[], [port("/dev/elsewhere")]])
def test_a_device_without_a_number_of_its_own_is_looked_for_at_its_path(
    tmp_path: Path, ports: list[UsbPort]
) -> None:
    device = tmp_path / "ttyAMA0"
    device.touch()
    finder = PortFinder(str(device), lambda: [*ports, port(str(device), None)])
    finder.opened(str(device))
    assert finder.find() == str(device)


def test_ports_of_this_machine_can_be_listed() -> None:
    assert all(found.path.startswith("/dev/") for found in list_usb_ports())


async def test_without_the_library_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "serialx", None)
    assert list_usb_ports() == []
    problem = await open_port("/dev/ttyUSB0", 115_200)
    assert isinstance(problem, PortProblem)
    assert "tinyssb-node[serial]" in problem.remedy


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PermissionError(13, "Permission denied"), "may not open"),
        (OSError(16, "Device or resource busy"), "another program"),
        (OSError(5, "Input/output error"), "cannot be opened (Input/output error)"),
    ],
)
async def test_what_the_system_refuses_is_told(
    monkeypatch: pytest.MonkeyPatch, error: OSError, words: str
) -> None:
    import serialx

    async def refuse(*_args: object, **_options: object) -> None:
        raise error

    monkeypatch.setattr(serialx, "open_serial_connection", refuse)
    problem = await open_port("/dev/ttyUSB0", 115_200)
    assert isinstance(problem, PortProblem)
    assert words in problem.what
    assert problem.remedy
