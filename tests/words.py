"""Packets of other nodes to a node on a bench."""

from tests.nodes import Bench, key_of, packets_of
from tinyssb_node.codec.dmx import Network, chnk_dmx, want_dmx
from tinyssb_node.codec.packets import (
    Ask,
    Chnk,
    Claim,
    Feeds,
    Novelty,
    Want,
    serialize_ask,
    serialize_chnk,
    serialize_claim,
    serialize_feeds,
    serialize_novelty,
    serialize_sketch,
    serialize_want,
)
from tinyssb_node.feeds.author import ComposedEntry
from tinyssb_node.ids import FeedId
from tinyssb_node.replication.goset import Goset
from tinyssb_node.replication.salted import SaltedSets, short_id
from tinyssb_node.scheduling.link import LinkProfile

NETWORK = Network()
ANA = key_of("ana")


def want(bench: Bench, speaker: bytes = b"", asks: bytes = b"", /, **seqs: int) -> bytes:
    """A WANT that asks for the feeds of these names from these numbers on; on the air it may say who speaks, and whom
    it asks."""
    wanted = {key_of(name).feed_id: seq for name, seq in seqs.items()}
    numbers = tuple(wanted.get(record.feed, 0) for record in bench.node.feeds())
    said = Want(offset=0, seqs=numbers, speaker=speaker, asks=asks)
    return serialize_want(want_dmx(NETWORK, bench.node.set_state), said)


def chnk(bench: Bench, *wanted: tuple[FeedId, int, int]) -> bytes:
    """A CHNK for (feed, sequence number, first chunk)."""
    feeds = [record.feed for record in bench.node.feeds()]
    triples = tuple((feeds.index(feed), seq, chunk) for feed, seq, chunk in wanted)
    return serialize_chnk(chnk_dmx(NETWORK, bench.node.set_state), Chnk(wanted=triples))


def claim(said: Claim) -> bytes:
    """A CLAIM."""
    return serialize_claim(NETWORK.goset_dmx, said)


def novelty(feed: FeedId) -> bytes:
    """A NOVELTY."""
    return serialize_novelty(NETWORK.goset_dmx, Novelty(feed=feed))


def sketch_of(salt: bytes, capacity: int, *feeds: FeedId) -> bytes:
    """A SKETCH of a set of these ids."""
    return serialize_sketch(NETWORK.goset_dmx, SaltedSets(Goset(feeds)).under(salt).sketch(capacity))


def ask(salt: bytes, *feeds: FeedId) -> bytes:
    """An ASK for these ids."""
    shorts = tuple(sorted(short_id(salt, feed) for feed in feeds))
    return serialize_ask(NETWORK.goset_dmx, Ask(salt, shorts))


def feeds_packet(*feeds: FeedId) -> bytes:
    """A FEEDS."""
    return serialize_feeds(NETWORK.goset_dmx, Feeds(feeds))


def holding(feed: tuple[ComposedEntry, ...], profile: LinkProfile | None = None) -> Bench:
    """A node that holds a feed of Ana's."""
    bench = Bench(profile=profile)
    bench.follow(ANA.feed_id)
    for packet in packets_of(feed):
        bench.perform(bench.node.import_packet(packet, bench.now_us)[1])
    bench.take()
    return bench
