"""Errors where Bluetooth does not work."""

from pathlib import Path

import pytest
from dbus_fast import Message, Variant

from firmware_bridge.ble import bluez as reach
from firmware_bridge.ble.bluez_peripheral import bluez_peripheral
from firmware_bridge.ble.errors import BluetoothError, LinkClosedError
from tests.firmware_bridge.ble.fake_bluez import ADAPTER, FakeBluez
from tests.firmware_bridge.ble.private_bus import private_bus

pytestmark = pytest.mark.dbus


async def fault(adapter: str | None = None) -> BluetoothError:
    """Return the error of opening a peripheral."""
    with pytest.raises(BluetoothError) as caught:
        async with bluez_peripheral(adapter):
            pass
    return caught.value


async def test_no_bus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={tmp_path}/none")
    error = await fault()
    assert str(error).startswith(
        "the system's message bus (D-Bus) cannot be reached (No such file or directory)."
    )


async def test_no_bluetooth_service(bus_address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", bus_address)
    error = await fault()
    assert error.what == "the Bluetooth service (bluetoothd) is not running"
    assert "systemctl enable --now bluetooth" in error.remedy


async def test_no_permission(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rules = '<deny send_destination="org.bluez"/>'
    with private_bus(tmp_path, rules) as address:
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", address)
        async with reach.system_bus() as holder:
            await holder.request_name("org.bluez")
            error = await fault()
    assert error.what.startswith("this user may not use Bluetooth")
    assert "usermod -aG bluetooth" in error.remedy


async def test_no_adapter(bluez: FakeBluez) -> None:
    error = await fault("hci1")
    assert error.what == "there is no Bluetooth adapter 'hci1' (this machine has hci0)"
    bluez.remove(ADAPTER)
    assert (await fault("hci1")).what == "there is no Bluetooth adapter 'hci1' (this machine has none)"
    assert (await fault()).what == "there is no Bluetooth adapter"


async def test_the_first_adapter_that_is_on_is_taken(bluez: FakeBluez) -> None:
    bluez.objects.clear()
    bluez.add_adapter("/org/bluez/hci0", powered=False)
    off = "the Bluetooth adapter hci0 is switched off"
    assert (await fault()).what == off
    bluez.add_adapter("/org/bluez/hci1")
    async with reach.system_bus() as bus:
        adapter = await reach.find_adapter(bus, None, advertising=True)
    assert adapter.name == "hci1"
    assert (await fault("hci0")).what == off


async def test_an_adapter_that_cannot_advertise_will_do_for_a_central(bluez: FakeBluez) -> None:
    bluez.objects.clear()
    bluez.add_adapter(advertising=False)
    assert "hci0 cannot advertise itself" in (await fault()).what
    async with reach.system_bus() as bus:
        assert (await reach.find_adapter(bus, None, advertising=False)).name == "hci0"


async def test_what_bluez_refuses_is_told_in_its_words(bluez: FakeBluez) -> None:
    bluez.refusals["RegisterAdvertisement"] = (
        "org.bluez.Error.NotPermitted",
        "Maximum advertisements reached",
    )
    error = await fault()
    assert error.what == "Bluetooth refused (Maximum advertisements reached)"


async def test_a_bus_that_breaks_is_a_link_that_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with private_bus(tmp_path) as address:
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", address)
        async with reach.system_bus() as bus:
            bus.disconnect()
            with pytest.raises(LinkClosedError, match="connection to the Bluetooth service broke"):
                await reach.find_adapter(bus, None, advertising=False)


async def test_nobody_but_bluez_may_use_our_objects(bluez: FakeBluez) -> None:
    async with bluez_peripheral(None), reach.system_bus() as stranger:
        message = Message(
            destination=bluez.client,
            path="/org/tinyssb/service/char2",
            interface="org.bluez.GattCharacteristic1",
            member="WriteValue",
            signature="aya{sv}",
            body=[b"x" * 20, {"device": Variant("o", "/org/bluez/hci0/dev_1")}],
        )
        with pytest.raises(BluetoothError, match=r"may not use Bluetooth \(for BlueZ only\)"):
            await reach.ask(stranger, message)
