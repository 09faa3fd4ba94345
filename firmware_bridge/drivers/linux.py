"""SPI and GPIO of a Raspberry Pi: the packages spidev and gpiod (libgpiod 2), imported when a radio is opened."""

import errno
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

from firmware_bridge.boards import BoardProfile
from firmware_bridge.drivers import limits
from firmware_bridge.drivers.errors import (
    BusFailedError,
    BusMissingError,
    ForbiddenError,
    GpioMissingError,
    LibraryMissingError,
    LineTakenError,
)
from firmware_bridge.drivers.wiring import idle_levels

if TYPE_CHECKING:
    import gpiod
    import spidev

HEADER_LABELS: Final = ("pinctrl-bcm2835", "pinctrl-bcm2711", "pinctrl-rp1")
"""Labels of the GPIO chip with the header's lines: Pi Zero to 3, Pi 4, Pi 5. Its number differs between kernels."""
CONSUMER: Final = "tinyssb"
"""What `gpioinfo` shows as the user of our lines."""
SPI_MODE: Final = 0
"""Clock low, data at the rising edge (SX127x data sheet 2.2, SX126x 8.2)."""


class SpidevBus:
    """Implements ``hardware.Bus``."""

    def __init__(self, device: "spidev.SpiDev") -> None:
        self._device = device

    def transfer(self, data: bytes) -> bytes:
        """See Bus."""
        return bytes(self._device.xfer2(list(data)))

    def close(self) -> None:
        """See Bus."""
        self._device.close()


class GpiodLines:
    """Implements ``hardware.Lines``."""

    def __init__(self, request: "gpiod.LineRequest") -> None:
        self._request = request

    @property
    def fd(self) -> int:
        """See Lines."""
        return self._request.fd

    def set(self, line: int, high: bool) -> None:
        """See Lines."""
        from gpiod.line import Value  # noqa: PLC0415 - the package is optional

        self._request.set_value(line, Value.ACTIVE if high else Value.INACTIVE)

    def get(self, line: int) -> bool:
        """See Lines."""
        from gpiod.line import Value  # noqa: PLC0415 - the package is optional

        return self._request.get_value(line) is Value.ACTIVE

    def take_edges(self) -> int:
        """See Lines."""
        if not self._request.wait_edge_events(0):
            return 0
        return len(self._request.read_edge_events(limits.EDGES_MAX))

    def close(self) -> None:
        """See Lines."""
        self._request.release()


class LinuxHardware:
    """Implements ``hardware.Hardware``."""

    def __init__(self, bus: SpidevBus, lines: GpiodLines) -> None:
        self.bus = bus
        self.lines = lines

    def close(self) -> None:
        """See Hardware."""
        self.bus.close()
        self.lines.close()


def open_linux(profile: BoardProfile) -> LinuxHardware:
    """Open *profile*'s bus and lines.

    Raises LibraryMissingError, BusMissingError, ForbiddenError, GpioMissingError, LineTakenError, BusFailedError.
    """
    spidev, gpiod = _libraries()
    bus = _open_bus(profile, spidev)
    try:
        lines = _open_lines(profile, gpiod)
    except BaseException:
        bus.close()
        raise
    return LinuxHardware(bus, lines)


def _libraries() -> tuple[ModuleType, ModuleType]:
    try:
        import spidev  # noqa: PLC0415 - the package is optional
    except ImportError as error:
        raise LibraryMissingError("spidev") from error
    try:
        import gpiod  # noqa: PLC0415 - the package is optional
    except ImportError as error:
        raise LibraryMissingError("gpiod") from error
    return spidev, gpiod


def _open_bus(profile: BoardProfile, spidev: ModuleType) -> SpidevBus:
    device = spidev.SpiDev()
    try:
        device.open_path(profile.device)
        device.max_speed_hz = profile.speed_hz
        device.mode = SPI_MODE
        if profile.pins.cs is not None:
            _free_chip_select(device)
    except FileNotFoundError as error:
        raise BusMissingError(profile.device, profile.config_txt) from error
    except PermissionError as error:
        raise ForbiddenError(profile.device, "spi") from error
    except OSError as error:
        raise BusFailedError(profile.device, error.strerror or str(error)) from error
    return SpidevBus(device)


def _free_chip_select(device: "spidev.SpiDev") -> None:
    """Keep the controller from driving its own chip select; not every controller can be told (EINVAL), in which case
    the overlay spi0-0cs has taken the line away from it."""
    try:
        device.no_cs = True
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise


def _open_lines(profile: BoardProfile, gpiod: ModuleType) -> GpiodLines:
    path = _header_chip(gpiod)
    try:
        return GpiodLines(
            gpiod.request_lines(str(path), consumer=CONSUMER, config=_line_settings(profile, gpiod))
        )
    except PermissionError as error:
        raise ForbiddenError(str(path), "gpio") from error
    except OSError as error:
        raise LineTakenError(profile.pins.used(), error.strerror or str(error)) from error


def _line_settings(profile: BoardProfile, gpiod: ModuleType) -> dict[int, object]:
    """Outputs with their first level, BUSY as an input, and the interrupt line with its rising edges."""
    line = gpiod.line
    config: dict[int, object] = {
        number: gpiod.LineSettings(
            direction=line.Direction.OUTPUT, output_value=line.Value.ACTIVE if high else line.Value.INACTIVE
        )
        for number, high in idle_levels(profile).items()
    }
    if profile.pins.busy is not None:
        config[profile.pins.busy] = gpiod.LineSettings(direction=line.Direction.INPUT)
    assert profile.pins.irq is not None, "profiles without it are refused"
    config[profile.pins.irq] = gpiod.LineSettings(
        direction=line.Direction.INPUT, edge_detection=line.Edge.RISING, bias=line.Bias.PULL_DOWN
    )
    return config


def _header_chip(gpiod: ModuleType) -> Path:
    """The GPIO chip whose lines are on the header."""
    labels = []
    forbidden: Path | None = None
    for path in _gpio_chips():
        try:
            with gpiod.Chip(str(path)) as chip:
                label = chip.get_info().label
        except PermissionError:
            forbidden = path
            continue
        except OSError as error:
            labels.append(f"{path.name} ({error.strerror})")
            continue
        if label in HEADER_LABELS:
            return path
        labels.append(label)
    if forbidden is not None:
        raise ForbiddenError(str(forbidden), "gpio")
    raise GpioMissingError(tuple(labels))


def _gpio_chips() -> Iterator[Path]:
    yield from sorted(Path("/dev").glob("gpiochip*"))
