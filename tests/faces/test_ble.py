"""Bluetooth faces, with real D-Bus, real bleak and a fake BlueZ below them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from dbus_fast import Variant

from firmware_bridge.ble.stacks import BluezStack
from tests.faces.recording_sink import PATIENCE_S, RecordingSink, running
from tests.firmware_bridge.ble.fake_bluez import ADAPTER, FakeBluez, FakeBoard, FakePhone
from tinyssb_node import limits
from tinyssb_node.faces.backoff import Backoff
from tinyssb_node.faces.ble import BleCentralEndpoint, BlePeripheralEndpoint
from tinyssb_node.faces.ble_spec import BleCentralSpec, BlePeripheralSpec
from tinyssb_node.faces.errors import FaceOpenError
from tinyssb_node.scheduling.link import WIRED, LinkMedium

pytestmark = pytest.mark.dbus
PACKET = bytes(range(120))
BOARD = "board:246f28aabbcc"


def quick() -> Backoff:
    return Backoff(lambda: 0.0, min_s=0.001, max_s=0.001)


def peripheral(links: int = 7, name: str | None = None) -> BlePeripheralEndpoint:
    spec = BlePeripheralSpec(links=links, name=name)
    return BlePeripheralEndpoint("ble:peripheral", spec, BluezStack(spec.adapter), quick)


@asynccontextmanager
async def found_by_phones(
    bluez: FakeBluez, links: int = 7, name: str | None = None
) -> AsyncIterator[tuple[BlePeripheralEndpoint, RecordingSink]]:
    endpoint = peripheral(links, name)
    async with running(endpoint) as sink:
        await bluez.until(lambda: bluez.advertisement is not None)
        yield endpoint, sink


def central(links: int = 7, make_backoff: Callable[[], Backoff] = quick) -> BleCentralEndpoint:
    """A central that neither listens for long nor rests."""
    spec = BleCentralSpec(links=links)
    return BleCentralEndpoint(
        "ble:central", spec, BluezStack(spec.adapter), make_backoff, scan_s=0, rest_s=0.001
    )


async def test_phone_and_node_exchange_packets(bluez: FakeBluez) -> None:
    phone = FakePhone(bluez)
    async with found_by_phones(bluez) as (endpoint, sink):
        await phone.subscribe()
        await sink.until(lambda: bool(sink.ups))
        assert sink.ups == [("ble#1", "ble:peripheral")]
        assert await sink.face().send([PACKET, PACKET[:40]]) == 2
        assert [await phone.notified(), await phone.notified()] == [PACKET, PACKET[:40]]
        await phone.write(PACKET[:105])
        await phone.write(b"short")
        await sink.until(lambda: bool(sink.junks))
        assert sink.frames == [("ble#1", PACKET[:105], WIRED)]
        assert sink.junks == [("ble#1", "too short", 5)]
        assert endpoint.problem is None
        phone.leave()
        await sink.until(lambda: bool(sink.downs))
        assert sink.downs == [("ble#1", "the phone went away")]


async def test_phones_are_paced_and_given_little_at_a_time(bluez: FakeBluez) -> None:
    phone = FakePhone(bluez)
    async with found_by_phones(bluez, name="app") as (_, sink):
        await phone.subscribe()
        await sink.until(lambda: bool(sink.ups))
        face = sink.face()
        assert face.name == "app#1"
        assert face.profile.medium is LinkMedium.STREAM
        assert (face.profile.window, face.profile.gap_us) == (1, limits.BLE_PHONE_GAP_US)
        assert face.profile.burst_max == limits.BLE_BURST_MAX


async def test_a_busy_daemon_makes_phones_wait(bluez: FakeBluez) -> None:
    phone = FakePhone(bluez)
    async with found_by_phones(bluez) as (_, sink):
        await phone.subscribe()
        await sink.until(lambda: bool(sink.ups))
        sink.accepting.clear()
        await phone.write(PACKET)
        await phone.write(PACKET[:9])
        await sink.until(lambda: sink.rooms == 1)
        assert sink.packets == [PACKET]
        sink.accepting.set()
        await sink.until(lambda: len(sink.packets) == 2)


async def test_why_a_phone_was_turned_away_is_told(bluez: FakeBluez) -> None:
    phones = [FakePhone(bluez), FakePhone(bluez, "5C:0A:11:22:33:55")]
    async with found_by_phones(bluez, links=1) as (endpoint, sink):
        await phones[0].subscribe()
        await sink.until(lambda: bool(sink.ups))
        with pytest.raises(Exception, match="1 phones already"):
            await phones[1].subscribe()
        assert endpoint.problem == "there are 1 phones already"


async def test_when_bluetooth_comes_back_phones_find_it_again(bluez: FakeBluez) -> None:
    phone = FakePhone(bluez)
    async with found_by_phones(bluez) as (endpoint, sink):
        await phone.subscribe()
        await sink.until(lambda: bool(sink.ups))
        bluez.advertisement = None
        await bluez.ask_client("/org/tinyssb/advertisement", "org.bluez.LEAdvertisement1", "Release")
        await sink.until(lambda: bool(sink.downs))
        await bluez.until(lambda: bluez.advertisement is not None)
        await phone.subscribe()
        await sink.until(lambda: len(sink.ups) == 2)
        assert endpoint.problem is None
        assert sink.ups[1][0] == "ble#2"


async def test_what_keeps_it_from_opening_is_told_with_a_remedy(bluez: FakeBluez) -> None:
    bluez.change(ADAPTER, "org.bluez.Adapter1", Powered=Variant("b", False))
    for endpoint in (peripheral(), central()):
        with pytest.raises(
            FaceOpenError, match=r"adapter hci0 is switched off. Type: .*bluetoothctl power on"
        ):
            await endpoint.run(RecordingSink())


async def test_board_and_node_exchange_packets(bluez: FakeBluez) -> None:
    board = FakeBoard(bluez)
    async with running(central()) as sink:
        await sink.until(lambda: bool(sink.ups))
        assert sink.ups == [(BOARD, "ble:central")]
        assert sink.face().profile.gap_us == limits.BLE_BOARD_GAP_US
        await sink.face().send([PACKET])
        assert board.written == [(PACKET, "request")]
        board.notify(PACKET[:12])
        await sink.until(lambda: sink.packets == [PACKET[:12]])
    assert sink.downs == [(BOARD, "this node closed it")]
    assert not board.connected


async def test_a_board_that_went_away_is_connected_again(bluez: FakeBluez) -> None:
    board = FakeBoard(bluez)
    async with running(central()) as sink:
        await sink.until(lambda: bool(sink.ups))
        board.drop()
        await sink.until(lambda: len(sink.ups) == 2)
        assert sink.downs == [(BOARD, "the board went away")]
        assert board.connects == 2


async def test_several_boards_up_to_the_limit(bluez: FakeBluez) -> None:
    boards = [FakeBoard(bluez, f"24:6F:28:00:00:0{number}") for number in range(3)]
    async with running(central(links=2)) as sink:
        await sink.until(lambda: len(sink.ups) == 2)
        await asyncio.gather(*(face.send([PACKET]) for face in sink.faces.values()))
        assert sum(board.connected for board in boards) == 2
        assert [board.written for board in boards if board.connected] == [[(PACKET, "request")]] * 2


async def test_a_phone_is_tried_once(bluez: FakeBluez) -> None:
    phone = FakeBoard(bluez)
    phone.is_phone = True
    async with running(central()) as sink:
        await bluez.until(lambda: bluez.calls.count("StartDiscovery") == 3)
        assert (phone.connects, sink.ups) == (1, [])


async def test_it_says_when_there_is_no_board(bluez: FakeBluez) -> None:
    endpoint = central()
    async with running(endpoint):
        await bluez.until(lambda: bluez.calls.count("StopDiscovery") == 2)
        assert endpoint.problem == "no board is within reach"


async def test_a_board_that_cannot_be_connected_is_the_problem_told(bluez: FakeBluez) -> None:
    board = FakeBoard(bluez)
    board.failing = True
    endpoint = central()
    async with running(endpoint), asyncio.timeout(PATIENCE_S):
        await bluez.until(lambda: "Connect" in bluez.calls and bluez.calls.count("StartDiscovery") == 2)
        assert endpoint.problem is not None
        assert "out of reach" in endpoint.problem


async def test_a_board_that_cannot_be_connected_is_not_tried_at_once(bluez: FakeBluez) -> None:
    FakeBoard(bluez).failing = True
    endpoint = central(make_backoff=lambda: Backoff(lambda: 1.0, min_s=PATIENCE_S))
    async with running(endpoint):
        await bluez.until(lambda: bluez.calls.count("StartDiscovery") == 4)
        assert bluez.calls.count("Connect") == 1
