"""Chunk blocks: which chunks are coded together, the same for every node that holds the entries.

The side chains of the 16 entries of a generation are put, in the order of their entries, into chunk blocks of at most
16 chunks. A side chain is never divided: a new chunk block begins when the next one does not fit. Longer side chains
are left out, since their content could be verified only at the very end. So are repetitions of one: they are copied. A
node that holds only the first entries of a generation knows the first part of the same layout.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network, chunk_hash, coded_chunk_tag
from tinyssb_node.codec.packets import GENERATION_SIZE, CodedChunk, parse_entry, serialize_coded_chunk
from tinyssb_node.feeds.layout import NO_CHUNK, layout_of
from tinyssb_node.ids import Dialect, FeedId
from tinyssb_node.replication.erasure import LENGTH_MAX, combine
from tinyssb_node.store.port import Store

GENERATION_NUMBERS: Final = 2**16
"""A coded chunk carries the number of its generation modulo this: the same comes again after a million entries."""


class ChunkBlockId(NamedTuple):
    """The name of a chunk block."""

    feed: FeedId
    """The feed."""
    generation: int
    """The generation of entries."""
    part: int
    """Which chunk block of it, 0 to 15."""


class ChainPlace(NamedTuple):
    """The place of a side chain in its chunk block."""

    seq: int
    """The entry it hangs on."""
    first: int
    """Position of its first chunk."""
    chunks: int
    """Chunks it has."""

    @property
    def end(self) -> int:
        """Position behind its last chunk."""
        return self.first + self.chunks


class ChunkBlock(NamedTuple):
    """The known part of a chunk block."""

    id: ChunkBlockId
    """Its name."""
    chains: tuple[ChainPlace, ...]
    """The side chains in it, at least one."""
    final: bool
    """True if no further side chain can be in it."""

    @property
    def length(self) -> int:
        """Chunks in it, 1 to 16."""
        return self.chains[-1].end

    def place(self, seq: int) -> ChainPlace:
        """Return the place of the side chain of entry *seq*, which is in it."""
        return next(chain for chain in self.chains if chain.seq == seq)


class Chained(NamedTuple):
    """An entry with a side chain."""

    seq: int
    """Its sequence number."""
    chunks: int
    """Chunks of the side chain."""
    first_hash: bytes
    """Hash of the first one: the same for side chains that are equal."""


def lay_out(feed: FeedId, generation: int, held: int, chains: Iterable[Chained]) -> tuple[ChunkBlock, ...]:
    """Return the chunk blocks of a generation of which the first *held* entries are known. *chains* are their side
    chains."""
    parts: list[list[ChainPlace]] = []
    length = LENGTH_MAX
    seen: set[bytes] = set()
    for seq, chunks, first_hash in chains:
        if chunks > LENGTH_MAX or first_hash in seen:
            continue
        seen.add(first_hash)
        if length + chunks > LENGTH_MAX:
            parts.append([])
            length = 0
        parts[-1].append(ChainPlace(seq, length, chunks))
        length += chunks
    blocks: list[ChunkBlock] = []
    for part, places in enumerate(parts):
        full = held == GENERATION_SIZE or part + 1 < len(parts) or places[-1].end == LENGTH_MAX
        blocks.append(ChunkBlock(ChunkBlockId(feed, generation, part), tuple(places), full))
    return tuple(blocks)


def code_chunks(network: Network, id_: ChunkBlockId, row: int, contents: Sequence[bytes]) -> bytes:
    """Return the packet with *row* of the first chunks of a block; *contents*: 100 bytes of each."""
    feed, number, part = id_
    tag = coded_chunk_tag(network, feed)
    body = combine(row, contents)
    return serialize_coded_chunk(CodedChunk(tag, number % GENERATION_NUMBERS, part, len(contents), row, body))


def link(contents: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
    """Return the last chunks of a side chain, each behind its hash, from the contents of all of them: the pointer of
    each one is the hash of the next."""
    pointer, packets = NO_CHUNK, []
    for content in reversed(contents):
        packet = content + pointer
        pointer = chunk_hash(packet)
        packets.append((pointer, packet))
    packets.reverse()
    return packets


class ChunkLayouts:
    """The layouts of generations, read from the store and remembered."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: OrderedDict[tuple[FeedId, int], tuple[int, tuple[ChunkBlock, ...]]] = OrderedDict()

    def of_generation(
        self, feed: FeedId, generation: int, frontier: int, dialect: Dialect
    ) -> Sequence[ChunkBlock]:
        """Return the chunk blocks of a generation. The feed is in *dialect*, its entries up to *frontier* are held."""
        first = generation * GENERATION_SIZE + 1
        held = min(GENERATION_SIZE, frontier - first + 1)
        if held <= 0:
            return ()
        known = self._known.get((feed, generation))
        if known is None or known[0] != held:
            chains: list[Chained] = []
            for at, stored in enumerate(self._store.entries(feed, first, held)):
                entry = parse_entry(stored.packet)
                layout = layout_of(entry.type, entry.content, dialect)
                if layout.first_hash is not None:
                    chains.append(Chained(first + at, layout.chunks, layout.first_hash))
            known = self._known[feed, generation] = held, lay_out(feed, generation, held, chains)
            if len(self._known) > limits.CHUNK_LAYOUTS_MAX:
                self._known.popitem(last=False)
        self._known.move_to_end((feed, generation))
        return known[1]
