"""Core of the collector: a message in, a reply out, and new bytes passed to the landing.

The rules are in docs/formats/log-shipping.md. Nothing here knows a disk or a broker.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from spark_sink import limits
from spark_sink.collect.messages import (
    FINE,
    FULL,
    GAP,
    LISTING,
    MORE,
    OTHER,
    VERSION,
    Ask,
    HaveRow,
    Log,
    LogBatch,
    Malformed,
    SegmentId,
    UnknownVersion,
    fingerprint,
    parse_message,
    parse_topic,
    serialize_have,
)


class Landing(Protocol):
    """Storage of collected segments. Written bytes are durable only after the caller has synced them."""

    def have(self, log: Log, segment: SegmentId) -> int:
        """Return the number of first bytes of a segment that are stored."""
        ...

    def rows(self, log: Log, since: SegmentId, most: int) -> Sequence[HaveRow]:
        """Return up to *most* stored segments from *since* on, in order."""
        ...

    def read(self, log: Log, segment: SegmentId, at: int, size: int) -> bytes | None:
        """Return bytes of a segment, fewer at its end; None if its file no longer exists."""
        ...

    def write(self, log: Log, segment: SegmentId, at: int, content: bytes) -> bool:
        """Write *content* at byte *at*, which is where the stored bytes end. Returns False without room, or if the file
        was deleted at this moment: then nothing of it is stored.
        """
        ...

    def forget(self, log: Log, segment: SegmentId) -> None:
        """Note that nothing of this segment is stored any more."""
        ...


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply to a node, to be sent after a sync."""

    topic: str
    message: bytes


class _Match(StrEnum):
    """Comparison of the stored bytes with what a batch says of them."""

    SAME = "same"
    OTHER = "other"
    GONE = "gone"
    """The file is not here any more."""
    SHORT = "short"
    """It has lost its end."""


class Collector:
    """Takes the messages of all nodes."""

    def __init__(self, landing: Landing, *, life: int) -> None:
        """*life*: a random number, by which nodes notice that the collector was restarted."""
        self._landing = landing
        self._life: Final = life
        self.counts: Final[Counter[str]] = Counter()
        """Batches by what became of them: ``new``, ``known``, ``gap``, ``other``, ``full``, ``bad: …``; ``bytes``."""

    def receive(self, topic: str, message: bytes) -> Reply | None:
        """Handle any bytes on any topic. Raises OSError."""
        log = parse_topic(topic)
        if log is None:
            self.counts["bad: no topic of a node"] += 1
            return None
        said = parse_message(message)
        if isinstance(said, Malformed):
            self.counts[f"bad: {said.rule}"] += 1
            return None
        if isinstance(said, UnknownVersion):
            self.counts["bad: newer version"] += 1
            return Reply(log.topic_down, serialize_have(said.run, self._life, VERSION, ()))
        if isinstance(said, Ask):
            return Reply(log.topic_down, self._listing(log, said))
        row = self._land(log, said)
        return Reply(log.topic_down, serialize_have(said.run, self._life, 0, (row,)))

    def _listing(self, log: Log, ask: Ask) -> bytes:
        rows = self._landing.rows(log, ask.since, limits.ROWS_MAX + 1)
        flags = LISTING | (MORE if len(rows) > limits.ROWS_MAX else 0)
        return serialize_have(ask.run, self._life, flags, rows[: limits.ROWS_MAX])

    def _land(self, log: Log, batch: LogBatch) -> HaveRow:
        segment, end = batch.segment, batch.at + len(batch.content)
        have = self._landing.have(log, segment)
        if batch.at > have:
            return self._row("gap", segment, have, GAP)
        match = self._match(log, batch, have) if have else _Match.SAME
        if match is _Match.OTHER:
            return self._row("other", segment, have, OTHER)
        if match is _Match.SHORT or (match is _Match.GONE and end > have):
            # It was archived before it was complete, or its file was cut: it comes again from the beginning.
            self._landing.forget(log, segment)
            return self._row("gap", segment, 0, GAP)
        if end <= have:
            return self._row("known", segment, have, FINE)
        if not self._landing.write(log, segment, have, batch.content[have - batch.at :]):
            here = self._landing.have(log, segment)
            what, state = ("full", FULL) if here == have else ("gap", GAP)
            return self._row(what, segment, here, state)
        self.counts["bytes"] += end - have
        return self._row("new", segment, end, FINE)

    def _match(self, log: Log, batch: LogBatch, have: int) -> _Match:
        near = min(batch.at, limits.PRINT_BYTES)
        overlap = min(len(batch.content), have - batch.at)
        places = ((0, near), (batch.at - near, near), (batch.at, overlap))
        found = [self._landing.read(log, batch.segment, at, size) for at, size in places]
        head, tail, here = found
        if head is None or tail is None or here is None:
            return _Match.GONE
        if any(len(piece) < size for piece, (_, size) in zip((head, tail, here), places, strict=True)):
            return _Match.SHORT
        same = fingerprint(head, tail) == batch.before and here == batch.content[:overlap]
        return _Match.SAME if same else _Match.OTHER

    def _row(self, what: str, segment: SegmentId, have: int, state: int) -> HaveRow:
        self.counts[what] += 1
        return HaveRow(segment, have, state)
