"""Power supplies and sensors that the kernel has drivers for, and the board, as files of /sys."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tinyssb_node.content.limits import TELEMETRY_TEXT_MAX
from tinyssb_node.telemetry import limits
from tinyssb_node.telemetry.sources.measured import Measured, merged

SYS: Final = Path("/sys")
_SOLAR: Final = ("solar", "mppt", "pv")
"""Parts of the names of supplies that are panels: the kernel has no type for them."""
_POWERED: Final = 101
"""Battery percent of a machine without one."""


def read_power(sys: Path = SYS) -> Measured:
    """Return battery, voltage and solar power (Documentation/ABI/testing/sysfs-class-power of the kernel)."""
    percent: float | None = None
    voltage_v: float | None = None
    solar_w: float | None = None
    outside = False
    for supply in _folders(sys / "class/power_supply"):
        if _text(supply, "scope") == "Device":
            continue  # the battery of a mouse
        if _text(supply, "type") == "Battery":
            percent = _number(supply, "capacity") if percent is None else percent
            voltage_v = _scaled(supply, "voltage_now", 1e-6) if voltage_v is None else voltage_v
        else:
            outside |= _text(supply, "online") == "1"
            if any(part in supply.name.lower() for part in _SOLAR):
                solar_w = (solar_w or 0.0) + (_power_w(supply) or 0.0)
    if percent is None and outside:
        percent = _POWERED
    return Measured(battery_percent=percent, voltage_v=voltage_v, solar_w=solar_w)


def _power_w(supply: Path) -> float | None:
    power_w = _scaled(supply, "power_now", 1e-6)
    voltage_v, current_a = _scaled(supply, "voltage_now", 1e-6), _scaled(supply, "current_now", 1e-6)
    if power_w is None and voltage_v is not None and current_a is not None:
        power_w = voltage_v * current_a
    return power_w


def read_sensors(sys: Path = SYS) -> Measured:
    """Return temperature, humidity and pressure of sensors on I²C, SPI or 1-Wire (sysfs-bus-iio of the kernel)."""
    return merged(
        Measured(
            temperature_c=_scaled_channel(device, "in_temp", 1e-3),
            humidity_percent=_scaled_channel(device, "in_humidityrelative", 1e-3),
            pressure_hpa=_scaled_channel(device, "in_pressure", 10),
        )
        for device in _folders(sys / "bus/iio/devices")
    )


def _scaled_channel(device: Path, channel: str, unit: float) -> float | None:
    """Return a channel's value in our unit: processed by its driver, or raw with offset and scale."""
    value = _number(device, f"{channel}_input")
    if value is None and (raw := _number(device, f"{channel}_raw")) is not None:
        offset, scale = _number(device, f"{channel}_offset") or 0.0, _number(device, f"{channel}_scale")
        value = None if scale is None else (raw + offset) * scale
    return None if value is None else value * unit


def read_board(sys: Path = SYS) -> str | None:
    """Return the model of the board in few letters, such as ``Pi Zero 2 W``: the maker of a Raspberry and the revision
    are left out, since a packet has 48 bytes. None: the kernel knows none, as on a PC."""
    model = (_text(sys / "firmware/devicetree/base", "model") or "").rstrip("\0")
    short = re.sub(" Rev [0-9.]+$", "", model.removeprefix("Raspberry "))[:TELEMETRY_TEXT_MAX].strip()
    return short if short.isascii() and short.isprintable() and short else None


def _folders(parent: Path) -> Sequence[Path]:
    return sorted(_listed(parent))[: limits.SUPPLIES_MAX]


def _listed(parent: Path) -> Iterator[Path]:
    try:
        yield from parent.iterdir()
    except OSError:
        return  # this kernel has none


def _text(folder: Path, name: str) -> str | None:
    try:
        with (folder / name).open("rb") as file:
            return file.read(256).decode("ascii", "replace").strip()
    except OSError:
        return None  # a driver lacks it, or its device is gone


def _number(folder: Path, name: str) -> float | None:
    try:
        return float(_text(folder, name) or "")
    except ValueError:
        return None


def _scaled(folder: Path, name: str, unit: float) -> float | None:
    value = _number(folder, name)
    return None if value is None else value * unit
