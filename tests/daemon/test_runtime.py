"""Frames in, effects out, everything durable before it is visible."""

import asyncio
import contextlib
import errno
import json
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.daemon.fakes import KEY, OTHER, Bench, FakeFace, make_bench, make_node
from tinyssb_node import limits
from tinyssb_node.codec.events import Effect, Send
from tinyssb_node.errors import NodeReadOnlyError, StoreFullError
from tinyssb_node.faces.frames import FrameFault
from tinyssb_node.ids import FaceName, PacketKind
from tinyssb_node.node.node import Node
from tinyssb_node.scheduling.link import WIRED
from tinyssb_node.store.memory import MemoryStore


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = make_bench(tmp_path)
    yield bench
    bench.close()


@contextlib.asynccontextmanager
async def running(bench: Bench) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        group.create_task(bench.runtime.run())
        yield
        bench.runtime.stop()


def entries(count: int) -> list[bytes]:
    """Packets of a feed that somebody else wrote."""
    store = MemoryStore()
    node = make_node(store, OTHER)
    store.commit(0)
    for number in range(count):
        node.publish(b"entry %d" % number, 0)
    return [entry.packet for entry in store.entries(OTHER.feed_id, 1, count)]


def reason(bench: Bench) -> str | None:
    """Why nothing is written."""
    return bench.runtime.read_only


async def settle(bench: Bench) -> None:
    """Let the runtime look at everything that came in."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_what_comes_in_is_stored_recorded_and_told(bench: Bench) -> None:
    packets = entries(3)
    bench.runtime.do(lambda node, now_us: (None, node.follow(OTHER.feed_id, now_us)))
    async with running(bench):
        face = FakeFace()
        bench.runtime.up(face, "wire:1")
        appended = bench.runtime.appended()
        for packet in packets:
            assert bench.runtime.frame(face.name, packet, WIRED)
        await asyncio.wait_for(appended.wait(), 5)
    assert len(bench.store.entries(OTHER.feed_id, 1, 9)) == 3
    kinds = [json.loads(line)["kind"] for line in bench.records().splitlines()]
    assert kinds.count("entry") == 3
    assert "face_up" in kinds


async def test_nothing_is_sent_before_it_is_durable_and_recorded(bench: Bench) -> None:
    seen: list[tuple[int, bool]] = []

    class WatchingFace(FakeFace):
        async def send(self, packets: list[bytes]) -> int:
            held = bench.store.entry(KEY.feed_id, 1)
            seen.append((0 if held is None else held.committed_us, '"kind":"entry"' in bench.records()))
            return await super().send(packets)

    face = WatchingFace()
    async with running(bench):
        bench.runtime.up(face, "wire:1")
        await settle(bench)
        face.arrived.clear()
        seen.clear()
        bench.runtime.do(lambda node, now_us: node.publish(b"hello", now_us))
        await asyncio.wait_for(face.arrived.wait(), 5)
    assert seen[0][0] > 0
    assert seen[0][1]


async def test_packets_that_left_are_reported_to_the_node(bench: Bench) -> None:
    face = FakeFace()
    async with running(bench):
        bench.runtime.up(face, "wire:1")
        await settle(bench)
        bench.runtime.do(lambda node, now_us: node.publish(b"hello", now_us))
        await asyncio.wait_for(face.arrived.wait(), 5)
        await settle(bench)
        (status,) = bench.runtime.networks.faces()
    assert status.counters.sent == len(face.packets) > 0
    assert status.outstanding == 0


async def test_a_face_that_fails_to_send_is_left_to_its_endpoint(bench: Bench) -> None:
    face = FakeFace(broken=True)
    async with running(bench):
        bench.runtime.up(face, "wire:1")
        await settle(bench)
        bench.runtime.do(lambda node, now_us: node.publish(b"hello", now_us))
        await settle(bench)
        bench.runtime.down(face.name, "unplugged")
    assert '"kind":"face_down"' in bench.records()
    assert face.packets == []


WIRE = FaceName("wire")
RADIO = FaceName("radio")


async def test_a_face_that_is_too_fast_pauses_and_then_loses_frames(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    received: list[object] = []

    def receive(_node: Node, *what: object) -> list[Effect]:
        received.append(what)
        return []

    monkeypatch.setattr(Node, "receive", receive)
    monkeypatch.setattr(Node, "junk", receive)
    for _ in range(limits.INBOX_MAX // 2 - 1):
        assert bench.runtime.frame(WIRE, b"x" * 8, WIRED)
    assert not bench.runtime.frame(WIRE, b"x" * 8, WIRED)
    waiting = asyncio.ensure_future(bench.runtime.room(WIRE))
    await asyncio.sleep(0)
    assert not waiting.done()
    for _ in range(limits.INBOX_MAX):
        bench.runtime.frame(WIRE, b"x" * 8, WIRED)
        bench.runtime.junk(WIRE, "crc", 9)
    await bench.runtime.room(RADIO)
    async with running(bench):
        await asyncio.wait_for(waiting, 5)
    assert len(received) == limits.INBOX_MAX


def test_a_flood_at_one_face_neither_crowds_out_nor_delays_what_another_one_receives(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    received: list[object] = []

    def slow(_node: Node, _packet: bytes, face: FaceName, *_rest: object) -> list[Effect]:
        received.append(face)
        bench.clock.mono_us += limits.TURN_US // 8
        return []

    monkeypatch.setattr(Node, "receive", slow)
    for _ in range(2 * limits.INBOX_MAX):
        bench.runtime.frame(WIRE, b"x" * 8, WIRED)
    assert bench.runtime.frame(RADIO, b"y" * 8, WIRED)
    bench.runtime.turn()
    assert RADIO in received[:2]


async def test_the_reason_of_junk_is_told_as_plain_text(bench: Bench) -> None:
    async with running(bench):
        bench.runtime.up(FakeFace(), "wire:1")
        bench.runtime.junk(FakeFace().name, FrameFault.TOO_LONG, 500)
        await settle(bench)
    assert [type(line["reason"]) for line in bench.lines if "dropped an invalid packet" in line["event"]] == [
        str
    ]


async def test_what_came_in_is_finished_after_stop(bench: Bench) -> None:
    bench.runtime.do(lambda node, now_us: (None, node.follow(OTHER.feed_id, now_us)))
    bench.runtime.up(FakeFace(), "wire:1")
    for packet in entries(200):
        bench.runtime.frame(FaceName("wire"), packet, WIRED)
    bench.runtime.stop()
    await bench.runtime.run()
    assert len(bench.store.entries(OTHER.feed_id, 1, 999)) == 200


async def test_a_full_disk_keeps_nothing_and_says_so_once(bench: Bench) -> None:
    bench.runtime.do(lambda node, now_us: node.publish(b"before", now_us))
    bench.store.full = True
    with pytest.raises(StoreFullError):
        bench.runtime.do(lambda node, now_us: node.publish(b"lost", now_us))
    with pytest.raises(NodeReadOnlyError):
        bench.runtime.do(lambda node, now_us: node.publish(b"refused", now_us))
    assert bench.runtime.read_only == "no room"
    assert [entry.seq for entry in bench.store.entries(KEY.feed_id, 1, 9)] == [1]
    assert sum("disk is full" in line["event"] for line in bench.lines) == 1
    assert bench.records().count('"kind":"entry"') == 1


async def test_faces_stay_up_and_are_served_while_the_disk_is_full(bench: Bench) -> None:
    face = FakeFace()
    face.gate.clear()
    async with running(bench):
        bench.runtime.up(face, "wire:1")
        await settle(bench)
        bench.runtime.do(lambda node, now_us: node.publish(b"before", now_us))
        await settle(bench)
        bench.store.full = True
        with pytest.raises(StoreFullError):
            bench.runtime.do(lambda node, now_us: node.publish(b"lost", now_us))
        face.gate.set()
        await settle(bench)
        (status,) = bench.runtime.networks.faces()
        assert status.name == face.name
        # Reported for the node that was replaced: counting it against this one would be wrong.
        assert status.counters.sent == 0
        bench.store.full = False


async def test_writing_goes_on_when_there_is_room_again(bench: Bench) -> None:
    bench.store.full = True
    with pytest.raises(StoreFullError):
        bench.runtime.do(lambda node, now_us: node.publish(b"lost", now_us))
    bench.store.full = False
    bench.room = False
    async with running(bench):
        bench.clock.mono_us += limits.RETRY_US
        bench.runtime.junk(FaceName("nobody"), "wake", 1)
        await settle(bench)
        assert reason(bench) is not None
        bench.room = True
        bench.clock.mono_us += limits.RETRY_US
        bench.runtime.junk(FaceName("nobody"), "wake", 1)
        await settle(bench)
        assert reason(bench) is None
        bench.runtime.do(lambda node, now_us: node.publish(b"kept", now_us))
    assert [entry.seq for entry in bench.store.entries(KEY.feed_id, 1, 9)] == [1]


async def test_a_full_event_log_stops_writing_but_loses_nothing_that_was_stored(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write

    def full(_file: int, _data: bytes) -> int:
        raise OSError(errno.ENOSPC, "no space")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        published = bench.runtime.do(lambda node, now_us: node.publish(b"stored", now_us))
        assert published.seq == 1
        assert reason(bench) is not None
        with pytest.raises(NodeReadOnlyError):
            bench.runtime.do(lambda node, now_us: node.publish(b"refused", now_us))
        assert bench.runtime.do(lambda node, now_us: ("still served", node.wake(now_us))) == "still served"
    assert os.write is write
    async with running(bench):
        bench.clock.mono_us += limits.RETRY_US
        bench.runtime.junk(FaceName("nobody"), "wake", 1)
        await settle(bench)
    assert reason(bench) is None
    assert bench.records().count('"kind":"entry"') == 1


async def test_a_long_turn_is_cut_so_that_others_get_theirs(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    received: list[bytes] = []

    def slow(_node: Node, packet: bytes, *_: object) -> list[Effect]:
        received.append(packet)
        bench.clock.mono_us += limits.TURN_US // 2
        return []

    monkeypatch.setattr(Node, "receive", slow)
    for _ in range(200):
        bench.runtime.frame(FaceName("wire"), b"x" * 8, WIRED)
    bench.runtime.turn()
    assert 0 < len(received) < 5


async def test_a_client_of_several_steps_waits_for_one_turn_under_a_flood(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    received = 0

    def slow(_node: Node, packet: bytes, *_rest: object) -> list[Effect]:
        nonlocal received
        received += 1
        bench.clock.mono_us += limits.TURN_US + 1
        for _ in range(64):  # a flood: more comes in than is handled
            bench.runtime.frame(FaceName("wire"), packet, WIRED)
        return []

    monkeypatch.setattr(Node, "receive", slow)
    bench.runtime.frame(FaceName("wire"), b"x" * 8, WIRED)
    running = asyncio.create_task(bench.runtime.run())
    await asyncio.sleep(0)
    for _ in range(7):  # connect, read, handle, reply: each a pass of the event loop
        await asyncio.sleep(0)
    assert received <= 32
    running.cancel()
    await asyncio.wait([running])


async def test_a_clock_that_was_set_is_recorded(bench: Bench) -> None:
    bench.clock.set_us += 90_000_000
    async with running(bench):
        await settle(bench)
    (record,) = [json.loads(line) for line in bench.records().splitlines() if '"kind":"clock"' in line]
    assert record["step_us"] == 90_000_000


async def test_a_bug_in_the_node_is_told_with_the_packet_and_ends_the_run(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> list[Effect]:
        raise ZeroDivisionError

    monkeypatch.setattr(Node, "receive", broken)
    bench.runtime.frame(FaceName("wire"), b"\xab" * 8, WIRED)
    with pytest.raises(ZeroDivisionError):
        await bench.runtime.run()
    assert bench.lines[-1]["packet"] == "ab" * 8


async def test_a_send_for_a_face_that_just_went_is_dropped(bench: Bench) -> None:
    gone = Send(FaceName("gone"), b"x" * 8, PacketKind.PING)
    assert bench.runtime.do(lambda _node, _now_us: ("done", [gone])) == "done"


async def test_a_packet_kept_by_carrier_sense_is_sent_later(bench: Bench) -> None:
    face = FakeFace(keeps=2)
    async with running(bench):
        bench.runtime.up(face, "air")
        await settle(bench)
        published = bench.runtime.do(lambda node, now_us: node.publish(b"in the end", now_us))
        async with asyncio.timeout(5):
            while not any(packet[8:10] == b"\x0ai" for packet in face.packets):
                face.arrived.clear()
                await face.arrived.wait()
    assert published.seq == 1
    assert face.keeps == 0


async def test_life_is_shown_by_the_turns_themselves(bench: Bench) -> None:
    """A loop that runs on while the nodes do nothing is what a watchdog is for."""
    await settle(bench)
    assert bench.shown == []
    async with running(bench):
        await settle(bench)
    assert bench.shown == [bench.clock.now_us()]
