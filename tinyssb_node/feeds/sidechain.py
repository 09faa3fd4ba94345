"""Side chains: content that does not fit into its entry, in packets that each point to the next one by hash.

The length that the entry declares, and nothing else, determines the number of packets. A pointer in the last one is not
followed, and a missing pointer before leaves the chain broken for ever, since nothing can hash to zeros. A chunk is
recognised only when the one before it is known; the caller keeps those that come too early.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tinyssb_node import limits
from tinyssb_node.codec.dmx import chunk_hash
from tinyssb_node.codec.varint import encode_varint
from tinyssb_node.feeds.layout import FIXED_TYPE, NO_CHUNK, VARIABLE_TYPE, Layout, chunks_for
from tinyssb_node.ids import Dialect, FeedId


@dataclass(frozen=True, slots=True)
class SideChain:
    """The known part of a side chain."""

    feed: FeedId
    """The feed."""
    seq: int
    """The entry it hangs on."""
    chunks: int
    """Packets it has, at least 1."""
    held: int
    """Packets known, from the first on without gaps."""
    next_hash: bytes
    """First 20 bytes of the SHA-256 of the next packet; zeros if it is complete or broken."""
    content_size: int
    """Bytes of content in its packets, those in the entry itself not counted."""

    @property
    def complete(self) -> bool:
        """True if no packet is missing."""
        return self.held == self.chunks

    @property
    def broken(self) -> bool:
        """True if packets are missing that cannot exist: do not request them."""
        return self.held < self.chunks and self.next_hash == NO_CHUNK

    @property
    def growing(self) -> bool:
        """True if packets are missing that may exist."""
        return self.next_hash != NO_CHUNK


@dataclass(frozen=True, slots=True)
class ChunkAccepted:
    """The packet is the next one."""

    chain: SideChain
    """The side chain with it."""
    chunk: int
    """Its number, from 0."""
    size: int
    """Bytes of content in it, without padding."""
    complete: bool
    """True if it was the last one missing."""


@dataclass(frozen=True, slots=True)
class WrongHash:
    """The packet is not the next one."""

    feed: FeedId
    """The feed."""
    seq: int
    """The entry the side chain hangs on."""
    chunk: int
    """The number of the packet that was looked for, from 0."""


def begin(feed: FeedId, seq: int, layout: Layout) -> SideChain | None:
    """Return the side chain of an entry, none of it known; None if it has none."""
    if layout.first_hash is None:
        return None
    return SideChain(feed, seq, layout.chunks, 0, layout.first_hash, layout.size - len(layout.head))


def advance(chain: SideChain, packet: bytes) -> ChunkAccepted | WrongHash:
    """Add *packet*, 120 bytes, if it is the next one."""
    if len(packet) != limits.PACKET_SIZE or chunk_hash(packet) != chain.next_hash:
        return WrongHash(chain.feed, chain.seq, chain.held)
    held = chain.held + 1
    complete = held == chain.chunks
    next_hash = NO_CHUNK if complete else packet[limits.CHUNK_CONTENT_SIZE :]
    size = min(limits.CHUNK_CONTENT_SIZE, chain.content_size - chain.held * limits.CHUNK_CONTENT_SIZE)
    grown = SideChain(chain.feed, chain.seq, chain.chunks, held, next_hash, chain.content_size)
    return ChunkAccepted(grown, chain.held, size, complete)


def reassemble(layout: Layout, chunks: Sequence[bytes]) -> bytes:
    """Return the content of an entry from its layout and the packets of its side chain, all of them, verified before.

    Raises ValueError if their number is not ``layout.chunks``.
    """
    if len(chunks) != layout.chunks:
        raise ValueError(f"the side chain has {layout.chunks} packets, not {len(chunks)}")
    bodies = (packet[: limits.CHUNK_CONTENT_SIZE] for packet in chunks)
    return b"".join((layout.head, *bodies))[: layout.size]


def split(content: bytes, dialect: Dialect) -> tuple[int, bytes, tuple[bytes, ...]]:
    """Lay out *content* for a feed of *dialect*: type byte, the entry's 48 bytes, the packets of the side chain.

    Exactly 48 bytes need no length and become type 0; all else is type 1, with a side chain if it does not fit.
    """
    if len(content) == limits.CONTENT_SIZE:
        return FIXED_TYPE, content, ()
    return VARIABLE_TYPE, *split_variable(content, dialect)


def split_variable(content: bytes, dialect: Dialect) -> tuple[bytes, tuple[bytes, ...]]:
    """Lay out *content* as type 1 whatever its size: the entry's 48 bytes, the packets of the side chain."""
    declared = encode_varint(len(content)) + content
    if len(declared) <= limits.INLINE_SIZE[dialect]:
        return declared.ljust(limits.CONTENT_SIZE, b"\x00"), ()
    first_hash, chunks = _link(declared[limits.HEAD_SIZE :])
    return declared[: limits.HEAD_SIZE] + first_hash, chunks


def _link(tail: bytes) -> tuple[bytes, tuple[bytes, ...]]:
    """Cut *tail* into packets, from the last to the first, since each one holds the hash of the next."""
    size = limits.CHUNK_CONTENT_SIZE
    pointer = NO_CHUNK
    packets: list[bytes] = []
    for index in reversed(range(chunks_for(len(tail)))):
        packet = tail[index * size : (index + 1) * size].ljust(size, b"\x00") + pointer
        packets.append(packet)
        pointer = chunk_hash(packet)
    return pointer, tuple(reversed(packets))
