"""Nodes that bring their sets together on one channel, in rounds, with a policy that says who speaks when.

The policy is the reference for whoever drives an ``SetReconciliation``; times are shares of a round.

- Once a round each node advertises its set by a SKETCH at a random time, unless it heard an agreeing one in this
  round. (A Trickle timer of constant interval.)
- Who has something to say waits a random time up to ANSWER, and says one packet: what it asks for, then a SKETCH that
  was called for, then what it gives. Who spoke goes on after GAP; whoever hears a packet of an exchange draws anew,
  from behind GAP: so the one who speaks keeps the turn, and the others, who hear it, run out of things to say.
- Who lacks ids that it knows of, and has heard none for QUIET, asks again, AGAIN_MAX times. Who was given ids without
  knowing how many there are advertises after QUIET.
- What deployed peers say is answered as they would answer, in the same turns; nobody begins with a CLAIM, and none is
  said twice in a round, by whomever.
"""

import heapq
import random
from collections import Counter
from collections.abc import Callable, Iterable

from tests.peers.simplepub import ROUND_US as PUB_ROUND_US
from tests.peers.simplepub import SimplePub
from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.packets import (
    ASK_KIND,
    CLAIM_KIND,
    FEEDS_KIND,
    NOVELTY_KIND,
    SKETCH_KIND,
    parse_ask,
    parse_claim,
    parse_feeds,
    parse_novelty,
    parse_sketch,
    serialize_ask,
    serialize_claim,
    serialize_feeds,
    serialize_sketch,
)
from tinyssb_node.ids import FeedId
from tinyssb_node.replication.claim import named_feeds
from tinyssb_node.replication.goset import Goset
from tinyssb_node.replication.reconcile import SetReconciliation, SetsEqual, answer_classic
from tinyssb_node.replication.salted import SaltedSets

ANSWER = 0.1
GAP = 0.01
QUIET = 0.15
AGAIN_MAX = 3
GOSET_DMX = Network().goset_dmx


class Channel:
    """Everybody hears everybody, at once; each hearer misses a packet with probability *loss*."""

    def __init__(self, seed: int, loss: float = 0.0) -> None:
        self.entropy = random.Random(seed)
        self.loss = loss
        self.now = 0.0
        self.nodes: list[Peer | Pub] = []
        self.sent: Counter[bytes] = Counter()
        """Packets by kind."""
        self.bytes = 0
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._number = 0

    def at(self, time: float, call: Callable[[], None]) -> None:
        self._number += 1
        heapq.heappush(self._queue, (time, self._number, call))

    def send(self, sender: "Peer | Pub | None", packet: bytes) -> None:
        """*sender* is None for somebody who does not listen."""
        assert len(packet) <= limits.PACKET_SIZE
        self.bytes += len(packet)
        self.sent[packet[7:8]] += 1
        for node in self.nodes:
            if node is not sender and self.entropy.random() >= self.loss:
                node.hear(packet)

    def run(self, rounds: float, until: Callable[[], bool] = lambda: False) -> float:
        """Go on until *until*, or for so many rounds; returns the rounds it took."""
        end = self.now + rounds
        while self._queue and self._queue[0][0] <= end and not until():
            self.now, _, call = heapq.heappop(self._queue)
            call()
        return self.now

    def agree(self) -> bool:
        first, *others = (node.ids for node in self.nodes)
        return all(ids == first for ids in others)


class Peer:
    """A node that knows SKETCH."""

    def __init__(
        self, channel: Channel, feeds: Iterable[FeedId], capacity: int = limits.SKETCH_CAPACITY
    ) -> None:
        self.channel = channel
        self.goset = Goset(feeds)
        self.sets = SaltedSets(self.goset)
        self.capacity = capacity
        own = FeedId(channel.entropy.randbytes(32))
        self.exchange = SetReconciliation(self.sets, own)
        self._classic: list[bytes] = []
        self._claimed: set[bytes] = set()
        self._agreed = self._unasked = False
        self._turn = self._quiet = 0
        self._again = 0
        channel.nodes.append(self)
        self._begin_round()

    @property
    def ids(self) -> tuple[bytes, ...]:
        return tuple(self.goset.feeds)

    # --- adverts

    def _begin_round(self) -> None:
        self._agreed = False
        self._claimed.clear()
        self.channel.at(self.channel.now + self.channel.entropy.random(), self._advertise)
        self.channel.at(self.channel.now + 1, self._begin_round)

    def _advertise(self) -> None:
        if not self._agreed:
            sketch = self.exchange.advert(self.channel.entropy.randbytes(limits.SALT_SIZE), self.capacity)
            self._send(serialize_sketch(GOSET_DMX, sketch))

    # --- hearing

    def hear(self, packet: bytes) -> None:
        kind = packet[7:8]
        if kind == SKETCH_KIND:
            sketch = parse_sketch(packet)
            reading = self.exchange.heard_sketch(sketch, can_learn=not self.goset.full)
            self._agreed = self._agreed or reading == SetsEqual()
        elif kind == ASK_KIND:
            self.exchange.heard_ask(parse_ask(packet))
        elif kind == FEEDS_KIND:
            feeds = parse_feeds(packet)
            self.exchange.heard_feeds(feeds)
            self._learn(feeds.feeds)
            self._await_quiet()
        elif kind == CLAIM_KIND:
            claim = parse_claim(packet)
            self._claimed.add(packet)
            self._classic = [waiting for waiting in self._classic if waiting != packet]
            self._learn(named_feeds(claim))
            self._answer(answer_classic(self.goset, claim, can_learn=not self.goset.full))
        elif kind == NOVELTY_KIND:
            novelty = parse_novelty(packet)
            self._learn([novelty.feed])
            self._answer(answer_classic(self.goset, novelty, can_learn=not self.goset.full))
        self._take_turn(GAP + self.channel.entropy.random() * ANSWER)

    def _answer(self, claims) -> None:
        packets = [serialize_claim(GOSET_DMX, claim) for claim in claims]
        self._classic += [packet for packet in packets if packet not in self._claimed]
        self._claimed.update(packets)

    def _learn(self, feeds: Iterable[FeedId]) -> None:
        for feed in feeds:
            if self.goset.add(feed):
                self.sets.grew(feed)
                self._unasked = self._unasked or not self.exchange.lacking
                self.exchange.learned(feed)
                self._again = 0

    # --- saying

    def _take_turn(self, wait: float) -> None:
        self._turn += 1
        turn = self._turn
        self.channel.at(self.channel.now + wait, lambda: self._speak() if turn == self._turn else None)

    def _speak(self) -> None:
        packet = self._next_packet()
        if packet is not None:
            self._take_turn(GAP)
            self._send(packet)

    def _next_packet(self) -> bytes | None:
        if (ask := self.exchange.next_ask()) is not None:
            self._await_quiet()
            return serialize_ask(GOSET_DMX, ask)
        if (sketch := self.exchange.next_sketch(self.channel.entropy.randbytes(4))) is not None:
            return serialize_sketch(GOSET_DMX, sketch)
        if (feeds := self.exchange.next_feeds()) is not None:
            return serialize_feeds(GOSET_DMX, feeds)
        return self._classic.pop(0) if self._classic else None

    def _send(self, packet: bytes) -> None:
        self.channel.send(self, packet)

    def _await_quiet(self) -> None:
        self._quiet += 1
        quiet = self._quiet
        wait = QUIET + self.channel.entropy.random() * ANSWER
        self.channel.at(self.channel.now + wait, lambda: self._ask_again() if quiet == self._quiet else None)

    def _ask_again(self) -> None:
        if not self.exchange.lacking:
            if self._unasked:
                self._unasked = False
                self._advertise()
            return
        self._again += 1
        if self._again > AGAIN_MAX:
            self._again = 0
            self.exchange.give_up()
        else:
            self.exchange.ask_again()
            self._speak()


class Pub:
    """A deployed peer: CLAIM and NOVELTY only."""

    def __init__(self, channel: Channel, feeds: Iterable[FeedId]) -> None:
        self.channel = channel
        self.pub = SimplePub()
        for feed in feeds:
            self.pub.add(feed)
        channel.nodes.append(self)
        channel.at(channel.entropy.random(), self._tick)

    @property
    def ids(self) -> tuple[bytes, ...]:
        return tuple(self.pub.keys)

    def _tick(self) -> None:
        for packet in self.pub.tick(int(self.channel.now * PUB_ROUND_US)):
            if packet.startswith(GOSET_DMX):
                self.channel.send(self, packet)
        self.channel.at(self.channel.now + 1, self._tick)

    def hear(self, packet: bytes) -> None:
        self.pub.hear(packet)
