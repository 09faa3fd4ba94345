"""Nodes with different sets, and with many feeds, that meet: real daemons, and the node in virtual time."""

import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path
from random import Random
from statistics import median

from firmware_bridge.lora import airtime_us
from tests.bench.figure import Figure
from tests.daemon.processes import daemon, make_home
from tests.daemon.test_process import free_port
from tests.gossip.test_differing_sets import Islands
from tests.meshes import SECOND_US
from tests.nodes import key_of, packets_of, written
from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.events import Send
from tinyssb_node.node.node import Node
from tinyssb_node.replication.asking import FeedAsker
from tinyssb_node.scheduling.link import lan_profile
from tinyssb_node.sim.medium import MediumOptions, SimulatedMedium
from tinyssb_node.sim.options import RadioOptions
from tinyssb_node.sim.simulated_node import SimulatedNode, SimulationWatcher
from tinyssb_node.sim.world import World
from tinyssb_node.store.sqlite import SqliteStore

EACH = 10
"""Entries of each feed."""
ISLANDS = ((51, 51), (120, 120), (250, 250), (0, 250))
"""Feeds on either side, none in common."""
RUNS = 3
"""Of each meeting the median counts."""
LONGEST_S = 30.0
ALONE_MOST = 1.5
"""Time, against that of sending the entries alone."""
NEW_MOST = 600
"""Bytes until one new entry among many feeds has arrived."""
FOLLOWED = 50
AIR_MOST = 1.5


def run() -> list[Figure]:
    """All figures; four minutes."""
    figures = [
        figure for medium in ("WebSocket", "UDP") for pair in ISLANDS for figure in _islands(medium, *pair)
    ]
    for feeds in (10_000, 1_000):
        figures += _one_new(feeds)
    return figures + _followed()


def _islands(medium: str, here: int, there: int) -> list[Figure]:
    port = free_port()
    spec = f"udp:239.5.5.8:{port}?interface=lo&ttl=0"
    faces = (
        (spec, spec) if medium == "UDP" else (f"ws:listen:127.0.0.1:{port}", f"ws:connect:127.0.0.1:{port}")
    )
    took_s = median(_meet(faces, here, there) for _ in range(RUNS))
    name = f"{medium}: {here} feeds meet {there}, {EACH} entries each, nothing in common"
    figures = [Figure(name, took_s, "s", f"at most {LONGEST_S:.0f}", took_s <= LONGEST_S)]
    if medium == "UDP":
        ratio = took_s / (max(here, there) * EACH * lan_profile().gap_us / 1e6)
        figures.append(
            Figure("against the entries alone", ratio, "×", f"at most {ALONE_MOST}", ratio <= ALONE_MOST)
        )
    return figures


def _meet(faces: tuple[str, str], here: int, there: int) -> float:
    """Return the seconds until two daemons on *faces* have all of *here* and *there* feeds."""
    with tempfile.TemporaryDirectory() as folder:
        homes = [Path(folder) / name for name in "ab"]
        for home, face, feeds in zip(homes, faces, (here, there), strict=True):
            make_home(home, face, name=home.name)
            _fill(home, feeds)
        entries = (here + there) * EACH
        with daemon(homes[0]), daemon(homes[1]):
            begun_s = time.monotonic()
            while [_held(home) for home in homes] != [entries, entries]:
                if time.monotonic() - begun_s > 2 * LONGEST_S:
                    break
                time.sleep(0.02)
            return time.monotonic() - begun_s


def _fill(home: Path, feeds: int) -> None:
    store = SqliteStore.open(home / "store.sqlite")
    node = Node(store=store, network=Network(), entropy=Random(1), key=None)
    for number in range(feeds):
        key = key_of(f"{home.name} {number}")
        node.follow(key.feed_id, 0)
        for packet in packets_of(written(key, [b"entry %d" % entry for entry in range(EACH)])):
            node.import_packet(packet, 0)
    store.commit(time.time_ns() // 1000)
    store.close()


def _held(home: Path) -> int:
    with closing(sqlite3.connect(f"file:{home}/store.sqlite?mode=ro", uri=True)) as store:
        count: int = store.execute("SELECT count(*) FROM entries").fetchone()[0]
    return count


def _one_new(feeds: int) -> list[Figure]:
    mesh = Islands()
    for number in range(feeds):
        for name in "ab":
            mesh.bring(name, key_of(f"many {number}"), 2 if (number, name) == (77, "b") else 1)
    mesh.meet()
    begun_s = time.process_time()
    while mesh["a"].held()[key_of("many 77").feed_id] < 2:
        mesh.pass_time(SECOND_US // 100)
    took_s = time.process_time() - begun_s
    return [
        Figure(
            f"one new entry among {feeds:,} feeds on either side",
            mesh.bytes,
            "B",
            f"at most {NEW_MOST}",
            mesh.bytes <= NEW_MOST,
        ),
        Figure("processor time of both for it", took_s, "s"),
    ]


class _Airtime(SimulationWatcher):
    def __init__(self) -> None:
        self.total_us = 0

    def sending(self, inhabitant: SimulatedNode, send: Send, begin_us: int, end_us: int) -> None:
        del inhabitant, send
        self.total_us += end_us - begin_us


def _followed() -> list[Figure]:
    """Two neighbours follow the same feeds, beyond the set; one of them has an entry of each."""
    airtime = _Airtime()
    world = World(
        1, lambda chance: SimulatedMedium(MediumOptions(), chance), watchers=[airtime], keep_events=False
    )
    for name in ("near", "far"):
        world.add(name)
    near, far = (world.inhabitants[name].node for name in ("near", "far"))
    feeds = [written(key_of(f"followed {number}"), [b"one"]) for number in range(FOLLOWED)]
    for (entry,) in feeds:
        assert isinstance(near, Node)
        assert isinstance(far, Node)
        for node in (near, far):
            node.follow(entry.extended.tip.feed, 0, beyond=True, asker=FeedAsker.GROUP)
        near.import_packet(entry.packet, 0)
    wanted = {entry.extended.tip.feed for (entry,) in feeds}

    def complete() -> bool:
        held = {record.feed: record.seq for record in far.feeds()}
        return all(held.get(feed) == 1 for feed in wanted)

    assert world.run(complete, 3_600 * SECOND_US)
    alone_us = FOLLOWED * airtime_us(RadioOptions().lora, limits.PACKET_SIZE + limits.CRC_SIZE)
    ratio = airtime.total_us / alone_us
    return [
        Figure(
            f"LoRa: {FOLLOWED} feeds beyond the set, followed by both, one entry each",
            world.now_us / 1e6,
            "s",
        ),
        Figure("airtime, against the entries alone", ratio, "×", f"at most {AIR_MOST}", ratio <= AIR_MOST),
    ]
