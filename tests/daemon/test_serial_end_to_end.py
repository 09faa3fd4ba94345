"""Two daemons' whole insides with emulated radios on cables: entries come across, also when a cable is pulled."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.daemon.fakes import KEY, OTHER
from tests.daemon.test_radio_end_to_end import CHUNKS, LARGE, PATIENCE_S, make_runtime
from tests.emulated.kiss import KissModem
from tests.emulated.meshcore import NARROW_EU868, MeshcoreCompanion
from tests.emulated.meshtastic import SHORT_FAST_EU868, MeshtasticDevice
from tests.emulated.rnode import Rnode
from tests.emulated.serial_air import Air, Device
from tests.faces.serial_rig import endpoint, plugged
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.store.memory import MemoryStore

pytestmark = pytest.mark.realtime

PLANNED = "region=US915&plan=US915.c"
SHORT_TURBO_US = replace(SHORT_FAST_EU868, preset=8, region=1)
WIDE_US = replace(NARROW_EU868, frequency_hz=904_600_000, bandwidth_hz=500_000)
# In a region without a limit of airtime, so that gossip may hurry.
KINDS: dict[str, tuple[str, Callable[[Air, int], Device]]] = {
    "kiss": (PLANNED, lambda air, _: KissModem(air)),
    "rnode": (PLANNED, lambda air, _: Rnode(air)),
    "meshtastic": ("region=US915", lambda air, node: MeshtasticDevice(air, node, config=SHORT_TURBO_US)),
    "meshcore": ("region=US915", lambda air, _: MeshcoreCompanion(air, lora=WIDE_US)),
}


class Station:
    """A daemon's inside, and the link to where its radio is plugged in."""

    def __init__(self, folder: Path, key: SigningKey, other: SigningKey, kind: str) -> None:
        folder.mkdir()
        self.feed = key.feed_id
        self.link = folder / "radio"
        self.folder = folder / "events"
        self.store = MemoryStore()
        self.runtime = make_runtime(self.folder, key, self.store)
        self.endpoint = endpoint(f"{kind}:{self.link}?{KINDS[kind][0]}")
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

    def logged(self, words: str) -> int:
        """How often that is in the event log."""
        return "".join(path.read_text() for path in self.folder.rglob("*.jsonl")).count(words)


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


@pytest.mark.parametrize("kind", KINDS)
async def test_what_one_publishes_the_other_holds(tmp_path: Path, kind: str) -> None:
    air, make = Air(), KINDS[kind][1]
    ana = Station(tmp_path / "ana", KEY, OTHER, kind)
    ben = Station(tmp_path / "ben", OTHER, KEY, kind)
    with plugged(make(air, 1), ana.link), plugged(make(air, 2), ben.link):
        async with working(ana, ben):
            ana.publish(LARGE)
            ben.publish(LARGE)
            await asyncio.gather(ben.holds(ana, 1), ana.holds(ben, 1))


async def test_a_pulled_cable_costs_nothing_but_time(tmp_path: Path) -> None:
    air = Air()
    ana = Station(tmp_path / "ana", KEY, OTHER, "kiss")
    ben = Station(tmp_path / "ben", OTHER, KEY, "kiss")
    device = KissModem(air)
    with plugged(device, ana.link) as plug, plugged(KissModem(air), ben.link):
        async with working(ana, ben):
            ana.publish(LARGE)
            await ben.holds(ana, 1)
            ana.publish(LARGE)
            plug.pull()
            ana.publish(LARGE)
            with plugged(device, ana.link):
                await ben.holds(ana, 3)
    assert ana.logged("the radio was unplugged") == 1
