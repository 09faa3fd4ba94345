"""The peers that store each of our entries, counted as in docs/reference/receipts.md."""

import bisect
import codecs
from collections.abc import Collection, Iterator, Sequence
from typing import Final, TypeAlias, TypeVar

from tinyssb_node import limits
from tinyssb_node.codec.packets import parse_entry
from tinyssb_node.codec.varint import read_varint
from tinyssb_node.content import limits as content_limits
from tinyssb_node.content.acks import ACK_TYPE
from tinyssb_node.control.rows import HolderRow, ReceiptRow
from tinyssb_node.feeds.children import EntryType, ends_feed
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.ids import Dialect, FaceName, FeedId
from tinyssb_node.store.entries import entry_layout, type_of
from tinyssb_node.store.port import FeedRecord, Receipt, Store, StoredEntry

_HeardPeer: TypeAlias = tuple[FaceName, bytes]
"""A peer that was heard: the face, and its name on the air."""
_BIPF_TYPE_BITS: Final = 3
"""Low bits of a BIPF tag; the length is in the bits above."""
_Who = TypeVar("_Who", FeedId, _HeardPeer)


class Holders:
    """The receipts for our feed, as known at one moment."""

    def __init__(
        self, store: Store, records: Sequence[FeedRecord], own: FeedId, faces_up: Collection[FaceName]
    ) -> None:
        """Read the receipts in *store*. *records* are the feeds of the set; *faces_up* are the faces in use."""
        self._own = own
        self._faces_up = faces_up
        self._signed: dict[FeedId, list[Receipt]] = {}
        """The proven receipts of each author, in ascending order."""
        self._heard: dict[_HeardPeer, list[Receipt]] = {}
        for receipt in store.receipts():
            if receipt.feed != own:
                continue
            if receipt.holder is not None:
                self._signed.setdefault(receipt.holder, []).append(receipt)
            elif receipt.face is not None:
                self._heard.setdefault((receipt.face, receipt.speaker), []).append(receipt)
        self._last_us = dict(_last_us(store, records, own, self._signed))

    def row(self, entry: StoredEntry) -> ReceiptRow:
        """Return which peers store *entry*, which is ours."""
        proven = dict(_since(self._signed, entry.seq))
        heard = dict(_since(self._heard, entry.seq))
        from_us = entry.committed_us - content_limits.RECEIPT_ACTIVE_US
        expected = {feed for feed, last_us in self._last_us.items() if last_us >= from_us} | set(proven)
        # Peers draw a new name at every start: if there are more peers than people, some are the same ones again.
        peers = min(self._least_peers(heard), max(1, len(expected)))
        held = max(len(proven), peers)
        lacking = sorted(expected - set(proven))
        holders: list[HolderRow] = [
            HolderRow(kind="proven", feed=feed.hex(), face=None, speaker=None, since_us=since_us)
            for feed, since_us in proven.items()
        ]
        holders += [
            HolderRow(
                kind="inferred",
                feed=None,
                face=face,
                speaker=speaker.hex() or None,
                since_us=since_us,
            )
            for (face, speaker), since_us in heard.items()
        ]
        return ReceiptRow(
            feed=entry.feed.hex(),
            seq=entry.seq,
            id=entry.id.hex(),
            committed_us=entry.committed_us,
            held=held,
            proven=len(proven),
            inferred=held - len(proven),
            expected=max(held, len(expected)),
            holders=holders,
            missing=[feed.hex() for feed in lacking if feed in self._signed],
            silent=[feed.hex() for feed in lacking if feed not in self._signed],
        )

    def _least_peers(self, heard: Collection[_HeardPeer]) -> int:
        """Return the least number of different peers: on different faces they may be the same."""
        by_endpoint: dict[str, set[_HeardPeer]] = {}
        for face, speaker in heard:
            endpoint, connection, _ = face.partition("#")
            # A closed connection may have been the same peer as an open one. That a peer stored the entry stays true.
            peer = (face, speaker) if not connection or face in self._faces_up else (FaceName(""), b"")
            by_endpoint.setdefault(endpoint, set()).add(peer)
        for peers in by_endpoint.values():
            if len(peers) > 1:
                peers.discard((FaceName(""), b""))
        return max((len(peers) for peers in by_endpoint.values()), default=0)


def messages(store: Store, own: FeedId, first: int) -> Iterator[StoredEntry]:
    """Yield our entries except acknowledgements, in order, from number *first* on."""
    while page := store.entries(own, first, limits.CONTROL_PAGE):
        yield from (entry for entry in page if not _acknowledges(entry))
        first = page[-1].seq + 1


def first_of_newest(store: Store, own: FeedId, last_seq: int, count: int) -> int:
    """Return the number from which our feed, up to *last_seq*, has *count* such entries; 1 if it has fewer."""
    end = last_seq
    while end > 0:
        start = max(1, end + 1 - limits.CONTROL_PAGE)
        for entry in reversed(store.entries(own, start, end + 1 - start)):
            count -= not _acknowledges(entry)
            if count == 0:
                return entry.seq
        end = start - 1
    return 1


def _acknowledges(entry: StoredEntry) -> bool:
    return parse_entry(entry.packet).type == ACK_TYPE


def _last_us(
    store: Store, records: Sequence[FeedRecord], own: FeedId, signed: Collection[FeedId]
) -> Iterator[tuple[FeedId, int]]:
    """Yield each followed person's feed with the time of its last entry. An author in *signed* counts as a person,
    however their feed begins."""
    for record in records:
        if record.feed == own or record.child or not record.wanted or record.forked_at is not None:
            continue
        entry = store.entry(record.feed, record.seq) if record.seq else None
        if entry is None or ends_feed(type_of(entry), parse_entry(entry.packet).content):
            continue
        if record.feed in signed or not _further(store, record):
            yield record.feed, entry.committed_us


def _further(store: Store, record: FeedRecord) -> bool:
    """Return True if the feed is a further one of some person, which never acknowledges anything: it says so, or it
    begins with content that only members of a private group can read."""
    first = store.entry(record.feed, 1)
    if first is None:
        return False
    if type_of(first) == EntryType.CHILD_OF:
        return True
    if record.dialect is not Dialect.SPEC:
        return False
    layout = entry_layout(first, record.dialect)
    return layout.size >= group_limits.ENVELOPE_MIN_SIZE and _looks_sealed(layout.head, layout.size)


def _looks_sealed(head: bytes, size: int) -> bool:
    """Return True if content of *size* bytes is, judging by its *head*, neither a BIPF value nor text."""
    tag = read_varint(head, 0, len(head), limits.BIPF_TAG_SIZE_MAX)
    if tag is not None and tag[1] + (tag[0] >> _BIPF_TYPE_BITS) == size:
        return False
    try:
        # Not final: the last character may continue after the head.
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return True
    return False


def _since(known: dict[_Who, list[Receipt]], seq: int) -> Iterator[tuple[_Who, int]]:
    """Yield the peers that store entry *seq*, with the time since when that is known."""
    for who, receipts in known.items():
        first = bisect.bisect_left(receipts, seq, key=lambda receipt: receipt.seq)
        if first < len(receipts):
            yield who, receipts[first].known_us
