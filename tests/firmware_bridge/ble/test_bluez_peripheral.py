"""Our service and advertisement as BlueZ and phones see them."""

import asyncio

import pytest
from dbus_fast import Variant

from firmware_bridge.ble import gatt, limits
from firmware_bridge.ble.bluez_peripheral import bluez_peripheral
from firmware_bridge.ble.errors import LinkClosedError
from tests.firmware_bridge.ble.fake_bluez import (
    ADAPTER,
    PATIENCE_S,
    FakeBluez,
    FakePhone,
    RefusedError,
)

pytestmark = pytest.mark.dbus
PACKET = bytes(range(120))
CHARACTERISTIC = "org.bluez.GattCharacteristic1"


async def test_phones_find_the_service_as_boards_lay_it_out(bluez: FakeBluez) -> None:
    async with bluez_peripheral(None):
        assert bluez.advertisement == {
            "Type": "peripheral",
            "ServiceUUIDs": [gatt.SERVICE_UUID],
            "LocalName": "tinySSB-710F",
        }
        flags = {
            properties["UUID"]: properties["Flags"]
            for interfaces in bluez.application.values()
            for interface, properties in interfaces.items()
            if interface == CHARACTERISTIC
        }
        assert flags == {
            gatt.WRITE_UUID: ["write"],
            gatt.NOTIFY_UUID: ["read", "notify"],
            gatt.STATUS_UUID: ["read", "notify"],
        }
        kinds = {interface for interfaces in bluez.application.values() for interface in interfaces}
        assert kinds == {"org.bluez.GattService1", CHARACTERISTIC}, "no descriptors of ours"


async def test_packets_pass_both_ways(bluez: FakeBluez) -> None:
    phone = FakePhone(bluez)
    async with bluez_peripheral("hci0") as peripheral:
        await phone.subscribe()
        link = await peripheral.accept()
        assert link.device.endswith("/dev_5C_0A_11_22_33_44")
        await link.send(PACKET)
        await link.send(PACKET[:40])
        assert [await phone.notified(), await phone.notified()] == [PACKET, PACKET[:40]]
        await phone.write(PACKET[::-1])
        assert await link.receive() == PACKET[::-1]
    assert await phone.notified() == b"", "phones are let go at the end"


async def test_each_phone_is_a_link_of_its_own(bluez: FakeBluez) -> None:
    ana, ben = FakePhone(bluez), FakePhone(bluez, "5C:0A:11:22:33:55")
    async with bluez_peripheral(None) as peripheral:
        await ana.subscribe()
        await ben.subscribe()
        to_ana, to_ben = await peripheral.accept(), await peripheral.accept()
        await to_ben.send(PACKET)
        await to_ana.send(PACKET[:9])
        assert (await ana.notified(), await ben.notified()) == (PACKET[:9], PACKET)
        await ben.write(PACKET[:10])
        assert await to_ben.receive() == PACKET[:10]


async def test_with_an_old_bluez_one_link_takes_what_all_phones_write(bluez: FakeBluez) -> None:
    first, second = FakePhone(bluez), FakePhone(bluez, "5C:0A:11:22:33:55")
    async with bluez_peripheral(None) as peripheral:
        await second.write(PACKET)
        await first.subscribe(mtu=None)
        link = await peripheral.accept()
        await second.write(PACKET[:8])
        assert await link.receive() == PACKET[:8], "and what came before there was any is lost"


async def test_a_phone_that_leaves_ends_its_link_and_can_come_again(bluez: FakeBluez) -> None:
    phone = FakePhone(bluez)
    async with bluez_peripheral(None) as peripheral:
        await phone.subscribe()
        link = await peripheral.accept()
        await phone.write(PACKET)
        phone.leave()
        assert await link.receive() == PACKET, "what came before is not lost"
        with pytest.raises(LinkClosedError, match="the phone went away"):
            await link.receive()
        with pytest.raises(OSError, match="the phone went away"):
            await link.send(PACKET)
        await phone.subscribe()
        again = await peripheral.accept()
        await again.send(PACKET)
        assert await phone.notified() == PACKET


async def test_a_phone_that_subscribes_anew_has_one_link(bluez: FakeBluez) -> None:
    phone = FakePhone(bluez)
    async with bluez_peripheral(None) as peripheral:
        await phone.subscribe()
        link = await peripheral.accept()
        await phone.subscribe()
        async with asyncio.timeout(PATIENCE_S):
            with pytest.raises(LinkClosedError):
                await link.receive()
        again = await peripheral.accept()
        await phone.write(PACKET)
        assert await again.receive() == PACKET


async def test_a_phone_that_cuts_packets_short_gets_no_link(bluez: FakeBluez) -> None:
    phone = FakePhone(bluez)
    async with bluez_peripheral(None) as peripheral:
        with pytest.raises(RefusedError, match="20 bytes"):
            await phone.subscribe(mtu=23)
        assert peripheral.remark == "a phone takes values of 20 bytes only"
        await phone.subscribe(mtu=123)
        assert (await peripheral.accept()).device.endswith("/dev_5C_0A_11_22_33_44")


async def test_when_full_it_is_not_to_be_found_until_somebody_leaves(bluez: FakeBluez) -> None:
    phones = [FakePhone(bluez, f"5C:0A:11:22:33:{number:02}") for number in range(limits.LINKS_MAX + 1)]
    async with bluez_peripheral(None) as peripheral:
        for phone in phones[:-1]:
            assert bluez.advertisement is not None
            await phone.subscribe()
            await peripheral.accept()
        await bluez.until(lambda: bluez.advertisement is None)
        with pytest.raises(RefusedError, match="7 phones already"):
            await phones[-1].subscribe()
        phones[0].leave()
        await bluez.until(lambda: bluez.advertisement is not None)
        await phones[-1].subscribe()
        assert (await peripheral.accept()).device.endswith("/dev_5C_0A_11_22_33_07")


async def test_who_writes_faster_than_we_read_is_made_to_wait(bluez: FakeBluez) -> None:
    phone = FakePhone(bluez)
    async with bluez_peripheral(None) as peripheral:
        await phone.subscribe()
        link = await peripheral.accept()
        for number in range(limits.VALUES_WAITING):
            await phone.write(bytes([number]) * 8)
        late = asyncio.create_task(phone.write(PACKET))
        await bluez.ask_client(
            bluez.characteristic(gatt.WRITE_UUID), CHARACTERISTIC, "ReadValue", "a{sv}", [{}]
        )
        assert not late.done()
        async with asyncio.timeout(PATIENCE_S):
            received = [await link.receive() for _ in range(limits.VALUES_WAITING + 1)]
            await late
        assert received[-1] == PACKET


async def test_parts_of_values_are_refused(bluez: FakeBluez) -> None:
    phone = FakePhone(bluez)
    async with bluez_peripheral(None):
        with pytest.raises(RefusedError, match="InvalidOffset"):
            await phone.write(PACKET[20:], offset=Variant("q", 20))


async def lost(bluez: FakeBluez, how: str) -> None:
    adapter = "org.bluez.Adapter1"
    match how:
        case "switched off":
            bluez.change(ADAPTER, adapter, Powered=Variant("b", False))
        case "adapter is gone":
            bluez.remove(ADAPTER)
        case "service stopped":
            await bluez.bus.release_name("org.bluez")
        case "withdrew":
            await bluez.ask_client("/org/tinyssb/advertisement", "org.bluez.LEAdvertisement1", "Release")


@pytest.mark.parametrize("how", ["switched off", "adapter is gone", "service stopped", "withdrew"])
async def test_the_loss_of_bluetooth_is_noticed(bluez: FakeBluez, how: str) -> None:
    phone = FakePhone(bluez)
    async with bluez_peripheral(None) as peripheral:
        await phone.subscribe()
        link = await peripheral.accept()
        await lost(bluez, how)
        async with asyncio.timeout(PATIENCE_S):
            for _ in range(2):
                with pytest.raises(LinkClosedError, match=how):
                    await peripheral.accept()
    with pytest.raises(LinkClosedError, match="this node closed it"):
        await link.receive()


async def test_what_boards_let_people_read_can_be_read(bluez: FakeBluez) -> None:
    async with bluez_peripheral(None):
        status = bluez.characteristic(gatt.STATUS_UUID)
        reply = await bluez.ask_client(status, CHARACTERISTIC, "ReadValue", "a{sv}", [{}])
        assert reply.body == [b""]
        for member in ("StartNotify", "StopNotify"):
            await bluez.ask_client(status, CHARACTERISTIC, member)


async def test_packets_are_taken_and_given_where_they_belong_only(bluez: FakeBluez) -> None:
    async with bluez_peripheral(None):
        status = bluez.characteristic(gatt.STATUS_UUID)
        for member, signature, body in (
            ("WriteValue", "aya{sv}", [PACKET, {}]),
            ("AcquireNotify", "a{sv}", [{}]),
        ):
            with pytest.raises(RefusedError, match="UnknownMethod"):
                await bluez.ask_client(status, CHARACTERISTIC, member, signature, body)
        with pytest.raises(RefusedError, match="UnknownMethod"):
            await bluez.ask_client("/org/tinyssb", "org.tinyssb.None", "Anything")


async def test_advertising_that_is_refused_later_is_a_loss(bluez: FakeBluez) -> None:
    phone = FakePhone(bluez)
    async with bluez_peripheral(None, links=1) as peripheral:
        await phone.subscribe()
        await peripheral.accept()
        await bluez.until(lambda: bluez.advertisement is None)
        bluez.refusals["RegisterAdvertisement"] = ("org.bluez.Error.Failed", "no room")
        phone.leave()
        with pytest.raises(LinkClosedError, match="no room"):
            await peripheral.accept()
