"""Who holds each of our entries: what the store knows, counted as docs/reference/receipts.md says."""

import bisect
from collections.abc import Collection, Iterator, Sequence
from typing import TypeAlias, TypeVar

from tinyssb_node import limits
from tinyssb_node.codec.packets import parse_entry
from tinyssb_node.content import limits as content_limits
from tinyssb_node.content.acks import ACK_TYPE
from tinyssb_node.daemon.rows import HolderRow, ReceiptRow
from tinyssb_node.feeds.children import EntryType
from tinyssb_node.ids import FaceName, FeedId
from tinyssb_node.store.entries import type_of
from tinyssb_node.store.port import FeedRecord, Receipt, Store, StoredEntry

_Station: TypeAlias = tuple[FaceName, bytes]
"""The name on the air of somebody who was heard, and where."""
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
        self._last_us = dict(_last_us(store, records, own))

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


def _last_us(store: Store, records: Sequence[FeedRecord], own: FeedId) -> Iterator[tuple[FeedId, int]]:
    """When the last entry came of everybody we follow."""
    for record in records:
        if record.feed == own or record.child or not record.wanted or record.forked_at is not None:
            continue
        entry = store.entry(record.feed, record.seq) if record.seq else None
        if entry is not None and not _further(store, record.feed):
            yield record.feed, entry.committed_us


def _further(store: Store, feed: FeedId) -> bool:
    """True if *feed* says that it is a further one of somebody. What members of groups write nobody else can tell."""
    first = store.entry(feed, 1)
    return first is not None and type_of(first) == EntryType.CHILD_OF


def _since(known: dict[_Who, list[Receipt]], seq: int) -> Iterator[tuple[_Who, int]]:
    """Who holds entry *seq*, and since when that is known."""
    for who, receipts in known.items():
        first = bisect.bisect_left(receipts, seq, key=lambda receipt: receipt.seq)
        if first < len(receipts):
            yield who, receipts[first].known_us
