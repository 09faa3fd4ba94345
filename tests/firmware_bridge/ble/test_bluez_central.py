"""Boards as bleak finds them on a fake BlueZ."""

import pytest
from dbus_fast import Variant

from firmware_bridge.ble import gatt, limits
from firmware_bridge.ble.bluez_central import bluez_central
from firmware_bridge.ble.errors import BluetoothError, LinkClosedError
from firmware_bridge.ble.gatt import Flag
from tests.firmware_bridge.ble.fake_bluez import ADAPTER, FakeBluez, FakeBoard

pytestmark = pytest.mark.dbus
PACKET = bytes(range(120))
BOARD = "24:6F:28:AA:BB:CC"


async def test_packets_pass_both_ways(bluez: FakeBluez) -> None:
    board = FakeBoard(bluez)
    async with bluez_central(None) as central:
        assert await central.find(0) == [BOARD]
        link = await central.connect(BOARD)
        assert link is not None
        await link.send(PACKET)
        assert board.written == [(PACKET, "request")], "written with an answer, which boards need"
        board.notify(PACKET[::-1])
        board.notify(PACKET[:8])
        assert [await link.receive(), await link.receive()] == [PACKET[::-1], PACKET[:8]]
        await link.close()
        assert not board.connected
        with pytest.raises(LinkClosedError):
            await link.receive()
        with pytest.raises(OSError, match="went away"):
            await link.send(PACKET)


async def test_boards_that_take_no_requests_are_written_commands(bluez: FakeBluez) -> None:
    board = FakeBoard(bluez)
    board.flags[gatt.WRITE_UUID] = (Flag.COMMAND,)
    async with bluez_central(None) as central:
        await central.find(0)
        link = await central.connect(BOARD)
        assert link is not None
        await link.send(PACKET)
        assert board.written == [(PACKET, "command")]
        await link.close()


async def test_a_board_that_goes_away_ends_its_link_and_is_found_again(bluez: FakeBluez) -> None:
    board = FakeBoard(bluez)
    async with bluez_central(None) as central:
        await central.find(0)
        link = await central.connect(BOARD)
        assert link is not None
        board.notify(PACKET)
        board.drop()
        assert await link.receive() == PACKET
        with pytest.raises(LinkClosedError, match="the board went away"):
            await link.receive()
        with pytest.raises(OSError, match="the board went away"):
            await link.send(PACKET)
        await link.close()
        assert await central.find(0) == [BOARD]
        again = await central.connect(BOARD)
        assert again is not None
        await again.close()


async def test_a_write_that_fails_is_a_link_that_broke(bluez: FakeBluez) -> None:
    board = FakeBoard(bluez)
    async with bluez_central(None) as central:
        await central.find(0)
        link = await central.connect(BOARD)
        assert link is not None
        board.failing = True
        with pytest.raises(LinkClosedError, match="out of reach"):
            await link.send(PACKET)
        await link.close()


async def test_phones_are_left_alone(bluez: FakeBluez) -> None:
    phone = FakeBoard(bluez)
    phone.is_phone = True
    async with bluez_central(None) as central:
        await central.find(0)
        assert await central.connect(BOARD) is None
        assert not phone.connected
        phone.connect()
        bluez.change(phone.path, "org.bluez.Device1", Name=Variant("s", "Pixel"), Alias=Variant("s", "Pixel"))
        assert await central.find(0) == [], "one that came to us is not to be disturbed"
    assert phone.connected


async def test_a_board_still_connected_from_an_earlier_run_is_found(bluez: FakeBluez) -> None:
    board = FakeBoard(bluez)
    board.advertise()
    board.connect()
    async with bluez_central(None) as central:
        assert await central.find(0) == [BOARD]
        link = await central.connect(BOARD)
        assert link is not None
        assert board.connects == 1
        await link.close()


async def test_what_is_no_use_is_let_go(bluez: FakeBluez) -> None:
    board = FakeBoard(bluez, mtu=23)
    async with bluez_central(None) as central:
        await central.find(0)
        with pytest.raises(LinkClosedError, match="values of 20 bytes only"):
            await central.connect(BOARD)
        assert not board.connected
        bluez.remove(board.path)
        board.mtu = 128
        del board.flags[gatt.NOTIFY_UUID]
        await central.find(0)
        with pytest.raises(LinkClosedError, match="lacks the service"):
            await central.connect(BOARD)
        board.failing = True
        with pytest.raises(LinkClosedError, match="out of reach"):
            await central.connect(BOARD)


async def test_what_a_board_says_too_fast_is_dropped(bluez: FakeBluez) -> None:
    board = FakeBoard(bluez)
    async with bluez_central(None) as central:
        await central.find(0)
        link = await central.connect(BOARD)
        assert link is not None
        for number in range(limits.VALUES_WAITING + 3):
            board.notify(bytes([number]) * 8)
        await link.send(PACKET)
        assert link.inbox.dropped == 3
        assert [(await link.receive())[0] for _ in range(limits.VALUES_WAITING)] == list(
            range(limits.VALUES_WAITING)
        )
        await link.close()


async def test_scanning_that_fails_is_said(bluez: FakeBluez) -> None:
    async with bluez_central(None) as central:
        bluez.refusals["StartDiscovery"] = ("org.bluez.Error.NotReady", "Resource Not Ready")
        with pytest.raises(BluetoothError, match=r"^Bluetooth refused \(.*Resource Not Ready"):
            await central.find(0)
        bluez.remove(ADAPTER)
        with pytest.raises(BluetoothError, match="there is no Bluetooth adapter"):
            await central.find(0)
