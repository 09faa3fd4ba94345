"""A probe of this machine's Bluetooth: the service, the adapter and what it can do. It sends nothing by radio.

Interfaces: org.bluez.Adapter(5) and org.bluez.LEAdvertisingManager(5) of BlueZ.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from firmware_bridge.ble import bluez
from firmware_bridge.ble.errors import BluetoothError, LinkClosedError
from firmware_bridge.drivers.probe import Finding


async def probe_bluetooth(wanted: str | None) -> AsyncIterator[Finding]:
    """Check the adapter *wanted* (``hci0``), or else the first one that is on, step by step. Ends where further steps
    make no sense."""
    check = "service"
    try:
        async with bluez.system_bus() as bus:
            await bluez.owner_of_bluez(bus)
            yield Finding(check=check, ok=True, found="the Bluetooth service (bluetoothd) runs")
            check = "adapter"
            objects = await bluez.managed_objects(bus)
        adapter = bluez.choose_adapter(objects, wanted)
        interfaces = objects[adapter.path]
        yield Finding(check=check, ok=True, found=_described(adapter.name, interfaces[bluez.ADAPTER]))
        check = "advertising"
        bluez.require_advertising(adapter, interfaces)
        slots = interfaces[bluez.ADVERTISING_MANAGER].get("SupportedInstances")
        more = "" if slots is None else f"; {slots} more programs may advertise"
        yield Finding(check=check, ok=True, found=f"phones can find this node{more}")
    except BluetoothError as error:
        yield Finding(check=check, ok=False, found=error.what, advice=error.remedy)
    except LinkClosedError as error:
        yield Finding(check=check, ok=False, found=error.reason, advice="Try again.")


def _described(name: str, properties: Mapping[str, Any]) -> str:
    """Return what an adapter says of itself. The last digits of its ``Modalias`` are BlueZ's version: ``d0542`` is
    5.66."""
    roles = ", ".join(properties.get("Roles", ())) or "not told"
    return f"{name} is on; roles: {roles}; {properties.get('Modalias', 'no modalias')}"
