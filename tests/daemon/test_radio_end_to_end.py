"""Two daemons' whole insides on emulated chips: runtime, node, face, driver, registers, ether, and back."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import structlog

from firmware_bridge.boards import BoardProfile, load_board
from firmware_bridge.drivers.errors import bus_missing
from firmware_bridge.drivers.hardware import Hardware
from firmware_bridge.emulation.board import EmulatedBoard
from tests.daemon.fakes import KEY, NETWORK, OTHER
from tests.faces.recording_sink import RecordingSink
from tests.firmware_bridge.drivers.bench import SCALE, WatchedEther
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.events import DaemonStarted
from tinyssb_node.daemon.clock import SystemClock
from tinyssb_node.daemon.eventlog import EventLog
from tinyssb_node.daemon.face_manager import FaceManager
from tinyssb_node.daemon.network_storage import NetworkStorage
from tinyssb_node.daemon.runtime import Runtime
from tinyssb_node.faces import lora
from tinyssb_node.faces.lora import LoraEndpoint
from tinyssb_node.faces.lora_spec import LoraSpec
from tinyssb_node.faces.spec import parse_spec
from tinyssb_node.ids import DEFAULT_NETWORK, Dialect, FeedId
from tinyssb_node.node.networks import Networks
from tinyssb_node.node.node import Node
from tinyssb_node.store.memory import MemoryStore

pytestmark = pytest.mark.realtime

PATIENCE_S = 20.0
"""How long a test waits for what should come soon, before it fails."""
LARGE = bytes(range(200)) * 2
"""Needs a side chain."""
CHUNKS = 4
"""Chunks of LARGE."""


def make_runtime(folder: Path, key: SigningKey, store: MemoryStore) -> Runtime:
    """A daemon's inside, on the machine's clock."""
    clock = SystemClock()
    events = EventLog.open(folder, key.feed_id[:8].hex(), store, clock.wall_us())
    started = DaemonStarted(
        name="test", feed=key.feed_id, dialect=Dialect.SPEC, version="0", clean=events.clean
    )
    events.begin(started, clock.wall_us(), clock.now_us())
    place = NetworkStorage(name=DEFAULT_NETWORK, network=NETWORK, store=store, events=events)
    return Runtime(
        make_networks=lambda read_only: Networks({place.name: _make_node(store, key, read_only)}),
        places=[place],
        clock=clock,
        logger=structlog.wrap_logger(None, processors=[_drop]),
        has_room=lambda: True,
    )


def _make_node(store: MemoryStore, key: SigningKey, read_only: bool) -> Node:
    """Each with chance of its own: two that draw the same numbers talk at the same time for ever."""
    return Node(
        store=store,
        network=NETWORK,
        entropy=random.Random(key.feed_id),
        key=key,
        dialect=Dialect.SPEC,
        read_only=read_only,
    )


def _drop(_logger: object, _method: str, _line: structlog.typing.EventDict) -> str:
    raise structlog.DropEvent


class Station:
    """A daemon's inside and its board."""

    def __init__(self, folder: Path, key: SigningKey, ether: WatchedEther, board: str) -> None:
        text = f"lora:{board}?region=US915&plan=US915.c"
        spec = parse_spec(text)
        assert isinstance(spec, LoraSpec)
        self.key = key
        self.store = MemoryStore()
        self.board = EmulatedBoard(load_board(board), ether, board)
        self.runtime = make_runtime(folder, key, self.store)
        self.endpoint = LoraEndpoint(
            text, spec, opener=lambda _: self.board.open(), time_scale=SCALE, check_s=1.0
        )

    def publish(self, content: bytes) -> None:
        self.runtime.do(lambda node, now_us: node.publish(content, now_us))

    def follow(self, feed: FeedId) -> None:
        self.runtime.do(lambda node, now_us: (None, node.follow(feed, now_us)))

    async def holds(self, feed: FeedId, entries: int, chunks_of: int) -> None:
        """Return when so many entries are here, and the whole side chain of the one numbered *chunks_of*."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                appended = self.runtime.appended()
                have = self.store.entries(feed, 1, entries)
                if len(have) == entries and self.store.chunk(feed, chunks_of, CHUNKS - 1):
                    return
                await appended.wait()


@contextlib.asynccontextmanager
async def working(*stations: Station) -> AsyncIterator[None]:
    """All of them running, until the block ends."""
    async with asyncio.TaskGroup() as group:
        endless = [group.create_task(station.endpoint.run(station.runtime)) for station in stations]
        for station in stations:
            group.create_task(station.runtime.run())
        yield
        for task in endless:
            task.cancel()
        for station in stations:
            station.runtime.stop()


@pytest.mark.parametrize(
    "boards", [("dragino-lora-gps-hat", "meshadv-mini"), ("meshadv-pi", "rak6421-rak13300-slot1")]
)
async def test_what_one_publishes_the_other_holds(tmp_path: Path, boards: tuple[str, str]) -> None:
    ether = WatchedEther()
    ana = Station(tmp_path / "ana", KEY, ether, boards[0])
    ben = Station(tmp_path / "ben", OTHER, ether, boards[1])
    for station, other in ((ana, ben), (ben, ana)):
        station.follow(other.key.feed_id)
    ana.publish(b"before anybody listens")
    async with working(ana, ben):
        ana.publish(LARGE)
        ben.publish(LARGE)
        await ben.holds(ana.key.feed_id, 2, 2)
        await ana.holds(ben.key.feed_id, 1, 1)
    assert ana.board.chip.violations == ben.board.chip.violations == []
    on_air = {len(signal.payload) for _, signal in ether.sent}
    assert max(on_air) == 124, "a packet and its CRC"


async def test_a_chip_that_hangs_costs_nothing_but_time(tmp_path: Path) -> None:
    ether = WatchedEther()
    ana = Station(tmp_path / "ana", KEY, ether, "meshadv-mini")
    ben = Station(tmp_path / "ben", OTHER, ether, "dragino-lora-gps-hat")
    ben.follow(KEY.feed_id)
    async with working(ana, ben):
        ana.publish(LARGE)
        await ether.sending()
        ana.board.chip.hung = True
        await ben.holds(ana.key.feed_id, 1, 1)
    records = "".join(path.read_text() for path in (tmp_path / "ana").rglob("*.jsonl"))
    assert "the radio was reset" in records


async def test_a_board_that_is_not_there_is_told_and_stops_no_other_face(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said, told = list[str](), asyncio.Event()

    def keep(_logger: object, _method: str, line: structlog.typing.EventDict) -> str:
        said.append(str(line["error"]))
        told.set()
        raise structlog.DropEvent

    def missing(profile: BoardProfile) -> Hardware:
        raise bus_missing(profile.bus.device, profile.config_txt)

    monkeypatch.setattr(lora, "open_linux", missing)
    sink = RecordingSink()
    board, good = "lora:meshadv-mini?region=EU868&plan=EU868.a", "ws:listen:127.0.0.1:0?name=good"
    links = FaceManager([board, good], sink, structlog.wrap_logger(None, processors=[keep]))
    running = asyncio.create_task(links.run())
    async with asyncio.timeout(PATIENCE_S):
        await told.wait()
    running.cancel()
    await asyncio.wait([running])
    (sentence,) = said
    assert "/dev/spidev0.0 does not exist" in sentence
    assert "Put 'dtparam=spi=on' into /boot/firmware/config.txt" in sentence
    assert links.rows()[0].problem == sentence
    assert links.rows()[1].problem is None
