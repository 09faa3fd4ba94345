"""Packets of files, offered to the daemon."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from tinyssb_node import limits
from tinyssb_node.cli.client import Client
from tinyssb_node.daemon.exports import FeedHeader, Piece


@dataclass(slots=True)
class Taken:
    """What came of it."""

    entries: int = 0
    chunks: int = 0
    held: int = 0
    """Packets that the node held already."""
    feeds: set[str] = field(default_factory=set)
    """The feeds of which something new was taken, 64 digits each."""
    refused: dict[str, str] = field(default_factory=dict)
    """Why the node did not take a packet, by feed: what stood behind it in the same feed was not offered."""


def offer(node: Client, pieces: Iterator[Piece], taken: Taken) -> None:
    """Offer *pieces* in requests as large as may be, and count in *taken* what came of them."""
    feed, waiting = "", list[bytes]()
    for piece in pieces:
        if isinstance(piece, FeedHeader):
            _offer_packets(node, feed, waiting, taken)
            feed, waiting = piece.feed.hex(), []
        elif feed not in taken.refused:
            waiting.append(piece.packet)
        if len(waiting) == limits.IMPORT_PACKETS_MAX:
            _offer_packets(node, feed, waiting, taken)
            waiting = []
    _offer_packets(node, feed, waiting, taken)


def _offer_packets(node: Client, feed: str, packets: list[bytes], taken: Taken) -> None:
    if not packets:
        return
    row = node.import_packets(feed, packets)
    taken.entries += row["entries"]
    taken.chunks += row["chunks"]
    taken.held += row["held"]
    if row["entries"] or row["chunks"]:
        taken.feeds.add(feed)
    if row["refused"] is not None:
        taken.refused[feed] = row["refused"]["reason"]
