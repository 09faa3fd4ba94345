"""Writing to groups: messages at their position in the group's tangles (exclusion document, 4.10), sealed, on the feed
that they belong on, which is created if necessary.

An envelope is bound to the position of its entry, so all of it happens in one transaction, and nothing else is written
in between.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.events import EntryAppended
from tinyssb_node.content.tangle import FIRST, Tangle, TangleData
from tinyssb_node.errors import LocalError
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
from tinyssb_node.groups import plan
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
    FeedRole,
    GroupContent,
    GroupInit,
    GroupMessage,
    OpenedGroupMessage,
    rename,
)
from tinyssb_node.groups.plan import AddStep, BeginEpochStep, ExcludeStep, Step
from tinyssb_node.groups.reader import GroupReader
from tinyssb_node.groups.short_form import encode, with_owner
from tinyssb_node.groups.text_chains import SERVICE
from tinyssb_node.ids import EpochKey, FeedId, GroupId, MessageId
from tinyssb_node.replication.replica import CHILD_DIALECT, Replica

_NO_FEEDS: Final[Mapping[FeedId, tuple[FeedId, int]]] = {}


def draft_first(secret: EpochKey, erase_days: int | None = None) -> GroupInit:
    """Return the message that begins a group (R32 to R34); *erase_days*: after how many days its texts are erased."""
    return GroupInit(secret, FIRST, FIRST, FIRST, erase_days=erase_days)


def draft_init(group: Group, me: FeedId, secret: EpochKey, previous: Iterable[MessageId]) -> GroupInit:
    """Return the message that begins an epoch which succeeds *previous* (R6, R38)."""
    epoch = TangleData(group.root, tuple(sorted(previous)))
    return GroupInit(secret, _after(group, group_limits.TIPS_MAX), epoch, FIRST, group.group, me)


def draft_add(
    group: Group,
    epoch: MessageId,
    people: Iterable[FeedId],
    *,
    text: str | None = None,
    old_keys: Iterable[MessageId] = (),
) -> AddMember:
    """Return the message that adds *people* to an epoch (R8). *old_keys* are epochs whose keys are included."""
    view = group.view
    return AddMember(
        secret=view[epoch].key,
        group=group.group,
        root=group.root,
        creator=group.said(group.root).author,
        people=tuple(people),
        group_tangle=_after(group, group_limits.TIPS_MAX),
        members_tangle=_behind(group.members_tangle(epoch), group_limits.TIPS_MAX),
        text=text,
        old_secrets=_keys_of(group, old_keys, view[epoch].key),
    )


def _keys_of(group: Group, epochs: Iterable[MessageId], secret: EpochKey) -> tuple[EpochKey, ...]:
    """Return the keys of *epochs*, each once and without *secret*: members may begin two epochs with one key."""
    keys = dict.fromkeys(group.view[one].key for one in epochs)
    keys.pop(secret, None)
    return tuple(keys)


def draft_exclude(
    group: Group,
    epoch: MessageId,
    people: Iterable[FeedId],
    *,
    feeds: Mapping[FeedId, tuple[FeedId, int]] = _NO_FEEDS,
) -> ExcludeMember:
    """Return the message that excludes *people* from an epoch (R7).

    *feeds* has each one's feed in the epoch and the number of its last entry that we have (v1.0). If one of them has
    none there, the form is v0.0 for all, since a message has one form.
    """
    named = tuple(people)
    full = all(person in feeds for person in named)
    return ExcludeMember(
        group=group.group,
        excludes=tuple(
            ExcludedMember(person, *feeds[person]) if full else ExcludedMember(person) for person in named
        ),
        group_tangle=_after(group, group_limits.TIPS_MAX),
        members_tangle=_behind_known(group, epoch),
    )


def draft_content(group: Group, kind: str, body: bytes) -> GroupContent:
    """Return a message with any other content for the group."""
    return GroupContent(kind, body, group.group, _after(group, group_limits.TIPS_POST_MAX))


def _behind_known(group: Group, epoch: MessageId) -> TangleData:
    """Return the tangle data after the last changes to an epoch's members, as far as everything is here that their
    authors knew.

    A message that named more would claim that its author knew what those authors knew, such as an exclusion that has
    not arrived.
    """
    tangle = group.members_tangle(epoch)
    known = [id_ for id_ in tangle if id_ in group.tangle]
    passed = {previous for id_ in known for previous in tangle.previous(id_)}
    tips = [id_ for id_ in known if id_ not in passed] or [epoch]
    return TangleData(epoch, tuple(sorted(tips)[: group_limits.TIPS_MAX]))


def _after(group: Group, most: int) -> TangleData:
    """Return the tangle data after the last messages of the group, without those of forks that are held."""
    return _behind_tips(group.tangle, group.tips(), most)


def _behind(tangle: Tangle[OpenedGroupMessage], most: int) -> TangleData:
    """Return the tangle data after the tips (R37), or *most* of them: first those that change the group, to record who
    knew them."""
    return _behind_tips(tangle, tangle.tips, most)


def _behind_tips(tangle: Tangle[OpenedGroupMessage], tips: tuple[MessageId, ...], most: int) -> TangleData:
    if len(tips) > most:
        tips = tuple(
            sorted(tips, key=lambda id_: (isinstance(tangle.message(id_).message, GroupContent), id_))[:most]
        )
    return TangleData(tangle.root, tuple(sorted(tips)))


_NOBODY: Final[Collection[FeedId]] = ()
_TAG: Final = BODY_BOX_MIN_SIZE - 1


class InvalidRecipientError(LocalError):
    """A person for whom nothing can be sealed, because their feed id is not a valid key. Nothing was written."""

    def __init__(self, person: FeedId) -> None:
        super().__init__(
            f"nothing was written: {person.hex()} is not a valid key, so nothing can be encrypted for it"
        )
        self.person = person


class Sealer:
    """The sealing of messages by one identity."""

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
        """Return the content of the entry of *feed* after *previous*, for the epoch with that key and the people named
        in the message.

        *first*: it begins an epoch feed, and names the owner. *known* are people who may be named by 8 bytes: all
        readers of the message know them. Raises InvalidRecipientError.
        """
        slots = self._slots(message, epoch)
        return box(self._plain(message, first, known), context_of(feed, previous), slots, self._message_key())

    def size(self, message: GroupMessage, *, first: bool, known: Collection[FeedId] = _NOBODY) -> int:
        """Return the size of the content that `seal` would make, in bytes."""
        people = (
            len(message.people) if isinstance(message, AddMember) else int(isinstance(message, GroupInit))
        )
        return HEADER_BOX_SIZE + SLOT_SIZE * (1 + people) + _TAG + len(self._plain(message, first, known))

    def check(self, people: Collection[FeedId]) -> None:
        """Raise InvalidRecipientError if one of *people* has a feed id that is not a valid key."""
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
            # From it, a user who restored their identity from words learns which epochs they began.
            slots.append(self._keys.own)
        return slots

    def _slot(self, person: FeedId) -> SlotKey:
        slot = self._keys.own if person == self._keys.main else self._keys.member(person)
        if slot is None:
            raise InvalidRecipientError(person)
        return slot

    def _message_key(self) -> bytes:
        """Return 32 random bytes that are not all zero."""
        while not any(key := self._keys.draw(SECRET_SIZE)):
            pass
        return key


_UNDRAWN: Final = EpochKey(b"\x01" * EpochKey.SIZE)
"""Placeholder of a key that is drawn when it is needed: all have one length."""
_NO_ID: Final = MessageId(bytes(MessageId.SIZE))


class PhoneDialectError(LocalError):
    """Our main feed has the dialect of phone apps, which stop at the entries that announce feeds. Nothing was
    written."""

    def __init__(self, feed: FeedId) -> None:
        super().__init__(
            f"nothing was written: the feed {feed.hex()} has the dialect of phone apps, which do not support groups"
        )
        self.feed = feed


class EpochNotCountedError(LocalError):
    """An epoch that we began does not count. Nobody was added to it, so nobody writes in it."""

    def __init__(self, init: MessageId) -> None:
        super().__init__(
            f"the epoch {init.hex()} was begun and does not count: the members stay in the one before. "
            "`tinyssb group audit` gives the rule"
        )


class GroupWriterPort(Protocol):
    """The interface through which the group code appends entries to the node's feeds."""

    @property
    def main(self) -> SigningKey:
        """Key of our main feed."""
        ...

    def write(self, key: SigningKey, content: bytes, type_: int | None = None) -> EntryAppended:
        """Append an entry to a feed of ours, creating the feed if necessary, and offer it to all peers."""
        ...

    @property
    def on_air_only(self) -> bool:
        """True if all faces that are up are radios, or there are none."""
        ...

    @property
    def has_spare_air(self) -> bool:
        """True if less than half of our airtime for entries is used up on each face."""
        ...

    def want(self, feed: FeedId, *, wanted: bool, invited: bool = False, certain: bool = False) -> bool:
        """Fetch *feed*, or stop it. *invited*: for a group that the user did not accept; *certain*: only a member can
        have written it, for the group. Returns False if there is no room for it in the set."""
        ...


@dataclass(frozen=True, slots=True)
class GroupWriteCost:
    """The cost of writing messages."""

    messages: int
    """Entries."""
    packets: int
    """Entries and the packets of their side chains."""
    content_bytes: int
    steps: tuple[str, ...]
    """Their descriptions for people, in order."""


class GroupWriter:
    """The writing of messages by one identity."""

    def __init__(
        self, keys: GroupKeys, reader: GroupReader, replica: Replica, read_all: Callable[[], None]
    ) -> None:
        """Write with *keys*; *read_all* lets *reader* read the entries that were written."""
        self._keys = keys
        self._reader = reader
        self._replica = replica
        self._read_all = read_all
        self._sealer = Sealer(keys)

    # --- messages

    def write(
        self, port: GroupWriterPort, message: GroupMessage, epoch: EpochKey, known: Collection[FeedId] = ()
    ) -> list[EntryAppended]:
        """Write *message*, sealed for the epoch of that key, and the announcement of its feed if that is new.

        Returns the entries; the message's is the last. Raises the errors of publishing, InvalidRecipientError and
        PhoneDialectError; the caller rolls back entries written before then.
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
        """Return our feed in an epoch, and the entry that announced it to the members if it is new."""
        key = self.open_key(epoch)
        if self._begun(key.feed_id):
            return key, []
        _, previous = self._replica.place(port.main.feed_id)
        sealed = seal_announcement(key.feed_id, epoch, port.main.feed_id, previous)
        return key, [port.write(port.main, sealed)]

    def open_key(self, epoch: EpochKey) -> SigningKey:
        """Return the key of the first of our feeds in an epoch that has not ended."""
        # A member begins a further feed in an epoch if the epoch's successor turned out not to count.
        for generation in range(8):
            key = self._keys.epoch(epoch, generation)
            if not self._replica.ended(key.feed_id):
                return key
        return key

    def _begun(self, feed: FeedId) -> bool:
        """Return whether *feed* has been announced. Announcement and first entry are written together."""
        return self._replica.holds(feed)

    # --- steps

    def do(
        self, port: GroupWriterPort, root: MessageId, steps: Sequence[Step], text: str | None = None
    ) -> list[EntryAppended]:
        """Carry out *steps* in the group that begins with *root*; *text* greets the people who are added."""
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
                    # All members of the new epoch, and all readers of this message, were in one of those before it.
                    known = frozenset[FeedId]().union(*(group.view[one].members for one in previous))
                    init = draft_init(group, self._keys.main, secret, previous)
                    self._reader.learn(secret, root)
                    entries += self.write(port, init, secret)
                    begun = entries[-1].id
                    if begun not in group.view.epochs:
                        raise EpochNotCountedError(begun)
                case AddStep(epoch, people, old_keys):
                    at = epoch or begun
                    assert at is not None, "an epoch is begun before people are added to it"
                    addition = draft_add(group, at, people, text=text, old_keys=old_keys)
                    entries += self.write(port, addition, addition.secret, () if epoch else known)
        return entries

    def _feeds(
        self, group: Group, epoch: MessageId, people: Collection[FeedId]
    ) -> dict[FeedId, tuple[FeedId, int]]:
        """Return each one's feed in an epoch, and the number of its last entry here (exclusion document v1.0)."""
        key = group.view[epoch].key
        feeds = {person: self._reader.feed_of(person, key) for person in people}
        return {
            person: (feed, self._replica.frontier(feed) if self._replica.holds(feed) else 0)
            for person, feed in feeds.items()
            if feed is not None
        }

    def end(self, port: GroupWriterPort, feed: SigningKey) -> EntryAppended:
        """End a feed of ours."""
        return port.write(feed, serialize_continued(END), EntryType.CONTINUED)

    # --- costs

    def cost(
        self,
        root: MessageId,
        steps: Sequence[Step],
        text: str | None = None,
        contents: Sequence[GroupContent] = (),
    ) -> GroupWriteCost:
        """Return the cost of *steps*, and of *contents* after them, without writing anything."""
        group = self._reader.groups[root].group
        account = _CostAccount(self)
        known: Collection[FeedId] = ()
        for step in steps:
            match step:
                case ExcludeStep(epoch, people):
                    message = draft_exclude(group, epoch, people, feeds=self._feeds(group, epoch, people))
                    account.add("exclude", message, group.view[epoch].key)
                case BeginEpochStep(previous):
                    known = frozenset[FeedId]().union(*(group.view[one].members for one in previous))
                    account.add("begin", draft_init(group, self._keys.main, _UNDRAWN, previous), _UNDRAWN)
                case AddStep(None, people, old_keys):
                    addition = _unbegun(group, people, text, old_keys)
                    account.add(f"add {len(people)}", addition, _UNDRAWN, known)
                case AddStep(epoch, people, old_keys):
                    assert epoch is not None, "the case before"
                    addition = draft_add(group, epoch, people, text=text, old_keys=old_keys)
                    account.add(f"add {len(people)}", addition, addition.secret)
        begun = any(isinstance(step, BeginEpochStep) for step in steps)
        epoch = None if begun else group.view.preference(self._keys.main).epoch
        for content in contents:
            name = "keys of texts" if content.kind in SERVICE else "post"
            account.add(name, content, _UNDRAWN if epoch is None else group.view[epoch].key)
        return account.total()

    def cost_of_creating(
        self, name: str | None, people: Collection[FeedId], erase_days: int | None
    ) -> GroupWriteCost:
        """Return the cost of a new group with *people* beside us, without writing anything."""
        me, account = self._keys.main, _CostAccount(self)
        group = Group(GroupId(bytes(GroupId.SIZE)), MessageId(bytes(MessageId.SIZE)))

        def write(title: str, message: GroupMessage) -> None:
            role = FeedRole.ADDITIONS if isinstance(message, AddMember) else FeedRole.EPOCH
            key = None if role is FeedRole.ADDITIONS else _UNDRAWN
            account.add(title, message, _UNDRAWN)
            # An id of the right size, which the next message follows.
            id_ = group.root if not len(group) else MessageId(bytes([len(group)]) * MessageId.SIZE)
            group.add(OpenedGroupMessage(id_, me, role, key, message, len(group) + 1))

        write("begin", draft_first(_UNDRAWN, erase_days))
        write("add yourself", draft_add(group, group.root, (me,)))
        if name is not None:
            write("name", draft_content(group, *rename(name)))
        others = [person for person in people if person != me]
        for step in plan.add(group, me, others) if others else ():
            if isinstance(step, AddStep):
                write(f"add {len(step.people)}", draft_add(group, group.root, step.people))
        return account.total()

    def size_of(
        self, message: GroupMessage, epoch: EpochKey, known: Collection[FeedId], begun: set[FeedId]
    ) -> tuple[int, int]:
        """Return the size of *message* in bytes of content, and how many entries announce its feed, which is added to
        *begun*."""
        if isinstance(message, AddMember):
            feed, announcing, first = self._keys.additions().feed_id, 2, False
        else:
            feed, announcing = self.open_key(epoch).feed_id, 1
            first = feed not in begun and not self._begun(feed)
        new = feed not in begun and not self._begun(feed)
        begun.add(feed)
        return self._sealer.size(message, first=first, known=known), announcing if new else 0


class _CostAccount:
    """An account of the cost of several messages."""

    def __init__(self, writer: GroupWriter) -> None:
        self._writer = writer
        self._begun: set[FeedId] = set()
        self._lines: list[tuple[str, int]] = []

    def add(self, name: str, message: GroupMessage, epoch: EpochKey, known: Collection[FeedId] = ()) -> None:
        """Add one message."""
        size, announcing = self._writer.size_of(message, epoch, known, self._begun)
        self._lines += [("announce", limits.CONTENT_SIZE)] * announcing
        self._lines.append((name, size))

    def total(self) -> GroupWriteCost:
        """Return the total."""
        return GroupWriteCost(
            len(self._lines),
            sum(packet_count(size, CHILD_DIALECT) for _, size in self._lines),
            sum(size for _, size in self._lines),
            tuple(name for name, _ in self._lines),
        )


def _unbegun(
    group: Group, people: Collection[FeedId], text: str | None, old_keys: Iterable[MessageId]
) -> AddMember:
    """Return an addition to an epoch that is not begun yet, of the same size as the final one."""
    return AddMember(
        secret=_UNDRAWN,
        group=group.group,
        root=group.root,
        creator=group.said(group.root).author,
        people=tuple(people),
        group_tangle=TangleData(group.root, (_NO_ID,)),
        members_tangle=TangleData(_NO_ID, (_NO_ID,)),
        text=text,
        old_secrets=_keys_of(group, old_keys, _UNDRAWN),
    )
