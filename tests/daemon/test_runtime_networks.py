"""A runtime with several networks: each has what is its own, durable before it is visible."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.fakes import (
    NETWORK,
    OTHER,
    VILLAGE,
    VILLAGE_NETWORK,
    Bench,
    FakeFace,
    FullableStore,
    make_bench,
    make_node,
)
from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network
from tinyssb_node.errors import StoreFullError
from tinyssb_node.ids import DEFAULT_NETWORK, NetworkName
from tinyssb_node.scheduling.link import WIRED
from tinyssb_node.store.memory import MemoryStore


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = make_bench(tmp_path, {DEFAULT_NETWORK: NETWORK, VILLAGE: VILLAGE_NETWORK})
    yield bench
    bench.close()


def village_store(bench: Bench) -> FullableStore:
    store = bench.places[1].store
    assert isinstance(store, FullableStore)
    return store


def records(bench: Bench, network: NetworkName) -> list[dict[str, object]]:
    return [json.loads(line) for line in bench.records(network).splitlines()]


def kinds(bench: Bench, network: NetworkName) -> list[object]:
    return [record["kind"] for record in records(bench, network)]


def publish(bench: Bench, content: bytes, network: NetworkName = VILLAGE) -> int:
    return bench.runtime.do(lambda node, now_us: node.publish(content, now_us), network).seq


def packet_of(network: Network) -> bytes:
    """An entry that somebody else wrote."""
    store = MemoryStore()
    node = make_node(store, OTHER, network=network)
    node.publish(b"hello", 0)
    entry = store.entry(OTHER.feed_id, 1)
    assert entry is not None
    return entry.packet


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_each_network_has_a_store_and_a_log_of_its_own(bench: Bench) -> None:
    assert publish(bench, b"for the village") == 1
    assert bench.store.last_arrival() == 0
    assert village_store(bench).last_arrival() == 1
    assert "entry" in kinds(bench, VILLAGE)
    assert "entry" not in kinds(bench, DEFAULT_NETWORK)


async def test_what_befalls_the_node_is_in_every_log_and_told_once(bench: Bench) -> None:
    bench.runtime.up(FakeFace(), "wire:1")
    bench.clock.set_us += 90_000_000
    bench.runtime.stop()
    await bench.runtime.run()
    bench.runtime.turn()
    for network in (DEFAULT_NETWORK, VILLAGE):
        assert {"face_up", "clock"} <= set(kinds(bench, network))
    assert [line["event"] for line in bench.lines].count("face up") == 1


async def test_what_comes_in_for_a_network_is_kept_there_and_named_in_the_log(bench: Bench) -> None:
    bench.runtime.do(lambda node, now_us: (None, node.follow(OTHER.feed_id, now_us)), VILLAGE)
    bench.runtime.up(FakeFace(), "wire:1")
    bench.runtime.frame(FakeFace().name, packet_of(VILLAGE_NETWORK), WIRED)
    bench.runtime.stop()
    await bench.runtime.run()
    assert village_store(bench).entry(OTHER.feed_id, 1) is not None
    assert [line["network"] for line in bench.lines if line["event"] == "new feed in the set"] == ["village"]


async def test_a_full_disk_keeps_nothing_of_what_failed_and_records_what_was_kept(bench: Bench) -> None:
    bench.runtime.up(FakeFace(), "wire:1")
    packets = []
    for name, network in ((DEFAULT_NETWORK, NETWORK), (VILLAGE, VILLAGE_NETWORK)):
        bench.runtime.do(lambda node, now_us: (None, node.follow(OTHER.feed_id, now_us)), name)
        packets.append(packet_of(network))
    bench.runtime.turn()
    for packet in packets:
        bench.runtime.frame(FakeFace().name, packet, WIRED)
    village_store(bench).full = True
    bench.runtime.turn()
    assert bench.runtime.read_only == "no room"
    assert village_store(bench).last_arrival() == 0
    assert "entry" not in kinds(bench, VILLAGE)
    # The first store was committed before the second one failed: its log says so.
    assert bench.store.last_arrival() == 1
    assert "entry" in kinds(bench, DEFAULT_NETWORK)


async def test_an_entry_that_was_refused_for_a_full_disk_is_not_there_later(bench: Bench) -> None:
    village_store(bench).full = True
    with pytest.raises(StoreFullError):
        publish(bench, b"lost")
    village_store(bench).full = False
    bench.clock.mono_us += limits.RETRY_US
    bench.runtime.turn()
    assert bench.runtime.read_only is None
    assert publish(bench, b"kept") == 1
    assert publish(bench, b"open", DEFAULT_NETWORK) == 1


async def test_packets_of_all_networks_leave_by_one_face(bench: Bench) -> None:
    face = FakeFace()
    async with asyncio.TaskGroup() as group:
        group.create_task(bench.runtime.run())
        bench.runtime.up(face, "wire:1")
        await settle()
        for network in (VILLAGE, DEFAULT_NETWORK):
            publish(bench, b"hello", network)
        async with asyncio.timeout(5):
            while sum(len(packet) == limits.PACKET_SIZE for packet in face.packets) < 2:
                face.arrived.clear()
                await face.arrived.wait()
        await settle()
        bench.runtime.stop()
    for network in (VILLAGE, DEFAULT_NETWORK):
        sent = [record["packet"] for record in records(bench, network) if record["kind"] == "tx"]
        assert sent.count("entry") == 1
    assert bench.runtime.networks.faces()[0].outstanding == 0
