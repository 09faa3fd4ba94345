"""Side chains before later entries, where deployed peers are near (decision 0093).

The phone app gives an entry the id of an earlier one if it completes while the side chain of that one is missing. So a
reply has the chunks of each entry behind it, and ends where they end. While a peer requests chunks of an entry, it gets
no later entries of that feed.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, repeat
from typing import TypeVar

from tinyssb_node import limits
from tinyssb_node.codec.packets import parse_entry
from tinyssb_node.feeds.layout import NO_CHUNK, VARIABLE_TYPE, layout_of
from tinyssb_node.ids import FeedId
from tinyssb_node.replication.replica import Replica
from tinyssb_node.store.port import Store

V = TypeVar("V")

_ASKED_US = 30_000_000
"""Time within which the same request for chunks is a repeated one: phones repeat it every 5 s or more rarely, and send
one packet a second."""
_HOLD_US = 60_000_000
"""Longest time for which a side chain that does not come holds up later entries."""
CHNK_DELAY_US = 1_500_000
"""Time by which a WANT is answered later, so that the CHNK behind it is heard first."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A packet of a feed to give."""

    seq: int
    chunk: int | None
    """Number of the chunk; None: the entry."""
    packet: bytes


@dataclass(frozen=True, slots=True)
class _Open:
    """A side chain of which a peer lacks a part."""

    chunk: int
    """The first chunk that it lacks, by its request; 0: it has not requested any."""
    following: int
    """The first chunk that it was not given since."""
    since_us: int
    """When it first lacked that chunk."""
    at_us: int
    """When it requested it last, or was given the entry."""
    pointer: bytes
    """Hash of the first chunk: the same for alike side chains, whose chunks a peer takes for all of them."""


class ChainOrder:
    """The order of what one face, no radio, gives."""

    def __init__(self, replica: Replica, store: Store, *, lossy: bool) -> None:
        """*lossy*: packets may be lost on the way."""
        self._replica = replica
        self._store = store
        self._lossy = lossy
        self._open: OrderedDict[FeedId, dict[int, _Open]] = OrderedDict()
        """Side chains by the number of their entry."""
        self._unsure: OrderedDict[FeedId, int] = OrderedDict()
        """When chunks of a feed were given last that may have been lost."""
        self._delayed: OrderedDict[FeedId, list[Piece]] = OrderedDict()

    def heard_chnk(self, asked: Iterable[tuple[tuple[FeedId, int], int]], now_us: int) -> list[bytes]:
        """Handle a request for chunks from so many on of entries of feeds. Return packets of later entries that wait
        for it, and must not go."""
        dropped: list[bytes] = []
        for (feed, seq), chunk in asked:
            chains = _row(self._open, feed, dict)
            before = chains.pop(seq, None)
            again = before is not None and before.chunk == chunk and now_us - before.at_us < _ASKED_US
            since_us = before.since_us if again and before is not None else now_us
            chains[seq] = _Open(chunk, chunk, since_us, now_us, self._pointer(feed, seq))
            while len(chains) > limits.GIVEN_RANGES_MAX:
                del chains[next(iter(chains))]
            if now_us - since_us < _HOLD_US:
                waiting = self._delayed.pop(feed, [])
                dropped += [piece.packet for piece in waiting if piece.seq > seq]
        return dropped

    def gave_chunks(self, feed: FeedId, seq: int, following: int, now_us: int) -> None:
        """Chunks of an entry up to before *following* were given."""
        chains, pointer = self._open.get(feed, {}), self._pointer(feed, seq)
        for number, chain in chains.items():
            if chain.pointer == pointer:
                chains[number] = replace(chain, following=max(following, chain.following))
        if self._lossy:
            self._unsure.pop(feed, None)
            _row(self._unsure, feed, int)
            self._unsure[feed] = now_us

    def _before(self, feed: FeedId, first: int, now_us: int) -> list[tuple[int, range]]:
        """Return the side chains of entries before *first* of which a part is to be given, and which chunks."""
        begun: dict[bytes, tuple[int, range]] = {}
        for seq, chain in sorted(self._open.get(feed, {}).items()):
            fresh = now_us - chain.since_us < _HOLD_US
            entry = self._store.entry(feed, seq) if seq < first and fresh else None
            if entry is not None and (rest := range(chain.following, self._chunks(feed, entry.packet))):
                begun.setdefault(chain.pointer, (seq, rest))
        return list(begun.values())

    def pieces(self, feed: FeedId, first: int, most: int, now_us: int) -> list[Piece]:
        """Return up to *most* packets of *feed* to give to a peer that lacks entry *first*."""
        pieces: list[Piece] = []
        for seq, chunks in self._before(feed, first, now_us):
            if not self._add_chunks(pieces, feed, seq, chunks, most) or self._lossy:
                return pieces
        last = min(self._replica.last_to_give(feed), first + most - 1)
        entries = self._store.entries(feed, first, last - first + 1) if last >= first else ()
        for number, entry in enumerate(entries):
            if len(pieces) >= most:
                break
            pieces.append(Piece(entry.seq, None, entry.packet))
            # Peers take the chunks of alike side chains for all of them, in order.
            pointer = _pointer_in(entry.packet)
            alike = (
                pointer and number + 1 < len(entries) and pointer == _pointer_in(entries[number + 1].packet)
            )
            if alike:
                continue
            if not self._add_chunks(pieces, feed, entry.seq, range(self._chunks(feed, entry.packet)), most):
                break
        return pieces

    def _add_chunks(self, pieces: list[Piece], feed: FeedId, seq: int, chunks: range, most: int) -> bool:
        """Add these *chunks* of an entry. Return True if all of them are here, and have room."""
        room = min(most - len(pieces), len(chunks))
        packets = self._store.chunks(feed, seq, chunks.start, room) if room > 0 else ()
        pieces += map(Piece, repeat(seq), chunks, packets)
        return len(packets) >= len(chunks)

    def _chunks(self, feed: FeedId, packet: bytes) -> int:
        """Return how many chunks an entry has."""
        parsed, dialect = parse_entry(packet), self._replica.record(feed).dialect
        assert dialect is not None
        return layout_of(parsed.type, parsed.content, dialect).chunks

    def _pointer(self, feed: FeedId, seq: int) -> bytes:
        entry = self._store.entry(feed, seq)
        return b"" if entry is None else _pointer_in(entry.packet)

    def delays(self, feed: FeedId, now_us: int) -> bool:
        """Return True if a reply must wait for the peer's CHNK: it was given chunks a moment ago, which may be lost."""
        given_us = self._unsure.get(feed)
        return given_us is not None and now_us - given_us < _HOLD_US

    def gave(self, feed: FeedId, pieces: Sequence[Piece], now_us: int, *, delayed: bool) -> None:
        """Record what is given; *delayed*: it waits for a CHNK that may be behind the request."""
        if delayed:
            self._unsure.pop(feed, None)
            _row(self._delayed, feed, list)[:] = pieces
        for seq, run in groupby(pieces, lambda piece: piece.seq):
            given = list(run)
            entry, last = given[0], given[-1]
            if entry.chunk is None and self._chunks(feed, entry.packet):
                pointer = _pointer_in(entry.packet)
                _row(self._open, feed, dict)[seq] = _Open(0, 0, now_us, now_us, pointer)
            if last.chunk is not None:
                self.gave_chunks(feed, seq, last.chunk + 1, now_us)


def _row(table: OrderedDict[FeedId, V], feed: FeedId, make: Callable[[], V]) -> V:
    """Return the row of *feed*, added if need be; the one that was used longest ago makes room."""
    row = table.setdefault(feed, make())
    table.move_to_end(feed)
    if len(table) > limits.JUST_GIVEN_MAX:
        table.popitem(last=False)
    return row


def _pointer_in(packet: bytes) -> bytes:
    """Return the hash of the first chunk that an entry names; empty: it names none."""
    entry = parse_entry(packet)
    pointer = entry.content[limits.HEAD_SIZE :]
    return pointer if entry.type == VARIABLE_TYPE and pointer != NO_CHUNK else b""
