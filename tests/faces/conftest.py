"""Fixtures: a bus that Bluetooth faces share with what is below them, a broker for MQTT faces."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.firmware_bridge.ble.conftest import bluez, bus_address
from tests.mosquitto import Mosquitto, running_mosquitto

__all__ = ["bluez", "broker", "bus_address"]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    """A broker that takes everybody."""
    with running_mosquitto(tmp_path) as running_broker:
        yield running_broker
