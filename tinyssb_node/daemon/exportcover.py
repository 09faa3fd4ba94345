"""What export files hold already, so that the next one begins behind it."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Final

from tinyssb_node import limits
from tinyssb_node.codec.packets import parse_entry
from tinyssb_node.daemon.exports import ExportedChunk, ExportedEntry, FeedHeader, Piece
from tinyssb_node.feeds.layout import layout_of
from tinyssb_node.ids import FeedId
from tinyssb_node.store.port import FeedRecord, Store


class Cover:
    """Which entries of which feeds some files hold, with how much of their side chains."""

    def __init__(self) -> None:
        self._whole: Final[dict[FeedId, list[tuple[int, int]]]] = {}
        """Of each feed the runs of entries that are held with their side chains, first and last, in order and apart."""
        self._parts: Final[dict[FeedId, dict[int, int]]] = {}
        """Of each feed how many chunks are held of side chains that are not whole, by sequence number."""

    def add(self, pieces: Iterable[Piece]) -> None:
        """Count in a file, read to its end."""
        feed: FeedHeader | None = None
        seq = chunks = held = 0
        for piece in pieces:
            if isinstance(piece, ExportedChunk):
                held += 1
                continue
            if feed is not None and seq >= feed.first:
                self._take(feed.feed, seq, chunks, held)
            if isinstance(piece, FeedHeader):
                feed, seq = piece, piece.first - 1
                continue
            assert feed is not None, "a reader refuses what would be otherwise"
            assert isinstance(piece, ExportedEntry)
            entry = parse_entry(piece.packet)
            chunks, held = layout_of(entry.type, entry.content, feed.dialect).chunks, 0
            seq += 1
        if feed is not None and seq >= feed.first:
            self._take(feed.feed, seq, chunks, held)

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

    def first_lacked(self, store: Store, record: FeedRecord) -> int:
        """The first entry of which *store* has more than the files: ``record.seq + 1`` if there is none."""
        parts = self._parts.get(record.feed, {})
        longer = (
            seq for seq, held in sorted(parts.items()) if store.chunk(record.feed, seq, held) is not None
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
    arrival, last = 0, store.last_arrival()
    while arrival < last:
        for item in store.after(arrival, limits.CONTROL_PAGE):
            if item.committed_us >= since_us:
                firsts[item.feed] = min(item.seq, firsts.get(item.feed, item.seq))
        arrival += limits.CONTROL_PAGE
    return firsts
