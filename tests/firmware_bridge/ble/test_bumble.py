"""Both roles end to end, over bumble's virtual controllers: real HCI, L2CAP and ATT between them."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from bumble.device import Peer
from bumble.gatt import Characteristic, Descriptor, Service

from firmware_bridge.ble import gatt
from firmware_bridge.ble.bumble_central import DongleBoardLink, bumble_central
from firmware_bridge.ble.bumble_device import bumble_device
from firmware_bridge.ble.bumble_peripheral import BumblePeripheral, DonglePhoneLink, bumble_peripheral
from firmware_bridge.ble.errors import BluetoothError, LinkClosedError
from firmware_bridge.ble.stacks import BumbleStack
from tests.faces.recording_sink import PATIENCE_S, running
from tests.firmware_bridge.ble.virtual_radio import virtual_dongles
from tinyssb_node.faces.ble import BleCentralEndpoint, BlePeripheralEndpoint
from tinyssb_node.faces.ble_spec import BleCentralSpec, BlePeripheralSpec

PACKET = bytes(range(120))
SCAN_S = 0.05


@asynccontextmanager
async def linked(folder: Path) -> AsyncIterator[tuple[BumblePeripheral, DonglePhoneLink, DongleBoardLink]]:
    async with (
        virtual_dongles(folder, 2) as (one, other),
        bumble_peripheral(one) as peripheral,
        bumble_central(other) as central,
    ):
        (address,) = await central.find(SCAN_S)
        link = await central.connect(address)
        assert link is not None
        yield peripheral, await peripheral.accept(), link


async def test_packets_pass_both_ways(tmp_path: Path) -> None:
    async with linked(tmp_path) as (_, to_central, to_peripheral):
        await to_peripheral.send(PACKET)
        assert await to_central.receive() == PACKET
        await to_central.send(PACKET[::-1])
        assert await to_peripheral.receive() == PACKET[::-1]


async def test_many_packets_arrive_in_order_and_a_full_reader_makes_the_writer_wait(tmp_path: Path) -> None:
    packets = [bytes([number]) * 120 for number in range(200)]
    async with linked(tmp_path) as (_, to_central, to_peripheral), asyncio.timeout(PATIENCE_S):
        sending = asyncio.create_task(send_all(to_peripheral, packets))
        await asyncio.wait([sending], timeout=SCAN_S)
        assert not sending.done()
        assert [await to_central.receive() for _ in packets] == packets
        await sending


async def send_all(link: DongleBoardLink, packets: list[bytes]) -> None:
    for packet in packets:
        await link.send(packet)


async def test_who_hangs_up_ends_the_other_end_and_can_come_again(tmp_path: Path) -> None:
    async with (
        virtual_dongles(tmp_path, 2) as (one, other),
        bumble_peripheral(one, links=1) as peripheral,
        bumble_central(other) as central,
    ):
        for _ in range(2):
            (address,) = await central.find(SCAN_S)
            to_peripheral = await central.connect(address)
            assert to_peripheral is not None
            to_central = await peripheral.accept()
            assert await central.find(SCAN_S) == [], "full, and not to be found"
            await to_peripheral.close()
            with pytest.raises(LinkClosedError, match="the phone went away"):
                await to_central.receive()
            with pytest.raises(OSError, match="the phone went away"):
                await to_central.send(PACKET)
        (address,) = await central.find(SCAN_S)
        last = await central.connect(address)
        assert last is not None
        await (await peripheral.accept()).close()
        with pytest.raises(LinkClosedError, match="the board went away"):
            await last.receive()


async def test_a_phone_that_never_negotiates_gets_no_link(tmp_path: Path) -> None:
    async with (
        virtual_dongles(tmp_path, 2) as (one, other),
        bumble_peripheral(one) as peripheral,
        bumble_device(other) as phone,
    ):
        connection = await phone.connect(peripheral.address)
        peer = Peer(connection)
        (service,) = await peer.discover_service(gatt.SERVICE_UUID)
        notified, *_ = await service.discover_characteristics()
        await notified.subscribe()
        assert peripheral.remark == "a phone takes values of 20 bytes only"
        await connection.disconnect()


async def test_a_phone_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def with_key(uuid: str, characteristics: list[Characteristic[bytes]]) -> Service:
        (written,) = [one for one in characteristics if str(one.uuid).lower() == gatt.WRITE_UUID]
        written.descriptors = [Descriptor(gatt.PHONE_KEY_UUID, Descriptor.READABLE, bytes(32))]
        return Service(uuid, characteristics)

    monkeypatch.setattr("firmware_bridge.ble.bumble_peripheral.Service", with_key)
    async with (
        virtual_dongles(tmp_path, 2) as (one, other),
        bumble_peripheral(one),
        bumble_central(other) as central,
    ):
        (address,) = await central.find(SCAN_S)
        assert await central.connect(address) is None
        assert await central.find(SCAN_S) == [address], "it was let go, and can be found again"


async def test_a_dongle_that_is_not_there_is_named(tmp_path: Path) -> None:
    for name in (f"unix:{tmp_path}/none", "usb:99"):
        with pytest.raises(
            BluetoothError, match=re.escape(f"the Bluetooth dongle '{name}' cannot be opened")
        ):
            async with bumble_central(name):
                pass


async def test_nodes_exchange_packets_by_two_dongles(tmp_path: Path) -> None:
    async with virtual_dongles(tmp_path, 2) as (one, other):
        pub = BlePeripheralEndpoint("ble:peripheral", BlePeripheralSpec(), BumbleStack(one))
        ana = BleCentralEndpoint(
            "ble:central", BleCentralSpec(), BumbleStack(other), scan_s=SCAN_S, rest_s=0.001
        )
        async with running(pub) as at_pub:
            async with running(ana) as at_ana:
                await at_pub.until(lambda: bool(at_pub.ups))
                await at_ana.until(lambda: bool(at_ana.ups))
                await at_ana.face().send([PACKET, PACKET[:40]])
                await at_pub.face().send([PACKET[::-1]])
                await at_pub.until(lambda: len(at_pub.packets) == 2)
                await at_ana.until(lambda: bool(at_ana.packets))
            assert (at_pub.packets, at_ana.packets) == ([PACKET, PACKET[:40]], [PACKET[::-1]])
            await at_pub.until(lambda: bool(at_pub.downs))


async def test_a_phone_may_have_enough_and_begin_anew(tmp_path: Path) -> None:
    async with (
        virtual_dongles(tmp_path, 2) as (one, other),
        bumble_peripheral(one) as peripheral,
        bumble_device(other) as phone,
    ):
        peer = Peer(await phone.connect(peripheral.address))
        await peer.request_mtu(128)
        (service,) = await peer.discover_service(gatt.SERVICE_UUID)
        notified, *_ = await service.discover_characteristics()
        await notified.subscribe()
        link = await peripheral.accept()
        await notified.unsubscribe()
        with pytest.raises(LinkClosedError, match="the phone unsubscribed"):
            await link.receive()
        await notified.subscribe()
        await (await peripheral.accept()).send(PACKET)


async def test_a_dongle_that_is_pulled_out_is_noticed(tmp_path: Path) -> None:
    async with virtual_dongles(tmp_path, 1) as (one,), bumble_peripheral(one) as peripheral:
        one.unplug()
        with pytest.raises(LinkClosedError, match="the Bluetooth dongle is gone"):
            await peripheral.accept()
