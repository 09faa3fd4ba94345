"""Files of /sys, as drivers make them, in a temporary folder."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tinyssb_node.telemetry import limits
from tinyssb_node.telemetry.sources.kernel import read_board, read_power, read_sensors
from tinyssb_node.telemetry.sources.measured import Measured


def supply(sys: Path, name: str, files: Mapping[str, str]) -> None:
    _make(sys / "class/power_supply" / name, files)


def sensor(sys: Path, name: str, files: Mapping[str, str]) -> None:
    _make(sys / "bus/iio/devices" / name, files)


def _make(folder: Path, files: Mapping[str, str]) -> None:
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(f"{text}\n")


@pytest.mark.parametrize(
    ("model", "shown"),
    [
        ("Raspberry Pi Zero 2 W Rev 1.0\0", "Pi Zero 2 W"),
        ("Raspberry Pi 4 Model B Rev 1.4\0", "Pi 4 Model B"),
        ("OrangePi Zero3\0", "OrangePi Zero3"),
        ("x" * 60, "x" * 40),
        ("\x1b[2J", None),
        ("\0", None),
    ],
)
def test_the_model_of_a_board_in_few_letters(tmp_path: Path, model: str, shown: str | None) -> None:
    folder = tmp_path / "firmware/devicetree/base"
    folder.mkdir(parents=True)
    assert read_board(tmp_path) is None, "a PC has none"
    (folder / "model").write_text(model)
    assert read_board(tmp_path) == shown


def test_a_battery_beside_a_mouse_and_a_panel(tmp_path: Path) -> None:
    supply(tmp_path, "hidpp_battery_0", {"type": "Battery", "scope": "Device", "capacity": "5"})
    supply(
        tmp_path,
        "max17040",
        {"type": "Battery", "capacity": "87", "voltage_now": "3912000", "status": "Charging"},
    )
    supply(
        tmp_path,
        "solar-mppt",
        {"type": "Mains", "online": "1", "voltage_now": "5120000", "current_now": "100000"},
    )
    found = read_power(tmp_path)
    assert found.battery_percent == 87
    assert found.voltage_v == pytest.approx(3.912)
    assert found.solar_w == pytest.approx(0.512)


def test_a_panel_that_states_its_power(tmp_path: Path) -> None:
    supply(tmp_path, "pv0", {"type": "Mains", "online": "1", "power_now": "2500000"})
    supply(tmp_path, "pv1", {"type": "Mains", "online": "0"})
    assert read_power(tmp_path).solar_w == pytest.approx(2.5)


def test_a_machine_without_a_battery_is_powered_from_outside(tmp_path: Path) -> None:
    supply(tmp_path, "AC", {"type": "Mains", "online": "1"})
    assert read_power(tmp_path) == Measured(battery_percent=101)


def test_a_machine_that_says_nothing(tmp_path: Path) -> None:
    assert read_power(tmp_path) == Measured()
    assert read_sensors(tmp_path) == Measured()
    supply(tmp_path, "odd", {"type": "Battery", "capacity": "full", "voltage_now": ""})
    assert read_power(tmp_path) == Measured()


def test_a_bme280_by_its_driver(tmp_path: Path) -> None:
    sensor(
        tmp_path,
        "iio:device0",
        {
            "name": "bme280",
            "in_temp_input": "-18500",
            "in_humidityrelative_input": "45123",
            "in_pressure_input": "96.72",
        },
    )
    found = read_sensors(tmp_path)
    assert found.temperature_c == pytest.approx(-18.5)
    assert found.humidity_percent == pytest.approx(45.123)
    assert found.pressure_hpa == pytest.approx(967.2)


def test_raw_values_have_an_offset_and_a_scale(tmp_path: Path) -> None:
    sensor(tmp_path, "iio:device0", {"in_voltage0_raw": "5"})
    sensor(
        tmp_path, "iio:device1", {"in_temp_raw": "6000", "in_temp_offset": "-4368", "in_temp_scale": "10.725"}
    )
    assert read_sensors(tmp_path).temperature_c == pytest.approx(17.5032)


def test_only_so_many_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SUPPLIES_MAX", 1)
    supply(tmp_path, "AC", {"type": "Mains", "online": "1"})
    supply(tmp_path, "BAT0", {"type": "Battery", "capacity": "50"})
    assert read_power(tmp_path) == Measured(battery_percent=101)
