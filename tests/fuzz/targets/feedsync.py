"""The sync of gateways: its packets and greetings, and one side of it that a stranger talks to."""

from collections.abc import Iterable
from contextlib import suppress

from tests.fuzz.script import Script
from tests.fuzz.seeds import in_vectors
from tests.islands.feedsync.gateways import Gateway
from tests.nodes import key_of, packets_of, written
from tinyssb_node.codec.dmx import Network
from tinyssb_node.islands.feedsync import limits
from tinyssb_node.islands.feedsync.handshake import Handshake
from tinyssb_node.islands.feedsync.packets import (
    FeedSyncDiffers,
    FeedSyncGive,
    FeedSyncHello,
    FeedSyncMore,
    FeedSyncPacketError,
    FeedSyncShow,
    FeedSyncShown,
    FeedSyncWant,
    Packet,
    PacketRun,
    WantedFeed,
    WantedRange,
    parse_packet,
    serialize_packet,
)

STEPS_MAX = 40
ANA, BOB = key_of("ana"), key_of("bob")
CONTENTS = [b"1", b"two " * 60, b"3", b"4"]
FEED = packets_of(written(ANA, CONTENTS))
BRANCH = packets_of(written(ANA, [*CONTENTS[:2], b"other"]))
ENTRIES = [FEED[0], FEED[1], FEED[4], FEED[5], BRANCH[4], bytes(120)]
CHUNKS = [*FEED[2:4], bytes(120)]


class Story:
    """Bytes read as what a stranger says who knows the network's key, and what must hold whatever that is."""

    def __init__(self, data: bytes) -> None:
        self.script = Script(data)
        self.gateway = Gateway()
        for key in (ANA, BOB):
            self.gateway.replica.add_feed(key.feed_id, None)
        self.gateway.take(*FEED[:3])
        self.sync = self.gateway.begin([ANA.feed_id, BOB.feed_id])
        self.names = self.read_names()

    def read_names(self) -> list[bytes]:
        said = [parse_packet(packet) for packet in iter(self.sync.next_packet, None)]
        return [name.short for packet in said if isinstance(packet, FeedSyncWant) for name in packet.names]

    def run(self) -> None:
        for _ in range(STEPS_MAX):
            if self.script.over:
                break
            self.sync.receive(self.packet())
            broken = self.gateway.settle()
            for _ in range(limits.OUTBOX_MAX):
                if self.sync.next_packet() is None:
                    break
            else:
                raise AssertionError("it goes on talking")
            held = {*self.gateway.packets(ANA.feed_id)}
            assert held <= {*FEED} or held <= {*BRANCH}
            if broken:
                assert self.sync.next_packet() is None

    def packet(self) -> bytes:
        script = self.script
        said = script.pick([self.want, self.more, self.give, self.differs, self.show, self.shown, None])
        return script.piece() if said is None else serialize_packet(said())

    def lacking(self) -> WantedRange:
        seq = self.script.number(6)
        if seq < 2:
            return WantedRange(seq)
        chains = ((1, self.script.number(4)),) if self.script.number(2) else ()
        return WantedRange(seq, self.script.pick([bytes(4), self.tip(seq - 1)]), chains)

    def tip(self, seq: int) -> bytes:
        kept = self.gateway.store.entry(ANA.feed_id, seq)
        return bytes(4) if kept is None else kept.id[:4]

    def want(self) -> Packet:
        return FeedSyncWant((WantedFeed(self.script.pick([*self.names, b"nobody"]), self.lacking()),))

    def more(self) -> Packet:
        return FeedSyncMore(self.script.number(4), self.lacking())

    def give(self) -> Packet:
        script, runs = self.script, list[PacketRun]()
        for _ in range(1 + script.number(3)):
            if script.number(2):
                runs.append(PacketRun(1 + script.number(4), script.number(3), (script.pick(CHUNKS),)))
            else:
                packets = tuple(script.pick(ENTRIES) for _ in range(1 + script.number(3)))
                runs.append(PacketRun(1 + script.number(5), None, packets))
        return FeedSyncGive(script.number(3), tuple(runs))

    def differs(self) -> Packet:
        return FeedSyncDiffers(self.script.number(3))

    def show(self) -> Packet:
        return FeedSyncShow(self.script.number(3), 1 + self.script.number(5))

    def shown(self) -> Packet:
        packets = tuple(self.script.pick(ENTRIES) for _ in range(self.script.number(3)))
        return FeedSyncShown(self.script.number(3), 1 + self.script.number(5), packets)


def run(data: bytes) -> None:
    with suppress(FeedSyncPacketError):
        packet = parse_packet(data)
        # Of a later version only what all versions have in common is read.
        assert data.startswith(serialize_packet(packet))
        assert len(data) == len(serialize_packet(packet)) or isinstance(packet, FeedSyncHello)
    greeting = Handshake([Network(), Network(b"key")], caller=False, nonce=bytes(16))
    with suppress(FeedSyncPacketError):
        for at in range(0, len(data), 18):
            greeting.receive(data[at : at + 18])
    assert greeting.met is None
    Story(data).run()


def seeds() -> Iterable[bytes]:
    return [*in_vectors("feedsync/packets_v1.json"), *(bytes([step] * 30) for step in range(7))]
