"""A node, a broker that loses, repeats and reorders, and a collector: one log on its way, in memory."""

import random

from spark_sink.collect.collector import Collector
from spark_sink.collect.messages import Log
from spark_sink.collect.messages import SegmentId as LandedId
from tests.shipping.memory_landing import MemoryLanding
from tinyssb_node.shipping import limits
from tinyssb_node.shipping.shipment import BandwidthLimit, LogShipment, ShippingState
from tinyssb_node.shipping.wire import SegmentId, fingerprint, serialize_batch

LOG = Log("open", "3f0a1b2c4d5e6f70")
UP = "tinyssb-log/open/3f0a1b2c4d5e6f70/up"
BATCH = 50
EVERY_US = 10_000_000


class World:
    """A node, a broker, and a collector."""

    def __init__(self, seed: int, *, life: int = 0, bytes_per_s: int = 0) -> None:
        self.random = random.Random(seed)
        self.now_us = 1_000_000
        self.files: dict[SegmentId, bytes] = {}
        self.up: list[bytes] = []
        self.down: list[bytes] = []
        self.landing = MemoryLanding()
        self.lives = life
        self.pace = BandwidthLimit(bytes_per_s)
        self.sent = 0
        self.start_collector()
        self.kept = ShippingState()
        self.start_shipper(self.kept)
        self.shipping.connected()

    # --- the node

    def grow(self, size: int) -> None:
        """The log grows: sometimes in a new segment, or in a new boot."""
        last = max(self.files, default=None)
        how = self.random.random()
        if last is None or how < 0.2:
            last = SegmentId((last.boot if last else 0) + 1, 0)
        elif how < 0.5:
            last = SegmentId(last.boot, last.first + len(self.files[last]) + 1)
        self.files[last] = self.files.get(last, b"") + self.random.randbytes(size)

    def forget_oldest(self) -> None:
        if len(self.files) > 1:
            del self.files[min(self.files)]

    def start_shipper(self, saved: ShippingState) -> None:
        self.shipping = LogShipment(saved, run=self.random.getrandbits(32), every_us=EVERY_US, pace=self.pace)
        self.look()

    def look(self) -> None:
        self.shipping.look({segment: len(content) for segment, content in sorted(self.files.items())})

    def ship(self, most: int = 100, *, hasty: bool = False) -> None:
        """Take a turn, as the shipper's process does. *hasty*: the collector is quicker than the broker."""
        self.look()
        for _ in range(most):
            if (question := self.shipping.ask(self.now_us)) is not None:
                self.up.append(question)
            if (piece := self.shipping.next(self.now_us)) is None:
                return
            content = self.files[piece.segment]
            near = min(piece.at, limits.PRINT_BYTES)
            before = fingerprint(content[:near], content[piece.at - near : piece.at])
            run = self.shipping.run
            batch = serialize_batch(run, piece, before, content[piece.at : piece.end])
            self.up.append(batch)
            if hasty:
                self.collect()
                self.hear()
            self.shipping.handed(piece, run, len(batch), self.now_us)
            self.sent += piece.size

    def hear(self) -> None:
        while self.down:
            self.shipping.heard(self.down.pop(0), self.now_us)

    # --- the collector

    def start_collector(self) -> None:
        self.lives += 1
        self.collector = Collector(self.landing, life=self.lives)

    def collect(self, most: int = 100, *, answering: bool = True) -> None:
        """Land what waits; it dies before it syncs unless it is *answering*."""
        answers = [self.collector.receive(UP, message) for message in self.up[:most]]
        if answering:
            self.landing.sync()
            del self.up[:most]
            self.down += [answer.message for answer in answers if answer is not None]
        else:
            self.landing.crash()
            self.start_collector()

    # --- all

    def settle(self) -> int:
        """Everybody works and nothing is lost from now on. Returns the turns it took until all was there."""
        for turn in range(200):
            self.ship()
            self.collect()
            self.hear()
            if not self.shipping.lacking_bytes() and not self.up and not self.shipping.asking:
                return turn
            self.now_us += EVERY_US
        raise AssertionError(f"{self.shipping.lacking_bytes()} bytes are still lacking")

    def check(self) -> None:
        for segment, content in self.files.items():
            assert bytes(self.landing.files[LOG, LandedId(*segment)]) == content, segment

    # --- what goes wrong

    def lose_up(self, number: int) -> None:
        del self.up[number % (len(self.up) + 1) :]

    def lose_one(self, number: int) -> None:
        if self.up:
            del self.up[number % len(self.up)]

    def lose_down(self, number: int) -> None:
        del self.down[number % (len(self.down) + 1) :]

    def repeat(self, number: int) -> None:
        if self.up:
            place = number % len(self.up)
            self.up.insert(place + self.random.randrange(3), self.up[place])

    def swap(self, number: int) -> None:
        if len(self.up) > 1:
            place = number % (len(self.up) - 1)
            self.up[place : place + 2] = reversed(self.up[place : place + 2])

    def collector_dies(self, number: int) -> None:
        self.collect(number, answering=False)

    def collector_loses_disk(self, _number: int) -> None:
        self.landing.lose()
        self.start_collector()

    def keep(self, _number: int) -> None:
        self.kept = self.shipping.saved()

    def shipper_dies(self, number: int) -> None:
        self.start_shipper(self.kept if number % 3 else ShippingState())
        self.shipping.connected()

    def reconnect(self, _number: int) -> None:
        self.shipping.lost()
        self.shipping.connected()
