"""What comes in that is neither entry nor chunk: what it is, and which machine is told."""

from tinyssb_node import limits
from tinyssb_node.codec.dmx import PING_DMX, PONG_DMX, Network
from tinyssb_node.codec.packets import (
    parse_ask,
    parse_chnk,
    parse_claim,
    parse_feeds,
    parse_novelty,
    parse_sketch,
    parse_want,
    parse_zap,
    set_kind,
)
from tinyssb_node.effects import Effect
from tinyssb_node.errors import PacketKindError
from tinyssb_node.gossip.entries import EntryGossip
from tinyssb_node.gossip.retirement import FeedRetirement
from tinyssb_node.gossip.set_gossip import SetGossip
from tinyssb_node.ids import PacketKind, Verdict
from tinyssb_node.node.propagation import Propagation
from tinyssb_node.replication.claim import named_feeds
from tinyssb_node.replication.packet_outcome import PacketOutcome
from tinyssb_node.replication.replica import Replica
from tinyssb_node.scheduling.line import Line
from tinyssb_node.scheduling.link import Reception


class GossipDispatch:
    """Reads what others say of what they have and lack."""

    def __init__(
        self,
        network: Network,
        replica: Replica,
        gossip: EntryGossip,
        sets: SetGossip,
        leaving: FeedRetirement,
        news: Propagation,
    ) -> None:
        self._network = network
        self._replica = replica
        self._gossip = gossip
        self._sets = sets
        self._leaving = leaving
        self._news = news

    def kind(self, dmx: bytes, packet: bytes) -> PacketKind | None:
        """What a packet is by its DMX; None if it may be an entry or chunk, or nothing."""
        if dmx == self._gossip.want_dmx:
            return PacketKind.WANT
        if dmx == self._gossip.chnk_dmx:
            return PacketKind.CHNK
        if dmx == self._network.goset_dmx:
            return set_kind(packet)
        if dmx == PING_DMX:
            return PacketKind.PING
        return PacketKind.PONG if dmx == PONG_DMX else None

    def take(
        self,
        line: Line,
        kind: PacketKind,
        packet: bytes,
        finding: PacketOutcome,
        reception: Reception,
        now_us: int,
        effects: list[Effect],
    ) -> None:
        """Act on a packet of *kind*. Raises PeerError, before anything has changed."""
        if kind is PacketKind.WANT:
            want = parse_want(packet)
            self._leaving.heard_want(want, now_us)
            effects += self._gossip.heard_want(line, want, reception, now_us)
        elif kind is PacketKind.CHNK:
            chnk = parse_chnk(packet)
            self._leaving.heard_chnk(chnk, now_us)
            effects += self._gossip.heard_chnk(line, chnk, now_us)
        elif kind is PacketKind.ZAP:
            # "Wipe yourself": read, counted, never obeyed (docs/formats/packets.md).
            parse_zap(packet)
            finding.verdict = Verdict.NOT_OURS
        elif kind is PacketKind.UNKNOWN:
            raise PacketKindError("goset", packet[limits.DMX_SIZE : limits.DMX_SIZE + 1])
        elif kind is PacketKind.PING or kind is PacketKind.PONG:
            # Pings of ESP32 boards are of no network: whoever holds all networks answers them, where asked to.
            finding.verdict = Verdict.NOT_OURS
        else:
            self._take_of_set(line, kind, packet, now_us, effects)

    def _take_of_set(
        self, line: Line, kind: PacketKind, packet: bytes, now_us: int, effects: list[Effect]
    ) -> None:
        if kind is PacketKind.CLAIM:
            claim = parse_claim(packet)
            named = named_feeds(claim)
            if claim.count > len(named):
                # Bounds of many are named by whoever did not hear yet that they have left: that brings nothing back.
                named = tuple(feed for feed in named if feed not in self._replica.retired)
            welcome = self._news.learn(line, named, now_us, effects)
            self._news.let_go(line, claim, now_us, effects)
            effects += self._sets.heard_claim(line, claim, now_us, welcome=welcome)
        elif kind is PacketKind.NOVELTY:
            novelty = parse_novelty(packet)
            welcome = self._news.learn(line, (novelty.feed,), now_us, effects)
            effects += self._sets.heard_novelty(line, novelty, now_us, welcome=welcome)
        elif kind is PacketKind.SKETCH:
            sketch = parse_sketch(packet)
            self._news.let_go(line, sketch, now_us, effects)
            effects += self._sets.heard_sketch(line, sketch, now_us)
        elif kind is PacketKind.ASK:
            effects += self._sets.heard_ask(line, parse_ask(packet))
        else:
            assert kind is PacketKind.FEEDS
            feeds = parse_feeds(packet)
            effects += self._sets.heard_feeds(line, feeds)
            self._news.learn(line, feeds.feeds, now_us, effects)
