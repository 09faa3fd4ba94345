"""Replicas on a bench: packets in, what is held out."""

from tinyssb_node.codec.dmx import Network, chunk_hash
from tinyssb_node.feeds.layout import layout_of
from tinyssb_node.feeds.sidechain import reassemble
from tinyssb_node.ids import FaceName, FeedId, Origin
from tinyssb_node.replication.packet_outcome import PacketOutcome
from tinyssb_node.replication.replica import Replica
from tinyssb_node.store.memory import MemoryStore
from tinyssb_node.store.port import Store

NETWORK = Network()
FACE = FaceName("air")


def replica_of(store: Store, *feeds: FeedId, read_only: bool = False) -> Replica:
    """Our copy of what *store* holds, with *feeds* in the set."""
    replica = Replica(store, NETWORK, read_only=read_only)
    for feed in feeds:
        replica.add_feed(feed, FACE)
    return replica


def offer(replica: Replica, packet: bytes) -> PacketOutcome:
    """A peer sends *packet*."""
    return replica.offer(packet, chunk_hash(packet), Origin.PEER, FACE)


def offer_all(replica: Replica, packets: list[bytes]) -> list[PacketOutcome]:
    """A peer sends all of *packets*."""
    return [offer(replica, packet) for packet in packets]


def contents(store: MemoryStore, feed: FeedId) -> list[bytes]:
    """Return the contents of a feed's entries, side chains included. All of them must be whole."""
    record = next(record for record in store.feeds() if record.feed == feed)
    found = []
    for entry in store.entries(feed, 1, record.seq):
        assert record.dialect is not None
        layout = layout_of(entry.packet[7], entry.packet[8:56], record.dialect)
        found.append(reassemble(layout, store.chunks(feed, entry.seq, 0, layout.chunks)))
    return found
