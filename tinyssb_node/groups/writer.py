"""Writing to groups: whatever a step asks for, sealed, on the feed that it belongs on, which is made if need be.

An envelope is bound to its place, so all of it happens in one go: nothing else is written in between.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.content.tangle import FIRST, Tangle, TangleData
from tinyssb_node.errors import LocalError
from tinyssb_node.events import EntryAppended
from tinyssb_node.feeds.children import (
    END,
    ChildMade,
    ChildOf,
    EntryType,
    serialize_child_made,
    serialize_child_of,
    serialize_continued,
)
from tinyssb_node.feeds.layout import packet_count
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.bfe import context_of
from tinyssb_node.groups.envelope import SlotKey, box
from tinyssb_node.groups.feeds import ADDITIONS_NOTE, seal_announcement
from tinyssb_node.groups.keys import GroupKeys, epoch_slot
from tinyssb_node.groups.limits import BODY_BOX_MIN_SIZE, HEADER_BOX_SIZE, SECRET_SIZE, SLOT_SIZE
from tinyssb_node.groups.membership import Group
from tinyssb_node.groups.messages import (
    AddMember,
    ExcludedMember,
    ExcludeMember,
    GroupContent,
    GroupInit,
    GroupMessage,
    OpenedGroupMessage,
)
from tinyssb_node.groups.plan import AddStep, BeginEpochStep, ExcludeStep, Step
from tinyssb_node.groups.reader import GroupReader
from tinyssb_node.groups.short_form import encode, with_owner
from tinyssb_node.ids import EpochKey, FeedId, MessageId
from tinyssb_node.replication.replica import CHILD_DIALECT, Replica

_NO_FEEDS: Final[Mapping[FeedId, tuple[FeedId, int]]] = {}


def draft_first(secret: EpochKey) -> GroupInit:
    """The message that begins a group (R32 to R34)."""
    return GroupInit(secret, FIRST, FIRST, FIRST)


def draft_init(group: Group, me: FeedId, secret: EpochKey, previous: Iterable[MessageId]) -> GroupInit:
    """The message that begins an epoch which succeeds *previous* (R6, R38)."""
    epoch = TangleData(group.root, tuple(sorted(previous)))
    return GroupInit(secret, _behind(group.tangle, group_limits.TIPS_MAX), epoch, FIRST, group.group, me)


def draft_add(
    group: Group,
    epoch: MessageId,
    people: Iterable[FeedId],
    *,
    text: str | None = None,
    old_keys: Iterable[MessageId] = (),
) -> AddMember:
    """The message that adds *people* to an epoch (R8). *old_keys* are epochs whose keys go along."""
    view = group.view
    return AddMember(
        secret=view[epoch].key,
        group=group.group,
        root=group.root,
        creator=group.said(group.root).author,
        people=tuple(people),
        group_tangle=_behind(group.tangle, group_limits.TIPS_MAX),
        members_tangle=_behind(group.members_tangle(epoch), group_limits.TIPS_MAX),
        text=text,
        old_secrets=tuple(view[one].key for one in old_keys),
    )


def draft_exclude(
    group: Group,
    epoch: MessageId,
    people: Iterable[FeedId],
    *,
    feeds: Mapping[FeedId, tuple[FeedId, int]] = _NO_FEEDS,
) -> ExcludeMember:
    """The message that excludes *people* from an epoch (R7).

    *feeds* has each one's feed in the epoch and the number of its last entry that we have (v1.0). Whoever has none
    there makes it the form of v0.0 for all: one message has one form.
    """
    named = tuple(people)
    full = all(person in feeds for person in named)
    return ExcludeMember(
        group=group.group,
        excludes=tuple(
            ExcludedMember(person, *feeds[person]) if full else ExcludedMember(person) for person in named
        ),
        group_tangle=_behind(group.tangle, group_limits.TIPS_MAX),
        members_tangle=_behind_known(group, epoch),
    )


def draft_content(group: Group, kind: str, body: bytes) -> GroupContent:
    """Something to say to the group."""
    return GroupContent(kind, body, group.group, _behind(group.tangle, group_limits.TIPS_POST_MAX))


def _behind_known(group: Group, epoch: MessageId) -> TangleData:
    """Behind what changed an epoch's members last, as far as all is here that its authors knew.

    Whoever names more is taken to know what they knew, such as an exclusion that he has not heard of.
    """
    tangle = group.members_tangle(epoch)
    known = [id_ for id_ in tangle if id_ in group.tangle]
    passed = {previous for id_ in known for previous in tangle.previous(id_)}
    tips = [id_ for id_ in known if id_ not in passed] or [epoch]
    return TangleData(epoch, tuple(sorted(tips)[: group_limits.TIPS_MAX]))


def _behind(tangle: Tangle[OpenedGroupMessage], most: int) -> TangleData:
    """Behind the tips (R37), or *most* of them: those that change the group first, so that it stays known who knew."""
    tips = tangle.tips
    if len(tips) > most:
        tips = tuple(
            sorted(tips, key=lambda id_: (isinstance(tangle.message(id_).message, GroupContent), id_))[:most]
        )
    return TangleData(tangle.root, tuple(sorted(tips)))


_NOBODY: Final[Collection[FeedId]] = ()
_TAG: Final = BODY_BOX_MIN_SIZE - 1


class InvalidRecipientError(LocalError):
    """Nothing can be sealed for somebody: his feed id is no key that anybody can have. Nothing was written."""

    def __init__(self, person: FeedId) -> None:
        super().__init__(f"nothing was written: nobody can have the key of the feed {person.hex()}")
        self.person = person


class Sealer:
    """Seals in the name of one identity."""

    def __init__(self, keys: GroupKeys) -> None:
        self._keys = keys

    def seal(
        self,
        message: GroupMessage,
        epoch: EpochKey,
        feed: FeedId,
        previous: MessageId,
        *,
        first: bool,
        known: Collection[FeedId] = _NOBODY,
    ) -> bytes:
        """The content of the entry of *feed* behind *previous*, for the epoch with that key and whom the message names.

        *first*: it begins an epoch feed, and says whose that is. *known* may be named short: all who will read the
        message know them. Raises InvalidRecipientError.
        """
        slots = self._slots(message, epoch)
        return box(self._plain(message, first, known), context_of(feed, previous), slots, self._message_key())

    def size(self, message: GroupMessage, *, first: bool, known: Collection[FeedId] = _NOBODY) -> int:
        """Bytes of content that `seal` would make."""
        people = (
            len(message.people) if isinstance(message, AddMember) else int(isinstance(message, GroupInit))
        )
        return HEADER_BOX_SIZE + SLOT_SIZE * (1 + people) + _TAG + len(self._plain(message, first, known))

    def check(self, people: Collection[FeedId]) -> None:
        """Raises InvalidRecipientError if one of *people* is nobody who can read anything."""
        for person in people:
            self._slot(person)

    def _plain(self, message: GroupMessage, first: bool, known: Collection[FeedId]) -> bytes:
        plain = encode(message, known=known)
        return with_owner(plain, self._keys.main) if first else plain

    def _slots(self, message: GroupMessage, epoch: EpochKey) -> list[SlotKey]:
        slots = [epoch_slot(epoch)]
        if isinstance(message, AddMember):
            slots += [self._slot(person) for person in message.people]
        elif isinstance(message, GroupInit):
            # Whoever lost all but the words of his identity can read from it which epochs he began.
            slots.append(self._keys.own)
        return slots

    def _slot(self, person: FeedId) -> SlotKey:
        slot = self._keys.own if person == self._keys.main else self._keys.member(person)
        if slot is None:
            raise InvalidRecipientError(person)
        return slot

    def _message_key(self) -> bytes:
        """32 random bytes, which are all zero once in 2^256 times."""
        while not any(key := self._keys.draw(SECRET_SIZE)):
            pass
        return key


_UNDRAWN: Final = EpochKey(b"\x01" * EpochKey.SIZE)
"""In the place of a key that is drawn when it is needed: all are of one length."""
_NO_ID: Final = MessageId(bytes(MessageId.SIZE))


class PhoneDialectError(LocalError):
    """Our main feed is written for phones, which stop at the entries that announce feeds. Nothing was written."""

    def __init__(self, feed: FeedId) -> None:
        super().__init__(
            f"nothing was written: the feed {feed.hex()} is one for phones, which know no groups"
        )
        self.feed = feed


class GroupWriterPort(Protocol):
    """What the node lends to whoever writes feeds of ours."""

    @property
    def main(self) -> SigningKey:
        """Of our main feed."""
        ...

    def write(self, key: SigningKey, content: bytes, type_: int | None = None) -> EntryAppended:
        """Append an entry to a feed of ours, which becomes one by that, and tell everybody."""
        ...

    def want(self, feed: FeedId, *, wanted: bool) -> bool:
        """Fetch *feed*, or no longer. False if there is no room for it in the set."""
        ...


@dataclass(frozen=True, slots=True)
class GroupWriteCost:
    """What it takes to write something."""

    messages: int
    """Entries."""
    packets: int
    """Entries and the packets of their side chains."""
    content_bytes: int
    steps: tuple[str, ...]
    """What they are, in order, for people."""


class GroupWriter:
    """Writes messages of one identity."""

    def __init__(
        self, keys: GroupKeys, reader: GroupReader, replica: Replica, read_all: Callable[[], None]
    ) -> None:
        """*read_all* lets *book* read what was written."""
        self._keys = keys
        self._reader = reader
        self._replica = replica
        self._read_all = read_all
        self._sealer = Sealer(keys)

    # --- messages

    def write(
        self, port: GroupWriterPort, message: GroupMessage, epoch: EpochKey, known: Collection[FeedId] = ()
    ) -> list[EntryAppended]:
        """Write *message*, sealed for the epoch of that key, and what announces its feed if that is new.

        Returns the entries; the message's is the last. Raises what publishing does, InvalidRecipientError and
        PhoneDialectError; the caller takes back what was written before then.
        """
        if self._replica.record(port.main.feed_id).dialect is not CHILD_DIALECT:
            raise PhoneDialectError(port.main.feed_id)
        if isinstance(message, AddMember):
            self._sealer.check(message.people)
            key, entries = self.additions_feed(port)
        else:
            key, entries = self._epoch_feed(port, epoch)
        seq, previous = self._replica.place(key.feed_id)
        first = seq == 1
        content = self._sealer.seal(message, epoch, key.feed_id, previous, first=first, known=known)
        entries.append(port.write(key, content))
        self._read_all()
        return entries

    def additions_feed(self, port: GroupWriterPort) -> tuple[SigningKey, list[EntryAppended]]:
        """Return our feed of additions, and the entries that announced it to everybody if it is new."""
        key = self._keys.additions()
        if self._begun(key.feed_id):
            return key, []
        made = port.write(
            port.main, serialize_child_made(ChildMade(key.feed_id, ADDITIONS_NOTE)), EntryType.CHILD_MADE
        )
        child = serialize_child_of(ChildOf(port.main.feed_id, made.seq, made.id))
        return key, [made, port.write(key, child, EntryType.CHILD_OF)]

    def _epoch_feed(self, port: GroupWriterPort, epoch: EpochKey) -> tuple[SigningKey, list[EntryAppended]]:
        """Our feed in an epoch, announced to its members."""
        key = self.open_key(epoch)
        if self._begun(key.feed_id):
            return key, []
        _, previous = self._replica.place(port.main.feed_id)
        sealed = seal_announcement(key.feed_id, epoch, port.main.feed_id, previous)
        return key, [port.write(port.main, sealed)]

    def open_key(self, epoch: EpochKey) -> SigningKey:
        """That of the first of our feeds in an epoch that has not ended."""
        for generation in range(group_limits.GENERATIONS_MAX):
            key = self._keys.epoch(epoch, generation)
            if not self._replica.ended(key.feed_id):
                return key
        return key

    def _begun(self, feed: FeedId) -> bool:
        """Whether *feed* has been announced: that it is, and its first entry, are written together."""
        return self._replica.holds(feed)

    # --- steps

    def do(
        self, port: GroupWriterPort, root: MessageId, steps: Sequence[Step], text: str | None = None
    ) -> list[EntryAppended]:
        """Carry out *steps* in the group that begins with *root*; *text* greets those who are added."""
        entries: list[EntryAppended] = []
        begun: MessageId | None = None
        known: Collection[FeedId] = ()
        for step in steps:
            group = self._reader.groups[root].group
            match step:
                case ExcludeStep(epoch, people):
                    message = draft_exclude(group, epoch, people, feeds=self._feeds(group, epoch, people))
                    entries += self.write(port, message, group.view[epoch].key)
                case BeginEpochStep(previous):
                    secret = EpochKey(self._keys.draw(EpochKey.SIZE))
                    # Who is in the new epoch was in one of those before it, and so was who reads of it.
                    known = frozenset[FeedId]().union(*(group.view[one].members for one in previous))
                    init = draft_init(group, self._keys.main, secret, previous)
                    self._reader.learn(secret, root)
                    entries += self.write(port, init, secret)
                    begun = entries[-1].id
                case AddStep(epoch, people, old_keys):
                    at = epoch or begun
                    assert at is not None, "an epoch is begun before people are added to it"
                    addition = draft_add(group, at, people, text=text, old_keys=old_keys)
                    entries += self.write(port, addition, addition.secret, () if epoch else known)
        return entries

    def _feeds(
        self, group: Group, epoch: MessageId, people: Collection[FeedId]
    ) -> dict[FeedId, tuple[FeedId, int]]:
        """Each one's feed in an epoch, and the number of its last entry here (exclusion document v1.0)."""
        key = group.view[epoch].key
        feeds = {person: self._reader.feed_of(person, key) for person in people}
        return {
            person: (feed, self._replica.frontier(feed) if self._replica.holds(feed) else 0)
            for person, feed in feeds.items()
            if feed is not None
        }

    def end(self, port: GroupWriterPort, feed: SigningKey) -> EntryAppended:
        """Say that nothing more will come in a feed of ours."""
        return port.write(feed, serialize_continued(END), EntryType.CONTINUED)

    # --- costs

    def cost(self, root: MessageId, steps: Sequence[Step], text: str | None = None) -> GroupWriteCost:
        """What it takes to carry out *steps*, worked out without writing anything."""
        group = self._reader.groups[root].group
        bill = _Bill(self)
        known: Collection[FeedId] = ()
        for step in steps:
            match step:
                case ExcludeStep(epoch, people):
                    message = draft_exclude(group, epoch, people, feeds=self._feeds(group, epoch, people))
                    bill.add("exclude", message, group.view[epoch].key)
                case BeginEpochStep(previous):
                    known = frozenset[FeedId]().union(*(group.view[one].members for one in previous))
                    bill.add("begin", draft_init(group, self._keys.main, _UNDRAWN, previous), _UNDRAWN)
                case AddStep(None, people, _):
                    bill.add(f"add {len(people)}", _unbegun(group, people, text), _UNDRAWN, known)
                case AddStep(epoch, people, old_keys):
                    assert epoch is not None, "the case before"
                    addition = draft_add(group, epoch, people, text=text, old_keys=old_keys)
                    bill.add(f"add {len(people)}", addition, addition.secret)
        return bill.total()

    def size_of(
        self, message: GroupMessage, epoch: EpochKey, known: Collection[FeedId], begun: set[FeedId]
    ) -> tuple[int, int]:
        """Bytes of content of *message*, and how many entries announce its feed, which is in *begun* from then on."""
        if isinstance(message, AddMember):
            feed, announcing, first = self._keys.additions().feed_id, 2, False
        else:
            feed, announcing = self.open_key(epoch).feed_id, 1
            first = feed not in begun and not self._begun(feed)
        new = feed not in begun and not self._begun(feed)
        begun.add(feed)
        return self._sealer.size(message, first=first, known=known), announcing if new else 0


class _Bill:
    """Adds up a cost."""

    def __init__(self, writer: GroupWriter) -> None:
        self._writer = writer
        self._begun: set[FeedId] = set()
        self._lines: list[tuple[str, int]] = []

    def add(self, name: str, message: GroupMessage, epoch: EpochKey, known: Collection[FeedId] = ()) -> None:
        """One message more."""
        size, announcing = self._writer.size_of(message, epoch, known, self._begun)
        self._lines += [("announce", limits.CONTENT_SIZE)] * announcing
        self._lines.append((name, size))

    def total(self) -> GroupWriteCost:
        """All of them."""
        return GroupWriteCost(
            len(self._lines),
            sum(packet_count(size, CHILD_DIALECT) for _, size in self._lines),
            sum(size for _, size in self._lines),
            tuple(name for name, _ in self._lines),
        )


def _unbegun(group: Group, people: Collection[FeedId], text: str | None) -> AddMember:
    """An addition to an epoch that is not begun, as long as it will be."""
    return AddMember(
        secret=_UNDRAWN,
        group=group.group,
        root=group.root,
        creator=group.said(group.root).author,
        people=tuple(people),
        group_tangle=TangleData(group.root, (_NO_ID,)),
        members_tangle=TangleData(_NO_ID, (_NO_ID,)),
        text=text,
    )
