"""The probe of Bluetooth: what it finds, step by step, and where it ends."""

import pytest
from dbus_fast import Variant

from firmware_bridge.ble.probe import probe_bluetooth
from tests.firmware_bridge.ble.fake_bluez import ADAPTER, FakeBluez

pytestmark = pytest.mark.dbus


async def found(adapter: str | None = None) -> list[tuple[str, bool, str]]:
    return [(one.check, one.ok, one.found) async for one in probe_bluetooth(adapter)]


SERVICE = ("service", True, "the Bluetooth service (bluetoothd) runs")
ON = ("adapter", True, "hci0 is on; roles: central, peripheral; usb:v1D6Bp0246d0542")


@pytest.mark.usefixtures("bluez")
@pytest.mark.parametrize("adapter", [None, "hci0"])
async def test_an_adapter_that_is_well(adapter: str | None) -> None:
    assert await found(adapter) == [
        SERVICE,
        ON,
        ("advertising", True, "phones can find this node; 4 more programs may advertise"),
    ]


async def test_no_service(bus_address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", bus_address)
    (only,) = [one async for one in probe_bluetooth(None)]
    assert (only.check, only.ok) == ("service", False)
    assert "systemctl enable --now bluetooth" in only.advice


async def test_an_adapter_that_is_off(bluez: FakeBluez) -> None:
    bluez.add_adapter(powered=False)
    assert await found() == [SERVICE, ("adapter", False, "the Bluetooth adapter hci0 is switched off")]


@pytest.mark.usefixtures("bluez")
async def test_an_adapter_that_is_not_there() -> None:
    missing = "there is no Bluetooth adapter 'hci7' (this machine has hci0)"
    assert await found("hci7") == [SERVICE, ("adapter", False, missing)]


async def test_an_adapter_that_cannot_advertise_and_says_little(bluez: FakeBluez) -> None:
    del bluez.objects[ADAPTER]["org.bluez.LEAdvertisingManager1"]
    for name in ("Roles", "Modalias"):
        del bluez.objects[ADAPTER]["org.bluez.Adapter1"][name]
    service, adapter, advertising = await found()
    assert (service, adapter) == (SERVICE, ("adapter", True, "hci0 is on; roles: not told; no modalias"))
    assert advertising[:2] == ("advertising", False)
    assert "cannot advertise itself" in advertising[2]


async def test_an_old_service_does_not_say_how_many_may_advertise(bluez: FakeBluez) -> None:
    bluez.objects[ADAPTER]["org.bluez.LEAdvertisingManager1"] = {"ActiveInstances": Variant("y", 0)}
    assert (await found())[-1] == ("advertising", True, "phones can find this node")
