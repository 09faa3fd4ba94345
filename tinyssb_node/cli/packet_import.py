"""Packets of files, offered to the daemon."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from tinyssb_node import limits
from tinyssb_node.control.client import DaemonClient, DaemonError
from tinyssb_node.daemon.exports import ExportedEntry, FeedHeader, Piece
from tinyssb_node.daemon.packet_import import BLOCKED
from tinyssb_node.ids import FeedId
from tinyssb_node.store.port import FeedRecord, Store

NO_PLACE: Final = "the set has no place for another feed"
"""Why nothing is taken of a feed that is not followed."""
FORKED: Final = "forked"
"""Why no entries are taken of a feed, whoever follows it."""


@dataclass(slots=True)
class ImportResult:
    """What came of it."""

    entries: int = 0
    chunks: int = 0
    held: int = 0
    """Packets that the node held already."""
    feeds: set[str] = field(default_factory=set)
    """The feeds of which something new was taken, 64 digits each."""
    refused: dict[tuple[str, str], str] = field(default_factory=dict)
    """Why the node did not take a packet, by file and feed: what stood behind it there in the same feed was not
    offered."""
    passed: dict[str, str] = field(default_factory=dict)
    """The feeds of which our user takes no more, though there is some, or nobody does: why, in a word."""
    early: set[str] = field(default_factory=set)
    """The feeds of which there are entries that were not offered, since some before them are missing."""


def offer(node: DaemonClient, file: str, pieces: Iterator[Piece], taken: ImportResult) -> None:
    """Offer *pieces* of a *file* in requests as large as may be, and count in *taken* what came of them."""
    feed, waiting = "", list[bytes]()
    for piece in pieces:
        if isinstance(piece, FeedHeader):
            _offer_packets(node, file, feed, waiting, taken)
            feed, waiting = piece.feed.hex(), []
        elif feed not in taken.passed and (file, feed) not in taken.refused:
            waiting.append(piece.packet)
        if len(waiting) == limits.IMPORT_PACKETS_MAX:
            _offer_packets(node, file, feed, waiting, taken)
            waiting = []
    _offer_packets(node, file, feed, waiting, taken)


def _offer_packets(
    node: DaemonClient, file: str, feed: str, packets: list[bytes], taken: ImportResult
) -> None:
    if not packets:
        return
    try:
        row = node.import_packets(feed, packets)
    except DaemonError as error:
        if error.code != "set_full":
            raise
        # Of feeds that are in the set there may be more to take.
        taken.refused[file, feed] = NO_PLACE
        return
    taken.entries += row.entries
    taken.chunks += row.chunks
    taken.held += row.held
    if row.entries or row.chunks:
        taken.feeds.add(feed)
    refused = row.refused
    if refused is not None and refused.reason == BLOCKED:
        taken.passed[feed] = BLOCKED
    elif refused is not None:
        taken.refused[file, feed] = refused.reason


def lacked(
    pieces: Iterator[Piece], store: Store, blocked: Collection[str], taken: ImportResult
) -> Iterator[Piece]:
    """Those of *pieces* from which *store* has something to learn now, each entry with all of its chunks; nothing of
    feeds that are *blocked*, or that are not followed any more. What is left out so, and feeds with entries that come
    too early, are noted in *taken*."""
    records: Mapping[FeedId, FeedRecord] = {record.feed: record for record in store.feeds()}
    growing = {(chain.feed, chain.seq) for chain in store.side_chains()}
    header: FeedHeader | None = None
    closed: str | None = None
    seq = last = 0
    wanted = False
    for piece in pieces:
        if isinstance(piece, FeedHeader):
            header, seq, wanted = piece, piece.first - 1, False
            record = records.get(piece.feed)
            last = 0 if record is None else record.seq
            closed = BLOCKED if piece.feed.hex() in blocked else _closed(record)
            yield piece
            continue
        assert header is not None, "a reader refuses what would be otherwise"
        if isinstance(piece, ExportedEntry):
            seq += 1
            grows = seq <= last and (header.feed, seq) in growing
            wanted = grows or seq == last + 1
            # Of a fork no entries are taken, and what belongs to those before it.
            if closed is not None and (seq > last or grows) and not (closed == FORKED and grows):
                taken.passed[header.feed.hex()] = closed
                wanted = False
            elif seq > last + 1:
                taken.early.add(header.feed.hex())
            elif wanted:
                last = max(last, seq)
        if wanted:
            yield piece


def _closed(record: FeedRecord | None) -> str | None:
    """Why no entries are taken of a feed, in a word; None: they are."""
    if record is None:
        return None
    if record.retired:
        return "retired"
    if record.forked_at is not None:
        return FORKED
    return None if record.wanted else "unfollowed"
