"""A daemon reduced to its event log, for tests."""

import contextlib
import json
import os
import random
from pathlib import Path

from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.events import (
    ChunkAppended,
    DaemonStarted,
    DaemonStopped,
    EntryAppended,
    PacketSent,
    Send,
)
from tinyssb_node.daemon.eventlog import EventLog, EventLogOptions
from tinyssb_node.daemon.eventlog_segments import segments
from tinyssb_node.ids import Dialect, FaceName, PacketKind
from tinyssb_node.node.node import Node
from tinyssb_node.store.memory import MemoryStore

KEY = SigningKey(b"\x07" * 32)
NODE = KEY.feed_id.hex()[:16]
WALL_US = 1_700_000_000_000_000
SECOND = 1_000_000
TX = PacketSent(face=FaceName("udp"), packet=PacketKind.WANT, length=20, hash=bytes(8), airtime_us=0)
APPENDS = (EntryAppended, ChunkAppended)


class Shell:
    """The daemon's side of a log, with a clock that stands still unless told."""

    def __init__(self, folder, store=None, **options):
        self.folder = folder
        self.place = folder / NODE
        self.store = store or MemoryStore()
        self.options = EventLogOptions(**options)
        self.mono_us = 0
        self.log: EventLog
        self.node: Node

    def open(self):
        self.mono_us = 0
        self.node = Node(
            store=self.store, network=Network(), entropy=random.Random(1), key=KEY, dialect=Dialect.SPEC
        )
        self.store.commit(WALL_US)
        self.log = EventLog.open(self.folder, NODE, self.store, WALL_US, options=self.options)
        return self

    def begin(self):
        start = DaemonStarted(
            name="ana", feed=KEY.feed_id, dialect=Dialect.SPEC, version="1", clean=self.log.clean
        )
        self.log.begin(start, WALL_US, self.mono_us)
        return self

    def start(self):
        return self.open().begin()

    def commit(self, content=b"x"):
        """Publish as far as the store; return the events."""
        _, effects = self.node.publish(content, self.mono_us)
        self.store.commit(WALL_US + self.mono_us)
        return [effect for effect in effects if not isinstance(effect, Send)]

    def append(self, *events):
        for event in events:
            self.log.append(event, WALL_US + self.mono_us, self.mono_us)

    def publish(self, content=b"x"):
        self.append(*self.commit(content))
        self.log.flush()

    def later(self, seconds):
        self.mono_us += seconds * SECOND
        self.log.tick(WALL_US + self.mono_us, self.mono_us)

    def stop(self):
        self.append(DaemonStopped(reason="signal"))
        self.log.close()

    def crash(self):
        """Lose whatever is in memory."""
        for number in self.open_files():
            os.close(number)
        self.store.rollback()

    def open_files(self):
        """File descriptors of this process for files of the log."""
        found = []
        for path in Path("/proc/self/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                if path.readlink().is_relative_to(self.place):
                    found.append(int(path.name))
        return found

    def names(self):
        return [segment.path.name for segment in segments(self.place)]

    def records(self):
        """Return the records that a reader finds: whole lines that are JSON."""
        found = []
        for segment in segments(self.place):
            for line in segment.path.read_bytes().splitlines(keepends=True):
                try:
                    record = json.loads(line) if line.endswith(b"\n") else None
                except ValueError:
                    record = None
                if isinstance(record, dict):
                    found.append(record)
        return found

    def kinds(self):
        return [record["kind"] for record in self.records()]

    def arrivals(self):
        return [record["arrival"] for record in self.records() if record["kind"] in ("entry", "chunk")]
