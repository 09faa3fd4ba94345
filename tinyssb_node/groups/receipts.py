"""Members who signed that their node stores an entry of a group's feed: also those who only read.

A node acknowledges what it stores, under its user's signature, in the user's main feed (decision 0026). An item names
an entry by its number and the beginning of its id, and stands for all entries before it. Nothing is stored here: the
acknowledgements are read in the members' feeds when a screen asks.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from tinyssb_node.codec.packets import parse_entry
from tinyssb_node.content.acks import ACK_TYPE, Ack, ack_of, parse_acks
from tinyssb_node.errors import AckShapeError
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.ids import FeedId
from tinyssb_node.store.entries import type_of
from tinyssb_node.store.port import Store


@dataclass(slots=True)
class _Signed:
    """The acknowledgements of one person."""

    read: int = 0
    """Up to which entry their main feed was read."""
    acks: dict[Ack, None] = field(default_factory=dict)
    """The latest, oldest first."""


class MemberReceipts:
    """Reader of the acknowledgements in members' main feeds."""

    def __init__(self, store: Store, frontier: Callable[[FeedId], int]) -> None:
        """*frontier*: returns how many entries of a feed are stored."""
        self._store = store
        self._frontier = frontier
        self._signed: dict[FeedId, _Signed] = {}

    def stores(self, person: FeedId, feed: FeedId, seq: int) -> bool:
        """Return whether *person*, by their main feed, signed that their node stores entry *seq* of *feed*."""
        acks = self._acks(person)
        return any(
            ack_of(entry.seq, entry.id) in acks
            for number in sorted({ack.seq for ack in acks if ack.seq >= seq})
            if (entry := self._store.entry(feed, number)) is not None
        )

    def _acks(self, person: FeedId) -> dict[Ack, None]:
        """Return the latest acknowledgements of a person."""
        if person not in self._signed and len(self._signed) >= group_limits.RECEIPTS_OF_MAX:
            del self._signed[next(iter(self._signed))]
        signed = self._signed.setdefault(person, _Signed())
        last = self._frontier(person)
        if signed.read > last:  # the store was rolled back
            signed.read = 0
            signed.acks.clear()
        first = max(signed.read + 1, last + 1 - group_limits.RECEIPTS_LOOK_BACK)
        signed.read = last
        if first > last:
            return signed.acks
        for entry in self._store.entries(person, first, last + 1 - first):
            if type_of(entry) == ACK_TYPE:
                try:
                    acks = parse_acks(parse_entry(entry.packet).content)
                except AckShapeError:
                    continue  # another form, which others may read
                signed.acks |= dict.fromkeys(acks)
        for old in list(signed.acks)[: -group_limits.RECEIPTS_MAX]:
            del signed.acks[old]
        return signed.acks
