"""Acknowledgements: entries of ours that state, under our signature, which entries of others are stored here (decision
0026).

They are written seldom, and together: entries are stored for ever, and every node forwards them. The pace is such that
the acknowledgements of all stations, each sent once by each of them, take a small share of the airtime that the law
allows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tinyssb_node import limits
from tinyssb_node.codec.events import EntryAppended, Event
from tinyssb_node.codec.packets import parse_entry
from tinyssb_node.content import limits as content_limits
from tinyssb_node.content.acks import ACK_TYPE, Ack, ack_of, serialize_acks
from tinyssb_node.gossip.receipts import ReceiptTracker
from tinyssb_node.ids import Dialect, FaceName, FeedId
from tinyssb_node.replication.replica import Replica
from tinyssb_node.scheduling.transmit_queue import TransmitQueue
from tinyssb_node.scheduling.trickle import RandomSource
from tinyssb_node.store.port import Store


@dataclass(frozen=True, slots=True)
class _Owed:
    """The acknowledgement owed to a feed."""

    ack: Ack
    more: bool
    """True if more of the feed is here, with a side chain under way."""


class Acknowledger:
    """The acknowledgements we owe other feeds, and when they are due."""

    def __init__(
        self,
        replica: Replica,
        store: Store,
        receipts: ReceiptTracker,
        queues: Mapping[FaceName, TransmitQueue],
        entropy: RandomSource,
        *,
        own: FeedId | None,
        permille: int,
    ) -> None:
        """*own* is our feed, *permille* the share of airtime that all acknowledgements of the mesh may take; without
        either none is written. *queues* are those that are up at any moment."""
        self._replica = replica
        self._store = store
        self._receipts = receipts
        self._queues = queues
        self._entropy = entropy
        self._own = own
        self._permille = permille
        self._begun_us: int | None = None
        """When the first face came up; None: before, or if we say nothing at all."""
        self._last_us: int | None = None
        """When we said something last since then."""
        self._debts: dict[FeedId, None] = {}
        """Feeds that brought something since, the one that waits longest first."""
        self.next_us: int | None = None
        """When ``take`` is due; None: there is nothing to say."""

    def begin(self, now_us: int) -> None:
        """A face is up. A node that starts anew, however often, acknowledges nothing for a while."""
        if self._begun_us is not None or self._own is None or not self._permille:
            return
        self._begun_us = now_us
        for record in self._replica.records():
            if not record.ours and record.seq > self._receipts.acknowledged(record.feed):
                self._owe(record.feed, now_us)

    def appended(self, events: Sequence[Event], now_us: int) -> None:
        """Entries of others were appended. Entries that only acknowledge are not acknowledged, or it would never
        end."""
        if self._begun_us is None:
            return
        for event in events:
            if not isinstance(event, EntryAppended) or event.type == ACK_TYPE:
                continue
            if not self._replica.record(event.feed).ours:
                self._owe(event.feed, now_us)

    def _owe(self, feed: FeedId, now_us: int) -> None:
        assert self._begun_us is not None
        self._debts.setdefault(feed)
        if self.next_us is None:
            # All stations got it at about the same time: they must not all answer at once.
            spread_us, part = self.spread_us(), 0.25 + 0.75 * self._entropy.random()
            self.next_us = now_us + int(part * spread_us)
            if self._last_us is None:
                # Nor must all that were switched on together.
                self.next_us = max(self.next_us, self._begun_us + int((0.75 + part) * spread_us))

    def take(self, now_us: int) -> bytes | None:
        """Return the 48 bytes of an acknowledgement to publish at once; None if it is not time, or none is owed."""
        if self.next_us is None or now_us < self.next_us or not self._may_write():
            return None
        every_us = self.every_us()
        wait_us = 0 if self._last_us is None else self._last_us + every_us - now_us
        # People need the other half of the airtime for entries.
        if wait_us <= 0 and any(queue.spent(now_us) > 0.5 for queue in self._queues.values()):
            wait_us = every_us // 4
        if wait_us > 0:
            self.next_us = now_us + wait_us
            return None
        content = self._say(self._owed())
        if content is not None:
            self._last_us = now_us
        self.next_us = now_us + every_us if self._debts else None
        return content

    def _say(self, owed: Mapping[FeedId, _Owed]) -> bytes | None:
        """Serialize as many as there is room for. Those are no longer owed, except feeds with a side chain under
        way."""
        if not owed:
            return None
        content, count = serialize_acks(each.ack for each in owed.values())
        for feed, each in list(owed.items())[:count]:
            self._receipts.acknowledge(feed, each.ack.seq)
            del self._debts[feed]
            if each.more:
                self._debts[feed] = None
        return content

    def _may_write(self) -> bool:
        """Return False if no acknowledgement can be written to our feed until the node is loaded anew."""
        assert self._own is not None
        record = self._replica.record(self._own)
        # The deployed app stops with a fault at an entry whose type it does not know.
        good = record.forked_at is None and record.dialect is Dialect.SPEC and record.seq < limits.SEQ_MAX
        if not good or self._replica.read_only:
            self.next_us = None
        return self.next_us is not None

    # --- what

    def _owed(self) -> dict[FeedId, _Owed]:
        """Return the acknowledgements that can be written now. Drop feeds that need none and have no side chain under
        way."""
        first_open: dict[FeedId, int] = {}
        for chain in self._store.side_chains():
            # A side chain of 16 packets, a text of 1,600 bytes, must be complete before its entry is acknowledged.
            # Longer content may take hours on the air, and must not delay the acknowledgement of texts after it.
            if chain.chunks <= 16 and not chain.broken:
                first_open.setdefault(chain.feed, chain.seq)
        owed = {}
        for feed in list(self._debts):
            record = self._replica.record(feed)
            ack = None
            if record.wanted and record.forked_at is None and not record.invited:
                ack = self._ack(feed, first_open.get(feed, record.seq + 1) - 1)
            if ack is not None:
                owed[feed] = _Owed(ack, feed in first_open)
            elif feed not in first_open:
                del self._debts[feed]
        return owed

    def _ack(self, feed: FeedId, last: int) -> Ack | None:
        """Return the acknowledgement of the last entry of *feed* up to *last* that is worth one, unless it was written
        before."""
        # At the end of the feed at most 256 acknowledgements are skipped to find an entry to acknowledge.
        first = max(self._receipts.acknowledged(feed), last - 256)
        for seq in range(last, first, -1):
            entry = self._store.entry(feed, seq)
            assert entry is not None
            if parse_entry(entry.packet).type != ACK_TYPE:
                return ack_of(seq, entry.id)
        return None

    # --- when

    def every_us(self) -> int:
        """Return the least time between two acknowledgements of ours, on the faces that are up."""
        return max(content_limits.ACK_EVERY_US, self._air_us())

    def spread_us(self) -> int:
        """Return the time over which all stations acknowledge the same entry."""
        return max(content_limits.ACK_SPREAD_US, self._air_us())

    def _air_us(self) -> int:
        """Return the time in which the law of the narrowest radio leaves room for one acknowledgement by every station,
        sent once by each; 0 where air costs nothing."""
        stations = self._stations()
        air_us = 0
        for queue in self._queues.values():
            full_us = queue.profile.airtime_us[limits.PACKET_SIZE]
            allowance = queue.profile.allowance
            if allowance is None:
                # Where the law sets no limit: a tenth of the time, as in the widest European band.
                limit_us, window_us = 100, 1_000
            else:
                limit_us, window_us = allowance.limit_us, allowance.window_us
            air_us = max(air_us, stations * full_us * window_us * 1_000 // (limit_us * self._permille))
        return air_us

    def _stations(self) -> int:
        """Estimate how many stations write, and may therefore acknowledge: the feeds with an entry that is not too
        old."""
        last_us = []
        for record in self._replica.records():
            if record.ours or record.retired or not record.wanted:
                continue
            entry = self._store.entry(record.feed, record.seq) if record.seq else None
            if entry is not None:
                last_us.append(entry.committed_us)
        # Entries that are not committed yet came now.
        newest_us = max(last_us, default=0)
        return 1 + sum(not each or each > newest_us - content_limits.RECEIPT_ACTIVE_US for each in last_us)
