"""A node on its real store and event log, in this process: what the daemon does, with a clock and a peer of ours."""

import asyncio
import random
import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import structlog

from tests.daemon.fakes import FakeClock
from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.events import DaemonStarted, DaemonStopped, Effect, Send
from tinyssb_node.daemon.eventlog import EventLog, EventLogOptions
from tinyssb_node.daemon.network_storage import NetworkStorage, bind_store
from tinyssb_node.daemon.runtime import Runtime
from tinyssb_node.daemon.setup import node_name
from tinyssb_node.errors import NodeReadOnlyError, StoreFullError
from tinyssb_node.ids import DEFAULT_NETWORK, Dialect, FaceName, FeedId, MessageId
from tinyssb_node.node.networks import Networks
from tinyssb_node.node.node import Node
from tinyssb_node.scheduling.link import WIRED, LinkProfile, stream_profile
from tinyssb_node.store.memory import MemoryStore
from tinyssb_node.store.sqlite import SqliteStore

KEY: Final = SigningKey(b"\x07" * 32)
PEER_KEYS: Final = [SigningKey(bytes([9 + number]) * 32) for number in range(3)]
"""Of the peers: one that has forgotten what it published is another one, or it would fork its own feed."""
NETWORK: Final = Network()
FACE: Final = FaceName("wire")
SEGMENT_BYTES: Final = 8_000
"""A segment of the event log: small, so that a short life has several."""
PATIENCE_US: Final = limits.RETRY_US
"""After this a node that met a full disk looks for room again."""
CONTENTS: Final = (5, 40, 300, 1_500)
"""Bytes of content: in the entry, and in side chains of several lengths."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A promise to a caller or peer that an entry is stored. From then on it has to be."""

    feed: FeedId
    seq: int
    id: MessageId
    chunks: int
    """Packets of its side chain that are to be there too."""


@dataclass
class Peer:
    """The other end of a cable: a whole node, in memory, which no fault reaches."""

    entropy: random.Random
    key: SigningKey
    node: Node = field(init=False)
    store: MemoryStore = field(default_factory=MemoryStore)
    sent: list[bytes] = field(default_factory=list)
    """Packets on their way to the victim."""

    def __post_init__(self) -> None:
        self.node = Node(
            store=self.store, network=NETWORK, entropy=self.entropy, key=self.key, dialect=Dialect.SPEC
        )

    def did(self, effects: list[Effect], now_us: int) -> None:
        packets = [effect.packet for effect in effects if isinstance(effect, Send)]
        self.sent += packets
        if packets:
            self.did(self.node.sent(FACE, len(packets), now_us), now_us)


class Wire:
    """The victim's face: what it is given is at the peer at once."""

    name = FACE

    def __init__(self, given: Callable[[bytes], None]) -> None:
        self.profile: LinkProfile = stream_profile()
        self._given = given

    async def send(self, packets: list[bytes]) -> int:
        for packet in packets:
            self._given(packet)
        return len(packets)


class CarelessConnection(sqlite3.Connection):
    """A connection that never syncs."""

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        """Execute *sql*, without the wish to sync."""
        return super().execute(sql.replace("synchronous = FULL", "synchronous = OFF"), *parameters)


_connect_careless = partial(sqlite3.connect, factory=CarelessConnection)


class Victim:
    """One node over all its boots. Time goes on over them; so does its peer, which remembers what it was shown."""

    def __init__(
        self,
        home: Path,
        seed: int,
        claimed: Callable[[Claim], None],
        *,
        peer: int = 0,
        careless: bool = False,
    ) -> None:
        """*claimed* hears at once of everything somebody was told. *peer* says which peer is at the other end. A
        *careless* one does not sync its store."""
        self._careless = careless
        self.home = home
        self.entropy = random.Random(f"victim {seed}")
        self.clock = FakeClock()
        self.peer = Peer(random.Random(f"peer {seed}"), PEER_KEYS[peer])
        self.claims: dict[tuple[FeedId, int], Claim] = {}
        self.room = True
        self._claimed = claimed
        self._stack = ExitStack()
        self._tasks: set[asyncio.Task[object]] = set()
        """Those of the daemon that runs now."""
        self.runtime: Runtime
        self.place: NetworkStorage

    @staticmethod
    def make_home(home: Path) -> None:
        """Make a home as `tinyssb init` does, as far as the store goes."""
        home.mkdir(mode=0o700, parents=True)
        with closing(SqliteStore.open(home / "store.sqlite")):
            pass

    async def boot(self) -> None:
        """Start as the daemon does. Raises LocalError."""
        others = asyncio.all_tasks()
        with patch("sqlite3.connect", _connect_careless) if self._careless else nullcontext():
            store = self._stack.enter_context(closing(SqliteStore.open(self.home / "store.sqlite")))
        assert bind_store(store, NETWORK, self.clock.wall_us())
        log = EventLog.open(
            self.home / "events",
            node_name(KEY.feed_id),
            store,
            self.clock.wall_us(),
            options=EventLogOptions(segment_bytes=SEGMENT_BYTES, segment_age_us=60_000_000),
        )
        self._stack.enter_context(closing(log))
        self.place = NetworkStorage(name=DEFAULT_NETWORK, network=NETWORK, store=store, events=log)
        self.runtime = Runtime(
            make_networks=self._make_networks,
            places=[self.place],
            clock=self.clock,
            logger=structlog.wrap_logger(None, processors=[_drop]),
            has_room=lambda: self.room,
        )
        started = DaemonStarted(
            name="victim", feed=KEY.feed_id, dialect=Dialect.SPEC, version="0", clean=log.clean
        )
        self.runtime.begin(DEFAULT_NETWORK, started)
        self.runtime.up(Wire(self._heard), "wire")
        now_us = self.clock.now_us()
        self.peer.sent.clear()
        self.peer.did(self.peer.node.face_down(FACE, "reboot", now_us), now_us)
        self.peer.did(self.peer.node.face_up(FACE, stream_profile(), "wire", now_us), now_us)
        await self.turn()
        self._tasks = asyncio.all_tasks() - others

    def _make_networks(self, read_only: bool) -> Networks:
        node = Node(
            store=self.place.store if hasattr(self, "place") else MemoryStore(),
            network=NETWORK,
            entropy=self.entropy,
            key=KEY,
            dialect=Dialect.SPEC,
            read_only=read_only,
        )
        return Networks({DEFAULT_NETWORK: node})

    def end(self) -> None:
        """End in order, as far as that can be. Raises LocalError."""
        try:
            self.runtime.note(DaemonStopped(reason="told to"))
        finally:
            self.close()

    def close(self) -> None:
        """Close what is open, as the daemon does after any error."""
        for task in self._tasks:
            task.cancel()
        self._tasks.clear()
        stack, self._stack = self._stack, ExitStack()
        stack.close()

    async def work(self, steps: int, chance: random.Random) -> None:
        """Live for so many steps: somebody publishes here, somebody there, packets cross, time passes."""
        for _ in range(steps):
            await self._step(chance)

    async def _step(self, chance: random.Random) -> None:
        what = chance.random()
        if what < 0.4:
            self.publish(chance.randbytes(chance.choice(CONTENTS)))
        elif what < 0.65:
            now_us = self.clock.now_us()
            _, effects = self.peer.node.publish(chance.randbytes(chance.choice(CONTENTS)), now_us)
            self.peer.did(effects, now_us)
        else:
            self.clock.mono_us += chance.choice((200_000, 1_100_000, 6_000_000))
        for _ in range(2):
            await self.turn()

    def publish(self, content: bytes) -> None:
        """Publish as a caller at the control socket does. A full disk refuses it; nothing was claimed then."""
        try:
            event = self.runtime.do(lambda node, now_us: node.publish(content, now_us))
        except (StoreFullError, NodeReadOnlyError):
            return
        self._claim(Claim(event.feed, event.seq, event.id, event.chunks))

    async def turn(self) -> None:
        """Let the victim have what the peer sent, and the peer what came of it."""
        now_us = self.clock.now_us()
        self.peer.did(self.peer.node.wake(now_us), now_us)
        packets, self.peer.sent = self.peer.sent, []
        for packet in packets:
            self.runtime.frame(FACE, packet, WIRED)
        self.runtime.turn()
        for record in self.place.store.feeds():
            if record.feed == self.peer.key.feed_id and record.tip is not None:
                self._claim(Claim(record.feed, record.seq, record.tip, 0))
        # The sender of the port is a task of its own, and tells the runtime what has left.
        for _ in range(3):
            await asyncio.sleep(0)

    def _heard(self, packet: bytes) -> None:
        now_us = self.clock.now_us()
        self.peer.did(self.peer.node.receive(packet, FACE, WIRED, now_us), now_us)
        held = next((record for record in self.peer.node.feeds() if record.feed == KEY.feed_id), None)
        if held is not None and held.tip is not None:
            self._claim(Claim(held.feed, held.seq, held.tip, 0))

    def _claim(self, claim: Claim) -> None:
        known = self.claims.get((claim.feed, claim.seq))
        if known is not None and known.id != claim.id:
            raise AssertionError(f"two entries were shown for place {claim.seq} of one feed: a fork")
        if known is None or known.chunks < claim.chunks:
            self.claims[claim.feed, claim.seq] = claim
            self._claimed(claim)


def _drop(_logger: object, _method: str, _line: structlog.typing.EventDict) -> str:
    raise structlog.DropEvent
