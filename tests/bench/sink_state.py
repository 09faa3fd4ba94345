"""A serving database of a large mesh with a long history, made in minutes: records as columns, without logs or Spark.

Nodes stand in a ring, and each hears three to either side. From the columns on everything is the job's own: partial
tables, merge, refresh.
"""

import pickle
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from spark_sink.arrays import Bools, Ints
from spark_sink.partials.combine import combine
from spark_sink.partials.reduce import reduce
from spark_sink.refresh import Refresh
from spark_sink.serving.connect import open_for_writing
from spark_sink.serving.database import Database
from spark_sink.serving.merge import MicroBatch, merge
from spark_sink.serving.names import NameNumbers
from spark_sink.stream_offset import serialize_offset_text
from tests.spark_sink.logs import digits, feed_name, node_name

NODES: Final = 1_000
NEIGHBOURS: Final = (-3, -2, -1, 1, 2, 3)
ADVERTS: Final = 2
"""Sent by each node in an hour."""
ENTRIES: Final = 4
"""Published in an hour in the whole mesh; every node gets each, sends it once, and hears it once more."""
HEARD: Final = 0.8
T0_US: Final = 1_760_000_400_000_000
"""A full hour."""
HOUR_US: Final = 3_600_000_000
HOURS_AT_A_TIME: Final = 6
QUERY: Final = "bench"


@dataclass(slots=True)
class _Records:
    """Columns of records in any order, without their offsets; −1 for what a record does not have."""

    node: Ints
    t_us: Ints
    kind: Ints
    packet: Ints
    """Its number in the hour, for its hash; −1 for none."""
    verdict: Ints
    feed: Ints
    seq: Ints


_KINDS: Final = ("start", "face_up", "tx", "rx", "entry")
_START, _FACE_UP, _TX, _RX, _ENTRY = range(5)
_VERDICTS: Final = ("new", "duplicate")


class Mesh:
    """A mesh that goes on, hour by hour; the same for the same numbers."""

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._chance = np.random.default_rng(1)
        self._offsets = np.zeros(nodes, np.int64)
        self._skew_us = self._chance.integers(-1_000_000, 1_000_000, nodes)
        self._published = np.zeros(nodes, np.int64)
        self._arrivals = 0
        self.now_us = T0_US
        self.batches = 0
        self._names = pa.array([node_name(number) for number in range(nodes)])
        self._feeds = pa.array([feed_name(number) for number in range(nodes)])

    def play(self, length_us: int) -> list[pa.RecordBatch]:
        """Return what happens next, as columns of the source: at least one entry, and one advert of each node."""
        end_us = self.now_us + length_us
        found = []
        while self.now_us < end_us:
            some_us = min(HOUR_US, end_us - self.now_us)
            found.append(self._stretch(self.now_us, some_us))
            self.now_us += some_us
        return found

    def _stretch(self, begin_us: int, length_us: int) -> pa.RecordBatch:
        share = length_us / HOUR_US
        parts = [self._starts(begin_us)] if not self._offsets.any() else []
        parts += [self._adverts(begin_us, length_us, max(1, round(ADVERTS * share)))]
        entries = max(1, round(ENTRIES * share))
        parts += [self._entry(number, begin_us, length_us) for number in range(entries)]
        columns = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in _Records.__slots__
        }
        return self._batch(columns, begin_us)

    def _starts(self, begin_us: int) -> _Records:
        node = np.repeat(np.arange(self._nodes), 2)
        kind = np.tile([_START, _FACE_UP], self._nodes)
        none = np.full(len(node), -1)
        feed = np.where(kind == _START, node, -1)
        return _Records(node, np.full(len(node), begin_us) + kind, kind, none, none, feed, none)

    def _adverts(self, begin_us: int, length_us: int, number: int) -> _Records:
        sender = np.tile(np.arange(self._nodes), number)
        t_us = begin_us + self._chance.integers(10, length_us * 9 // 10, len(sender))
        packet = 100 + np.arange(len(sender))
        near = np.tile(NEIGHBOURS, len(sender))
        of = np.repeat(np.arange(len(sender)), len(NEIGHBOURS))
        came = self._chance.random(len(of)) < HEARD
        of, near = of[came], near[came]
        return self._packets(sender, t_us, packet, of, (sender[of] + near) % self._nodes)

    def _packets(self, sender: Ints, t_us: Ints, packet: Ints, of: Ints, receiver: Ints) -> _Records:
        """Sendings, and receptions of those with the indexes *of*."""
        none = np.full(len(sender) + len(of), -1)
        return _Records(
            np.concatenate([sender, receiver]),
            np.concatenate([t_us, t_us[of] + 700]),
            np.repeat([_TX, _RX], [len(sender), len(of)]),
            np.concatenate([packet, packet[of]]),
            np.repeat([-1, 0], [len(sender), len(of)]),
            none,
            none,
        )

    def _entry(self, number: int, begin_us: int, length_us: int) -> _Records:
        """An entry that goes around the ring both ways, a step a node."""
        author = int(self._chance.integers(self._nodes))
        self._published[author] += 1
        step_us = length_us // (self._nodes + 4)
        places = np.arange(-(self._nodes // 2) + 1, self._nodes // 2 + 1)
        node = (author + places) % self._nodes
        t_us = begin_us + number * 1_000 + 5_000 + np.abs(places) * step_us
        t_us += np.where(places < 0, step_us // 3, 0)  # else it is sent at two places at the same time
        sent = self._packets(node, t_us, np.full(len(node), number), np.zeros(0, np.int64), node[:0])
        back = np.sign(places)
        first = np.flatnonzero(places)  # all but the author hear it first from the node before
        count = len(first)
        heard = _Records(
            np.concatenate([node[first], node[:-2]]),
            np.concatenate([t_us[first - back[first]] + 700, t_us[2:] + 700]),
            np.full(count + len(node) - 2, _RX),
            np.full(count + len(node) - 2, number),
            np.repeat([0, 1], [count, len(node) - 2]),
            np.full(count + len(node) - 2, author),
            np.full(count + len(node) - 2, self._published[author]),
        )
        none = np.full(len(node), -1)
        stored_us = t_us[np.arange(len(node)) - back] + np.where(places == 0, -10, 1_500)
        stored = _Records(
            node, stored_us, np.full(len(node), _ENTRY), none, none,
            np.full(len(node), author), np.full(len(node), self._published[author]),
        )  # fmt: skip
        parts = (sent, heard, stored)
        return _Records(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in _Records.__slots__)
        )

    def _batch(self, columns: dict[str, Ints], begin_us: int) -> pa.RecordBatch:
        order = np.lexsort((columns["kind"], columns["t_us"], columns["node"]))
        found = {name: column[order] for name, column in columns.items()}
        node, kind, feed = found["node"], found["kind"], found["feed"]
        first = np.flatnonzero(np.diff(node, prepend=-1))
        count = np.diff(np.append(first, len(node)))
        within = np.arange(len(node)) - np.repeat(first, count)
        offset = self._offsets[node] + within
        self._offsets[node[first]] += count
        mono_us = found["t_us"] - T0_US + 10
        hour = f"{begin_us:x}"
        hashes = pa.array([digits(f"{hour} {number}", 16) for number in range(100 + ADVERTS * self._nodes)])
        on_air, is_entry, is_start, is_up = kind < 0, kind == _ENTRY, kind == _START, kind == _FACE_UP
        on_air = (kind == _TX) | (kind == _RX)
        own = is_entry & (node == feed)

        def some(values: pa.Array, index: Ints, known: Bools) -> pa.Array:
            return values.take(pa.array(np.where(known, index, 0), mask=~known))

        def const(value: "str | int | float | bool", known: Bools) -> pa.Array:
            return some(pa.array([value]), np.zeros(len(node), np.int64), known)

        zeros = np.zeros(len(node), np.int64)
        big = np.full(len(node), 1)
        arrival = self._arrivals + np.cumsum(is_entry)
        self._arrivals = int(arrival[-1])
        return pa.RecordBatch.from_pydict(
            {
                "v": big,
                "node": self._names.take(pa.array(node)),
                "boot": big,
                "offset": offset,
                "t_us": found["t_us"] + self._skew_us[node],
                "mono_us": mono_us,
                "kind": pa.array(_KINDS).take(pa.array(kind)),
                "name": some(self._names, node, is_start),
                "feed": some(self._feeds, feed, feed >= 0),
                "clean": const(True, is_start),
                "face": const("lora", on_air | is_up | (is_entry & ~own)),
                "spec": const("lora:rak4631", is_up),
                "sub_band": const("EU868 868.0-868.6", is_up),
                "limit_ppm": const(10_000, is_up),
                "window_us": const(HOUR_US, is_up),
                "seq": pa.array(found["seq"], mask=found["seq"] < 0),
                "id": const("ab" * 20, is_entry),
                "type": pa.array(zeros, mask=~is_entry),
                "size": pa.array(zeros + 40, mask=~is_entry),
                "chunks": pa.array(zeros, mask=~is_entry),
                "origin": some(pa.array(["peer", "own"]), own.astype(np.int64), is_entry),
                "arrival": pa.array(arrival, mask=~is_entry),
                "packet": some(pa.array(["want", "entry"]), (found["packet"] < 100).astype(np.int64), on_air),
                "length": pa.array(zeros + 120, mask=~on_air),
                "hash": some(hashes, found["packet"], on_air),
                "verdict": some(pa.array(_VERDICTS), found["verdict"], kind == _RX),
                "rssi_dbm": pa.array(zeros - 90, mask=kind != _RX),
                "snr_db": const(5.0, kind == _RX),
                "airtime_us": pa.array(zeros + 200_000, mask=~on_air),
                "seqs": pa.nulls(len(node), pa.list_(pa.int64())),
                "chunks_wanted": pa.nulls(len(node), pa.list_(pa.list_(pa.int64()))),
                "bad_path": pa.nulls(len(node), pa.string()),
                "bad_byte": pa.nulls(len(node), pa.int64()),
                "bad_reason": pa.nulls(len(node), pa.string()),
                "bad_text": pa.nulls(len(node), pa.string()),
            }
        )


class State:
    """A database, and the mesh that fills it."""

    def __init__(self, database: Database, mesh: Mesh) -> None:
        self.database = database
        self.mesh = mesh
        self._names = NameNumbers(database)

    def add(self, length_us: int) -> int:
        """Merge what happens next; returns the number of records."""
        batch, records = self.prepare(length_us)
        self.merge(batch)
        return records

    def prepare(self, length_us: int) -> tuple[MicroBatch, int]:
        """Make what happens next, as Spark's tasks would; returns it and the number of records."""
        batches = self.mesh.play(length_us)
        found = MicroBatch(
            query=QUERY,
            batch_id=self.mesh.batches,
            parts=combine(reduce(iter(batches))),
            bad_lines=None,
            gaps=None,
            oddities=None,
            offsets=serialize_offset_text({}),
            now_us=self.mesh.now_us,
            read_us=1,
            bytes=1,
            behind_bytes=0,
        )
        self.mesh.batches += 1
        return found, sum(map(len, batches))

    def merge(self, batch: MicroBatch) -> None:
        """Merge a batch."""
        merge(self.database, self._names, batch)


def make(path: Path, days: int, nodes: int = NODES) -> None:
    """Fill a new database with *days* of a mesh, all derived; the mesh is kept beside it."""
    with open_for_writing(str(path)) as database:
        state = State(database, Mesh(nodes))
        for _ in range(24 * days // HOURS_AT_A_TIME):
            state.add(HOURS_AT_A_TIME * HOUR_US)
        Refresh(database, threading.Lock(), lambda: state.mesh.now_us).run_to_end()
    mesh_of(path).write_bytes(pickle.dumps(state.mesh))


def mesh_of(path: Path) -> Path:
    """Where the mesh of a database is kept."""
    return path.with_suffix(".mesh")


def load_mesh(path: Path) -> Mesh:
    """Return the mesh of a database, where it was when it was kept."""
    mesh = pickle.loads(mesh_of(path).read_bytes())
    assert isinstance(mesh, Mesh)
    return mesh
