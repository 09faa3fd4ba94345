"""Rows of the store in SQLite as values, and back."""

from dataclasses import dataclass, replace

from tinyssb_node.errors import ForkProofFormatError
from tinyssb_node.feeds.fork import ForkProof, parse_proof
from tinyssb_node.ids import Dialect, FeedId, MessageId
from tinyssb_node.store.port import FeedRecord

SqlValue = int | str | bytes | None


@dataclass(slots=True)
class KeptFeed:
    """What is kept of a feed, as the file numbers it."""

    number: int
    record: FeedRecord
    seq: int
    """Ahead of the record's while appends come in; the record is made anew when somebody asks."""
    tip: MessageId | None

    @property
    def dropped(self) -> bool:
        """True if it is nowhere but in the table, where its number may not go to another one."""
        return self.record.retired and self.record.dialect is None

    def current(self) -> FeedRecord:
        """The record with the frontier as it is now."""
        if self.record.seq != self.seq:
            self.record = replace(self.record, seq=self.seq, tip=self.tip)
        return self.record


def proof_of(feed: bytes, seq: int, raw: object) -> ForkProof | None:
    """The proof in *raw* of a fork of *feed* at *seq*; None if it is none."""
    if not isinstance(raw, bytes):
        return None
    try:
        proof = parse_proof(raw)
    except ForkProofFormatError:
        return None
    return proof if (proof.feed, proof.seq) == (feed, seq) else None


def feed_row(feed: KeptFeed) -> tuple[SqlValue, ...]:
    """A row of ``feeds``."""
    record = feed.current()
    return (
        feed.number,
        bytes(record.feed),
        None if record.dialect is None else record.dialect.value,
        record.seq,
        None if record.tip is None else bytes(record.tip),
        record.own,
        record.wanted,
        record.forked_at,
        record.child,
        record.retired,
    )


def kept_feed(
    row: tuple[int, bytes, str | None, int, bytes | None, int, int, int | None, int, int],
) -> KeptFeed:
    """A row of ``feeds`` as it is kept in memory."""
    number, feed, dialect, seq, tip, own, wanted, forked_at, child, retired = row
    record = FeedRecord(
        feed=FeedId(feed),
        dialect=None if dialect is None else Dialect(dialect),
        seq=seq,
        tip=None if tip is None else MessageId(tip),
        own=bool(own),
        wanted=bool(wanted),
        forked_at=forked_at,
        child=bool(child),
        retired=bool(retired),
    )
    return KeptFeed(number, record, record.seq, record.tip)
