"""What somebody says of a feed in his main feed, held to what the feed says in its first entry.

A feed of additions is a child: it names the entry that names it. A feed of an epoch begins with an envelope that the
epoch's key opens, and that says whose it is.
"""

from dataclasses import dataclass, field

from tinyssb_node.errors import PeerError
from tinyssb_node.feeds.children import EntryType, parse_child_made, parse_child_of
from tinyssb_node.feeds.layout import VARIABLE_TYPE
from tinyssb_node.groups.announcements import ADDITIONS_NOTE
from tinyssb_node.groups.bfe import context_of
from tinyssb_node.groups.entry_source import SealedEntry, SealedEntrySource
from tinyssb_node.groups.envelope import unbox
from tinyssb_node.groups.keys import epoch_slot
from tinyssb_node.groups.messages import GroupMessageError
from tinyssb_node.groups.reader_events import FeedAssignment, GroupEntryFault
from tinyssb_node.groups.short_form import split_owner
from tinyssb_node.ids import FeedId


@dataclass(frozen=True, slots=True, order=True)
class FeedClaim:
    """Somebody says in his main feed that a feed is his. Of several that hold, the smallest counts."""

    seq: int
    """The number of his entry that says so."""
    place: FeedAssignment = field(compare=False)
    tie: tuple[bytes, bytes]
    """His main feed, and the key: nobody gets two claims on one feed to hold but by breaking ciphers."""


def claim_of(seq: int, place: FeedAssignment) -> FeedClaim:
    """That *place* is claimed by an entry *seq*."""
    return FeedClaim(seq, place, (bytes(place.member), bytes(place.key or b"")))


def fault_of(claim: FeedClaim, first: SealedEntry, source: SealedEntrySource) -> GroupEntryFault | None:
    """What is wrong with a claim on the feed that begins with *first*; None: it holds."""
    place = claim.place
    if place.key is None:
        return None if _is_child(first, place.member, source) else GroupEntryFault.CHILD
    if first.type != VARIABLE_TYPE:
        return GroupEntryFault.SEAL
    try:
        opened = unbox(first.content, context_of(first.feed, first.prev), [epoch_slot(place.key)])
        if opened is None:
            return GroupEntryFault.SEAL
        owner, _ = split_owner(opened.plain)
    except GroupMessageError:
        return GroupEntryFault.OWNER
    except PeerError:
        return GroupEntryFault.BODY
    return None if place.member.startswith(owner) else GroupEntryFault.OWNER


def _is_child(first: SealedEntry, parent: FeedId, source: SealedEntrySource) -> bool:
    """Whether parent and child point at each other."""
    if first.type != EntryType.CHILD_OF:
        return False
    try:
        child = parse_child_of(first.content)
        named = source.entry(child.feed, child.seq) if child.feed == parent else None
        if named is None or named.type != EntryType.CHILD_MADE:
            return False
        made = parse_child_made(named.content)
    except PeerError:
        return False
    return (made.feed, made.note) == (first.feed, ADDITIONS_NOTE) and named.id.startswith(child.id_prefix)
