"""Throughput of a node: a backlog verified and stored, entries served to a peer, its start, the cost of idling."""

import asyncio
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nacl.bindings import crypto_sign_open
from websockets.asyncio.client import connect

from tests.bench.figure import Figure
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network, entry_name, first_prev, message_id, want_dmx
from tinyssb_node.codec.events import DaemonStarted
from tinyssb_node.codec.packets import Want, serialize_want
from tinyssb_node.daemon.clock import SystemClock
from tinyssb_node.daemon.config import LogFormat, LogLevel
from tinyssb_node.daemon.eventlog import EventLog
from tinyssb_node.daemon.logs import start_logging
from tinyssb_node.daemon.network_storage import NetworkStorage
from tinyssb_node.daemon.process import reduce_garbage_collection
from tinyssb_node.daemon.runtime import Runtime
from tinyssb_node.daemon.setup import create_home
from tinyssb_node.feeds.author import compose
from tinyssb_node.feeds.chain import Tip
from tinyssb_node.ids import DEFAULT_NETWORK, Dialect, FaceName, FeedId, Origin
from tinyssb_node.node.networks import Networks
from tinyssb_node.node.node import Node
from tinyssb_node.replication.goset import xor_of
from tinyssb_node.scheduling.link import WIRED, LinkProfile, stream_profile
from tinyssb_node.store.home import Home
from tinyssb_node.store.port import FeedRecord
from tinyssb_node.store.sqlite import SqliteStore

ENTRIES = 100_000
"""Entries in the backlog and in the store that is served."""
ROUND = 5_000
"""Entries taken, and signatures verified for comparison, in turn: a machine is not equally fast all the time."""
IDLE_S = 20
"""How long an idle daemon is watched."""
NETWORK = Network()


def compose_feed(count: int) -> tuple[FeedId, list[bytes]]:
    """A feed of *count* entries of a sentence each."""
    key = SigningKey(bytes(31) + b"\x01")
    tip = Tip(key.feed_id, Dialect.SPEC, 0, None)
    packets = []
    for number in range(count):
        composed = compose(NETWORK, key, tip, f"entry {number} of a long backlog".encode())
        packets.append(composed.packet)
        tip = composed.extended.tip
    return key.feed_id, packets


class _Still:
    """A face that nobody listens to."""

    name = FaceName("bench")
    profile: LinkProfile = stream_profile()

    async def send(self, packets: list[bytes]) -> int:
        """Take them."""
        return len(packets)


def backlog() -> list[Figure]:
    """Verify and durably append a backlog from one face: runtime, node, store and event log, on one core."""
    feed, packets = compose_feed(ENTRIES)
    key = SigningKey(bytes(31) + b"\x02")
    signed, public = key.sign(bytes(132)) + bytes(132), key.feed_id
    core = {min(os.sched_getaffinity(0))}
    everywhere = os.sched_getaffinity(0)
    with tempfile.TemporaryDirectory() as folder:
        os.sched_setaffinity(0, core)
        try:
            taken_s, verified_s = asyncio.run(_take(Path(folder), feed, packets, signed, public))
        finally:
            os.sched_setaffinity(0, everywhere)
    share = 100 * verified_s / taken_s
    return [
        Figure("PyNaCl's raw verify rate", ENTRIES / verified_s, "signatures/s"),
        Figure("backlog verified and durably appended, one face, one core", ENTRIES / taken_s, "entries/s"),
        Figure("the same as a share of the raw verify rate", share, "%", "at least 60 %", share >= 60),
    ]


async def _take(
    folder: Path, feed: FeedId, packets: list[bytes], signed: bytes, public: bytes
) -> tuple[float, float]:
    """Seconds to take all *packets*, and to verify as many signatures and do nothing else."""
    reduce_garbage_collection()
    clock = SystemClock()
    store = SqliteStore.open(folder / "store.sqlite")
    log = EventLog.open(folder / "events", "00" * 8, store, clock.wall_us())
    started = DaemonStarted(name="bench", feed=feed, dialect=Dialect.SPEC, version="0", clean=True)
    log.begin(started, clock.wall_us(), clock.now_us())
    runtime = Runtime(
        make_networks=lambda read_only: Networks(
            {
                DEFAULT_NETWORK: Node(
                    store=store, network=NETWORK, entropy=random.Random(1), key=None, read_only=read_only
                )
            }
        ),
        places=[NetworkStorage(name=DEFAULT_NETWORK, network=NETWORK, store=store, events=log)],
        clock=clock,
        logger=start_logging(LogLevel.ERROR, LogFormat.JSON),
        has_room=lambda: True,
    )
    runtime.up(_Still(), "bench")
    runtime.do(lambda node, now_us: (None, node.follow(feed, now_us)))
    working = asyncio.create_task(runtime.run())
    await asyncio.sleep(0)
    taken_s = verified_s = 0.0
    for first in range(0, len(packets), ROUND):
        begun_s = time.perf_counter()
        for packet in packets[first : first + ROUND]:
            if not runtime.frame(_Still.name, packet, WIRED):
                await runtime.room(_Still.name)
        while runtime.networks.node(DEFAULT_NETWORK).feeds()[0].seq < first + ROUND:
            await runtime.appended().wait()
        taken_s += time.perf_counter() - begun_s
        begun_s = time.perf_counter()
        for _ in range(ROUND):
            crypto_sign_open(signed, public)
        verified_s += time.perf_counter() - begun_s
    runtime.stop()
    await working
    log.close()
    store.close()
    return taken_s, verified_s


def fill(home: Path, feed: FeedId, packets: list[bytes]) -> None:
    """A node's home whose store holds a long feed."""
    create_home(Home(home), "bench", Dialect.SPEC, ("ws:listen:127.0.0.1:0?name=ws",))
    store = SqliteStore.open(home / "store.sqlite")
    store.put_feed(
        FeedRecord(feed=feed, dialect=Dialect.SPEC, seq=0, tip=None, own=False, wanted=True, forked_at=None)
    )
    prev = first_prev(feed, Dialect.SPEC)
    for seq, packet in enumerate(packets, 1):
        prev = message_id(entry_name(NETWORK, feed, seq, prev), packet)
        store.append_entry(feed, seq, packet, prev, Origin.PEER, None)
    store.commit(time.time_ns() // 1000)
    store.close()


@contextmanager
def daemon(home: Path) -> Iterator[tuple[subprocess.Popen[bytes], float]]:
    """A daemon that is ready, and the seconds that took."""
    ready = home / "notify"
    ready.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.bind(str(ready))
        notified.settimeout(60)
        begun_s = time.perf_counter()
        process = subprocess.Popen(
            [Path(sys.executable).with_name("tinyssb"), "--home", home, "run"],
            env={**os.environ, "NOTIFY_SOCKET": str(ready)},
            stderr=subprocess.DEVNULL,
        )
        try:
            while b"READY=1" not in notified.recv(4096):
                pass
            yield process, time.perf_counter() - begun_s
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def _fetch(port: int, feeds: list[FeedId], feed: FeedId, packets: list[bytes]) -> float:
    """Seconds to be given all entries of *feed* by a node with the set *feeds*."""
    dmx = want_dmx(NETWORK, xor_of(feeds))
    offset = sorted(feeds).index(feed)
    async with connect(f"ws://127.0.0.1:{port}", compression=None, max_queue=4096) as peer:
        begun_s = time.perf_counter()
        got, asked, last = 0, 0, 0
        await peer.send(serialize_want(dmx, Want(offset=offset, seqs=(1,))))
        while got < len(packets):
            packet = await peer.recv()
            if packet == packets[got]:
                got += 1
                last += 1
                # Ask for more when half of what the last request may bring has come.
                if last >= max(2, min(256, got // 4)):
                    asked, last = asked + 1, 0
                    await peer.send(serialize_want(dmx, Want(offset=offset, seqs=(got + 1,))))
        return time.perf_counter() - begun_s


def served() -> list[Figure]:
    """Start with a full store, idle, and serve all of it to one peer on loopback."""
    feed, packets = compose_feed(ENTRIES)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        fill(home, feed, packets)
        port = _free_port()
        config = home / "config.toml"
        config.write_text(config.read_text("utf-8").replace("127.0.0.1:0", f"127.0.0.1:{port}"), "utf-8")
        with daemon(home):
            pass  # The first start writes the event log of all that the store holds.
        with daemon(home) as (process, ready_s):
            resident_mb, cpu_percent = _watch(process.pid)
            own = _own_feed(home)
            seconds = asyncio.run(_fetch(port, [feed, own], feed, packets))
        rate = ENTRIES / seconds
    return [
        Figure("daemon ready with 100,000 entries stored", ready_s, "s", "at most 1 s", ready_s <= 1),
        Figure("idle daemon, resident memory", resident_mb, "MB", "at most 60 MB", resident_mb <= 60),
        Figure("idle daemon, share of one core", cpu_percent, "%", "at most 1 %", cpu_percent <= 1),
        Figure(
            "entries served to a WebSocket peer on loopback",
            rate,
            "entries/s",
            "at least 10,000",
            rate >= 10_000,
        ),
    ]


def _own_feed(home: Path) -> FeedId:
    store = SqliteStore.open_readonly(home / "store.sqlite")
    own = next(record.feed for record in store.feeds() if record.own)
    store.close()
    return own


def _watch(pid: int) -> tuple[float, float]:
    """Resident megabytes and percent of a core of an idle process."""
    ticks = os.sysconf("SC_CLK_TCK")

    def used() -> int:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    before = used()
    time.sleep(IDLE_S)
    cpu_percent = 100 * (used() - before) / ticks / IDLE_S
    pages = int(Path(f"/proc/{pid}/statm").read_text("utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6, cpu_percent


def run() -> list[Figure]:
    """All of it."""
    return [*backlog(), *served()]
