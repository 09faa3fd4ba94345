"""Who holds each of our entries: what the store knows, counted as docs/reference/receipts.md says."""

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

_Station: TypeAlias = tuple[FaceName, bytes]
"""The name on the air of somebody who was heard, and where."""
_BIPF_TYPE_BITS: Final = 3
"""In a BIPF tag the length stands above them."""
_Who = TypeVar("_Who", FeedId, _Station)


class Holders:
    """What is known at one moment."""

    def __init__(
        self, store: Store, records: Sequence[FeedRecord], own: FeedId, faces_up: Collection[FaceName]
    ) -> None:
        """*records* are the feeds of the set; *faces_up* are those that can be used."""
        self._own = own
        self._faces_up = faces_up
        self._signed: dict[FeedId, list[Receipt]] = {}
        """What each has proved, less first."""
        self._heard: dict[_Station, list[Receipt]] = {}
        for receipt in store.receipts():
            if receipt.feed != own:
                continue
            if receipt.holder is not None:
                self._signed.setdefault(receipt.holder, []).append(receipt)
            elif receipt.face is not None:
                self._heard.setdefault((receipt.face, receipt.speaker), []).append(receipt)
        self._last_us = dict(_last_us(store, records, own, self._signed))

    def row(self, entry: StoredEntry) -> ReceiptRow:
        """Who holds *entry*, which is ours."""
        proven = dict(_since(self._signed, entry.seq))
        heard = dict(_since(self._heard, entry.seq))
        from_us = entry.committed_us - content_limits.RECEIPT_ACTIVE_US
        expected = {feed for feed, last_us in self._last_us.items() if last_us >= from_us} | set(proven)
        # Names are drawn anew at every start: more stations than people are the same ones again.
        stations = min(self._stations(heard), max(1, len(expected)))
        held = max(len(proven), stations)
        lacking = sorted(expected - set(proven))
        holders: list[HolderRow] = [
            {"kind": "proven", "feed": feed.hex(), "face": None, "speaker": None, "since_us": since_us}
            for feed, since_us in proven.items()
        ]
        holders += [
            {
                "kind": "inferred",
                "feed": None,
                "face": face,
                "speaker": speaker.hex() or None,
                "since_us": since_us,
            }
            for (face, speaker), since_us in heard.items()
        ]
        return {
            "feed": entry.feed.hex(),
            "seq": entry.seq,
            "id": entry.id.hex(),
            "committed_us": entry.committed_us,
            "held": held,
            "proven": len(proven),
            "inferred": held - len(proven),
            "expected": max(held, len(expected)),
            "holders": holders,
            "missing": [feed.hex() for feed in lacking if feed in self._signed],
            "silent": [feed.hex() for feed in lacking if feed not in self._signed],
        }

    def _stations(self, heard: Collection[_Station]) -> int:
        """How many different stations these are at least: on different faces they may be the same."""
        by_endpoint: dict[str, set[_Station]] = {}
        for face, speaker in heard:
            endpoint, connection, _ = face.partition("#")
            # A connection that is no more may be the same peer as one that is; that somebody had it stays true.
            station = (face, speaker) if not connection or face in self._faces_up else (FaceName(""), b"")
            by_endpoint.setdefault(endpoint, set()).add(station)
        for stations in by_endpoint.values():
            if len(stations) > 1:
                stations.discard((FaceName(""), b""))
        return max((len(stations) for stations in by_endpoint.values()), default=0)


def messages(store: Store, own: FeedId, first: int) -> Iterator[StoredEntry]:
    """Our entries but for acknowledgements, in order, from number *first* on."""
    while page := store.entries(own, first, limits.CONTROL_PAGE):
        yield from (entry for entry in page if not _acknowledges(entry))
        first = page[-1].seq + 1


def first_of_newest(store: Store, own: FeedId, last_seq: int, count: int) -> int:
    """From which number on our feed, up to *last_seq*, has *count* such entries; 1 if it has not as many."""
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
    """When the last entry came of everybody we follow. Whoever is among *signed* is somebody, however he began."""
    for record in records:
        if record.feed == own or record.child or not record.wanted or record.forked_at is not None:
            continue
        entry = store.entry(record.feed, record.seq) if record.seq else None
        if entry is None or ends_feed(type_of(entry), parse_entry(entry.packet).content):
            continue
        if record.feed in signed or not _further(store, record):
            yield record.feed, entry.committed_us


def _further(store: Store, record: FeedRecord) -> bool:
    """True if the feed is a further one of somebody, which never acknowledges anything: it says so, or it begins with
    what only members of a private group read."""
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
    """True if content of *size* bytes that begins with *head* is neither a BIPF value nor text, to judge by *head*."""
    tag = read_varint(head, 0, len(head), limits.BIPF_TAG_SIZE_MAX)
    if tag is not None and tag[1] + (tag[0] >> _BIPF_TYPE_BITS) == size:
        return False
    try:
        # Not final: its last character may go on behind the head.
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return True
    return False


def _since(known: dict[_Who, list[Receipt]], seq: int) -> Iterator[tuple[_Who, int]]:
    """Who holds entry *seq*, and since when that is known."""
    for who, receipts in known.items():
        first = bisect.bisect_left(receipts, seq, key=lambda receipt: receipt.seq)
        if first < len(receipts):
            yield who, receipts[first].known_us
