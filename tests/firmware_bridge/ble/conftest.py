"""Fixtures for tests that speak with a fake BlueZ."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from bleak.backends.bluezdbus import manager

from tests.firmware_bridge.ble.fake_bluez import FakeBluez, fake_bluez
from tests.firmware_bridge.ble.private_bus import private_bus


@pytest.fixture(scope="session")
def bus_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A bus that the tests share."""
    folder: Path = tmp_path_factory.mktemp("bus")
    with private_bus(folder) as address:
        yield address


@pytest.fixture
async def bluez(bus_address: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeBluez]:
    """BlueZ with an adapter that is on, on what is the system's bus while the test runs."""
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", bus_address)
    async with fake_bluez(bus_address) as fake:
        yield fake
        await leave_bleaks_bus()


async def leave_bleaks_bus() -> None:
    """Bleak keeps one connection to the bus per event loop, and closes it when the next loop begins: too late here."""
    kept = manager._global_instances.get(asyncio.get_running_loop())
    if kept is not None and kept._bus is not None and kept._bus_watcher_task is not None:
        kept._bus.disconnect()
        await asyncio.wait([kept._bus_watcher_task])
