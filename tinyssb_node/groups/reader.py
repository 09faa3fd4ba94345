"""The groups that one identity can read: a reader takes entries as they arrive, and opens those that the identity's
keys open.

Entries, keys and names may arrive in any order. An entry that cannot be opened or read yet is tried again when the
missing key, name or message is there. The state of a reader depends on the set of entries taken, and on nothing else.
No entry of a stranger or a member makes it raise: invalid ones are counted.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from tinyssb_node.errors import PeerError
from tinyssb_node.feeds.children import EntryType, parse_child_made, parse_child_of
from tinyssb_node.feeds.layout import FIXED_TYPE, VARIABLE_TYPE
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.bfe import EnvelopeContext, context_of
from tinyssb_node.groups.entry_source import SealedEntry, SealedEntrySource
from tinyssb_node.groups.envelope import OpenedEnvelope, SlotKey, SlotScheme, opens_first, unbox
from tinyssb_node.groups.epochs import NOBODY
from tinyssb_node.groups.feeds import (
    ADDITIONS_NOTE,
    FeedClaim,
    GroupFeeds,
    claim_of,
    fault_of,
    open_announcement,
)
from tinyssb_node.groups.keyring import Keyring
from tinyssb_node.groups.keys import GroupKeys, check_people, epoch_slot, group_id
from tinyssb_node.groups.membership import Group
from tinyssb_node.groups.messages import (
    NAME,
    AddMember,
    FeedRole,
    GroupContent,
    GroupInit,
    GroupMessage,
    OpenedGroupMessage,
    name_of,
)
from tinyssb_node.groups.reader_events import (
    FeedAssignment,
    FeedClaimed,
    GroupEntryFault,
    GroupJoined,
    GroupMessageRead,
    InvalidGroupEntry,
    ReaderEvent,
)
from tinyssb_node.groups.short_form import (
    PendingMessage,
    ReadingContext,
    decode,
    read_addition_head,
    split_owner,
)
from tinyssb_node.ids import EpochKey, FeedId, GroupId, MessageId


@dataclass(frozen=True, slots=True)
class _Addition:
    context: EnvelopeContext
    head: bytes


class UnopenedAdditions:
    """Additions that no key opens yet, by feed. A feed with many additions that are not for us evicts no other
    feed's."""

    def __init__(self) -> None:
        self._feeds: dict[FeedId, dict[int, _Addition]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def put(self, feed: FeedId, seq: int, context: EnvelopeContext, content: bytes) -> bool:
        """Store one. Returns False if there were too many; the first one of the feed with the most was evicted then."""
        readable = self._feeds.setdefault(feed, {})
        self._count += seq not in readable
        readable[seq] = _Addition(context, content[: group_limits.ENVELOPE_HEAD_SIZE])
        if self._count <= group_limits.UNREAD_MAX:
            return True
        most = max(self._feeds, key=lambda one: len(self._feeds[one]))
        self._forget(most, min(self._feeds[most]))
        return False

    def opened_by(self, slot: SlotKey) -> Iterator[tuple[FeedId, int] | None]:
        """Try a key on each stored addition. Yields the address of one that it opens, which is removed, and None for
        any other."""
        for feed, readable in list(self._feeds.items()):
            for seq, one in list(readable.items()):
                opens = opens_first(one.head, one.context, slot)
                if opens:
                    self._forget(feed, seq)
                yield (feed, seq) if opens else None

    def _forget(self, feed: FeedId, seq: int) -> None:
        readable = self._feeds.get(feed, {})
        if readable.pop(seq, None) is not None:
            self._count -= 1
            if not readable:
                del self._feeds[feed]


@dataclass(slots=True)
class ReadableGroup:
    """A group, with what its messages and malformed entries state."""

    group: Group
    creator: FeedId
    """Author of the first message."""
    broken: dict[MessageId, InvalidGroupEntry] = field(default_factory=dict)
    """Entries that opened and are malformed, up to `limits.BROKEN_MAX`."""
    _names: dict[MessageId, str] = field(default_factory=dict)
    """Names given to the group, by message."""

    @property
    def root(self) -> MessageId:
        """Id of the group's first message."""
        return self.group.root

    @property
    def id(self) -> GroupId:
        """Id of the group. It is never sent."""
        return self.group.group

    @property
    def name(self) -> str | None:
        """The last name, in the group's order, whose author was in the epoch of that message."""
        names = {id_: name for id_, name in self._names.items() if self._counts(self.group.said(id_))}
        if len(names) > 1:
            assigned = [id_ for id_ in self.group.tangle.order() if id_ in names]
            return names[assigned[-1] if assigned else min(names)]
        return next(iter(names.values()), None)

    def _counts(self, said: OpenedGroupMessage) -> bool:
        inside = NOBODY.union(
            *(
                epoch.members | {epoch.creator}
                for epoch in self.group.view.epochs.values()
                if epoch.key == said.key
            )
        )
        return said.author in inside

    def add(self, said: OpenedGroupMessage) -> None:
        """Add a message."""
        self.group.add(said)
        if isinstance(said.message, GroupContent) and said.message.kind == NAME:
            name = name_of(said.message)
            if name:
                self._names[said.id] = name

    def add_broken(self, broken: InvalidGroupEntry) -> bool:
        """Record a malformed entry. Returns False if there are too many."""
        if len(self.broken) >= group_limits.BROKEN_MAX and broken.id not in self.broken:
            return False
        self.broken[broken.id] = broken
        return True


@dataclass(frozen=True, slots=True)
class GivenEpoch:
    """An epoch whose key a person gave us, by an addition sealed for us alone."""

    key: EpochKey = field(repr=False)
    init: MessageId
    """Its first message, as the addition names it."""
    by: FeedId
    """The person who added us."""


Groups = Mapping[MessageId, ReadableGroup]


_Ref = tuple[FeedId, int]


@dataclass(frozen=True, slots=True)
class _Hidden:
    """An entry of a main feed that may announce an epoch feed to people whose key we do not have yet."""

    context: EnvelopeContext
    content: bytes


class GroupReader:
    """The reader of one identity's groups."""

    def __init__(self, identity: GroupKeys, source: SealedEntrySource) -> None:
        self._keys: Final = identity
        self._source = source
        self.counts: Counter[GroupEntryFault] = Counter()
        """Invalid entries by fault. An entry that is taken twice may be counted twice."""
        self._best: dict[FeedId, FeedClaim] = {}
        """The best claim on each feed, over all restarts of the reader."""
        self._events: list[ReaderEvent] = []
        self._clear()

    def _clear(self) -> None:
        self.groups: dict[MessageId, ReadableGroup] = {}
        """Groups that can be read, by their first message."""
        self._keyring = Keyring(self.counts)
        self._given: dict[MessageId, dict[tuple[EpochKey, FeedId], GivenEpoch]] = {}
        """By group: the epochs whose keys additions give us, sealed for us."""
        self._feeds = GroupFeeds(self.counts)
        self._hidden: dict[FeedId, dict[int, _Hidden]] = {}
        """By main feed of a person named in a group, and sequence number."""
        self._unopened = UnopenedAdditions()
        self._waiting: dict[bytes, dict[_Ref, None]] = {}
        """Addresses of entries by what they wait for: a group's first message, or the beginning of a main feed id."""
        self._waits = 0
        self._untried: deque[tuple[EpochKey, MessageId] | FeedId] = deque()
        """Keys and people that were not tried yet on earlier entries."""
        self._trial: Iterator[None] | None = None
        """The key or person that is being tried, one step for each entry."""

    # --- queries

    def feed_of(self, member: FeedId, key: EpochKey | None) -> FeedId | None:
        """Return a member's feed in the epoch with that key, or of additions for None: the last one claimed in an
        epoch. The feed must not contradict the claim; its entries may be missing."""
        return self._feeds.feed_of(member, key)

    def came_us(self, said: OpenedGroupMessage) -> int | None:
        """Return when a message was committed to the store, by the wall clock; None: not known."""
        feed = self.feed_of(said.author, None if said.role is FeedRole.ADDITIONS else said.key)
        return None if feed is None else self._source.came_us(feed, said.seq)

    def role_of(self, feed: FeedId) -> FeedAssignment | None:
        """Return the owner and role of a feed if its owner and the feed agree on them."""
        return self._feeds.role_of(feed)

    def givers(self, root: MessageId) -> AbstractSet[FeedId]:
        """Return the people who added us to a group, as far as they say; nothing of it may be here yet."""
        return {one.by for one in self.given(root)}

    def given(self, root: MessageId) -> Sequence[GivenEpoch]:
        """Return the epochs of a group that others say to have added us to, in order of arrival."""
        return [*self._given.get(root, {}).values()]

    @property
    def given_roots(self) -> Sequence[MessageId]:
        """The groups that others say to have added us to; nothing of them may be here yet."""
        return [*self._given]

    def consider(self, people: Iterable[FeedId], root: MessageId) -> None:
        """Look for feeds of *people* in a group, as if they were named in it. See `unfinished`."""
        self._name(people, root)

    def keys_of(self, root: MessageId) -> Sequence[EpochKey]:
        """Return our keys of a group, of which nothing else may be here yet."""
        return self._keyring.keys_of(root)

    def roots_of(self, key: EpochKey) -> Sequence[MessageId]:
        """Return the groups that a key is claimed to be of."""
        return self._keyring.roots_of(key)

    def people_of(self, root: MessageId) -> frozenset[FeedId]:
        """Return everybody named in a group, rightly or not."""
        return frozenset(self._keyring.people_of(root))

    # --- taking entries

    def learn(self, key: EpochKey, root: MessageId) -> list[ReaderEvent]:
        """Take a key that we drew ourselves, for the group that begins with *root*."""
        self._learn(key, root, self._keys.main)
        return self._tried(group_limits.TRIES_OF_ENTRY)

    def take(self, entry: SealedEntry) -> list[ReaderEvent]:
        """Take a complete entry. Returns the events that follow. An entry that is taken again changes nothing.

        If it brings keys, there may be more to try than is done at once: see `unfinished`.
        """
        if entry.type == FIXED_TYPE:
            self._look_for_announcement(entry)
        elif entry.type == EntryType.CHILD_MADE:
            self._take_child_made(entry)
        elif entry.seq == 1 and self._feeds.role_of(entry.feed) is None:
            self._take_first(entry)
        elif entry.type == VARIABLE_TYPE:
            assignment = self._feeds.role_of(entry.feed)
            if assignment is not None:
                self._read(entry, assignment)
        return self._tried(group_limits.TRIES_OF_ENTRY)

    @property
    def unfinished(self) -> bool:
        """True while new keys or people were not tried yet on all earlier entries."""
        return self._trial is not None or bool(self._untried)

    def go_on(self) -> list[ReaderEvent]:
        """Try some more new keys and people on earlier entries. Returns the events that follow."""
        return self._tried(group_limits.TRIES_AT_ONCE)

    def restart(self) -> None:
        """Clear everything, and read all entries again: entries that were taken may have been rolled back since."""
        self._best.clear()
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._clear()
        self._source.restart()

    def _read(self, entry: SealedEntry, assignment: FeedAssignment) -> None:
        if assignment.key is None:
            self._read_addition(entry, assignment)
        else:
            self._read_epoch(entry, assignment, assignment.key)

    def _tried(self, most: int) -> list[ReaderEvent]:
        """Try new keys and people on earlier entries, at most *most* times."""
        for _ in range(most):
            if self._trial is None:
                if not self._untried:
                    break
                untried = self._untried.popleft()
                self._trial = (
                    self._try_on_person(untried) if isinstance(untried, FeedId) else self._try_key(*untried)
                )
            if next(self._trial, self) is self:
                self._trial = None
        events, self._events = self._events, []
        return events

    # --- owners of feeds

    def _take_child_made(self, entry: SealedEntry) -> None:
        try:
            made = parse_child_made(entry.content)
        except PeerError:
            return
        if made.note == ADDITIONS_NOTE:
            self._claim(made.feed, claim_of(entry.seq, FeedAssignment(entry.feed, FeedRole.ADDITIONS)))

    def _look_for_announcement(self, entry: SealedEntry) -> None:
        """Look whether an entry announces a feed to us. Only people named in one of our groups do, so entries of others
        cost nothing."""
        if not self._keyring.groups_of(entry.feed):
            return
        context = context_of(entry.feed, entry.prev)
        hidden = _Hidden(context, entry.content)
        if self._announces(entry.feed, entry.seq, hidden, self._keyring.keys_with(entry.feed)):
            return
        theirs = self._hidden.setdefault(entry.feed, {})
        theirs[entry.seq] = hidden
        if len(theirs) > group_limits.HIDDEN_MAX:
            del theirs[min(theirs)]
            self.counts[GroupEntryFault.FULL] += 1

    def _announces(self, main: FeedId, seq: int, hidden: _Hidden, keys: Iterable[EpochKey]) -> bool:
        for key in keys:
            feed = open_announcement(hidden.content, key, hidden.context)
            if feed is not None:
                self._claim(feed, claim_of(seq, FeedAssignment(main, FeedRole.EPOCH, key)))
                return True
        return False

    def _claim(self, feed: FeedId, claim: FeedClaim) -> None:
        new = self._feeds.claim(feed, claim)
        if new:
            key = claim.assignment.key
            roots = (
                self._keyring.groups_of(claim.assignment.member)
                if key is None
                else self._keyring.roots_of(key)
            )
            self._events += [FeedClaimed(feed, claim.assignment, root) for root in (*roots,) or (None,)]
        if new or self._feeds.role_of(feed) is None:
            first = self._source.entry(feed, 1)
            if first is not None:
                self._decide(first)

    def _take_first(self, entry: SealedEntry) -> None:
        """Read the first entry of a feed, which names its owner."""
        if entry.type == EntryType.CHILD_OF:
            self._name_parent(entry)
        elif entry.type == VARIABLE_TYPE:
            self._find_own_group(entry)
        self._decide(entry)

    def _name_parent(self, entry: SealedEntry) -> None:
        """Read the parent's entry again: it may have arrived before anybody was interested in it."""
        try:
            child = parse_child_of(entry.content)
        except PeerError:
            return
        parent = self._source.entry(child.feed, child.seq)
        if parent is not None and parent.type == EntryType.CHILD_MADE:
            self._take_child_made(parent)

    def _find_own_group(self, entry: SealedEntry) -> None:
        """Find a group that we made. This needs the identity alone, and so works after a recovery of the key."""
        try:
            opened = unbox(entry.content, context_of(entry.feed, entry.prev), [self._keys.own])
            owner, plain = (b"", b"") if opened is None else split_owner(opened.plain)
            message = None if opened is None else decode(plain, self._reading(self._keys.main, None, None))
        except PeerError:
            return
        if (
            not isinstance(message, GroupInit)
            or message.group is not None
            or not self._keys.main.startswith(owner)
        ):
            return
        if self._keys.epoch(message.secret).feed_id == entry.feed:
            self._learn(message.secret, entry.id, self._keys.main)
            self._claim(
                entry.feed, claim_of(0, FeedAssignment(self._keys.main, FeedRole.EPOCH, message.secret))
            )

    def _decide(self, first: SealedEntry) -> None:
        """Assign a feed to its owner, now that its first entry is here."""
        assigned = self._feeds.role_of(first.feed)
        valid = []
        for claim in self._feeds.claims(first.feed):
            fault = None if claim.assignment == assigned else fault_of(claim, first, self._source)
            if fault is None:
                valid.append(claim)
            else:
                self._feeds.refuse(first.feed, claim, fault)
        if not valid:
            return
        best, before = min(valid), self._best.get(first.feed)
        if before is not None and best.assignment != before.assignment and before <= best:
            return  # after a restart: the better claim will be found again
        self._best[first.feed] = best
        if assigned is None:
            self._feeds.assign(first.feed, best.assignment)
            self._source.again(first.feed)
        elif assigned != best.assignment:
            self._begin_anew()

    # --- keys and people

    def _learn(self, key: EpochKey, root: MessageId, by: FeedId) -> None:
        self._name([self._keys.main, by], root)
        if self._keyring.learn(key, root, None if by == self._keys.main else by):
            self._untried.append((key, root))

    def _name(self, people: Iterable[FeedId], root: MessageId) -> None:
        for person in people:
            if self._keyring.name(person, root):
                self._untried.append(person)

    def _try_key(self, key: EpochKey, root: MessageId) -> Iterator[None]:
        """Try a new key on earlier entries. Entries that arrive meanwhile are tried when they arrive."""
        for person in list(self._keyring.people_of(root)):
            theirs = self._hidden.get(person, {})
            for seq, hidden in list(theirs.items()):
                if self._announces(person, seq, hidden, [key]):
                    theirs.pop(seq, None)
                yield
        slot = epoch_slot(key)
        for ref in self._unopened.opened_by(slot):
            if ref is not None:
                self._read_again(ref)
            yield
        if (
            len(self._keyring.roots_of(key)) > 1
        ):  # a member lies: its feeds and additions were read for another group
            for feed in (*self._feeds.with_key(key), *self._feeds.with_key(None)):
                self._source.again(feed)

    def _try_on_person(self, person: FeedId) -> Iterator[None]:
        """Try the entries of a person newly named in a group for announcements, and entries that wait for their
        name."""
        if person not in self._hidden:
            self._hidden[person] = {}
            self._source.again(person, FIXED_TYPE)
        theirs = self._hidden[person]
        for seq, hidden in list(theirs.items()):
            if self._announces(person, seq, hidden, self._keyring.keys_with(person)):
                theirs.pop(seq, None)
            yield
        self._wake(person[: group_limits.SHORT_NAME_SIZE])

    def _wait(self, ref: _Ref, ids: Iterable[bytes]) -> None:
        """Read an entry again when one of *ids* is known: a first message, or the beginning of a main feed id."""
        for id_ in ids:
            refs = self._waiting.setdefault(id_, {})
            if ref not in refs:
                if self._waits >= group_limits.WAITING_MAX:
                    self.counts[GroupEntryFault.FULL] += 1
                    return
                self._waits += 1
                refs[ref] = None

    def _wake(self, id_: bytes) -> None:
        refs = self._waiting.pop(id_, {})
        self._waits -= len(refs)
        for ref in refs:
            self._read_again(ref)

    def _read_again(self, ref: _Ref) -> None:
        entry, assignment = self._source.entry(*ref), self._feeds.role_of(ref[0])
        if entry is not None and assignment is not None:
            self._read(entry, assignment)

    # --- reading

    def _reading(self, author: FeedId, key: EpochKey | None, root: MessageId | None) -> ReadingContext:
        """Return what is known of a message by *author*, opened by *key*, which is claimed to be of the group with that
        root."""
        return ReadingContext(
            author=author,
            key=key,
            root_of=lambda one: root if one == key else None,
            group_of=self._group_of,
            creator_of=self._creator_of,
            people=self._keyring.called,
        )

    def _group_of(self, root: MessageId) -> GroupId | None:
        readable = self.groups.get(root)
        return None if readable is None else readable.id

    def _creator_of(self, root: MessageId) -> FeedId | None:
        readable = self.groups.get(root)
        return None if readable is None else readable.creator

    def _read_epoch(self, entry: SealedEntry, assignment: FeedAssignment, key: EpochKey) -> None:
        """Read an entry of an epoch feed, for each group that its key is claimed to be of."""
        if (
            entry.seq == 1
            and assignment.member == self._keys.main
            and entry.id not in self._keyring.roots_of(key)
        ):
            self._find_own_group(entry)  # a member may have claimed before that its key is of another group
        roots = [root for root in self._keyring.roots_of(key) if self._lacks(root, entry.id)]
        if not roots:
            return
        try:
            opened = unbox(entry.content, context_of(entry.feed, entry.prev), [epoch_slot(key)])
            if opened is None:
                self.counts[GroupEntryFault.SEAL] += 1
                return
            plain = split_owner(opened.plain)[1] if entry.seq == 1 else opened.plain
        except PeerError as error:
            self._record_fault(entry, roots, GroupEntryFault.BODY, error)
            return
        for root in roots:
            if root in self.groups:
                self._read_message(entry, assignment, root, plain)
            else:
                self._begin(entry, assignment, opened.read_key, plain)

    def _lacks(self, root: MessageId, id_: MessageId) -> bool:
        """Return whether a group lacks a message and could take it. Nothing is read before the group's first
        message."""
        readable = self.groups.get(root)
        return root == id_ if readable is None else id_ not in readable.group

    def _begin(self, entry: SealedEntry, assignment: FeedAssignment, read_key: bytes, plain: bytes) -> None:
        """Read an entry that should be a group's first message."""
        try:
            message = decode(plain, self._reading(assignment.member, assignment.key, None))
        except PeerError:
            message = None
        if (
            not isinstance(message, GroupInit)
            or message.group is not None
            or message.secret != assignment.key
        ):
            self.counts[GroupEntryFault.FORM] += 1
            return
        self.groups[entry.id] = ReadableGroup(
            Group(group_id(read_key, entry.id), entry.id, self._keys.main, self.came_us), assignment.member
        )
        self._events.append(GroupJoined(entry.id))
        self._name([assignment.member], entry.id)
        self._add(entry.id, entry, assignment, message)
        for key in self._keyring.keys_of(entry.id):
            for feed in self._feeds.with_key(key):
                self._source.again(feed)
        self._wake(entry.id)

    def _read_message(
        self, entry: SealedEntry, assignment: FeedAssignment, root: MessageId, plain: bytes
    ) -> None:
        """Take a message on an epoch feed."""
        try:
            message = decode(plain, self._reading(assignment.member, assignment.key, root))
        except PeerError as error:
            self._record_fault(entry, [root], GroupEntryFault.FORM, error)
            return
        if isinstance(message, PendingMessage):
            self._wait((entry.feed, entry.seq), message.ids)
        else:
            self._add(root, entry, assignment, message)

    def _read_addition(self, entry: SealedEntry, assignment: FeedAssignment) -> None:
        """Read an entry of an additions feed, which may be sealed for any of our groups, or for us."""
        if any(_added(readable.group, entry.id) for readable in self.groups.values()):
            return
        if len(entry.content) < group_limits.ENVELOPE_MIN_SIZE:
            self.counts[GroupEntryFault.SEAL] += 1
            return
        context = context_of(entry.feed, entry.prev)
        me = self._keys.main
        personal = self._keys.own if assignment.member == me else self._keys.member(assignment.member)
        slots = self._keyring.slots if personal is None else [*self._keyring.slots, personal]
        try:
            opened, slot = _unbox(entry.content, context, slots)
        except PeerError as error:
            head = entry.content[: group_limits.ENVELOPE_HEAD_SIZE]
            opening = [EpochKey(one.key) for one in self._keyring.slots if opens_first(head, context, one)]
            roots = dict.fromkeys(root for key in opening for root in self._keyring.roots_of(key))
            self._record_fault(entry, roots, GroupEntryFault.BODY, error)
            return
        if opened is None or slot is None:
            if not self._unopened.put(entry.feed, entry.seq, context, entry.content):
                self.counts[GroupEntryFault.FULL] += 1
            return
        key = EpochKey(slot.key) if slot.scheme is SlotScheme.GROUP else None
        for root in (None,) if key is None else self._keyring.roots_of(key):
            self._read_plain_addition(entry, assignment, key, root, opened.plain)

    def _read_plain_addition(
        self,
        entry: SealedEntry,
        assignment: FeedAssignment,
        key: EpochKey | None,
        root: MessageId | None,
        plain: bytes,
    ) -> None:
        """Take a message on an additions feed. The keys in an addition are used even if the rest cannot be read yet."""
        try:
            message = decode(plain, self._reading(assignment.member, key, root))
            if isinstance(message, AddMember):
                check_people(message)
        except PeerError as error:
            self._record_fault(entry, () if root is None else (root,), GroupEntryFault.FORM, error)
            return
        if isinstance(message, PendingMessage):
            for secret in message.secrets:
                self._learn(secret.key, secret.root, assignment.member)
            if key is None:
                self._note_given(plain, assignment.member)
            self._wait((entry.feed, entry.seq), message.ids)
        elif isinstance(message, AddMember):
            for one in (message.secret, *message.old_secrets):
                self._learn(one, message.root, assignment.member)
            if key is None:
                self._note_given(plain, assignment.member)
            self._name(message.people, message.root)
            self._add(message.root, entry, assignment, message)
        elif root is not None:
            self._add(root, entry, assignment, message)

    def _note_given(self, plain: bytes, person: FeedId) -> None:
        """Note who added us to which epoch, if its key is one of the bounded number that is kept."""
        head = read_addition_head(plain)
        if head is not None and head.key in self._keyring.keys_of(head.root) and person != self._keys.main:
            given = GivenEpoch(head.key, head.epoch, person)
            self._given.setdefault(head.root, {}).setdefault((head.key, person), given)

    def _add(
        self, root: MessageId, entry: SealedEntry, assignment: FeedAssignment, message: GroupMessage
    ) -> None:
        readable = self.groups.get(root)
        if readable is None:
            # An init on an additions feed, sealed with the key of a group whose first message is missing.
            self._wait((entry.feed, entry.seq), [root])
        elif entry.id not in readable.group:
            said = OpenedGroupMessage(
                entry.id,
                assignment.member,
                assignment.role,
                assignment.key,
                message,
                entry.seq,
                entry.arrival,
            )
            readable.add(said)
            self._events.append(GroupMessageRead(root, said))
            if isinstance(message, GroupInit) and (put_off := self._keyring.confirm(message.secret)):
                self._learn(*put_off)

    def _record_fault(
        self, entry: SealedEntry, roots: Iterable[MessageId], fault: GroupEntryFault, what: PeerError
    ) -> None:
        """Record an entry that opened and is invalid."""
        self.counts[fault] += 1
        assignment = self._feeds.role_of(entry.feed)
        assert assignment is not None, "only feeds of groups are read"
        broken = InvalidGroupEntry(entry.id, entry.feed, entry.seq, assignment.member, fault, str(what))
        for root in roots:
            readable = self.groups.get(root)
            if readable is None:
                self._wait((entry.feed, entry.seq), [root])
            elif not readable.add_broken(broken):
                self.counts[GroupEntryFault.FULL] += 1


def _added(group: Group, id_: MessageId) -> bool:
    """Return whether a group has an addition. Other messages on an additions feed may be of several groups."""
    return id_ in group and isinstance(group.said(id_).message, AddMember)


def _unbox(
    envelope: bytes, context: EnvelopeContext, slots: Sequence[SlotKey]
) -> tuple[OpenedEnvelope, SlotKey] | tuple[None, None]:
    """Return the content of an envelope, and the one of any number of keys that opened it. Raises PeerError."""
    for at in range(0, len(slots), group_limits.ENVELOPE_KEYS_MAX):
        some = slots[at : at + group_limits.ENVELOPE_KEYS_MAX]
        opened = unbox(envelope, context, some)
        if opened is not None:
            return opened, some[opened.key]
    return None, None
