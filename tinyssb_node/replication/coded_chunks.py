"""Coded chunks: the rows of the erasure code that came, until they give the chunks of their chunk block.

The content of chunks is coded, not the pointers: with the contents of all chunks that a side chain lacks, the pointers
are computed from the last chunk to the first. Nothing here verifies a chunk: the caller compares the first one's hash.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence

from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network, coded_chunk_tag
from tinyssb_node.codec.packets import CodedChunk
from tinyssb_node.feeds.sidechain import SideChain
from tinyssb_node.ids import Dialect, FeedId
from tinyssb_node.replication.chunk_blocks import (
    GENERATION_NUMBERS,
    ChunkBlock,
    ChunkBlockId,
    ChunkLayouts,
    link,
)
from tinyssb_node.replication.coded_entries import generation_of
from tinyssb_node.replication.erasure import ContradictionError, Equations, coefficients
from tinyssb_node.store.port import Store


class _Rows:
    def __init__(self) -> None:
        self.equations = Equations()
        self.length = 0

    def add(self, row: int, length: int, body: bytes) -> bool:
        new = self.equations.add(coefficients(row, length), body)
        self.length = max(self.length, length)
        return new


class CodedChunks:
    """The chunk blocks of all feeds, and the coded chunks of those that are not all stored."""

    def __init__(
        self, store: Store, network: Network, frontier: Callable[[FeedId], tuple[int, Dialect | None]]
    ) -> None:
        """*frontier* returns the sequence number of the last entry held of a feed, and its dialect."""
        self._store = store
        self._network = network
        self._frontier = frontier
        self._layouts = ChunkLayouts(store)
        self._feeds: dict[bytes, FeedId] = {}
        self._blocks: OrderedDict[ChunkBlockId, _Rows] = OrderedDict()

    def __len__(self) -> int:
        return len(self._blocks)

    def watch(self, feed: FeedId) -> None:
        """Recognise coded chunks of *feed*. Of two feeds with the same tag the later one is recognised."""
        self._feeds[coded_chunk_tag(self._network, feed)] = feed

    def forget(self, feed: FeedId) -> None:
        """Recognise those of *feed* no more."""
        self._feeds.pop(coded_chunk_tag(self._network, feed), None)
        for id_ in [id_ for id_ in self._blocks if id_.feed == feed]:
            del self._blocks[id_]

    def feed_of(self, packet: bytes) -> FeedId | None:
        """Return the feed that *packet* may be a coded chunk of."""
        if len(packet) != limits.CODED_CHUNK_SIZE:
            return None
        return self._feeds.get(packet[: limits.CODED_TAG_SIZE])

    # --- layout

    def block(self, id_: ChunkBlockId) -> ChunkBlock | None:
        """Return the known part of a chunk block; None if none of it is known."""
        blocks = self._of_generation(id_.feed, id_.generation)
        return blocks[id_.part] if id_.part < len(blocks) else None

    def block_with(self, feed: FeedId, seq: int) -> ChunkBlock | None:
        """Return the chunk block with the side chain of an entry; None if it is in none."""
        for block in self._of_generation(feed, generation_of(seq)):
            if any(chain.seq == seq for chain in block.chains):
                return block
        return None

    def id_of(self, feed: FeedId, coded: CodedChunk) -> ChunkBlockId:
        """Return the chunk block of a coded chunk: of those with the same low bits the one next to the frontier."""
        here = generation_of(self._frontier(feed)[0] + 1)
        half = GENERATION_NUMBERS // 2
        return ChunkBlockId(
            feed, here + (coded.generation - here + half) % GENERATION_NUMBERS - half, coded.part
        )

    def _of_generation(self, feed: FeedId, generation: int) -> Sequence[ChunkBlock]:
        frontier, dialect = self._frontier(feed)
        return () if dialect is None else self._layouts.of_generation(feed, generation, frontier, dialect)

    def contents(self, block: ChunkBlock) -> list[bytes]:
        """Return the contents of the chunks of a block that are stored, up to the first one that is not."""
        contents: list[bytes] = []
        for chain in block.chains:
            packets = self._store.chunks(block.id.feed, chain.seq, 0, chain.chunks)
            contents += [packet[: limits.CHUNK_CONTENT_SIZE] for packet in packets]
            if len(packets) < chain.chunks:
                break
        return contents

    # --- rows

    def add(self, id_: ChunkBlockId, coded: CodedChunk) -> bool | None:
        """Add a row. Return True if it brought something; None if it does not fit the others or the layout, so that one
        of them is a lie: they are forgotten."""
        block = self.block(id_)
        if block is not None and block.final and coded.length > block.length:
            return None
        rows = self._blocks.get(id_)
        if rows is None:
            rows = self._blocks[id_] = self._begin(block)
            if len(self._blocks) > limits.CHUNK_BLOCKS_MAX:
                self._blocks.popitem(last=False)
        try:
            new = rows.add(coded.row, coded.length, coded.body)
        except ContradictionError:
            del self._blocks[id_]
            return None
        if new:
            self._blocks.move_to_end(id_)
        return new

    def _begin(self, block: ChunkBlock | None) -> _Rows:
        rows = _Rows()
        if block is None:
            return rows
        for chain in block.chains:
            for at, packet in enumerate(
                self._store.chunks(block.id.feed, chain.seq, 0, chain.chunks), chain.first
            ):
                rows.add(at, at + 1, packet[: limits.CHUNK_CONTENT_SIZE])
        return rows

    def stored(self, feed: FeedId, seq: int, chunk: int, packet: bytes) -> None:
        """Note a chunk that was stored, however it came. What contradicts it was a lie."""
        block = self.block_with(feed, seq) if self._blocks else None
        if block is None or (rows := self._blocks.get(block.id)) is None:
            return
        position = block.place(seq).first + chunk
        try:
            rows.add(position, position + 1, packet[: limits.CHUNK_CONTENT_SIZE])
        except ContradictionError:
            del self._blocks[block.id]

    def drop(self, id_: ChunkBlockId) -> None:
        """Forget the rows of a chunk block: it is complete, or one of them was a lie."""
        self._blocks.pop(id_, None)

    def rest_of(self, block: ChunkBlock, chain: SideChain) -> list[tuple[bytes, bytes]]:
        """Return the chunks that a side chain lacks, each behind its hash, if the rows determine all of them; else
        nothing."""
        rows = self._blocks.get(block.id)
        if rows is None:
            return []
        place = block.place(chain.seq)
        contents = []
        for position in range(place.first + chain.held, place.end):
            content = rows.equations.solution(position)
            if content is None:
                return []
            contents.append(content)
        return link(contents)

    def lacking(self, block: ChunkBlock, held: Callable[[int], int]) -> int:
        """Return how many rows of a chunk block are missing; *held* returns how many chunks of the side chain of an
        entry are stored. 0 if none is there."""
        rows = self._blocks.get(block.id)
        if rows is None:
            length, known = block.length, sum(held(chain.seq) for chain in block.chains)
        else:
            length, known = max(block.length, rows.length), rows.equations.rank
        return length - known if known else 0
