"""Each checker says no when its rule is broken, and nothing as long as it is not."""

import random
from dataclasses import dataclass, replace

import pytest

from tests.nodes import key_of, written
from tinyssb_node.codec.dmx import Network, message_id
from tinyssb_node.codec.events import ChunkAppended, EntryAppended, Send
from tinyssb_node.feeds.chain import Tip, expectations
from tinyssb_node.ids import Dialect, FaceName, FeedId, MessageId, Origin, PacketKind
from tinyssb_node.node.node import Node
from tinyssb_node.sim.checkers import (
    AirtimeLaw,
    BoundsChecker,
    DutyCycleChecker,
    FeedChecker,
    InvariantError,
)
from tinyssb_node.sim.simulated_node import SimulatedNode
from tinyssb_node.sim.world import World

SECOND_US = 1_000_000
HOUR_US = 3_600 * SECOND_US
ANA = key_of("ana")
SEND = Send(FaceName("air"), bytes(120), PacketKind.ENTRY)


def inhabitant(name: str = "n0") -> SimulatedNode:
    return World(1).add(name)


def broken(rule: str, what, *args: object) -> str:
    with pytest.raises(InvariantError) as error:
        what(*args)
    assert error.value.rule == rule
    return error.value.what


class Holder:
    """A node into whose store we write what we like."""

    def __init__(self, checker: FeedChecker, name: str = "n0") -> None:
        self.inhabitant = inhabitant(name)
        self.checker = checker
        self.arrival = 0

    def take(self, feed: FeedId, seq: int, packet: bytes, id_: MessageId) -> None:
        self.write(feed, seq, packet, id_)
        self.told(feed, seq, id_)

    def write(self, feed: FeedId, seq: int, packet: bytes, id_: MessageId) -> None:
        store = self.inhabitant.store
        if feed not in {record.feed for record in store.feeds()}:
            own = store.feeds()[0]
            store.put_feed(replace(own, feed=feed, own=False, seq=0, tip=None, dialect=Dialect.SPEC))
        self.arrival = store.append_entry(feed, seq, packet, id_, Origin.PEER, FaceName("air"))

    def told(self, feed: FeedId, seq: int, id_: MessageId) -> None:
        self.checker.recorded(self.inhabitant, self.event(feed, seq, id_), 0)

    def event(self, feed: FeedId, seq: int, id_: MessageId) -> EntryAppended:
        return EntryAppended(
            feed=feed,
            seq=seq,
            id=id_,
            type=1,
            size=5,
            chunks=0,
            origin=Origin.PEER,
            face=FaceName("air"),
            arrival=self.arrival,
        )

    def take_chunk(self, feed: FeedId, seq: int, chunk: int, packet: bytes) -> None:
        arrival = self.inhabitant.store.append_chunk(feed, seq, chunk, packet, Origin.PEER, None)
        event = ChunkAppended(
            feed=feed,
            seq=seq,
            chunk=chunk,
            size=100,
            complete=False,
            origin=Origin.PEER,
            face=None,
            arrival=arrival,
        )
        self.checker.recorded(self.inhabitant, event, 0)


@dataclass(frozen=True)
class Written:
    """An entry as its author made it."""

    seq: int
    packet: bytes
    id: MessageId
    chunks: tuple[bytes, ...]


def feed_of(*contents: bytes, dialect: Dialect = Dialect.SPEC) -> list[Written]:
    entries = []
    for composed in written(ANA, contents, dialect):
        tip = composed.extended.tip
        assert tip.id is not None
        entries.append(Written(tip.seq, composed.packet, tip.id, composed.chunks))
    return entries


@pytest.mark.parametrize("dialect", list(Dialect))
def test_a_signed_feed_is_accepted_on_every_node(dialect: Dialect) -> None:
    checker = FeedChecker()
    for name in ("n0", "n1"):
        holder = Holder(checker, name)
        for entry in feed_of(b"one", b"two" * 100, dialect=dialect):
            holder.take(ANA.feed_id, entry.seq, entry.packet, entry.id)
            for number, chunk in enumerate(entry.chunks):
                holder.take_chunk(ANA.feed_id, entry.seq, number, chunk)


def test_an_entry_that_is_not_signed() -> None:
    (entry,) = feed_of(b"one")
    forged = entry.packet[:60] + bytes([entry.packet[60] ^ 1]) + entry.packet[61:]
    holder = Holder(FeedChecker())
    assert "did not sign" in broken(
        "no unverified entry is accepted", holder.take, ANA.feed_id, 1, forged, entry.id
    )


def test_an_entry_with_its_own_id_that_is_not_signed() -> None:
    (entry,) = feed_of(b"one")
    place = expectations(Network(), Tip(ANA.feed_id, Dialect.SPEC, 0, None))[0]
    forged = entry.packet[:-1] + bytes([entry.packet[-1] ^ 1])
    holder = Holder(FeedChecker())
    id_ = message_id(place.name, forged)
    broken("no unverified entry is accepted", holder.take, ANA.feed_id, 1, forged, id_)


def test_an_entry_that_begins_like_none() -> None:
    (entry,) = feed_of(b"one")
    place = expectations(Network(), Tip(ANA.feed_id, Dialect.SPEC, 0, None))[0]
    forged = bytes(7) + entry.packet[7:]
    holder = Holder(FeedChecker())
    id_ = message_id(place.name, forged)
    broken("no unverified entry is accepted", holder.take, ANA.feed_id, 1, forged, id_)


def test_an_entry_under_another_id() -> None:
    (entry,) = feed_of(b"one")
    holder = Holder(FeedChecker())
    broken("no unverified entry is accepted", holder.take, ANA.feed_id, 1, entry.packet, MessageId(bytes(20)))


def test_an_entry_of_somebody_elses() -> None:
    (entry,) = feed_of(b"one")
    holder = Holder(FeedChecker())
    broken("no unverified entry is accepted", holder.take, key_of("bob").feed_id, 1, entry.packet, entry.id)


def test_two_nodes_that_hold_different_entries_for_one_place() -> None:
    checker = FeedChecker()
    (one,), (other,) = feed_of(b"one"), feed_of(b"other")
    Holder(checker, "n0").take(ANA.feed_id, 1, one.packet, one.id)
    holder = Holder(checker, "n1")
    broken("prefixes agree", holder.take, ANA.feed_id, 1, other.packet, other.id)


def test_a_frontier_that_jumps() -> None:
    one, two = feed_of(b"one", b"two")
    holder = Holder(FeedChecker())
    holder.take(ANA.feed_id, 1, one.packet, one.id)
    broken("frontiers grow one by one", holder.told, ANA.feed_id, 1, one.id)
    broken("frontiers grow one by one", holder.told, ANA.feed_id, 3, two.id)


def test_a_node_that_comes_back_with_less() -> None:
    (one,) = feed_of(b"one")
    checker = FeedChecker()
    holder = Holder(checker)
    holder.inhabitant.store.commit(0)
    holder.take(ANA.feed_id, 1, one.packet, one.id)
    checker.began(holder.inhabitant, 0)
    holder.inhabitant.store.rollback()
    broken("frontiers never shrink", checker.began, holder.inhabitant, 0)


def test_a_node_that_lost_what_a_user_was_told_is_safe() -> None:
    checker = FeedChecker()
    holder = Holder(checker)
    event = holder.event(holder.inhabitant.feed, 1, MessageId(bytes(20)))
    checker.acknowledged(holder.inhabitant, event, 0)
    broken("nothing acknowledged is lost", checker.began, holder.inhabitant, 0)


def test_a_node_that_lost_a_chunk_of_it() -> None:
    checker = FeedChecker()
    holder = Holder(checker)
    (entry,) = feed_of(b"long" * 100)
    holder.take(ANA.feed_id, 1, entry.packet, entry.id)
    for number, chunk in enumerate(entry.chunks[:-1]):
        holder.take_chunk(ANA.feed_id, 1, number, chunk)
    event = replace(holder.event(ANA.feed_id, 1, entry.id), chunks=len(entry.chunks))
    checker.acknowledged(holder.inhabitant, event, 0)
    broken("nothing acknowledged is lost", checker.began, holder.inhabitant, 0)


def test_chunks_out_of_order_and_chunks_that_nobody_named() -> None:
    (entry,) = feed_of(b"long" * 100)
    holder = Holder(FeedChecker())
    holder.take(ANA.feed_id, 1, entry.packet, entry.id)
    broken("side chains grow one by one", holder.take_chunk, ANA.feed_id, 1, 1, entry.chunks[1])
    broken("side chains grow one by one", holder.take_chunk, ANA.feed_id, 2, 0, entry.chunks[0])
    broken("no unverified entry is accepted", holder.take_chunk, ANA.feed_id, 1, 0, bytes(120))


def test_different_chunks_for_one_place() -> None:
    checker = FeedChecker()
    (entry,) = feed_of(b"long" * 100)
    for name, chunk in (("n0", entry.chunks[0]), ("n1", bytes(120))):
        holder = Holder(checker, name)
        holder.take(ANA.feed_id, 1, entry.packet, entry.id)
        if name == "n0":
            holder.take_chunk(ANA.feed_id, 1, 0, chunk)
        else:
            broken("prefixes agree", holder.take_chunk, ANA.feed_id, 1, 0, chunk)


def test_queues_that_grow_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(1)
    world.add("n0")
    world.add("n1")
    world.connect("n0", "n1")
    node = world.inhabitants["n0"].node
    assert isinstance(node, Node)
    checker = BoundsChecker()
    checker.sending(world.inhabitants["n0"], SEND, 0, 1)
    (face,) = node.faces()
    for swollen in (replace(face, queued=1_025), replace(face, outstanding=face.profile.window + 1)):
        monkeypatch.setattr(Node, "faces", lambda _, swollen=swollen: [swollen])
        broken("queues are bounded", checker.sending, world.inhabitants["n0"], SEND, 0, 1)


def busiest_us(sends: list[tuple[int, int]]) -> int:
    """The most on the air in any hour, looking at every hour that begins or ends with a packet."""
    edges = [edge for send in sends for edge in send]
    starts = [*edges, *(edge - HOUR_US for edge in edges)]
    return max(
        sum(max(0, min(end, start + HOUR_US) - max(begin, start)) for begin, end in sends) for start in starts
    )


@pytest.mark.parametrize("seed", range(30))
def test_the_fullest_hour_is_found(seed: int) -> None:
    chance = random.Random(seed)
    checker, node = DutyCycleChecker({"n0": AirtimeLaw()}), inhabitant()
    sends: list[tuple[int, int]] = []
    now_us = 0
    for _ in range(60):
        now_us += chance.choice((1, 60 * SECOND_US, 1_000 * SECOND_US, 3_599 * SECOND_US))
        end_us = now_us + chance.randrange(1, 300 * SECOND_US)
        checker.sending(node, SEND, now_us, end_us)
        sends.append((now_us, end_us))
        now_us = end_us
        assert checker.peak_us["n0"] == busiest_us(sends)


def test_one_microsecond_more_than_the_law_allows() -> None:
    law = AirtimeLaw(most_us=36 * SECOND_US)
    checker, node = DutyCycleChecker({"n0": law, "n1": law}), inhabitant()
    checker.sending(node, SEND, 0, 36 * SECOND_US)
    checker.sending(node, SEND, HOUR_US, HOUR_US + SECOND_US)  # as much as left the window meanwhile
    checker.sending(inhabitant("n1"), SEND, HOUR_US, HOUR_US + SECOND_US)  # an account of its own
    early = DutyCycleChecker({"n0": law})
    early.sending(node, SEND, 0, 36 * SECOND_US)
    assert "36000001 us of an hour" in broken(
        "nobody exceeds the legal duty", early.sending, node, SEND, HOUR_US - 1, HOUR_US + SECOND_US
    )


def test_a_restart_forgets_no_airtime() -> None:
    checker, node = DutyCycleChecker({"n0": AirtimeLaw(most_us=SECOND_US)}), inhabitant()
    checker.sending(node, SEND, 0, SECOND_US)
    checker.began(node, SECOND_US)
    broken("nobody exceeds the legal duty", checker.sending, node, SEND, 2 * SECOND_US, 3 * SECOND_US)


def test_one_packet_that_is_too_long() -> None:
    checker, node = DutyCycleChecker({"n0": AirtimeLaw(dwell_us=400_000)}), inhabitant()
    checker.sending(node, SEND, 0, 400_000)
    broken("nobody exceeds the legal dwell time", checker.sending, node, SEND, 500_000, 900_001)
