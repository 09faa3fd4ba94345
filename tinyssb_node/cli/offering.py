"""Packets of files, offered to the daemon."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from tinyssb_node import limits
from tinyssb_node.cli.client import Client, DaemonError
from tinyssb_node.daemon.exports import ExportedEntry, FeedHeader, Piece
from tinyssb_node.ids import FeedId
from tinyssb_node.store.port import FeedRecord, Store

NO_PLACE: Final = "the set has no place for another feed"
"""Why nothing is taken of a feed that is not followed."""


@dataclass(slots=True)
class Taken:
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
    early: set[str] = field(default_factory=set)
    """The feeds of which there are entries that were not offered, since some before them are missing."""


def offer(node: Client, file: str, pieces: Iterator[Piece], taken: Taken) -> None:
    """Offer *pieces* of a *file* in requests as large as may be, and count in *taken* what came of them."""
    feed, waiting = "", list[bytes]()
    for piece in pieces:
        if isinstance(piece, FeedHeader):
            _offer_packets(node, file, feed, waiting, taken)
            feed, waiting = piece.feed.hex(), []
        elif (file, feed) not in taken.refused:
            waiting.append(piece.packet)
        if len(waiting) == limits.IMPORT_PACKETS_MAX:
            _offer_packets(node, file, feed, waiting, taken)
            waiting = []
    _offer_packets(node, file, feed, waiting, taken)


def _offer_packets(node: Client, file: str, feed: str, packets: list[bytes], taken: Taken) -> None:
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
    taken.entries += row["entries"]
    taken.chunks += row["chunks"]
    taken.held += row["held"]
    if row["entries"] or row["chunks"]:
        taken.feeds.add(feed)
    if row["refused"] is not None:
        taken.refused[file, feed] = row["refused"]["reason"]


def lacked(pieces: Iterator[Piece], store: Store, taken: Taken) -> Iterator[Piece]:
    """Those of *pieces* from which *store* has something to learn now, each entry with all of its chunks. Feeds with
    entries that come too early for it are noted in *taken*."""
    records: Mapping[FeedId, FeedRecord] = {record.feed: record for record in store.feeds()}
    growing = {(chain.feed, chain.seq) for chain in store.side_chains()}
    header: FeedHeader | None = None
    seq = last = 0
    wanted = False
    for piece in pieces:
        if isinstance(piece, FeedHeader):
            header, seq, wanted = piece, piece.first - 1, False
            record = records.get(piece.feed)
            last = 0 if record is None else record.seq
            yield piece
            continue
        assert header is not None, "a reader refuses what would be otherwise"
        if isinstance(piece, ExportedEntry):
            seq += 1
            wanted = seq == last + 1 or (seq <= last and (header.feed, seq) in growing)
            last = max(last, seq) if wanted else last
            if seq > last:
                taken.early.add(header.feed.hex())
        if wanted:
            yield piece
