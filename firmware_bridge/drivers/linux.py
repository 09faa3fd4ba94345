"""SPI and GPIO of a Raspberry Pi, by the packages spidev and gpiod (libgpiod 2), which are imported on opening."""

import errno
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

from firmware_bridge.boards import BoardProfile
from firmware_bridge.drivers.errors import (
    RadioError,
    access_denied,
    bus_failed,
    bus_missing,
    library_missing,
)
from firmware_bridge.drivers.wiring import idle_levels

if TYPE_CHECKING:
    import spidev
    from gpiod import LineRequest

DEVICES: Final = Path("/dev")
"""The folder of device files."""
HEADER_LABELS: Final = ("pinctrl-bcm2835", "pinctrl-bcm2711", "pinctrl-rp1")
"""Labels of the GPIO chip with the header's lines: Pi Zero to 3, Pi 4, Pi 5. The chip's number differs by kernel."""


class LinuxHardware:
    """A board on Linux's spidev and gpiod. Implements ``hardware.Hardware``."""

    def __init__(self, device: "spidev.SpiDev", request: "LineRequest") -> None:
        self._device = device
        self._request = request

    @property
    def fd(self) -> int:
        """See Hardware."""
        return self._request.fd

    def transfer(self, data: bytes) -> bytes:
        """See Hardware."""
        return bytes(self._device.xfer2(list(data)))

    def set(self, line: int, high: bool) -> None:
        """See Hardware."""
        from gpiod.line import Value  # noqa: PLC0415 - the package is optional

        self._request.set_value(line, Value.ACTIVE if high else Value.INACTIVE)

    def get(self, line: int) -> bool:
        """See Hardware."""
        from gpiod.line import Value  # noqa: PLC0415 - the package is optional

        return self._request.get_value(line) is Value.ACTIVE

    def take_edges(self) -> int:
        """See Hardware."""
        if not self._request.wait_edge_events(0):
            return 0
        return len(self._request.read_edge_events(16))

    def close(self) -> None:
        """See Hardware."""
        self._device.close()
        self._request.release()


def open_linux(profile: BoardProfile) -> LinuxHardware:
    """Open *profile*'s bus and lines. Raises RadioError."""
    spidev, gpiod = _libraries()
    device = _open_bus(profile, spidev)
    try:
        return LinuxHardware(device, _request_lines(profile, gpiod))
    except BaseException:
        device.close()
        raise


def _libraries() -> tuple[ModuleType, ModuleType]:
    try:
        import spidev  # noqa: PLC0415 - the package is optional
    except ImportError as error:
        raise library_missing("spidev") from error
    try:
        import gpiod  # noqa: PLC0415 - the package is optional
    except ImportError as error:
        raise library_missing("gpiod") from error
    return spidev, gpiod


def _open_bus(profile: BoardProfile, spidev: ModuleType) -> "spidev.SpiDev":
    device = spidev.SpiDev()
    try:
        device.open_path(profile.bus.device)
        device.max_speed_hz = profile.bus.speed_hz
        device.mode = 0  # clock low, data at the rising edge (SX127x data sheet 2.2, SX126x 8.2)
        if profile.pins.cs is not None:
            _free_chip_select(device)
    except FileNotFoundError as error:
        raise bus_missing(profile.bus.device, profile.config_txt) from error
    except PermissionError as error:
        raise access_denied(profile.bus.device, "spi") from error
    except OSError as error:
        raise bus_failed(profile.bus.device, error) from error
    return device


def _free_chip_select(device: "spidev.SpiDev") -> None:
    """Stop the controller from driving its own chip select. Some controllers refuse this (EINVAL); there the overlay
    spi0-0cs has taken the line away from the controller."""
    try:
        device.no_cs = True
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise


def _request_lines(profile: BoardProfile, gpiod: ModuleType) -> "LineRequest":
    path, settings = _header_chip(gpiod), _line_settings(profile, gpiod)
    try:
        request: LineRequest = gpiod.request_lines(str(path), consumer="tinyssb", config=settings)
    except PermissionError as error:
        raise access_denied(str(path), "gpio") from error
    except OSError as error:
        lines = ", ".join(f"GPIO {number} ({name})" for name, number in profile.pins.used().items())
        raise RadioError(
            f"One of the lines {lines} is in use ({error.strerror or error})",
            "Stop the other program, or remove the overlay that uses it; `gpioinfo` says which.",
        ) from error
    return request


def _line_settings(profile: BoardProfile, gpiod: ModuleType) -> dict[int, object]:
    """Configure outputs with their first level, BUSY as an input, and the interrupt line for rising edges."""
    line = gpiod.line
    config: dict[int, object] = {
        number: gpiod.LineSettings(
            direction=line.Direction.OUTPUT, output_value=line.Value.ACTIVE if high else line.Value.INACTIVE
        )
        for number, high in idle_levels(profile).items()
    }
    if profile.pins.busy is not None:
        config[profile.pins.busy] = gpiod.LineSettings(direction=line.Direction.INPUT)
    assert profile.pins.irq is not None, "profiles without it are rejected"
    config[profile.pins.irq] = gpiod.LineSettings(
        direction=line.Direction.INPUT, edge_detection=line.Edge.RISING, bias=line.Bias.PULL_DOWN
    )
    return config


def _header_chip(gpiod: ModuleType) -> Path:
    """Find the GPIO chip whose lines are on the header. Raises RadioError."""
    labels = []
    denied: Path | None = None
    for path in sorted(DEVICES.glob("gpiochip*")):
        try:
            with gpiod.Chip(str(path)) as chip:
                label = chip.get_info().label
        except PermissionError:
            denied = path
            continue
        except OSError as error:
            labels.append(f"{path.name} ({error.strerror})")
            continue
        if label in HEADER_LABELS:
            return path
        labels.append(label)
    if denied is not None:
        raise access_denied(str(denied), "gpio")
    raise RadioError(
        f"No GPIO chip of a Raspberry Pi was found, only {', '.join(labels) or 'none at all'}",
        "Board profiles are for a Raspberry Pi: run this on one.",
    )
