"""A node: packets known, damaged and made up, in any order, on several faces, while time passes and its user acts."""

from collections.abc import Iterable

from tests.fuzz.script import Script
from tests.nodes import Bench, feed_of, key_of, packets_of, pointing_to, radio_profile, written
from tinyssb_node import limits
from tinyssb_node.codec.dmx import PING_DMX, Network, chnk_dmx, chunk_hash, want_dmx
from tinyssb_node.codec.events import ForkFound, PacketReceived
from tinyssb_node.codec.packets import (
    Anchor,
    Ask,
    Chnk,
    Feeds,
    NamedChnk,
    NamedWant,
    Newest,
    Novelty,
    Want,
    parse_entry,
    serialize_anchor,
    serialize_ask,
    serialize_chnk,
    serialize_claim,
    serialize_diff,
    serialize_feeds,
    serialize_named_chnk,
    serialize_named_want,
    serialize_newest,
    serialize_novelty,
    serialize_want,
)
from tinyssb_node.errors import FeedForkedError
from tinyssb_node.feeds.chain import Extended, Tip, accept, expectation_behind, expectations
from tinyssb_node.feeds.layout import NO_CHUNK, layout_of
from tinyssb_node.ids import Dialect, FaceName, FeedId, Verdict
from tinyssb_node.replication.claim import claim_of
from tinyssb_node.replication.frontiers import SaltedFrontiers, mark_of
from tinyssb_node.replication.salted import short_id
from tinyssb_node.scheduling.link import lan_profile, stream_profile

STEPS_MAX = 40
NETWORK = Network()
ANA, BEN, EVE = key_of("ana"), key_of("ben"), key_of("eve")
FACES = [FaceName("ws#1"), FaceName("lan"), FaceName("radio")]
PROFILES = dict(zip(FACES, (stream_profile(), lan_profile(), radio_profile()), strict=True))
FEEDS = [ANA.feed_id, EVE.feed_id, feed_of(1), feed_of(2), FeedId(bytes(31) + b"\x01")]
LONG = written(ANA, [b"one", b"l" * 300, b"three", b"m" * 250, b"five"], Dialect.DEPLOYED)
IDS = [entry.extended.prev for entry in LONG]
KNOWN = [
    *packets_of(LONG),
    *packets_of(written(ANA, [b"one", b"another second"], Dialect.DEPLOYED)),
    *packets_of(written(EVE, [b"e" * 48, b"l" * 300, b"m" * 250])),
    pointing_to(EVE, bytes(120)),
    serialize_claim(NETWORK.goset_dmx, claim_of(FEEDS)),
    serialize_claim(NETWORK.goset_dmx, claim_of(FEEDS[:2])),
    serialize_novelty(NETWORK.goset_dmx, Novelty(feed=EVE.feed_id)),
    serialize_feeds(NETWORK.goset_dmx, Feeds(feeds=tuple(FEEDS[1:4]))),
    PING_DMX + b"Q 1234 t=1",
]
HEADS = [b"", b"c", b"n", b"s", b"a", b"f", b"z", b"g", b"d", b"w", b"k"]
SALTS = [b"salt", b"seas", bytes(4)]


class Story:
    """One node, and what is done to it."""

    def __init__(self, data: bytes) -> None:
        self.script = Script(data)
        self.bench = Bench(key=BEN, profile=PROFILES[FACES[0]])
        self.faces = {FACES[0]}
        self.face = FACES[0]
        self.bench.perform(self.bench.node.follow(ANA.feed_id, 0, newest=3))
        self.said: list[bytes] = []
        self.acts = [
            lambda: self.hear(self.script.pick(KNOWN)),
            lambda: self.hear(self._damaged(self.script.pick(KNOWN))),
            lambda: self.hear(self.script.piece()),
            lambda: self.hear(self._of_set()),
            lambda: self.bench.pass_time(1_000 << self.script.number(16)),
            self._switch,
            lambda: self.hear(self.script.pick(self.said)) if self.said else None,
            self._publish,
            self._follow,
            self._trouble,
        ]

    def run(self) -> None:
        """Do all of it; look at the node after every step."""
        for _ in range(STEPS_MAX):
            if self.script.over:
                break
            self.script.pick(self.acts)()
            self.said = [*self.said, *(send.packet for send in self.bench.outgoing)][-16:]
            assert all(
                limits.PACKET_MIN_SIZE <= len(send.packet) <= limits.PACKET_SIZE
                for send in self.bench.outgoing
            )
            self.bench.outgoing.clear()
        self.check_tables()
        self.check_store()

    def hear(self, packet: bytes) -> None:
        """A packet comes in. What is of no use leaves the store as it is."""
        before = self._stored()
        effects = self.bench.hear(packet, self.face)
        useful = any(isinstance(one, PacketReceived) and one.verdict is Verdict.NEW for one in effects)
        if not useful and not any(isinstance(one, ForkFound) for one in effects):
            assert self._stored() == before, "a packet of no use changed the store"

    def _stored(self) -> object:
        store = self.bench.store
        stored = store.last_arrival(), list(store.side_chains()), store.forks(), store.feeds()
        return *stored, store.newest_entries()

    def _damaged(self, packet: bytes) -> bytes:
        damaged = bytearray(packet)
        for _ in range(1 + self.script.number(3)):
            damaged[self.script.number(len(damaged))] ^= self.script.number(256)
        return bytes(damaged[: len(damaged) - self.script.number(4)])

    def _of_set(self) -> bytes:
        """A packet that speaks of the node's set as it is now."""
        state, script = self.bench.node.set_state, self.script
        what = script.number(6)
        if what == 0:
            seqs = tuple(script.number(8) for _ in range(1 + script.number(4)))
            return serialize_want(want_dmx(NETWORK, state), Want(offset=script.number(8), seqs=seqs))
        if what == 1:
            wanted = tuple((script.number(5), script.number(6), script.number(5)) for _ in range(3))
            return serialize_chnk(chnk_dmx(NETWORK, state), Chnk(wanted=wanted))
        if what == 2:
            return want_dmx(NETWORK, state) + script.piece()
        if what == 3:
            return chnk_dmx(NETWORK, state) + script.piece()
        if what == 4:
            return self._by_name()
        return NETWORK.goset_dmx + script.pick(HEADS) + script.piece()

    def _by_name(self) -> bytes:
        """A packet that names feeds, known or not, as peers with other sets do."""
        script, dmx = self.script, NETWORK.goset_dmx
        salt, what = script.pick(SALTS), script.number(5)
        feeds = [script.pick([*FEEDS, feed_of(script.number(256))]) for _ in range(1 + script.number(3))]
        shorts = [short_id(salt, feed) for feed in feeds]
        if what == 0:
            return serialize_named_want(
                dmx, NamedWant(salt, tuple((short, script.number(8)) for short in shorts))
            )
        if what == 1:
            wanted = tuple((short, script.number(6), script.number(5)) for short in shorts)
            return serialize_named_chnk(dmx, NamedChnk(salt, wanted))
        if what == 2:
            held = SaltedFrontiers(salt, [(feed, script.number(8)) for feed in feeds])
            depth = script.number(4)
            return serialize_diff(dmx, held.diff(depth, script.number(1 << depth), 1 + script.number(25)))
        if what == 3:
            marks = [mark_of(salt, feed, script.number(8)) for feed in feeds]
            return serialize_ask(dmx, Ask(salt, tuple(shorts + marks)))
        return self._newest(salt, shorts) or serialize_feeds(dmx, Feeds(tuple(feeds), more=True))

    def _newest(self, salt: bytes, shorts: list[int]) -> bytes | None:
        """A NEWEST, or an ANCHOR that may be true."""
        script, dmx, what = self.script, NETWORK.goset_dmx, self.script.number(3)
        if what == 0:
            wanted = tuple((short, script.number(6), script.number(40)) for short in shorts)
            return serialize_newest(dmx, Newest(salt, wanted))
        if what == 1:
            return serialize_anchor(dmx, Anchor(salt, shorts[0], 2 + script.number(6), script.pick(IDS)))
        return None

    def _switch(self) -> None:
        """Go on at another face, which comes up, or goes down."""
        face = self.face = self.script.pick(FACES)
        if face not in self.faces:
            self.bench.up(face, PROFILES[face])
            self.faces.add(face)
        elif self.script.number(4) == 0:
            self.bench.perform(self.bench.node.face_down(face, "gone", self.bench.now_us))
            self.faces.remove(face)

    def _publish(self) -> None:
        try:
            self.bench.publish(self.script.piece() * (1 + self.script.number(3)))
        except FeedForkedError:
            assert BEN.feed_id in {proof.feed for proof in self.bench.store.forks()}

    def _follow(self) -> None:
        feed = self.script.pick(FEEDS)
        if self.script.number(3):
            self.bench.follow(feed)
        elif feed in {record.feed for record in self.bench.node.feeds()}:
            self.bench.perform(self.bench.node.unfollow(feed, self.bench.now_us))

    def _trouble(self) -> None:
        """A frame that is none, or a radio that does not send."""
        node, now_us = self.bench.node, self.bench.now_us
        if self.script.number(2):
            self.bench.perform(node.junk(self.face, "too short", self.script.number(200), now_us))
        else:
            self.bench.reports_sent = not self.bench.reports_sent

    def check_tables(self) -> None:
        """Nothing grew beyond its limit."""
        replica = self.bench.node.replica
        assert len(replica.orphans) <= limits.ORPHANS_MAX
        assert len(replica.expectations.side_chains) <= limits.SIDE_CHAINS_MAX
        assert len(replica.goset) <= limits.SET_MAX
        assert all(status.queued <= limits.QUEUE_MAX for status in self.bench.node.faces())

    def check_store(self) -> None:
        """Every entry is signed and follows the one before; every chunk is the one that was named."""
        store = self.bench.store
        for record in store.feeds():
            tip = Tip(record.feed, record.dialect, 0, None)
            for seq in range(1, record.seq + 1):
                entry = store.entry(record.feed, seq)
                assert entry is not None, "a gap in a feed"
                outcomes = [accept(place, entry.packet) for place in expectations(NETWORK, tip)]
                tip = next(outcome.tip for outcome in outcomes if isinstance(outcome, Extended))
                assert tip.id == entry.id
                self._check_chunks(record.feed, seq, entry.packet, record.dialect)
            assert tip.id == record.tip or record.seq == 0
            assert store.entry(record.feed, record.seq + 1) is None, "an entry behind the last"
        for ahead in store.newest_entries():
            record = next(record for record in store.feeds() if record.feed == ahead.feed)
            assert ahead.seq > record.seq + 1, "an entry that can be appended is stored apart"
            assert record.dialect is not None
            place = expectation_behind(NETWORK, ahead.feed, ahead.seq, record.dialect, ahead.prev)
            assert isinstance(accept(place, ahead.packet), Extended), "an entry that nothing proves"

    def _check_chunks(self, feed: FeedId, seq: int, packet: bytes, dialect: Dialect | None) -> None:
        assert dialect is not None
        entry = parse_entry(packet)
        layout = layout_of(entry.type, entry.content, dialect)
        pointer = layout.first_hash
        for chunk in range(layout.chunks):
            held = self.bench.store.chunk(feed, seq, chunk)
            if held is None:
                break
            assert chunk_hash(held) == pointer, "a chunk that nobody named"
            pointer = held[-len(NO_CHUNK) :]


def run(data: bytes) -> None:
    Story(data).run()


def seeds() -> Iterable[bytes]:
    in_order = b"".join(bytes([0, number]) for number in range(len(KNOWN)))
    yield in_order
    yield b"".join(bytes([0, number]) for number in reversed(range(len(KNOWN))))
    yield b"\x08\x01\x01" + in_order + bytes([5, 2, 4, 15, 7, 30]) + bytes(30)
    yield bytes([8, 1, 1, 3, 0, 2, 1, 1, 1, 0, 4, 12, 3, 1, 1, 2, 0, 6, 0, 5, 1, 4, 9, 9, 1, 9, 0, 9])
    yield bytes([1, 0, 0, 60, 1, 0, 4, 15, 0, 0, 0, 1, 1, 2, 1, 7, 3, 100, 1, 0, 6, 3, 5, 2, 6, 1])
    sketch = bytes([3, 4, 3, 16]) + bytes(17)
    yield sketch + bytes([5, 1, 4, 14]) + sketch
    for what in range(5):
        named = bytes([3, 4, 0, what, 2, 0, 7, 1, 9, 1, 1, 1, 1, 1, 1])
        yield named + bytes([4, 15]) + named + bytes([5, 2]) + named
