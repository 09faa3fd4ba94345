"""Names, DMX values and hashes, which tie a packet to its position (spec 3.4.2, 4.2).

A name is hashed and signed in place of a header: ``prefix | feed id | seq | id of the entry before``.
"""

from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from tinyssb_node import limits
from tinyssb_node.ids import Dialect, Dmx, FeedId, MessageId

_PREFIX: Final = b"tinyssb-v0"
_GOSET: Final = b"tinySSB-0.1 GOset 1"
_new: Final = bytes.__new__
"""Makes a Dmx or MessageId of a slice that has its size by construction: once per packet and hash, so it counts."""
_NO_ID: Final = MessageId(bytes(limits.MESSAGE_ID_SIZE))


def dmx_of(name: bytes) -> Dmx:
    """Return the 7 bytes in front of the packet that has this name (spec 4.2.2)."""
    return _new(Dmx, sha256(name).digest()[: limits.DMX_SIZE])


PING_DMX: Final = dmx_of(b"peers 1.0 request")
"""DMX of a ping; no network key changes it."""
PONG_DMX: Final = dmx_of(b"peers 1.0 reply")
"""DMX of a pong; no network key changes it."""


@dataclass(frozen=True, slots=True)
class Network:
    """The keys of a network, which nodes must share to understand each other (empty for the open network)."""

    key: bytes = b""
    """Put in front of every prefix that is hashed."""
    set_key: bytes = b""
    """Replaces *key* in packets about the set, so that the same feeds form another set (decision 0052); empty: *key* is
    used."""
    prefix: bytes = field(init=False, repr=False)
    """The first bytes of every name."""
    set_prefix: bytes = field(init=False, repr=False)
    """The first bytes of what is hashed for requests."""
    goset_dmx: Dmx = field(init=False, repr=False)
    """DMX of all packets about the set: CLAIM and NOVELTY (spec 3.2.3), ZAP, SKETCH, ASK, FEEDS."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "prefix", self.key + _PREFIX)
        set_key = self.set_key or self.key
        object.__setattr__(self, "set_prefix", set_key + _PREFIX)
        object.__setattr__(self, "goset_dmx", dmx_of(set_key + _GOSET))


def first_prev(feed: FeedId, dialect: Dialect) -> MessageId:
    """Return the id that precedes entry 1: zeros, or the feed id's first 20 bytes (decision 0001)."""
    return _NO_ID if dialect is Dialect.SPEC else MessageId(feed[: limits.MESSAGE_ID_SIZE])


def entry_name(network: Network, feed: FeedId, seq: int, prev: bytes) -> bytes:
    """Return the name of entry *seq* of *feed* behind the one with id *prev* (spec 4.2.2)."""
    return network.prefix + feed + seq.to_bytes(limits.SEQ_SIZE, "big") + prev


def message_id(name: bytes, packet: bytes) -> MessageId:
    """Return the id of the entry *packet* at the position *name* (spec 4.2.4)."""
    return _new(MessageId, sha256(name + packet).digest()[: limits.MESSAGE_ID_SIZE])


def want_dmx(network: Network, state: bytes) -> Dmx:
    """Return the DMX of a WANT among nodes whose feed ids XOR to *state*, 32 bytes (spec 3.4.2)."""
    return dmx_of(network.set_prefix + b"want" + state)


def chnk_dmx(network: Network, state: bytes) -> Dmx:
    """Return the DMX of a CHNK among nodes whose feed ids XOR to *state*, 32 bytes."""
    return dmx_of(network.set_prefix + b"blob" + state)


def coded_tag(network: Network, feed: FeedId) -> bytes:
    """Return the 4 bytes with which coded entries of *feed* begin (``docs/formats/packets.md``)."""
    return sha256(network.prefix + b"code" + feed).digest()[: limits.CODED_TAG_SIZE]


def coded_chunk_tag(network: Network, feed: FeedId) -> bytes:
    """Return the 4 bytes with which coded chunks of *feed* begin (``docs/formats/packets.md``)."""
    return sha256(network.prefix + b"codechunk" + feed).digest()[: limits.CODED_TAG_SIZE]


def chunk_hash(packet: bytes) -> bytes:
    """Return the 20 bytes by which the packet before it, or its entry, points to a chunk (spec, message type 1)."""
    return sha256(packet).digest()[: limits.MESSAGE_ID_SIZE]


def packet_hash(packet: bytes) -> bytes:
    """Return the 8 bytes that identify a packet in the event log."""
    return sha256(packet).digest()[: limits.PACKET_HASH_SIZE]
