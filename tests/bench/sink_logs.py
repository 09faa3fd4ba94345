"""The logs that the sink is measured on: bulk logs of the simulator, and a mesh that writes while it is read."""

import random
import threading
import time
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from tests.spark_sink.logs import NodeLog, Record, digits, feed_name, line, node_name
from tinyssb_node.sim.bulk import BulkOptions, BulkWriter

SEGMENT_BYTES: Final = 4 * 2**20
"""Size of a segment where nodes are so busy that they close them for their size."""
LIVE_NODES: Final = 10
HEARERS: Final = 4
"""Nodes that hear an entry and commit it."""
RECORDS_AN_ENTRY: Final = 2 + 2 * HEARERS
"""Its own commit and sending; a reception and a commit by each who hears it."""
TICK_S: Final = 0.005
"""Between two appends of the live mesh."""


def write(folder: Path, *, nodes: int, hours: int) -> int:
    """Make bulk logs in a new folder; returns how many records."""
    return BulkWriter(BulkOptions(nodes=nodes, hours=hours), folder).run()


def join_segments(logs: Path, folder: Path, size_max: int = SEGMENT_BYTES) -> int:
    """Write the same records into *folder* in larger segments; returns how many segments."""
    count = 0
    for node in sorted(logs.iterdir()):
        (folder / node.name).mkdir(parents=True)
        for boot, paths in groupby(
            sorted(node.glob("*.jsonl")), key=lambda path: path.name.partition("-")[0]
        ):
            joined: list[bytes] = []
            first = ""
            for path in paths:
                data = path.read_bytes()
                if joined and sum(map(len, joined)) + len(data) > size_max:
                    (folder / node.name / f"{boot}-{first}").write_bytes(b"".join(joined))
                    count += 1
                    joined.clear()
                first = first if joined else path.name.partition("-")[2]
                joined.append(data)
            (folder / node.name / f"{boot}-{first}").write_bytes(b"".join(joined))
            count += 1
    return count


class LiveMesh(threading.Thread):
    """Appends records at a steady rate: entries published in turn, each heard by some."""

    def __init__(
        self,
        folder: Path,
        rate: float,
        seqs: Sequence[int] = (0,) * LIVE_NODES,
        boot: int = 1,
        ago_us: int = 0,
    ) -> None:
        """*rate*: records a second. *seqs*: entries that each node had published in the boots before *boot*. Clocks are
        *ago_us* behind."""
        super().__init__()
        self._chance = random.Random(1)
        self._seqs, self._ago_us = seqs, ago_us
        self._logs = [NodeLog(folder, node_name(number), boot) for number in range(len(seqs))]
        self._entries_per_s = rate / RECORDS_AN_ENTRY
        self._ended = threading.Event()
        self.published_s: list[float] = []
        """When the line of each entry's publication was appended."""
        for number, log in enumerate(self._logs):
            log.t_us = self._now_us()
            log.start(number)

    def run(self) -> None:
        """Write until told to end."""
        begun = time.time()
        while not self._ended.wait(TICK_S):
            due = int((time.time() - begun) * self._entries_per_s)
            while len(self.published_s) < due and not self._ended.is_set():
                self._publish(len(self.published_s))

    def end(self) -> None:
        """Write no more."""
        self._ended.set()
        self.join()

    def _publish(self, number: int) -> None:
        author = number % len(self._logs)
        seq = self._seqs[author] + number // len(self._logs) + 1
        place = {"feed": feed_name(author), "seq": seq}
        entry = {**place, "id": digits(f"{author} {seq}", 40), "type": 0, "size": 40, "chunks": 0}
        packet = {"face": "ether", "packet": "entry", "length": 120, "hash": digits(f"packet {number}", 16)}
        self._append(
            author,
            {"kind": "entry", **entry, "origin": "own", "arrival": number + 1},
            {"kind": "tx", **packet, "airtime_us": 1_000},
        )
        self.published_s.append(time.time())
        for step in range(1, HEARERS + 1):
            signal = {
                "rssi_dbm": -80 - self._chance.randrange(40),
                "snr_db": self._chance.randrange(-40, 40) / 4,
            }
            self._append(
                (author + step) % len(self._logs),
                {"kind": "rx", **packet, **place, "airtime_us": 1_000, "verdict": "new", **signal},
                {"kind": "entry", **entry, "origin": "peer", "face": "ether", "arrival": number + 1},
            )

    def _now_us(self) -> int:
        return time.time_ns() // 1_000 - self._ago_us

    def _append(self, node: int, *records: Record) -> None:
        log = self._logs[node]
        lines = []
        for record in records:
            t_us = max(log.t_us + 1, self._now_us())
            lines.append(line(log.stamp(t_us=t_us, **record)))
        log.raw(b"".join(lines))


def segments(logs: Path) -> int:
    """How many there are."""
    return sum(1 for _ in logs.glob("*/*.jsonl"))


def size(logs: Path) -> int:
    """Bytes of all."""
    return sum(path.stat().st_size for path in logs.glob("*/*.jsonl"))
