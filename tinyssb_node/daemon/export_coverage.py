"""What export files hold already, so that the next one begins behind it."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from tinyssb_node import limits
from tinyssb_node.codec.packets import parse_entry
from tinyssb_node.daemon.exports import ExportedChunk, ExportedEntry, FeedHeader, Piece
from tinyssb_node.feeds.layout import layout_of
from tinyssb_node.ids import FeedId
from tinyssb_node.store.port import FeedRecord, Store


class _Ours:
    """What a store has where a file has something: read in pages, since files go on in order."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.dialects: Final = {record.feed: record.dialect for record in store.feeds()}
        self._page: dict[tuple[FeedId, int], bytes] = {}
        self._chunks: tuple[FeedId, int, Sequence[bytes]] | None = None

    def differs_in_entry(self, feed: FeedId, seq: int, packet: bytes) -> bool:
        """True if the store holds another entry there."""
        if feed not in self.dialects:
            return False
        if (feed, seq) not in self._page:
            page = self._store.entries(feed, seq, limits.CONTROL_PAGE)
            self._page = {(feed, entry.seq): entry.packet for entry in page}
        return self._page.get((feed, seq), packet) != packet

    def differs_in_chunk(self, feed: FeedId, seq: int, chunk: int, packet: bytes) -> bool:
        """True if the store holds another packet there."""
        if self._chunks is None or self._chunks[:2] != (feed, seq):
            self._chunks = feed, seq, self._store.chunks(feed, seq, 0, limits.CONTENT_FETCH_MAX)
        held = self._chunks[2]
        return chunk < len(held) and held[chunk] != packet


class ExportCoverage:
    """Which entries of which feeds some files hold, with how much of their side chains.

    What a store holds otherwise does not count: a file may be made up, or hold the other branch of a fork.
    """

    def __init__(self, store: Store) -> None:
        """*store* is what files are compared with, as it is from now on until nothing more is counted in."""
        self._store = store
        self._ours: Final = _Ours(store)
        self._whole: Final[dict[FeedId, list[tuple[int, int]]]] = {}
        """Of each feed the runs of entries that are held with their side chains, first and last, in order and apart."""
        self._parts: Final[dict[FeedId, dict[int, int]]] = {}
        """Of each feed how many chunks are held of side chains that are not whole, by sequence number."""

    def add(self, pieces: Iterable[Piece]) -> None:
        """Count in a file, read to its end."""
        header: FeedHeader | None = None
        seq = chunks = held = 0
        counts = False
        for piece in pieces:
            if isinstance(piece, ExportedChunk):
                assert header is not None, "a reader refuses what would be otherwise"
                # Behind one that is another nothing is known to be of this side chain.
                if counts and not self._ours.differs_in_chunk(header.feed, seq, held, piece.packet):
                    held += 1
                elif counts:
                    self._take(header.feed, seq, chunks, held)
                    counts = False
                continue
            if header is not None and counts:
                self._take(header.feed, seq, chunks, held)
            if isinstance(piece, FeedHeader):
                header, seq, counts = piece, piece.first - 1, False
                continue
            assert header is not None
            assert isinstance(piece, ExportedEntry)
            seq, held = seq + 1, 0
            counts = not self._ours.differs_in_entry(header.feed, seq, piece.packet)
            entry = parse_entry(piece.packet)
            dialect = self._ours.dialects.get(header.feed) or header.dialect
            chunks = layout_of(entry.type, entry.content, dialect).chunks
        if header is not None and counts:
            self._take(header.feed, seq, chunks, held)

    def _take(self, feed: FeedId, seq: int, chunks: int, held: int) -> None:
        parts = self._parts.setdefault(feed, {})
        if held < chunks:
            if not self._is_whole(feed, seq):
                parts[seq] = max(held, parts.get(seq, 0))
            return
        parts.pop(seq, None)
        runs = self._whole.setdefault(feed, [])
        if runs and runs[-1][1] + 1 == seq:  # as it is when a file is read
            runs[-1] = (runs[-1][0], seq)
        elif not self._is_whole(feed, seq):
            runs.append((seq, seq))
        else:
            return
        self._whole[feed] = _joined(runs) if len(runs) > 1 else runs

    def _is_whole(self, feed: FeedId, seq: int) -> bool:
        runs = self._whole.get(feed, [])
        at = bisect_right(runs, (seq, limits.SEQ_MAX)) - 1
        return at >= 0 and runs[at][1] >= seq

    def first_lacked(self, record: FeedRecord) -> int:
        """The first entry of which the store has more than the files: ``record.seq + 1`` if there is none."""
        parts = self._parts.get(record.feed, {})
        longer = (
            seq
            for seq, held in sorted(parts.items())
            if self._store.chunk(record.feed, seq, held) is not None
        )
        return min(next(longer, record.seq + 1), self._first_absent(record.feed, parts), record.seq + 1)

    def _first_absent(self, feed: FeedId, parts: Mapping[int, int]) -> int:
        """The first entry of which the files have nothing."""
        seq = 1
        for first, last in self._whole.get(feed, []):
            while seq < first and seq in parts:
                seq += 1
            if seq < first:
                return seq
            seq = max(seq, last + 1)
        while seq in parts:
            seq += 1
        return seq


def _joined(runs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """*runs* in order, those that touch or overlap made one."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(runs):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined


def firsts_since(store: Store, since_us: int) -> dict[FeedId, int]:
    """The first entry of each feed that came to *store* at *since_us* (wall clock, microseconds since 1970) or later,
    or of whose side chain something did. Every arrival is looked at: a clock that was set goes to and fro."""
    firsts: dict[FeedId, int] = {}
    arrival = 0
    while page := store.after(arrival, limits.CONTROL_PAGE):
        for item in page:
            if item.committed_us >= since_us:
                firsts[item.feed] = min(item.seq, firsts.get(item.feed, item.seq))
        arrival = page[-1].arrival
    return firsts
