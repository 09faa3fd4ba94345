"""Cost of strangers: packets of feeds that are not ours, unsigned entries, ten million of anything."""

import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from nacl.bindings import crypto_sign_open
from nacl.exceptions import BadSignatureError

from tests.bench.figure import Figure
from tests.nodes import key_of, packets_of, written
from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network
from tinyssb_node.daemon.process import reduce_garbage_collection
from tinyssb_node.ids import FaceName
from tinyssb_node.node.node import Node
from tinyssb_node.scheduling.link import WIRED, stream_profile
from tinyssb_node.store.sqlite import SqliteStore

FACE = FaceName("ws")
ENTRIES = 1_000
"""Entries held of a feed when the flood begins."""
STRANGERS = 200_000
"""Packets measured that are of no feed of ours."""
FORGERIES = 50_000
"""Packets measured that begin like the next entry of a feed of ours and are not signed."""
FLOOD = 10_000_000
"""Packets of random bytes and lengths, while memory is watched."""
ROUND = 10_000
"""Packets made before they are given: making them is not measured."""
PACKET_US = 5
"""Microseconds that pass from packet to packet."""


class Rig:
    """A node with its store on a disk, as a daemon has it."""

    def __init__(self, folder: Path) -> None:
        self.store = SqliteStore.open(folder / "store.sqlite")
        self.node = Node(store=self.store, network=Network(), entropy=random.Random(1), key=key_of("ben"))
        self.node.face_up(FACE, stream_profile(), "ws", 0)
        feed = packets_of(written(key_of("ana"), [b"entry %d" % number for number in range(ENTRIES + 1)]))
        self.next_entry = feed[-1]
        self.node.follow(key_of("ana").feed_id, 0)
        for packet in feed[:-1]:
            self.node.receive(packet, FACE, WIRED, 0)
        self.store.commit(0)
        self.now_us = 0

    def take(self, packets: list[bytes]) -> float:
        """Seconds of the processor that it takes to refuse *packets*."""
        receive, now_us = self.node.receive, self.now_us
        begun_s = time.process_time()
        for packet in packets:
            receive(packet, FACE, WIRED, now_us)
            now_us += PACKET_US
        self.now_us = now_us
        return time.process_time() - begun_s


@contextmanager
def on_one_core() -> Iterator[Rig]:
    """A rig, and everything on the first core."""
    everywhere = os.sched_getaffinity(0)
    with tempfile.TemporaryDirectory() as folder:
        os.sched_setaffinity(0, {min(everywhere)})
        try:
            rig = Rig(Path(folder))
            reduce_garbage_collection()
            yield rig
            rig.store.close()
        finally:
            os.sched_setaffinity(0, everywhere)


def forge(packet: bytes, entropy: random.Random) -> bytes:
    """*packet* with other content. Its signature stays well-formed: one that is not is refused sooner."""
    return packet[:8] + entropy.randbytes(limits.CONTENT_SIZE) + packet[8 + limits.CONTENT_SIZE :]


def rate(rig: Rig, count: int, make: Callable[[random.Random], bytes]) -> float:
    """Packets a second that are refused, in the best of some rounds: others on the machine make a round slower, and
    nothing makes one faster."""
    entropy = random.Random(2)
    return ROUND / min(rig.take([make(entropy) for _ in range(ROUND)]) for _ in range(count // ROUND))


def raw_rate(packet: bytes, entropy: random.Random) -> float:
    """Signatures a second that libsodium alone refuses."""
    feed = bytes(key_of("ana").feed_id)
    signed = packet[-limits.SIGNATURE_SIZE :] + entropy.randbytes(132)
    spent_s = []
    for _ in range(FORGERIES // ROUND):
        begun_s = time.process_time()
        for _ in range(ROUND):
            try:
                crypto_sign_open(signed, feed)
            except BadSignatureError:
                continue
        spent_s.append(time.process_time() - begun_s)
    return ROUND / min(spent_s)


def flood(rig: Rig, count: int) -> float:
    """Megabytes by which a process is larger behind *count* packets of random bytes than it was before them.

    Tables that strangers fill are full from the start on: they have their limits, and are of what a node costs anyhow.
    """
    entropy = random.Random(3)
    sizes = (limits.PACKET_SIZE, limits.PACKET_SIZE, 8, 48, 119)
    grown_from = 0.0
    for number in range(count // ROUND + 1):
        packets = [entropy.randbytes(sizes[one % len(sizes)]) for one in range(ROUND)]
        rig.take(packets)
        if number == 0:
            grown_from = _resident_mb()
    return _resident_mb() - grown_from


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def run(flood_packets: int = FLOOD) -> list[Figure]:
    """All of it, which takes two minutes."""
    with on_one_core() as rig:
        strangers = rate(rig, STRANGERS, lambda entropy: entropy.randbytes(limits.PACKET_SIZE))
        short = rate(rig, STRANGERS, lambda entropy: entropy.randbytes(48))
        forged = rate(rig, FORGERIES, lambda entropy: forge(rig.next_entry, entropy))
        raw = raw_rate(rig.next_entry, random.Random(4))
        grown_mb = flood(rig, flood_packets)
    return [
        Figure("packets of no feed of ours refused, 120 bytes, one core", strangers, "packets/s",
               "at least 200,000", strangers >= 200_000),
        Figure("the same, 48 bytes", short, "packets/s", "at least 200,000", short >= 200_000),
        Figure("entries with a wrong signature refused, one core", forged, "packets/s",
               "at least 15,000", forged >= 15_000),
        Figure("wrong signatures that libsodium alone refuses", raw, "signatures/s"),
        Figure(f"resident memory grown by {flood_packets:,} random packets", grown_mb, "MB",
               "at most 5 MB", grown_mb <= 5),
    ]  # fmt: skip
