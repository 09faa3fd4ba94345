"""The ways to Bluetooth where their packages are not installed."""

import sys

import pytest

from firmware_bridge.ble.errors import BluetoothError
from firmware_bridge.ble.link import BluetoothStack
from firmware_bridge.ble.stacks import BluezStack, BumbleStack
from firmware_bridge.libraries import install_command

BACK_ENDS = (
    "bluez_peripheral",
    "bluez_central",
    "bumble_peripheral",
    "bumble_central",
    "bluez",
    "bumble_device",
)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python with none of them."""
    for module in BACK_ENDS:
        monkeypatch.delitem(sys.modules, f"firmware_bridge.ble.{module}", raising=False)
    for package in ("bleak", "bumble", "dbus_fast"):
        for name in [name for name in sys.modules if name.partition(".")[0] == package]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, package, None)


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(
    ("radio", "missing", "extra"),
    [(BluezStack(), {"bleak", "dbus_fast"}, "ble"), (BumbleStack("usb:0"), {"bumble"}, "bumble")],
)
def test_what_is_missing_is_said_as_the_line_to_type(
    radio: BluetoothStack, missing: set[str], extra: str
) -> None:
    for role in (lambda: radio.peripheral(7), radio.central):
        with pytest.raises(BluetoothError) as caught:
            role()
        assert caught.value.what in {
            f"the Python package '{package}' is not installed" for package in missing
        }
        assert caught.value.remedy == f"Type: {install_command(extra)}"
