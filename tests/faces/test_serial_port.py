"""Finding a device's port, whatever it is called now."""

import shutil
import sys
from pathlib import Path

import pytest
from serialx.platforms import serial_linux

from tinyssb_node.faces.serial_port import (
    PLUG_IN,
    PortFinder,
    PortProblem,
    UsbPort,
    list_usb_ports,
    open_port,
)


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


class UsbBus:
    """Two radios at USB as the system shows them, with the links that udev makes, as serialx reads it."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.dev, self._sys, self._bus = root / "dev", root / "sys", root / "bus" / "usb"
        self._bus.mkdir(parents=True)
        (self.dev / "serial" / "by-id").mkdir(parents=True)
        monkeypatch.setattr(serial_linux, "DEV_ROOT", self.dev)
        monkeypatch.setattr(serial_linux, "SYS_ROOT", self._sys)

    def plug_in(self, name: str, serial_number: str) -> None:
        """A radio of that number is plugged in, and called *name*."""
        device = self._sys / "devices" / serial_number
        interface = device / "1-1:1.0"
        (interface / "driver").mkdir(parents=True, exist_ok=True)
        told = {"idVendor": "2e8a", "idProduct": "000a", "bcdDevice": "0100", "serial": serial_number}
        for key, value in told.items():
            (device / key).write_text(f"{value}\n")
        (interface / "bInterfaceNumber").write_text("00\n")
        (interface / "subsystem").symlink_to(self._bus)
        (self.dev / name).touch()
        self.link(serial_number).symlink_to(self.dev / name)
        tty = self._sys / "class" / "tty" / name
        tty.mkdir(parents=True)
        (tty / "device").symlink_to(interface)

    def pull_all(self) -> None:
        """Nothing is plugged in any more."""
        shutil.rmtree(self._sys)
        for path in (*self.dev.glob("tty*"), *self.link("").parent.iterdir()):
            path.unlink()

    def link(self, serial_number: str) -> Path:
        """The link of the radio of that number."""
        return self.dev / "serial" / "by-id" / f"usb-Raspberry_Pi_Pico_{serial_number}-if00"


def test_a_device_given_by_its_path_is_found_though_its_name_is_another_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bus = UsbBus(tmp_path, monkeypatch)
    bus.plug_in("ttyACM0", "one")
    bus.plug_in("ttyACM1", "two")
    assert {found.path for found in list_usb_ports()} == {str(bus.link("one")), str(bus.link("two"))}
    finder = PortFinder(str(bus.dev / "ttyACM0"))
    path = finder.find()
    assert path == str(bus.dev / "ttyACM0")
    finder.opened(path)
    bus.pull_all()
    assert finder.find() == PortProblem(f"the radio of {path} is unplugged", PLUG_IN)
    for _ in range(2):
        bus.plug_in("ttyACM0", "two")
        bus.plug_in("ttyACM1", "one")
        assert finder.find() == str(bus.link("one"))
        finder.opened(str(bus.link("one")))
        bus.pull_all()


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
    assert "pip install 'serialx>=1.15'" in problem.remedy


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
