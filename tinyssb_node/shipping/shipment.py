"""Node's side of log shipping: what to send next, and what the collector is known to have. Bytes and time in,
slices and questions out. The rules are in docs/formats/log-shipping.md."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tinyssb_node.shipping import limits
from tinyssb_node.shipping.wire import (
    BadAnswerError,
    CollectorReply,
    ReplyFlag,
    SegmentId,
    SegmentSlice,
    SegmentState,
    SegmentStatus,
    parse_have,
    serialize_ask,
)

_BEGINNING: Final = SegmentId(0, 0)


class LogPosition(NamedTuple):
    """A position in a log. It stands for everything before it too, in this segment and in earlier ones."""

    segment: SegmentId
    byte: int


_NOWHERE: Final = LogPosition(_BEGINNING, 0)


@dataclass(frozen=True, slots=True)
class ShippingState:
    """State that is saved when the shipper ends. Without it nothing is lost: the collector is asked."""

    acked: LogPosition = _NOWHERE
    """The collector has everything up to here."""
    under_way: tuple[SegmentSlice, ...] = ()
    """Slices that the broker has beyond that."""
    life: int | None = None
    """The life of the collector that acknowledged it."""


@dataclass(slots=True)
class ShippingCounters:
    """Counters since the shipper started."""

    batches: int = 0
    log_bytes: int = 0
    """Bytes of log in them."""
    wire_bytes: int = 0
    """Bytes of the batches as they were sent."""
    asks: int = 0
    rewinds: int = 0
    """How often unacknowledged batches turned out to be lost."""
    bad_answers: int = 0
    others: int = 0
    """Replies of a collector that was ignored."""


@dataclass(slots=True)
class _Asked:
    """The open question, or the last one that was answered."""

    run: int = -1
    since: SegmentId = _BEGINNING
    before: int = 0
    """Batches with a lower number went before it."""
    open: bool = False
    rest: bool = False
    """The reply was cut short: the next question is for the rest of it."""
    at_us: int = 0


@dataclass(slots=True)
class _Waits:
    """Times until which something waits."""

    full_us: int | None = None
    """When a full collector is asked again."""
    flush_us: int = 0
    """When an incomplete batch may be sent."""
    quiet_us: int = 0
    """Time of the last acknowledgement, or when the first unacknowledged batch was sent."""
    patience_us: int = limits.ASK_AGAIN_US
    """How long to wait after that before asking."""


class BandwidthLimit:
    """Bandwidth limit of all logs of one connection."""

    def __init__(self, bytes_per_s: int) -> None:
        """0 means no limit."""
        self._bytes_per_s: Final = bytes_per_s
        self.until_us = 0
        """Nothing may be sent before this time."""

    def spend(self, wire_bytes: int, now_us: int) -> None:
        """Account for a batch of so many bytes."""
        if self._bytes_per_s:
            cost_us = (wire_bytes + limits.OVERHEAD_BYTES) * 1_000_000 // self._bytes_per_s
            self.until_us = max(self.until_us, now_us) + cost_us


@dataclass(slots=True)
class _Collector:
    """The one collector whose replies count."""

    life: int | None
    former: deque[int] = field(default_factory=lambda: deque(maxlen=8))
    """Lives whose replies counted before, to distinguish two collectors that reply in turns from one that was
    restarted: it has a new life each time."""
    unlisted: SegmentId | None = None
    """The segment from which on it has not said in this life what it has; None if it has said all of it."""
    heard_us: int = 0
    """Time of its last reply."""
    asks_us: int = 0
    """Rate limit for questions because of a new life: each adds ``limits.ASK_AGAIN_US`` to this time."""
    other: int = 0
    """Above 0 if another collector replied lately to this one's question; each reply of this one lowers it."""


class LogShipment:
    """Shipping of one log to the collector."""

    def __init__(
        self, saved: ShippingState, *, run: int, every_us: int, pace: BandwidthLimit | None = None
    ) -> None:
        """*run*: a random number, so that replies to an earlier run are not taken for replies to this one. An
        incomplete batch is sent every *every_us*, and nothing faster than *pace*, if there is one."""
        self._saved: Final = saved
        self._run = run
        self._every_us: Final = every_us
        self.pace: Final = pace or BandwidthLimit(0)
        self._files: dict[SegmentId, int] = {}
        """Segments in order, with their sizes."""
        self._have: dict[SegmentId, int] = {}
        """Bytes of each that the collector has, as far as is known."""
        self._sent: dict[SegmentId, int] = {}
        """Bytes of each that were sent."""
        self._under_way: dict[int, SegmentSlice] = dict(enumerate(saved.under_way))
        self._number = len(self._under_way)
        self._seen = False
        self._connected = False
        self._ask: SegmentId | None = None
        """The segment from which to ask now."""
        self._asked = _Asked()
        self._waits = _Waits()
        self._refused: set[SegmentId] = set()
        self._collector = _Collector(saved.life)
        self.old_collector = False
        """True if the collector does not know our version of the format."""
        self.counts: Final = ShippingCounters()
        self._note_sent()

    # --- segments

    def look(self, files: Mapping[SegmentId, int]) -> None:
        """Take note of the segments in the folder, in order, and of their sizes."""
        self._files = dict(files)
        self._have = {
            segment: self._have.get(segment, 0) if self._seen else _saved_have(self._saved, segment, size)
            for segment, size in files.items()
        }
        self._seen = True

    @property
    def run(self) -> int:
        """The mark of batches."""
        return self._run

    @property
    def refused(self) -> frozenset[SegmentId]:
        """Segments of which the collector has other bytes, and refuses more."""
        return frozenset(self._refused)

    @property
    def full(self) -> bool:
        """True while the collector has no room."""
        return self._waits.full_us is not None

    @property
    def two_collectors(self) -> bool:
        """True while a second collector replies. It is ignored, and lacks what was sent before it started."""
        return self._collector.other > 0

    @property
    def asking(self) -> bool:
        """True while a question is to be sent, or is not answered yet."""
        return self._ask is not None or self._asked.open

    def unanswered(self, now_us: int) -> bool:
        """Return True if the collector has not replied for so long that it is not running, or not reachable."""
        asked = self._asked
        return self._connected and asked.open and now_us >= asked.at_us + limits.ASK_AGAIN_US

    def lacking_bytes(self) -> int:
        """Return how many bytes of log the collector is not known to have."""
        return sum(
            max(0, size - self._have[segment])
            for segment, size in self._files.items()
            if segment not in self._refused
        )

    def saved(self) -> ShippingState:
        """Return the state to save."""
        collector = self._collector
        life = collector.life if collector.unlisted is None else None
        return ShippingState(self._acked(), tuple(self._under_way.values()), life)

    def _acked(self) -> LogPosition:
        acked = self._saved.acked if not self._files else _NOWHERE
        for segment, size in self._files.items():
            acked = LogPosition(segment, self._have[segment])
            if self._have[segment] < size and segment not in self._refused:
                break
        return acked

    # --- the broker

    def connected(self) -> None:
        """Begin with a question to the collector: the broker is connected."""
        self._connected = True
        self._asked.open = self._asked.rest = False
        self._ask = self._known()

    def called(self) -> None:
        """Ask the collector, which has started: unacknowledged batches may be lost."""
        if self._connected:
            self._ask = self._known()

    def lost(self) -> None:
        """Stop sending: the broker is not connected any more."""
        self._connected = False

    def ask(self, now_us: int) -> bytes | None:
        """Return a question to send now, in order with the batches; None if there is none."""
        waits = self._waits
        if not self._connected:
            return None
        if waits.full_us is not None and now_us >= waits.full_us:
            waits.full_us = None
            self._ask = self._ask or self._known()
        waiting = self._under_way or self._asked.open
        if self._ask is None and waiting and now_us >= waits.quiet_us + waits.patience_us:
            self._ask = self._known()
            # 6 hours: questions wait at the broker with the batches; a collector announces its start.
            waits.patience_us = min(2 * waits.patience_us, 21_600_000_000)
        if self._ask is None:
            return None
        since, self._ask = self._ask, None
        self._next_run()
        waits.quiet_us = now_us
        if not self._asked.rest:
            self._asked = _Asked(before=self._number, at_us=now_us)
        self._asked.run, self._asked.since = self._run, since
        self._asked.open, self._asked.rest = True, False
        self.counts.asks += 1
        return serialize_ask(self._run, since)

    def next(self, now_us: int) -> SegmentSlice | None:
        """Return the slice to send now; None if there is none."""
        waits = self._waits
        if not self._connected or self._ask is not None or waits.full_us is not None:
            return None
        if now_us < self.pace.until_us or (
            self._asked.open and now_us < self._asked.at_us + limits.ASK_WAIT_US
        ):
            return None
        if len(self._under_way) >= limits.UNDER_WAY_MAX:
            return None
        may_flush = now_us >= waits.flush_us
        for segment, size in self._files.items():
            at = max(self._have[segment], self._sent.get(segment, 0))
            left = min(size, limits.SEGMENT_BYTES_MAX) - at
            if left <= 0 or segment in self._refused:
                continue
            if left < limits.BATCH_BYTES:
                grows = segment == next(reversed(self._files))
                if not may_flush or (grows and len(self._under_way) >= limits.UNDER_WAY_SMALL):
                    return None
            return SegmentSlice(segment, at, min(left, limits.BATCH_BYTES))
        if may_flush:
            waits.flush_us = now_us + self._every_us
        return None

    def handed(self, piece: SegmentSlice, run: int, wire_bytes: int, now_us: int) -> None:
        """Note that the broker has *piece*, marked with *run* and of *wire_bytes*. The collector may have replied
        before the broker did."""
        waits = self._waits
        if run == self._run and piece.end > self._have.get(piece.segment, 0):
            if not self._under_way:
                waits.quiet_us = now_us
            self._under_way[self._number] = piece
            self._sent[piece.segment] = piece.end
        self._number += 1
        self.counts.batches += 1
        self.counts.log_bytes += piece.size
        self.counts.wire_bytes += wire_bytes
        self.pace.spend(wire_bytes, now_us)

    # --- the collector

    def heard(self, message: bytes, now_us: int) -> None:
        """Handle a reply of the collector, which may be any bytes."""
        try:
            answer = parse_have(message)
        except BadAnswerError:
            self.counts.bad_answers += 1
            return
        if not self._accepts(answer, now_us):
            self.counts.others += 1
            return
        self.old_collector = bool(answer.flags & ReplyFlag.VERSION)
        lost = False
        for row in answer.rows:
            lost |= self._apply(row, answer.run, now_us)
        if self._answers(answer):
            lost |= self._listed(answer)
        if lost:
            self._rewind()

    def _accepts(self, answer: CollectorReply, now_us: int) -> bool:
        """Return True for a reply of the collector whose replies count. A newly started one takes its place: it is
        asked for all that it has, and is sent what the former one refused. So does a former one, but not while this one
        replies."""
        known = self._collector
        if answer.life == known.life:
            known.heard_us = now_us
            known.other = max(0, known.other - 1)
            return True
        if answer.life in known.former:
            if answer.run == self._run and self._ask is None:
                # Two collectors reply in turns, but one that was away for long sends several replies together.
                known.other = 16
            if now_us < known.heard_us + limits.ASK_AGAIN_US:
                return False
        # Each start of a collector is asked for everything. Three more than one in ``ASK_AGAIN_US`` are allowed, for a
        # person who tries settings; then its replies are ignored for a while.
        if known.asks_us > now_us + 3 * limits.ASK_AGAIN_US:
            return False
        if known.life is not None:
            known.former.append(known.life)
        known.life, known.heard_us, known.unlisted = answer.life, now_us, _BEGINNING
        self._refused.clear()
        if not (self._answers(answer) and self._asked.since <= self._oldest()):
            self._ask, self._asked.rest = self._known(), False
            known.asks_us = max(known.asks_us, now_us) + limits.ASK_AGAIN_US
        return True

    def _answers(self, answer: CollectorReply) -> bool:
        """Return True for the reply to our question."""
        return bool(answer.flags & ReplyFlag.LISTING) and self._asked.open and answer.run == self._asked.run

    def _apply(self, row: SegmentStatus, run: int, now_us: int) -> bool:
        """Apply the status of a segment. Return True if batches have to be sent again."""
        segment = row.segment
        done = [
            number
            for number, piece in self._under_way.items()
            if piece.segment == segment and (piece.end <= row.have or row.state is SegmentState.OTHER)
        ]
        for number in done:
            del self._under_way[number]
        if all(piece.segment != segment for piece in self._under_way.values()):
            self._sent.pop(segment, None)
        if done:
            self._waits.quiet_us = now_us
            self._waits.patience_us = limits.ASK_AGAIN_US
        if segment in self._have:
            self._have[segment] = row.have
            if row.state is SegmentState.OTHER:
                self._refused.add(segment)
        if row.state is SegmentState.FULL:
            if self._waits.full_us is None:
                self._waits.full_us = now_us + limits.FULL_WAIT_US
            return True
        return row.state is SegmentState.GAP and run == self._run

    def _listed(self, answer: CollectorReply) -> bool:
        """Apply the reply to our question: segments that it does not list are not there. Return True if batches have to
        be sent again."""
        asked = self._asked
        more = (
            bool(answer.flags & ReplyFlag.MORE)
            and bool(answer.rows)
            and answer.rows[-1].segment > asked.since
        )
        last = answer.rows[-1].segment if more else None
        named = {row.segment for row in answer.rows}
        for segment in self._files:
            if asked.since <= segment and (last is None or segment <= last) and segment not in named:
                self._have[segment] = 0
        asked.open = asked.rest = more
        unlisted = self._collector.unlisted
        if unlisted is not None and asked.since <= max(unlisted, self._oldest()):
            self._collector.unlisted = last
        if more:
            self._ask = last
            return False
        return any(number < asked.before for number in self._under_way)

    def _rewind(self) -> None:
        self._under_way.clear()
        self._sent.clear()
        self._next_run()
        self.counts.rewinds += 1

    def _known(self) -> SegmentId:
        """Return the last segment of which the collector has something, and everything before it; or one before that,
        from which on it has to be asked in its new life."""
        known = _BEGINNING
        for segment, size in self._files.items():
            have = self._have[segment]
            if have:
                known = segment
            if have < size and segment not in self._refused:
                break
        unlisted = self._collector.unlisted
        return known if unlisted is None else min(known, max(unlisted, self._oldest()))

    def _oldest(self) -> SegmentId:
        return next(iter(self._files), _BEGINNING)

    def _next_run(self) -> None:
        self._run = (self._run + 1) % 2**32

    def _note_sent(self) -> None:
        for piece in self._under_way.values():
            self._sent[piece.segment] = max(piece.end, self._sent.get(piece.segment, 0))


def _saved_have(saved: ShippingState, segment: SegmentId, size: int) -> int:
    """Return how much of a segment the collector had when the shipper ended."""
    if segment < saved.acked.segment:
        return size
    return saved.acked.byte if segment == saved.acked.segment else 0
