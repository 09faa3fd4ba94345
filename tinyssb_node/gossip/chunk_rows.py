"""Coded chunks on one face on the air: what a CHNK says about them, and which rows are sent.

All nodes that reply to a request choose the same rows: those behind the highest one heard or sent. So each of them
drops the rows that another one sends first, and those before it that it did not hear.
"""

from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.packets import GENERATION_SIZE, Chnk
from tinyssb_node.feeds.sidechain import SideChain
from tinyssb_node.ids import FeedId, PacketKind
from tinyssb_node.replication.chnk import Coding, build_chnk
from tinyssb_node.replication.chunk_blocks import ChunkBlockId, code_chunks
from tinyssb_node.replication.erasure import ROWS
from tinyssb_node.replication.goset import Goset
from tinyssb_node.replication.replica import Replica
from tinyssb_node.scheduling.repeat_limiter import RepeatLimiter
from tinyssb_node.scheduling.suppression import LatestByKey
from tinyssb_node.scheduling.transmit_queue import TransmitQueue
from tinyssb_node.scheduling.trickle import RandomSource

_SUMS: Final = ROWS - GENERATION_SIZE
"""Rows that are sums; they are counted from 0 here, and begin again behind the last one."""


_ELSEWHERE: Final = 0.25
"""Share of CHNKs that begin anywhere, so that in time each side chain is named: a peer that lacks the one that is named
may have another one of the chunk block."""


@dataclass(slots=True)
class _Sent:
    following: int
    """The sum that comes next."""
    waiting: dict[int, bytes] = field(default_factory=dict)
    """Packets put into the queue, by sum; they may have left."""


class ChunkRows:
    """The rows of chunk blocks on one face."""

    def __init__(
        self, replica: Replica, network: Network, queue: TransmitQueue, entropy: RandomSource
    ) -> None:
        self._replica = replica
        self._network = network
        self._queue = queue
        self._entropy = entropy
        self._packet_us = queue.profile.airtime_us[limits.PACKET_SIZE]
        self._sent: OrderedDict[ChunkBlockId, _Sent] = OrderedDict()
        self._repeats: RepeatLimiter[ChunkBlockId] = RepeatLimiter(
            wait_us=limits.REPEAT_PACKETS * self._packet_us,
            wait_max_us=limits.REPEAT_MAX_US,
            most=limits.CHUNK_ROWS_MAX,
        )
        self._wanted: LatestByKey[ChunkBlockId, int] = LatestByKey(limits.CHUNK_ROWS_MAX)
        """Rows of each chunk block that were requested last: a peer that takes what it gets requests ever fewer."""
        self._distrust_until_us: int | None = None
        self._plain_until_us: int | None = None

    # --- asking

    def build_chnk(
        self, goset: Goset, chains: Sequence[SideChain], start: int, now_us: int
    ) -> tuple[Chnk, int] | None:
        """Build a CHNK that says how many rows are missing, with one side chain of each chunk block: with all where a
        peer gives chunks as they are. After a lie it says that no coded chunks are read."""
        coded = self._replica.coded_chunks
        if self._distrust_until_us is not None and now_us < self._distrust_until_us:
            return build_chnk(goset, chains, start)

        if chains and self._entropy.random() < _ELSEWHERE:
            start = int(self._entropy.random() * len(chains))

        def block_of(chain: SideChain) -> Hashable:
            if not self.gives_rows(now_us):
                return chain.feed, chain.seq
            block = coded.block_with(chain.feed, chain.seq)
            if block is not None:
                return block.id
            alike = self._replica.expectations.chunks(chain.next_hash)
            # An equal side chain in a chunk block gets the same chunks, and then it is copied.
            return (
                None
                if any(coded.block_with(other.feed, other.seq) for other in alike)
                else (chain.feed, chain.seq)
            )

        def lacking(chain: SideChain) -> int:
            block = coded.block_with(chain.feed, chain.seq)
            return 0 if block is None else self._replica.chunk_rows_lacking(block)

        return build_chnk(goset, chains, start, Coding(block_of, lacking))

    def heard_lie(self, now_us: int) -> None:
        """A coded chunk did not fit: ask for chunks as they are for a while."""
        self._distrust_until_us = now_us + limits.CODED_DISTRUST_US

    # --- giving

    def gives_rows(self, now_us: int) -> bool:
        """Return True unless a peer that was heard lately reads no coded chunks."""
        return self._plain_until_us is None or now_us >= self._plain_until_us

    def heard_chnk(self, goset: Goset, chnk: Chnk, now_us: int) -> dict[ChunkBlockId, int]:
        """Handle a CHNK. Return how many rows it asks for, of each chunk block that is known here."""
        if chnk.lacking is None:
            self._plain_until_us = now_us + limits.KNOWN_PACKETS * self._packet_us
        return self.asked(goset, chnk)

    def asked(self, goset: Goset, chnk: Chnk) -> dict[ChunkBlockId, int]:
        """Return how many rows a CHNK asks for, of each chunk block that is known here."""
        rows: dict[ChunkBlockId, int] = {}
        if chnk.lacking is None:
            return rows
        for number, (index, seq, _) in enumerate(chnk.wanted):
            if index >= len(goset):
                continue
            block = self._replica.coded_chunks.block_with(goset[index], seq)
            if block is not None:
                lacking = chnk.lacking[number] if number < len(chnk.lacking) else 0
                rows[block.id] = max(rows.get(block.id, 0), lacking or block.length)
        return rows

    def give(
        self,
        asked: Mapping[tuple[FeedId, int], int],
        rows: Mapping[ChunkBlockId, int],
        room: int,
        due_us: int,
        now_us: int,
    ) -> tuple[dict[tuple[FeedId, int], int], int]:
        """Queue up to *room* rows for a request. Return what is to be given as it is, and the room left."""
        coded = self._replica.coded_chunks
        spare = self._queue.has_air_for_repeats(now_us)
        plain: dict[tuple[FeedId, int], int] = {}
        for (feed, seq), chunk in asked.items():
            block = coded.block_with(feed, seq)
            contents = [] if block is None else coded.contents(block)
            if block is None or len(contents) <= block.place(seq).first + chunk:
                plain[feed, seq] = chunk
                continue
            wanted = rows.get(block.id, 0)
            taking = wanted < (self._wanted[block.id] or 0)
            self._wanted[block.id] = wanted
            if not self._repeats.allows(block.id, len(contents), now_us, taking=taking, spare=spare):
                continue
            count = max(0, min(room, wanted - self._waiting(block.id), len(contents)))
            room -= count
            if count:
                self._repeats.gave(block.id, len(contents), now_us, count)
            for _ in range(count):
                number = self._take_number(block.id)
                packet = code_chunks(self._network, block.id, GENERATION_SIZE + number, contents)
                self._queue.put(packet, PacketKind.CODED_CHUNK, due_us)
                self._sent[block.id].waiting[number] = packet
        return plain, room

    def _waiting(self, id_: ChunkBlockId) -> int:
        """Return how many rows of a chunk block wait to be sent."""
        sent = self._sent.get(id_)
        if sent is None:
            return 0
        waiting = self._queue.waiting
        sent.waiting = {number: packet for number, packet in sent.waiting.items() if packet in waiting}
        return len(sent.waiting)

    def _take_number(self, id_: ChunkBlockId) -> int:
        # Where no row is known it begins anywhere: a peer may have rows that were sent before we can remember.
        sent = self._sent.get(id_) or self._add(id_, int(self._entropy.random() * _SUMS))
        number = sent.following
        sent.following = (number + 1) % _SUMS
        return number

    def _add(self, id_: ChunkBlockId, following: int) -> _Sent:
        sent = self._sent[id_] = _Sent(following)
        if len(self._sent) > limits.CHUNK_ROWS_MAX:
            self._sent.popitem(last=False)
        return sent

    def heard(self, id_: ChunkBlockId, row: int) -> None:
        """A row was heard: it and those before it need not be sent."""
        if row < GENERATION_SIZE:
            return
        number = row - GENERATION_SIZE
        sent = self._sent.get(id_) or self._add(id_, number)
        self._sent.move_to_end(id_)
        if _is_past(sent.following, number):
            sent.following = (number + 1) % _SUMS
        for other in [other for other in sent.waiting if _is_past(other, number)]:
            if self._queue.waiting.cancel(sent.waiting.pop(other)):
                self._queue.count_spared()


def _is_past(number: int, heard: int) -> bool:
    """Return True if sum *number* is *heard* or one of those before it, of numbers that begin again."""
    return (heard - number) % _SUMS < _SUMS // 2
