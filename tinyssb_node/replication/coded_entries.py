"""Coded entries: the rows of the erasure code that came, until they give the entries of their generation.

A generation is 16 entries of a feed, in the order of their sequence numbers. All but the DMX is coded, which follows
from an entry's place. A row of one entry says where it belongs, so it may come before its predecessors. Nothing here
checks a signature: an entry that was computed is checked like one that was received.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence

from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network, coded_tag
from tinyssb_node.codec.packets import GENERATION_SIZE, GENERATIONS, Coded, serialize_coded
from tinyssb_node.ids import FeedId
from tinyssb_node.replication.erasure import ContradictionError, Equations, coefficients, combine


def generation_of(seq: int) -> int:
    """Return the number of the generation that entry *seq*, from 1, belongs to."""
    return (seq - 1) // GENERATION_SIZE


def code(network: Network, feed: FeedId, generation: int, row: int, packets: Sequence[bytes]) -> bytes:
    """Return the packet with *row* of a generation's first entries, *packets*: 1 to 16."""
    body = combine(row, [packet[limits.DMX_SIZE :] for packet in packets])
    return serialize_coded(Coded(coded_tag(network, feed), generation % GENERATIONS, len(packets), row, body))


class _Generation:
    def __init__(self, held: Sequence[bytes]) -> None:
        self.equations = Equations()
        self.length = len(held)
        for position, packet in enumerate(held):
            self.equations.add(coefficients(position, position + 1), packet[limits.DMX_SIZE :])


class CodedEntries:
    """The generations of which coded entries came that are not all stored."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._feeds: dict[bytes, FeedId] = {}
        self._generations: OrderedDict[tuple[FeedId, int], _Generation] = OrderedDict()

    def __len__(self) -> int:
        return len(self._generations)

    def watch(self, feed: FeedId) -> None:
        """Recognise coded entries of *feed*. Of two feeds with the same tag the later one is recognised."""
        self._feeds[coded_tag(self._network, feed)] = feed

    def forget(self, feed: FeedId) -> None:
        """Recognise those of *feed* no more."""
        self._feeds.pop(coded_tag(self._network, feed), None)
        for key in [key for key in self._generations if key[0] == feed]:
            del self._generations[key]

    def feed_of(self, packet: bytes) -> FeedId | None:
        """Return the feed that *packet* may be a coded entry of."""
        return self._feeds.get(packet[: limits.CODED_TAG_SIZE])

    def add(
        self, feed: FeedId, generation: int, coded: Coded, held: Callable[[], Sequence[bytes]]
    ) -> bool | None:
        """Add a row; *held* returns the entries of the generation that are stored. Return True if it brought something;
        None if it does not fit the others, so that one of them is a lie: they are forgotten."""
        key = feed, generation
        known = self._generations.get(key)
        if known is None:
            known = self._generations[key] = _Generation(held())
            if len(self._generations) > limits.GENERATIONS_MAX:
                self._generations.popitem(last=False)
        try:
            new = known.equations.add(coefficients(coded.row, coded.length), coded.body)
        except ContradictionError:
            del self._generations[key]
            return None
        known.length = max(known.length, coded.length)
        if new:
            self._generations.move_to_end(key)
        return new

    def stored(self, feed: FeedId, seq: int, packet: bytes) -> None:
        """Note an entry that was stored, however it came. What contradicts it was a lie."""
        key = feed, generation_of(seq)
        known = self._generations.get(key)
        if known is None:
            return
        position = (seq - 1) % GENERATION_SIZE
        known.length = max(known.length, position + 1)
        try:
            known.equations.add(coefficients(position, position + 1), packet[limits.DMX_SIZE :])
        except ContradictionError:
            position = GENERATION_SIZE - 1
        if position + 1 == GENERATION_SIZE:
            del self._generations[key]

    def solution(self, feed: FeedId, seq: int) -> bytes | None:
        """Return what follows the DMX of entry *seq*, if the rows determine it."""
        known = self._generations.get((feed, generation_of(seq)))
        return None if known is None else known.equations.solution((seq - 1) % GENERATION_SIZE)

    def refute(self, feed: FeedId, seq: int) -> bool:
        """Forget the rows that determine entry *seq*, which nobody signed: one is a lie. Return False if none do."""
        if self.solution(feed, seq) is None:
            return False
        del self._generations[feed, generation_of(seq)]
        return True

    def lacking(self, feed: FeedId, seq: int) -> int:
        """Return how many rows are missing of the generation in which *seq* is the first entry missing; 0 also if no
        row of it is known."""
        known = self._generations.get((feed, generation_of(seq)))
        return 0 if known is None else min(limits.LACKING_MAX, known.length - known.equations.rank)
