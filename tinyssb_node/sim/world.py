"""Several nodes in virtual time, on a modelled channel and on streams between two.

The second shell around ``Node``, beside the daemon: same order of things (commit, then record, then send), no clock but
the number in ``now_us``. One seed gives one history.
"""

import heapq
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network
from tinyssb_node.effects import Effect, Send
from tinyssb_node.events import Event
from tinyssb_node.ids import Dialect, FaceName, FeedId, PacketKind
from tinyssb_node.node import Node
from tinyssb_node.scheduling.link import LinkProfile, Reception, air_profile, stream_profile
from tinyssb_node.sim.medium import Medium
from tinyssb_node.store.memory import MemoryStore
from tinyssb_node.store.port import FeedRecord

AIR = FaceName("air")
"""The face of every node that is on the channel."""


@dataclass(slots=True)
class Inhabitant:
    """A node and what belongs to it."""

    name: str
    node: Node
    store: MemoryStore
    feed: FeedId
    events: list[Event] = field(default_factory=list)
    """All it recorded, in order."""
    woken_for_us: int | None = None
    """The wake-up that is scheduled."""


@dataclass(frozen=True, slots=True, order=True)
class _Happening:
    at_us: int
    number: int
    do: Callable[[], None] = field(compare=False)


class World:
    """A mesh and its time."""

    def __init__(self, seed: int, medium: Callable[[random.Random], Medium] | None = None) -> None:
        """*medium* makes the channel from the stream of chance it is given; None for streams only."""
        self.now_us = 0
        self.inhabitants: dict[str, Inhabitant] = {}
        self.sent: Counter[PacketKind] = Counter()
        """Packets that began to be sent, on all faces together."""
        self.airtime_us = 0
        """Sum of all airtime used."""
        self._seed = seed
        self._backoff = self.chance("backoff")
        self._medium = medium(self.chance("medium")) if medium is not None else None
        self._queue: list[_Happening] = []
        self._numbers = 0
        self._streams: dict[tuple[str, FaceName], tuple[str, FaceName, int]] = {}

    def chance(self, purpose: str) -> random.Random:
        """A stream of chance of its own for each purpose, so that one more draw here changes nothing there."""
        return random.Random(f"{self._seed}/{purpose}")  # noqa: S311 - a model needs no secrets

    # --- building

    def add(self, name: str, *, dialect: Dialect = Dialect.SPEC, key: SigningKey | None = None) -> Inhabitant:
        """A node comes; if there is a channel, it is on it."""
        key = key or SigningKey(self.chance(f"key {name}").randbytes(32))
        store = MemoryStore()
        node = Node(
            store=store, network=Network(), entropy=self.chance(f"node {name}"), key=key, dialect=dialect
        )
        store.commit(self.now_us)
        inhabitant = Inhabitant(name, node, store, key.feed_id)
        self.inhabitants[name] = inhabitant
        if self._medium is not None:
            self._medium.add_node(name)
            medium = self._medium
            airtimes_us = [medium.airtime_us(n + limits.CRC_SIZE) for n in range(limits.PACKET_SIZE + 1)]
            self._up(inhabitant, AIR, air_profile(airtimes_us))
        return inhabitant

    def connect(self, left: str, right: str, latency_us: int = 1_000) -> None:
        """Lay a stream between two nodes."""
        for here, there in ((left, right), (right, left)):
            self._streams[here, FaceName(f"to {there}")] = (there, FaceName(f"to {here}"), latency_us)
            self._up(self.inhabitants[here], FaceName(f"to {there}"), stream_profile())

    def disconnect(self, left: str, right: str) -> None:
        """Take a stream away."""
        for here, there in ((left, right), (right, left)):
            face = FaceName(f"to {there}")
            del self._streams[here, face]
            inhabitant = self.inhabitants[here]
            self._perform(inhabitant, inhabitant.node.face_down(face, "disconnected", self.now_us))

    def _up(self, inhabitant: Inhabitant, face: FaceName, profile: LinkProfile) -> None:
        self._perform(inhabitant, inhabitant.node.face_up(face, profile, "sim", self.now_us))

    # --- acting

    def publish(self, name: str, content: bytes) -> None:
        """A node publishes *content*."""
        inhabitant = self.inhabitants[name]
        _, effects = inhabitant.node.publish(content, self.now_us)
        self._perform(inhabitant, effects)

    def act(self, name: str, deed: Callable[[Node, int], Sequence[Effect]]) -> None:
        """Anything else a user of a node may do."""
        inhabitant = self.inhabitants[name]
        self._perform(inhabitant, deed(inhabitant.node, self.now_us))

    def later(self, delay_us: int, do: Callable[[], None]) -> None:
        """Do something in a while."""
        self._numbers += 1
        heapq.heappush(self._queue, _Happening(self.now_us + delay_us, self._numbers, do))

    # --- time

    def run(self, until: Callable[[], bool], limit_us: int) -> bool:
        """Let time pass until *until* holds, or *limit_us* more have passed. True if it holds."""
        end_us = self.now_us + limit_us
        while not until():
            if not self._queue or self._queue[0].at_us > end_us:
                self.now_us = end_us
                return until()
            happening = heapq.heappop(self._queue)
            self.now_us = happening.at_us
            happening.do()
        return True

    def run_for(self, span_us: int) -> None:
        """Let time pass."""
        self.run(lambda: False, span_us)

    def agreed(self) -> bool:
        """True if all nodes hold the same feeds to the same entries, and no side chain is open."""
        views = [self._view(inhabitant) for inhabitant in self.inhabitants.values()]
        return all(view == views[0] for view in views) and not any(
            inhabitant.node.side_chains_open() for inhabitant in self.inhabitants.values()
        )

    def _view(self, inhabitant: Inhabitant) -> list[tuple[FeedId, int]]:
        records: Sequence[FeedRecord] = inhabitant.node.feeds()
        return [(record.feed, record.seq) for record in records]

    # --- the shell

    def _perform(self, inhabitant: Inhabitant, effects: Sequence[Effect]) -> None:
        inhabitant.store.commit(self.now_us)
        for effect in effects:
            if isinstance(effect, Send):
                self._send(inhabitant, effect)
            else:
                inhabitant.events.append(effect)
        self._schedule_wake(inhabitant)

    def _schedule_wake(self, inhabitant: Inhabitant) -> None:
        due_us = inhabitant.node.next_wake_us()
        if due_us is None or due_us == inhabitant.woken_for_us:
            return
        inhabitant.woken_for_us = due_us

        def wake() -> None:
            if inhabitant.woken_for_us == due_us:
                inhabitant.woken_for_us = None
                self._perform(inhabitant, inhabitant.node.wake(self.now_us))

        self.later(max(0, due_us - self.now_us), wake)

    def _send(self, inhabitant: Inhabitant, send: Send) -> None:
        if (inhabitant.name, send.face) in self._streams:
            self._stream(inhabitant, send)
        else:
            self._listen_then_talk(inhabitant, send)

    def _stream(self, inhabitant: Inhabitant, send: Send) -> None:
        other, face, latency_us = self._streams[inhabitant.name, send.face]
        self.sent[send.kind] += 1
        self.later(0, lambda: self._perform(inhabitant, inhabitant.node.sent(send.face, 1, self.now_us)))
        self.later(latency_us, lambda: self._receive(other, send.packet, face, Reception()))

    def _listen_then_talk(self, inhabitant: Inhabitant, send: Send) -> None:
        medium = self._medium
        assert medium is not None
        if medium.is_busy(inhabitant.name, self.now_us):
            pause_us = int(self._backoff.random() * medium.airtime_us(limits.PACKET_SIZE))
            self.later(1 + pause_us, lambda: self._listen_then_talk(inhabitant, send))
            return
        length = len(send.packet) + limits.CRC_SIZE
        end_us = medium.begin_send(inhabitant.name, length, self.now_us)
        self.sent[send.kind] += 1
        self.airtime_us += end_us - self.now_us
        self.later(end_us - self.now_us, lambda: self._end_send(inhabitant, send))

    def _end_send(self, inhabitant: Inhabitant, send: Send) -> None:
        medium = self._medium
        assert medium is not None
        airtime_us = medium.airtime_us(len(send.packet) + limits.CRC_SIZE)
        for delivery in medium.end_send(inhabitant.name).deliveries:
            heard = Reception(rssi_dbm=delivery.rssi_dbm, snr_db=delivery.snr_db, airtime_us=airtime_us)
            self._receive(delivery.receiver, send.packet, AIR, heard)
        self._perform(inhabitant, inhabitant.node.sent(send.face, 1, self.now_us))

    def _receive(self, name: str, packet: bytes, face: FaceName, reception: Reception) -> None:
        inhabitant = self.inhabitants[name]
        self._perform(inhabitant, inhabitant.node.receive(packet, face, reception, self.now_us))
