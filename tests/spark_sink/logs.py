"""Builds nodes' logs for tests, by docs/formats/events.md and without the node's own writer."""

import hashlib
import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Record = dict[str, Any]

T0_US = 1_760_000_000_000_000
"""When the tests' world begins."""


def node_name(number: int) -> str:
    return hashlib.sha256(f"node {number}".encode()).hexdigest()[:16]


def feed_name(number: int) -> str:
    return node_name(number) + hashlib.sha256(f"feed {number}".encode()).hexdigest()[:48]


def digits(text: str, size: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:size]


def line(record: Record) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


@dataclass
class NodeLog:
    """One node's log below a folder: append records, rotate, restart."""

    root: Path
    node: str
    boot: int = 1
    offset: int = 0
    t_us: int = T0_US
    records: list[Record] = field(default_factory=list)
    path: Path = field(init=False)

    def __post_init__(self) -> None:
        self.rotate()

    def rotate(self) -> None:
        """Begin a new segment."""
        folder = self.root / self.node
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{self.boot:08d}-{self.offset:012d}.jsonl"
        self.path.touch()

    def restart(self) -> None:
        """Begin a new boot."""
        self.boot += 1
        self.offset = 0
        self.rotate()

    def stamp(self, kind: str, **fields: Any) -> Record:
        """Make the next record without writing it."""
        self.t_us = fields.pop("t_us", self.t_us + 1_000)
        record: Record = {
            "v": 1,
            "node": self.node,
            "boot": self.boot,
            "offset": self.offset,
            "t_us": self.t_us,
            "mono_us": self.t_us - T0_US,
            "kind": kind,
            **fields,
        }
        self.offset += 1
        return record

    def add(self, kind: str, **fields: Any) -> Record:
        """Append one record."""
        record = self.stamp(kind, **fields)
        self.records.append(record)
        self.raw(line(record))
        return record

    def raw(self, data: bytes) -> None:
        """Append bytes as they are."""
        with self.path.open("ab") as file:
            file.write(data)

    def start(self, number: int) -> Record:
        return self.add(
            "start", name=f"n{number}", feed=feed_name(number), dialect="spec", version="0.1.0", clean=True
        )


def mesh(root: Path, *, nodes: int, posts: int, seed: int = 1, segment_records: int = 40) -> list[NodeLog]:
    """Logs of *nodes* nodes that publish *posts* entries in turn and hear most of each other's."""
    chance = random.Random(seed)
    logs = [NodeLog(root, node_name(number)) for number in range(nodes)]
    for number, log in enumerate(logs):
        log.start(number)
    for post in range(posts):
        _post(logs, post, chance)
        for log in logs:
            if log.offset and log.offset % segment_records < 4:
                log.rotate()
    return logs


def _post(logs: list[NodeLog], post: int, chance: random.Random) -> None:
    author = post % len(logs)
    seq = post // len(logs) + 1
    t_us = T0_US + post * 2_000_000
    place = {"feed": feed_name(author), "seq": seq}
    entry = {**place, "id": digits(f"{author} {seq}", 40), "type": 0, "size": 30, "chunks": 0}
    packet = {"face": "ether", "packet": "entry", "length": 120, "hash": digits(f"packet {post}", 16)}
    logs[author].add("entry", t_us=t_us, **entry, origin="own", arrival=post + 1)
    logs[author].add("tx", t_us=t_us + 5_000, **packet, airtime_us=200_000)
    for number, log in enumerate(logs):
        if number == author or chance.random() < 0.2:
            continue
        heard_us = t_us + 205_000 + chance.randrange(2_000_000)
        signal = {"rssi_dbm": -80 - chance.randrange(40), "snr_db": chance.randrange(-40, 40) / 4}
        log.add("rx", t_us=heard_us, **packet, **place, airtime_us=200_000, verdict="new", **signal)
        log.add("entry", t_us=heard_us + 500, **entry, origin="peer", face="ether", arrival=post + 1)
        if chance.random() < 0.3:
            log.add("rx", t_us=heard_us + 900, **packet, airtime_us=200_000, verdict="duplicate")


def write_bulk(root: Path, *, events: int, nodes: int, segment_bytes: int) -> int:
    """Write *events* records of a busy mesh, fast; returns the bytes written."""
    total = 0
    for number in range(nodes):
        log = NodeLog(root, node_name(number))
        log.start(number)
        buffer = bytearray()
        for record in bulk_records(log, events // nodes - 1, number):
            buffer += line(record)
            if len(buffer) >= segment_bytes:
                log.raw(bytes(buffer))
                total += len(buffer)
                buffer.clear()
                log.rotate()
        log.raw(bytes(buffer))
        total += len(buffer)
    return total


def bulk_records(log: NodeLog, count: int, number: int) -> Iterator[Record]:
    chance = random.Random(number)
    for index in range(count):
        packet = {"face": "ether", "packet": "entry", "length": 120, "hash": f"{chance.getrandbits(64):016x}"}
        place = {"feed": feed_name(index % 50), "seq": index // 50 + 1}
        match index % 10:
            case 0 | 1 | 2:
                yield log.stamp("tx", **packet, airtime_us=200_000)
            case 3 | 4 | 5 | 6:
                signal = {"rssi_dbm": -chance.randrange(60, 120), "snr_db": chance.randrange(-40, 40) / 4}
                yield log.stamp("rx", **packet, **place, verdict="new", airtime_us=200_000, **signal)
            case 7 | 8:
                yield log.stamp(
                    "entry",
                    **place,
                    id=digits(str(index), 40),
                    type=0,
                    size=40,
                    chunks=0,
                    origin="peer",
                    face="ether",
                    arrival=index + 1,
                )
            case _:
                yield log.stamp(
                    "want",
                    direction="tx",
                    face="ether",
                    state=digits("state", 64),
                    offset_index=0,
                    seqs=[index // 50 + 1] * 20,
                )


def lines(records: Iterable[Record]) -> bytes:
    return b"".join(line(record) for record in records)
