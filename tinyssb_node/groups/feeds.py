"""The owners of a group's feeds: announcements, claims, and the first entries that confirm or contradict them.

A hidden announcement is an entry of the main feed, all 48 bytes of it, and looks random without the epoch's key
(docs/formats/envelope.md). A feed of additions is announced to everybody, as a child of the main feed
(docs/formats/children.md), and names the entry that announces it. A feed of an epoch begins with an envelope that the
epoch's key opens, and that names its owner.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from nacl.bindings import crypto_secretbox, crypto_secretbox_open
from nacl.exceptions import CryptoError

from tinyssb_node.content.limits import SEAL_NONCE_SIZE, SEAL_TAG_SIZE
from tinyssb_node.errors import PeerError
from tinyssb_node.feeds.children import EntryType, parse_child_made, parse_child_of
from tinyssb_node.feeds.layout import VARIABLE_TYPE
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.bfe import EnvelopeContext, context_of
from tinyssb_node.groups.derive import derive, labels
from tinyssb_node.groups.entry_source import SealedEntry, SealedEntrySource
from tinyssb_node.groups.envelope import unbox
from tinyssb_node.groups.keys import epoch_slot
from tinyssb_node.groups.messages import GroupMessageError
from tinyssb_node.groups.reader_events import FeedAssignment, GroupEntryFault
from tinyssb_node.groups.short_form import split_owner
from tinyssb_node.ids import EpochKey, FeedId, MessageId
from tinyssb_node.limits import CONTENT_SIZE, FEED_ID_SIZE

ADDITIONS_NOTE: Final = b"grp/add"
"""Note with which a main feed names its feed of additions."""
_NONCE: Final = bytes(SEAL_NONCE_SIZE)
"""The key is bound to the context, which has one entry."""
_ANNOUNCE: Final = labels(b"announce")
assert FEED_ID_SIZE + SEAL_TAG_SIZE == CONTENT_SIZE


def seal_announcement(feed: FeedId, epoch_key: EpochKey, main: FeedId, previous: MessageId) -> bytes:
    """Return the content, 48 bytes, of the entry of *main* after *previous* that announces *feed* to an epoch's
    members."""
    return crypto_secretbox(feed, _NONCE, derive(epoch_key, context_of(main, previous), _ANNOUNCE))


def open_announcement(content: bytes, epoch_key: EpochKey, context: EnvelopeContext) -> FeedId | None:
    """Return the feed that an entry at *context* announces to the epoch with that key; None if it announces none."""
    if len(content) != CONTENT_SIZE:
        return None
    try:
        return FeedId(crypto_secretbox_open(content, _NONCE, derive(epoch_key, context, _ANNOUNCE)))
    except CryptoError:
        return None


@dataclass(frozen=True, slots=True, order=True)
class FeedClaim:
    """A claim in a main feed to own a feed. Of several valid claims, the smallest counts."""

    seq: int
    """Sequence number of the entry that claims it."""
    assignment: FeedAssignment = field(compare=False)
    tie: tuple[bytes, bytes]
    """Main feed and key of the claim. Two valid claims on one feed are possible only if a cipher is broken."""


def claim_of(seq: int, assignment: FeedAssignment) -> FeedClaim:
    """Return the claim of *assignment* by an entry *seq*."""
    return FeedClaim(seq, assignment, (bytes(assignment.member), bytes(assignment.key or b"")))


def fault_of(claim: FeedClaim, first: SealedEntry, source: SealedEntrySource) -> GroupEntryFault | None:
    """Return the fault of a claim on the feed that begins with *first*; None: the claim is valid."""
    assignment = claim.assignment
    if assignment.key is None:
        return None if _is_child(first, assignment.member, source) else GroupEntryFault.CHILD
    if first.type != VARIABLE_TYPE:
        return GroupEntryFault.SEAL
    try:
        opened = unbox(first.content, context_of(first.feed, first.prev), [epoch_slot(assignment.key)])
        if opened is None:
            return GroupEntryFault.SEAL
        owner, _ = split_owner(opened.plain)
    except GroupMessageError:
        return GroupEntryFault.OWNER
    except PeerError:
        return GroupEntryFault.BODY
    return None if assignment.member.startswith(owner) else GroupEntryFault.OWNER


def _is_child(first: SealedEntry, parent: FeedId, source: SealedEntrySource) -> bool:
    """Return whether parent and child name each other."""
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


class GroupFeeds:
    """The feeds of all groups, with their owners."""

    def __init__(self, counts: Counter[GroupEntryFault]) -> None:
        self._counts = counts
        self._claims: dict[FeedId, dict[FeedAssignment, FeedClaim]] = {}
        self._of: dict[tuple[FeedId, EpochKey | None], dict[FeedId, int]] = {}
        """By member and key: feeds that the member claims and that do not contradict, with the entry that claims each.
        """
        self._assigned: dict[FeedId, FeedAssignment] = {}
        self._by_key: dict[EpochKey | None, list[FeedId]] = {}

    def claim(self, feed: FeedId, claim: FeedClaim) -> bool:
        """Add a claim. Returns False if it was known, or if the member has too many feeds."""
        assignment = claim.assignment
        theirs = self._of.setdefault((assignment.member, assignment.key), {})
        before = theirs.get(feed)
        if before is not None and before <= claim.seq:
            return False
        if before is None and len(theirs) >= group_limits.FEEDS_OF_ONE_MAX:
            self._counts[GroupEntryFault.FULL] += 1
            return False
        theirs[feed] = claim.seq
        self._claims.setdefault(feed, {})[assignment] = claim
        return True

    def claims(self, feed: FeedId) -> list[FeedClaim]:
        """Return the claims on a feed that were not refused."""
        return list(self._claims.get(feed, {}).values())

    def refuse(self, feed: FeedId, claim: FeedClaim, fault: GroupEntryFault) -> None:
        """Remove a claim, and count its fault."""
        self._counts[fault] += 1
        del self._claims[feed][claim.assignment]
        del self._of[claim.assignment.member, claim.assignment.key][feed]

    def assign(self, feed: FeedId, assignment: FeedAssignment) -> None:
        """Assign a feed to its owner."""
        self._assigned[feed] = assignment
        self._by_key.setdefault(assignment.key, []).append(feed)

    def role_of(self, feed: FeedId) -> FeedAssignment | None:
        """Return the owner and role of *feed*; None unless owner and feed agree."""
        return self._assigned.get(feed)

    def with_key(self, key: EpochKey | None) -> list[FeedId]:
        """Return the feeds in the epoch with that key; for None those of additions."""
        return self._by_key.get(key, [])

    def feed_of(self, member: FeedId, key: EpochKey | None) -> FeedId | None:
        """Return a member's feed in the epoch with that key: the last one announced; for None their first feed of
        additions."""
        theirs = sorted((seq, feed) for feed, seq in self._of.get((member, key), {}).items())
        if not theirs:
            return None
        return theirs[0 if key is None else -1][1]
