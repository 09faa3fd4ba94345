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

NO_PLACE: Final = "the node knows as many feeds as it can"
"""Why a feed that is not followed is refused."""
FORKED: Final = "forked"
"""Why entries of a feed are refused, followed or not."""


@dataclass(slots=True)
class ImportResult:
    """Counts and refusals of an import."""

    entries: int = 0
    chunks: int = 0
    held: int = 0
    """Packets that the node had already."""
    feeds: set[str] = field(default_factory=set)
    """The feeds with new packets, 64 digits each."""
    refused: dict[tuple[str, str], str] = field(default_factory=dict)
    """Why the node refused a packet, by file and feed. Later packets of the feed in that file were not offered."""
    passed: dict[str, str] = field(default_factory=dict)
    """The feeds whose further entries this node does not accept, and why, in a word."""
    early_in: dict[str, set[str]] = field(default_factory=dict)
    """The feeds with entries that were not offered because earlier ones are missing, by file."""

    @property
    def early(self) -> set[str]:
        """These feeds, of all files together."""
        return set().union(*self.early_in.values())

    def forget_early(self, file: str) -> None:
        """Forget the entries of *file* that were too early: it is read again, or cannot be read."""
        self.early_in.pop(file, None)


def offer(node: DaemonClient, file: str, pieces: Iterator[Piece], taken: ImportResult) -> None:
    """Offer *pieces* of a *file* in requests as large as possible, and count the results in *taken*."""
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
        # Feeds that are in the set already can still be imported.
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
    file: str, pieces: Iterator[Piece], store: Store, blocked: Collection[str], taken: ImportResult
) -> Iterator[Piece]:
    """Yield the *pieces* of a *file* that *store* lacks and can take now, each entry with all of its chunks; nothing of
    feeds that are *blocked*, or not followed any more. Feeds that are skipped, and feeds with entries that come too
    early, are noted in *taken*."""
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
            # A forked feed accepts no new entries, but chunks of its older ones.
            if closed is not None and (seq > last or grows) and not (closed == FORKED and grows):
                taken.passed[header.feed.hex()] = closed
                wanted = False
            elif seq > last + 1:
                taken.early_in.setdefault(file, set()).add(header.feed.hex())
            elif wanted:
                last = max(last, seq)
        if wanted:
            yield piece


def _closed(record: FeedRecord | None) -> str | None:
    """Return why no entries of a feed are accepted, in a word; None: they are."""
    if record is None:
        return None
    if record.retired:
        return "retired"
    if record.forked_at is not None:
        return FORKED
    return None if record.wanted else "unfollowed"
