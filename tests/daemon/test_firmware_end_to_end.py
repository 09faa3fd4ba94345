"""Two daemons' whole insides with bridge firmware on their cables: daemon, pty, firmware, chip, ether, and back."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from firmware_bridge.emulation.ether import Ether
from firmware_bridge.emulation.loop import LoopTimeline
from firmware_bridge.firmware.boards import heltec_v3, pico_rfm95
from firmware_bridge.firmware.wiring import Board
from tests import needs
from tests.daemon.fakes import KEY, OTHER
from tests.daemon.test_radio_end_to_end import CHUNKS, LARGE, PATIENCE_S, make_runtime
from tests.emulated.microcontroller import Cable, EmulatedController
from tests.faces.serial_rig import endpoint
from tests.firmware_bridge.firmware.bench import Firmware, Local
from tests.firmware_bridge.firmware.micropython import OnMicroPython
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.faces.errors import FaceOpenError
from tinyssb_node.store.memory import MemoryStore

SCALE = 10.0
"""How much quicker than real emulated time passes."""
TURN_S = 0.0005
"""Pause between turns of the firmware's loop: 5 ms of emulated time."""


class Station:
    """A daemon's inside, and a board with the firmware on its cable."""

    def __init__(self, folder: Path, key: SigningKey, other: SigningKey, ether: Ether, board: Board) -> None:
        folder.mkdir()
        self.feed = key.feed_id
        self.link = folder / "radio"
        self.folder = folder / "events"
        self.store = MemoryStore()
        self.runtime = make_runtime(self.folder, key, self.store)
        self.endpoint = endpoint(f"kiss:{self.link}?region=US915&plan=US915.c", time_scale=SCALE)
        self.controller = EmulatedController(
            board, ether, key.feed_id.hex(), lambda us: time.sleep(us / 1e6 / SCALE)
        )
        self.restarts = 0
        self.make: Callable[[Cable], Firmware] = self.local
        self.ether = ether
        self._again = False
        self.runtime.do(lambda node, now_us: (None, node.follow(other.feed_id, now_us)))

    def publish(self, content: bytes) -> None:
        self.runtime.do(lambda node, now_us: node.publish(content, now_us))

    async def holds(self, other: "Station", entries: int) -> None:
        """Return when so many entries of the other's are here, and the side chain of the last."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                appended = self.runtime.appended()
                have = self.store.entries(other.feed, 1, entries)
                if len(have) == entries and self.store.chunk(other.feed, entries, CHUNKS - 1):
                    return
                await appended.wait()

    def restart_board(self) -> None:
        """As when the watchdog bites: the cable stays in."""
        self._again = True

    def local(self, cable: Cable) -> Firmware:
        """The firmware in this Python."""
        return Local(self.controller, cable, self.ether.timeline.now_us, self._again)

    async def run_board(self) -> None:
        """The firmware's loop, for ever."""
        cable = Cable(self.link)
        try:
            while True:
                firmware = self.make(cable)
                self._again = False
                while firmware.turn() and not self._again:  # noqa: ASYNC110 - the firmware is a loop that polls
                    await asyncio.sleep(TURN_S)
                self.restarts += 1
        finally:
            firmware.close()
            cable.close()
            self.controller.close()

    def logged(self, words: str) -> int:
        """How often that is in the event log."""
        return "".join(path.read_text() for path in self.folder.rglob("*.jsonl")).count(words)


@contextlib.asynccontextmanager
async def working(*stations: Station) -> AsyncIterator[None]:
    """All of them running, until the block ends."""
    async with asyncio.TaskGroup() as group:
        boards = [group.create_task(station.run_board()) for station in stations]
        await asyncio.sleep(0)
        endless = [group.create_task(station.endpoint.run(station.runtime)) for station in stations]
        for station in stations:
            group.create_task(station.runtime.run())
        yield
        for task in endless:
            task.cancel()
        for station in stations:
            station.runtime.stop()
        await asyncio.wait(endless)
        for task in boards:
            task.cancel()


@pytest.fixture
async def stations(tmp_path: Path) -> tuple[Station, Station]:
    ether = Ether(LoopTimeline(SCALE))
    ana = Station(tmp_path / "ana", KEY, OTHER, ether, pico_rfm95.BOARD)
    ben = Station(tmp_path / "ben", OTHER, KEY, ether, heltec_v3.BOARD)
    return ana, ben


async def test_what_one_publishes_the_other_holds(stations: tuple[Station, Station]) -> None:
    ana, ben = stations
    async with working(ana, ben):
        ana.publish(LARGE)
        ben.publish(LARGE)
        await asyncio.gather(ben.holds(ana, 1), ana.holds(ben, 1))
    assert ana.controller.board.chip.violations == ben.controller.board.chip.violations == []
    on_air = {len(signal.payload) for _, signal in ana.ether.sent}
    assert max(on_air) == 124, "a packet and its CRC"


async def test_a_board_that_restarts_costs_nothing_but_time(stations: tuple[Station, Station]) -> None:
    ana, ben = stations
    async with working(ana, ben):
        ana.publish(LARGE)
        await ben.holds(ana, 1)
        ana.restart_board()
        ana.publish(LARGE)
        await ben.holds(ana, 2)
    assert ana.restarts == 1
    assert ana.logged("the radio has restarted") == 1


@pytest.mark.skipif(needs.micropython() is None, reason=needs.MICROPYTHON_REASON)
async def test_on_micropython_it_is_the_same(tmp_path: Path, stations: tuple[Station, Station]) -> None:
    ana, ben = stations
    ben.make = lambda cable: OnMicroPython(
        tmp_path / "flash", "heltec-v3", ben.controller, cable, ben.ether.timeline.now_us, False
    )
    async with working(ana, ben):
        ana.publish(LARGE)
        ben.publish(LARGE)
        await asyncio.gather(ben.holds(ana, 1), ana.holds(ben, 1))
    assert ben.controller.board.chip.violations == []


async def test_firmware_of_another_board_is_told_in_one_sentence(stations: tuple[Station, Station]) -> None:
    ana, ben = stations
    ana.controller.board.stuck_at = 0xFF
    board = asyncio.create_task(ana.run_board())
    await asyncio.sleep(0)
    with pytest.raises(FaceOpenError, match=r"LoRa chip does not answer\. Flash the firmware"):
        await ana.endpoint.run(ana.runtime)
    board.cancel()
    await asyncio.wait([board])
    ben.controller.close()
