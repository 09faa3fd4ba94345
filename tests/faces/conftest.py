"""Fixtures that Bluetooth faces share with what is below them."""

from tests.firmware_bridge.ble.conftest import bluez, bus_address

__all__ = ["bluez", "bus_address"]
