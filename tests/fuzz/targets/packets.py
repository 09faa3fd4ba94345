"""Packets of every kind, and the reconciliation of sets that some of them feed."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from tests.fuzz.seeds import in_vectors
from tests.nodes import feed_of
from tinyssb_node.codec import packets
from tinyssb_node.codec.dmx import Network
from tinyssb_node.errors import PeerError
from tinyssb_node.ids import Dmx, MessageId
from tinyssb_node.replication import sketch
from tinyssb_node.replication.chnk import read_chnk
from tinyssb_node.replication.claim import named_feeds
from tinyssb_node.replication.frontiers import FrontiersTooFarApart, SaltedFrontiers
from tinyssb_node.replication.goset import Goset
from tinyssb_node.replication.reconcile import answer_classic, read_sketch
from tinyssb_node.replication.salted import SaltedSet
from tinyssb_node.replication.want import read_want

SET = Goset(feed_of(number) for number in range(9))
HELD = [(feed, 3) for feed in SET.feeds]
DMX = Dmx(bytes(7))
KINDS: list[tuple[Callable[[bytes], Any], Callable[[Dmx, Any], bytes]]] = [
    (packets.parse_claim, packets.serialize_claim),
    (packets.parse_novelty, packets.serialize_novelty),
    (packets.parse_zap, packets.serialize_zap),
    (packets.parse_sketch, packets.serialize_sketch),
    (packets.parse_ask, packets.serialize_ask),
    (packets.parse_feeds, packets.serialize_feeds),
    (packets.parse_diff, packets.serialize_diff),
    (packets.parse_named_want, packets.serialize_named_want),
    (packets.parse_named_chnk, packets.serialize_named_chnk),
    (packets.parse_newest, packets.serialize_newest),
    (packets.parse_anchor, packets.serialize_anchor),
    (packets.parse_want, packets.serialize_want),
    (packets.parse_chnk, packets.serialize_chnk),
    (packets.parse_ping, lambda _, ping: packets.serialize_ping(ping)),
    (packets.parse_pong, lambda _, pong: packets.serialize_pong(pong)),
    (packets.parse_entry, lambda _, entry: packets.serialize_entry(entry)),
]


def run(data: bytes) -> None:
    packets.set_kind(data)
    for parse, serialize in KINDS:
        try:
            found = parse(data)
        except PeerError:
            continue
        assert parse(serialize(DMX, found)) == found, "what was read is written otherwise"
        _use(found)


def _use(found: Any) -> None:
    """Do with a packet what a node does first."""
    with suppress(PeerError):
        if isinstance(found, packets.Claim):
            named_feeds(found)
            if all(feed in SET for feed in named_feeds(found)):
                answer_classic(SET, found, can_learn=True)
        elif isinstance(found, packets.Want):
            read_want(SET, found, lambda _: 7)
        elif isinstance(found, packets.Chnk):
            read_chnk(SET, found)
        elif isinstance(found, packets.Sketch):
            sketch.decode(found.sums)
            read_sketch(SaltedSet(found.salt, SET.feeds), found)
        elif isinstance(found, packets.Diff):
            held = SaltedFrontiers(found.salt, HELD)
            if isinstance(held.read(found), FrontiersTooFarApart) and not held.is_small(found):
                held.parts(found)


def seeds() -> Iterable[bytes]:
    vectors = in_vectors("tinyssb/goset.json", "tinyssb/want_chnk.json", "tinyssb/feed_spec.json")
    dmx = Network().goset_dmx
    made = [
        packets.serialize_sketch(
            dmx, packets.Sketch(salt=bytes(4), count=9, sums=bytes(60), checksum=bytes(3))
        ),
        packets.serialize_diff(dmx, SaltedFrontiers(b"salt", HELD[3:]).diff(0, 0)),
        packets.serialize_diff(dmx, packets.Diff(b"salt", 3, 5, 9, bytes(60))),
        packets.serialize_named_want(dmx, packets.NamedWant(b"salt", ((1, 300), (7, 0)), b"ab", b"cd")),
        packets.serialize_named_chnk(dmx, packets.NamedChnk(b"salt", ((1, 300, 0), (7, 2, 5)))),
        packets.serialize_newest(dmx, packets.Newest(b"salt", ((1, 300, 10), (7, 2, 5)))),
        packets.serialize_anchor(dmx, packets.Anchor(b"salt", 7, 300, MessageId(bytes(20)))),
        packets.serialize_feeds(dmx, packets.Feeds((feed_of(1),), more=True)),
    ]
    return [*vectors, *made, b"ping a=1", b"pong a=1 b=2"]
