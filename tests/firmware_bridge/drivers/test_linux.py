"""spidev and gpiod as this package uses them: gpiod's own types, under it a kernel that is a fake."""

import errno
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Self

import gpiod
import pytest
from gpiod.line import Bias, Direction, Edge, Value

from firmware_bridge.boards import load_board
from firmware_bridge.drivers import linux
from firmware_bridge.drivers.errors import RadioError
from firmware_bridge.drivers.linux import open_linux

BOARD = load_board("meshadv-pi")
PLAIN = load_board("adafruit-lora-bonnet")


class FakeSpi:
    """spidev.SpiDev, with a device that says back what it is told, inverted."""

    opened: "list[FakeSpi]"
    open_error: OSError | None = None
    no_cs_error: OSError | None = None

    def __init__(self) -> None:
        self.opened.append(self)
        self.closed = False
        self.max_speed_hz = 0
        self.mode = -1
        self.path = ""

    def __setattr__(self, name: str, value: object) -> None:
        if name == "no_cs" and self.no_cs_error is not None:
            raise self.no_cs_error
        super().__setattr__(name, value)

    def open_path(self, path: str) -> None:
        if self.open_error is not None:
            raise self.open_error
        self.path = path

    def xfer2(self, values: list[int]) -> tuple[int, ...]:
        return tuple(value ^ 0xFF for value in values)

    def close(self) -> None:
        self.closed = True


class FakeChip:
    """gpiod.Chip by path."""

    labels: "dict[str, str | OSError]"

    def __init__(self, path: str) -> None:
        label = self.labels[path]
        if isinstance(label, OSError):
            raise label
        self._label = label

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def get_info(self) -> Any:
        return type("Info", (), {"label": self._label})


class FakeDevices:
    """The folder /dev."""

    def glob(self, pattern: str) -> list[Path]:
        return [path for path in map(Path, FakeChip.labels) if path.match(pattern)]


class FakeRequest:
    """gpiod.LineRequest."""

    fd = 77

    def __init__(self, path: str, consumer: str, config: dict[int, gpiod.LineSettings]) -> None:
        self.path, self.consumer, self.config = path, consumer, config
        self.values: dict[int, Value] = {}
        self.edges = 0
        self.released = False

    def set_value(self, line: int, value: Value) -> None:
        self.values[line] = value

    def get_value(self, line: int) -> Value:
        return self.values.get(line, Value.INACTIVE)

    def wait_edge_events(self, timeout: float) -> bool:
        assert timeout == 0
        return self.edges > 0

    def read_edge_events(self, max_events: int) -> list[object]:
        taken, self.edges = min(self.edges, max_events), 0
        return [object()] * taken

    def release(self) -> None:
        self.released = True


class Machine:
    """A Pi as spidev and gpiod show it."""

    def __init__(self) -> None:
        self.requests: list[FakeRequest] = []
        self.request_error: OSError | None = None

    def request_lines(
        self, path: str, *, consumer: str, config: dict[int, gpiod.LineSettings]
    ) -> FakeRequest:
        if self.request_error is not None:
            raise self.request_error
        self.requests.append(FakeRequest(path, consumer, config))
        return self.requests[-1]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine()
    spidev: Any = ModuleType("spidev")
    spidev.SpiDev = type("SpiDev", (FakeSpi,), {"opened": []})
    monkeypatch.setitem(sys.modules, "spidev", spidev)
    monkeypatch.setattr(gpiod, "request_lines", machine.request_lines)
    monkeypatch.setattr(gpiod, "Chip", FakeChip)
    # A Pi 5 with an older kernel: the header's chip is the fifth.
    FakeChip.labels = {"/dev/gpiochip0": "gpio-brcmstb@107d508500", "/dev/gpiochip4": "pinctrl-rp1"}
    monkeypatch.setattr(linux, "DEVICES", FakeDevices())
    return machine


def spi() -> Any:
    """The device that was opened."""
    return sys.modules["spidev"].SpiDev.opened[-1]


def test_lines_are_asked_for_as_the_profile_says(machine: Machine) -> None:
    hardware = open_linux(BOARD)
    (request,) = machine.requests
    assert (request.path, request.consumer) == ("/dev/gpiochip4", "tinyssb")
    outputs = {
        line: settings.output_value
        for line, settings in request.config.items()
        if settings.direction is Direction.OUTPUT
    }
    assert outputs == {
        21: Value.ACTIVE, 18: Value.ACTIVE, 13: Value.INACTIVE, 12: Value.INACTIVE,
    }  # fmt: skip
    assert request.config[20].direction is Direction.INPUT
    irq = request.config[16]
    assert (irq.direction, irq.edge_detection, irq.bias) == (Direction.INPUT, Edge.RISING, Bias.PULL_DOWN)
    assert set(request.config) == {21, 18, 13, 12, 20, 16}
    hardware.close()
    assert request.released
    assert spi().closed


def test_lines_are_driven_and_read(machine: Machine) -> None:
    hardware = open_linux(BOARD)
    hardware.set(18, False)
    hardware.set(21, True)
    assert machine.requests[0].values == {18: Value.INACTIVE, 21: Value.ACTIVE}
    assert hardware.get(21)
    assert not hardware.get(20)
    assert hardware.fd == 77
    assert hardware.take_edges() == 0
    machine.requests[0].edges = 3
    assert hardware.take_edges() == 3


def test_the_bus_is_set_up_as_the_profile_says(machine: Machine) -> None:
    hardware = open_linux(BOARD)
    assert (spi().path, spi().max_speed_hz, spi().mode) == ("/dev/spidev0.0", 2_000_000, 0)
    assert spi().no_cs is True
    assert hardware.transfer(b"\x42\x00") == b"\xbd\xff"


def test_a_chip_select_of_the_controllers_stays_its_own(machine: Machine) -> None:
    open_linux(PLAIN)
    assert not hasattr(spi(), "no_cs")
    assert spi().path == "/dev/spidev0.1"


def test_a_controller_that_cannot_leave_its_chip_select_alone(machine: Machine) -> None:
    sys.modules["spidev"].SpiDev.no_cs_error = OSError(errno.EINVAL, "Invalid argument")
    assert open_linux(BOARD).transfer(b"\x00") == b"\xff"
    sys.modules["spidev"].SpiDev.no_cs_error = OSError(errno.EIO, "Input/output error")
    with pytest.raises(RadioError, match=r"/dev/spidev0\.0 fails: Input/output error"):
        open_linux(BOARD)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            FileNotFoundError(2, "No such file"),
            "does not exist. Put 'dtparam=spi=on' and 'dtoverlay=spi0-0cs' into",
        ),
        (PermissionError(13, "Permission denied"), "may not open it.*sudo usermod -aG spi NAME"),
        (OSError(19, "No such device"), "/dev/spidev0.0 fails: No such device"),
    ],
)
def test_a_bus_that_cannot_be_opened(machine: Machine, error: OSError, words: str) -> None:
    sys.modules["spidev"].SpiDev.open_error = error
    with pytest.raises(RadioError, match=words):
        open_linux(BOARD)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(16, "Device or resource busy"), "GPIO 21 .cs.*is in use .Device or resource busy"),
        (PermissionError(13, "Permission denied"), "may not open it.*sudo usermod -aG gpio NAME"),
    ],
)
def test_lines_that_cannot_be_had_give_the_bus_back(machine: Machine, error: OSError, words: str) -> None:
    machine.request_error = error
    with pytest.raises(RadioError, match=words):
        open_linux(BOARD)
    assert spi().closed


@pytest.mark.parametrize("label", linux.HEADER_LABELS)
def test_the_header_is_found_on_every_model(machine: Machine, label: str) -> None:
    FakeChip.labels = {"/dev/gpiochip0": OSError(5, "broken"), "/dev/gpiochip1": label}
    open_linux(BOARD)
    assert machine.requests[0].path == "/dev/gpiochip1"


def test_a_machine_that_is_no_raspberry_pi(machine: Machine) -> None:
    FakeChip.labels = {"/dev/gpiochip0": "INT34C6:00"}
    with pytest.raises(RadioError, match="No GPIO chip of a Raspberry Pi was found, only INT34C6:00"):
        open_linux(BOARD)
    FakeChip.labels = {}
    with pytest.raises(RadioError, match="was found, only none at all"):
        open_linux(BOARD)


def test_gpio_chips_that_may_not_be_looked_at(machine: Machine) -> None:
    FakeChip.labels = {"/dev/gpiochip0": PermissionError(13, "Permission denied")}
    with pytest.raises(RadioError, match="/dev/gpiochip0 is there, but this user may not open it"):
        open_linux(BOARD)


@pytest.mark.parametrize("package", ["spidev", "gpiod"])
def test_a_missing_package_is_said_with_what_installs_it(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(RadioError, match=f"{package} is not installed"):
        open_linux(BOARD)
