"""Receipts: which peers store how much of our own feed, by what was heard and what others signed (decision 0026).

*Heard*: a WANT asks for the entries behind those that its sender holds. It is not signed, and its sender is not known
for certain. *Signed*: an acknowledgement, or a message of the phone app that confirms one of ours.

The store keeps all receipts; this module keeps the latest of each holder. Our own acknowledgements are receipts too: of
others' feeds, held by ourselves.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from tinyssb_node import limits
from tinyssb_node.codec.events import ChunkAppended, EntryAppended, Event
from tinyssb_node.codec.packets import parse_entry
from tinyssb_node.content import limits as content_limits
from tinyssb_node.content.acks import ACK_TYPE, CONFIRMING_WORDS, Ack, confirmed, parse_acks
from tinyssb_node.errors import AckShapeError
from tinyssb_node.feeds.layout import VARIABLE_TYPE
from tinyssb_node.gossip.certainty import TipCertainty
from tinyssb_node.ids import FaceName, FeedId, MessageId
from tinyssb_node.replication.replica import Replica
from tinyssb_node.replication.want import WantReading
from tinyssb_node.store.entries import entry_layout, read_whole_content
from tinyssb_node.store.port import Receipt, Store

_LOOK_BACK: Final = 1_024  # own entries searched for a confirmed one: 10 ms, which strangers may cause
_HEAD = (
    limits.DMX_SIZE + limits.TYPE_SIZE,
    limits.DMX_SIZE + limits.TYPE_SIZE + 16,  # the word of a message of the phone app is there
)
"""Where an entry's packet has the first bytes of its content."""
_Who: TypeAlias = "FeedId | tuple[FaceName, bytes]"
"""The feed of a signer; or the face on which a station was heard, and its name."""


class ReceiptTracker:
    """The receipts of our feed, kept up to date as packets come in."""

    def __init__(
        self, replica: Replica, store: Store, own: FeedId | None, certainties: Mapping[FeedId, TipCertainty]
    ) -> None:
        """Load the receipts from *store*; *own* is our own feed, None if we have none, *certainties* those of its tip
        and of the tips of further identities."""
        self._replica = replica
        self._certainties = certainties
        self._store = store
        self._own = own
        self._number = 0
        self._latest: dict[tuple[FeedId, _Who], tuple[int, int]] = {}
        """Number and sequence number of the latest receipt of everybody."""
        self._heard: OrderedDict[int, tuple[FeedId, _Who]] = OrderedDict()
        self._signed: OrderedDict[int, tuple[FeedId, _Who]] = OrderedDict()
        for receipt in store.receipts():
            self._note(receipt)

    def acknowledged(self, feed: FeedId) -> int:
        """Return up to which entry of *feed* our own acknowledgements go, 0 for none."""
        return 0 if self._own is None else self._held(feed, self._own)

    def _held(self, feed: FeedId, who: _Who) -> int:
        return self._latest.get((feed, who), (0, 0))[1]

    # --- what is heard

    def heard_want(self, face: FaceName, speaker: bytes, reading: WantReading, now_us: int) -> None:
        """Handle a request of a peer on *face*, which calls itself *speaker* on the air."""
        if not self._certainties.keys().isdisjoint(dict(reading.wanted)):
            for feed, seq in reading.wanted:
                if feed in self._certainties:
                    self.heard_holder(face, speaker, feed, seq - 1, now_us)

    def heard_equal(self, face: FaceName, now_us: int) -> None:
        """A peer on *face*, no radio, holds all that we hold."""
        for feed in self._certainties:
            if self._replica.is_current(feed):
                self.heard_holder(face, b"", feed, self._replica.frontier(feed), now_us)

    def heard_holder(self, face: FaceName, speaker: bytes, feed: FeedId, seq: int, now_us: int) -> None:
        """A peer claims to hold *feed*, one of ours, up to entry *seq*."""
        # A peer that claims more of our feed than is stored here is no witness for the rest either.
        frontier = self._replica.frontier(feed)
        self._certainties[feed].heard(face, seq, frontier, now_us)
        who = (face, speaker)
        if feed == self._own and self._held(feed, who) < seq <= frontier:
            self._put(feed, seq, who)

    # --- what others sign

    def appended(self, events: Sequence[Event], packet: bytes | None, now_us: int) -> None:
        """Entries or chunks of others were appended; the first of them is *packet*, if it is given."""
        for event in events:
            if isinstance(event, EntryAppended):
                if (certainty := self._certainties.get(event.feed)) is not None:
                    certainty.took(now_us)
                if event.type == ACK_TYPE:
                    self._read_acks(event.feed, event.seq)
                elif event.type == VARIABLE_TYPE and not event.chunks and may_confirm(event.size, packet):
                    self._read_message(event.feed, event.seq)
            elif isinstance(event, ChunkAppended) and event.complete and event.chunk == 0:
                size = limits.HEAD_SIZE - 1 + event.size
                if may_confirm(size, None):
                    self._read_message(event.feed, event.seq)
            # The others are orphans that it brought along.
            packet = None

    def _read_acks(self, feed: FeedId, seq: int) -> None:
        if self._own is None or feed == self._own:
            return  # Our own are recorded when they are written.
        entry = self._store.entry(feed, seq)
        assert entry is not None
        try:
            acks = parse_acks(parse_entry(entry.packet).content)
        except AckShapeError:
            return  # Another form, which others may read.
        self._sign(max((ack.seq for ack in acks if self._is_ours(ack)), default=0), feed)

    def _is_ours(self, ack: Ack) -> bool:
        """Return True if *ack* is of an entry of ours."""
        assert self._own is not None
        entry = self._store.entry(self._own, ack.seq)
        return entry is not None and entry.id.startswith(ack.id_prefix)

    def _read_message(self, feed: FeedId, seq: int) -> None:
        """Check whether a message confirms one of ours."""
        if self._own is None or feed == self._own:
            return
        message = confirmed(self._content(feed, seq))
        if message is not None:
            self._sign(self._find_own(message), feed)

    def _content(self, feed: FeedId, seq: int) -> bytes:
        """Return the content of an entry with at most one chunk, which is stored; nothing if it is too long to
        matter."""
        entry = self._store.entry(feed, seq)
        assert entry is not None
        layout = entry_layout(entry, self._replica.record(feed).dialect)
        if layout.chunks > 1 or layout.size not in content_limits.CONFIRMING_SIZES:
            return b""
        return read_whole_content(self._store, entry, layout) or b""

    def _find_own(self, message: MessageId) -> int:
        """Return the number of our entry with this id, 0 if none of the latest has it."""
        assert self._own is not None
        last = self._replica.frontier(self._own)
        first = max(1, last + 1 - _LOOK_BACK)
        entries = self._store.entries(self._own, first, _LOOK_BACK)
        return next((entry.seq for entry in entries if entry.id == message), 0)

    def _sign(self, seq: int, holder: FeedId) -> None:
        assert self._own is not None
        if seq > self._held(self._own, holder):
            self._put(self._own, seq, holder)

    def acknowledge(self, feed: FeedId, seq: int) -> None:
        """Record that we acknowledge *feed* up to entry *seq*; only the latest is kept."""
        assert self._own is not None
        before = self._latest.get((feed, self._own))
        self._put(feed, seq, self._own)
        if before is not None:
            self._drop(before[0])

    # --- keeping

    def _put(self, feed: FeedId, seq: int, who: _Who) -> None:
        if self._replica.read_only:
            return
        self._number += 1
        signed = isinstance(who, FeedId)
        receipt = Receipt(
            number=self._number,
            feed=feed,
            seq=seq,
            holder=who if isinstance(who, FeedId) else None,
            face=None if isinstance(who, FeedId) else who[0],
            speaker=b"" if isinstance(who, FeedId) else who[1],
            known_us=0,
        )
        self._store.put_receipt(receipt)
        self._note(receipt)
        most = content_limits.RECEIPTS_SIGNED_MAX if signed else content_limits.RECEIPTS_HEARD_MAX
        rows = self._signed if signed else self._heard
        if len(rows) > most:
            self._drop(next(self._may_go(rows)) if signed else next(iter(rows)))

    def _note(self, receipt: Receipt) -> None:
        assert receipt.face is not None or receipt.holder is not None
        who: _Who = receipt.holder or (receipt.face or FaceName(""), receipt.speaker)
        self._number = max(self._number, receipt.number)
        self._latest[receipt.feed, who] = receipt.number, receipt.seq
        rows = self._heard if receipt.holder is None else self._signed
        rows[receipt.number] = receipt.feed, who

    def _may_go(self, rows: OrderedDict[int, tuple[FeedId, _Who]]) -> Iterator[int]:
        """Yield receipts that later ones of the same holder supersede, the oldest first. There are some if there are
        more receipts than feeds."""
        return (number for number, place in rows.items() if self._latest[place][0] != number)

    def _drop(self, number: int) -> None:
        self._store.drop_receipts([number])
        place = self._signed.pop(number, None) or self._heard.pop(number, None)
        if place is not None and self._latest[place][0] == number:
            del self._latest[place]


def may_confirm(size: int, packet: bytes | None) -> bool:
    """Return True if content of *size* bytes may be a message that confirms another one. Nearly all others are
    recognised by their size, or by their first bytes in the entry's *packet*, where that is at hand, so that the store
    is not asked."""
    if size not in content_limits.CONFIRMING_SIZES:
        return False
    return packet is None or CONFIRMING_WORDS.search(packet, *_HEAD) is not None
