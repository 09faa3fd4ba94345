"""Packets of a hostile peer without end: valid ones, lies, mutations, junk, and entries of feeds that it makes up."""

import hashlib
import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.packets import Feeds, serialize_feeds
from tinyssb_node.errors import StoreFailedError
from tinyssb_node.feeds.author import compose
from tinyssb_node.feeds.chain import Tip
from tinyssb_node.ids import Dialect
from tinyssb_node.sim.hostile_packets import (
    CHOICES,
    FIELDS,
    MAKERS,
    MANGLES,
    Lie,
    View,
    make_packet,
    own_packets,
)
from tinyssb_node.store.sqlite import SqliteStore

ROUND: Final = 64
"""Packets of one sort in a row."""
SIZE_MAX: Final = 200
"""Bytes of the longest junk: longer than any packet."""
OWN_FEEDS: Final = 4
"""Feeds of the peer with short entries, long side chains and false acknowledgements."""


class Traffic:
    """The packets of one peer. It reads the node's set from its store: no real peer knows more."""

    def __init__(self, home: Path, seed: str) -> None:
        self._home = home
        self.chance = random.Random(seed)
        """Its chance."""
        self._seed = seed
        self._made = 0
        self._network = Network()
        keys = [_key(f"{seed} {number}") for number in range(OWN_FEEDS)]
        self._view = View(self._network, self.chance, keys, own=own_packets(self._network, keys))

    def hear(self, packet: bytes) -> None:
        """Learn names and salts from a packet of the node, to use them."""
        self._view.hear(packet)

    def packets(self) -> Iterator[bytes]:
        """Go on for ever."""
        sorts = (self._lies, self._lies, self._junk, self._feed, self._mutated)
        while True:
            self._look()
            for _ in range(len(sorts)):
                yield from self.chance.choice(sorts)()

    def _look(self) -> None:
        try:
            with closing(SqliteStore.open_readonly(self._home / "store.sqlite")) as store:
                self._view.look([record for record in store.feeds() if record.in_set])
        except StoreFailedError:
            pass  # what was seen before is good enough

    def _lies(self) -> Iterator[bytes]:
        """A flood of one kind (WANT, CLAIM, SKETCH, DIFF and so on), each with other fields."""
        kind = self.chance.choice(list(MAKERS))
        for _ in range(ROUND):
            fields = {key: self.chance.choice(CHOICES[key]) for key in FIELDS[kind]}
            made = make_packet(self._view, Lie(kind=kind, mangle=self.chance.choice(MANGLES), **fields))
            if made is not None:
                yield made[0]

    def _junk(self) -> Iterator[bytes]:
        for _ in range(ROUND):
            yield self.chance.randbytes(1 + self.chance.randrange(SIZE_MAX))

    def _feed(self) -> Iterator[bytes]:
        """A new id, and entries of its own: in order, with side chains that come, or that never come."""
        self._made += 1
        key = _key(f"{self._seed} feed {self._made}")
        yield serialize_feeds(self._network.goset_dmx, Feeds((key.feed_id,), more=True))
        tip = Tip(key.feed_id, Dialect.SPEC, 0, None)
        size = self.chance.choice((10, 10, 400, 4_000))
        for _ in range(ROUND):
            entry = compose(self._network, key, tip, self.chance.randbytes(size))
            tip = entry.extended.tip
            yield entry.packet
            if size == 400:
                yield from entry.chunks

    def _mutated(self) -> Iterator[bytes]:
        """Packets of the node, or entries of its own, with a byte changed."""
        known = list(self._view.heard) or list(self._view.own)
        for _ in range(ROUND):
            packet = bytearray(self.chance.choice(known))
            packet[self.chance.randrange(len(packet))] = self.chance.randrange(256)
            yield bytes(packet[: limits.PACKET_SIZE])


def _key(name: str) -> SigningKey:
    return SigningKey(hashlib.sha256(b"hostile " + name.encode()).digest())
