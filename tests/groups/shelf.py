"""Members of a group who write sealed entries, and books that read them: feeds without packets and signatures."""

import hashlib
from collections import deque
from collections.abc import Iterable, Sequence

from tinyssb_node.feeds.children import (
    ChildMade,
    ChildOf,
    EntryType,
    serialize_child_made,
    serialize_child_of,
)
from tinyssb_node.groups.bfe import context_of
from tinyssb_node.groups.entry_source import SealedEntry
from tinyssb_node.groups.envelope import SlotKey, box
from tinyssb_node.groups.feeds import ADDITIONS_NOTE, seal_announcement
from tinyssb_node.groups.keys import GroupKeys, epoch_slot
from tinyssb_node.groups.membership import Group
from tinyssb_node.groups.messages import AddMember, GroupContent, GroupInit, GroupMessage, post, text_of
from tinyssb_node.groups.plan import AddStep, BeginEpochStep, ExcludeStep, Step, plan
from tinyssb_node.groups.reader import GroupReader
from tinyssb_node.groups.reader_events import ReaderEvent
from tinyssb_node.groups.short_form import encode, with_owner
from tinyssb_node.groups.writer import (
    draft_add,
    draft_content,
    draft_exclude,
    draft_first,
    draft_init,
)
from tinyssb_node.ids import EpochKey, FeedId, MessageId

NO_ID = MessageId(bytes(MessageId.SIZE))


class Shelf:
    """Entries of one person, and a source of them."""

    def __init__(self, entries: Iterable[SealedEntry] = ()) -> None:
        self.entries: list[SealedEntry] = []
        self.feeds: dict[FeedId, dict[int, SealedEntry]] = {}
        self.ahead: deque[SealedEntry] = deque()
        """To be handed out."""
        self.put(entries)

    def put(self, entries: Iterable[SealedEntry]) -> None:
        """More entries come."""
        for entry in entries:
            feed = self.feeds.setdefault(entry.feed, {})
            if entry.seq not in feed:
                feed[entry.seq] = entry
                self.entries.append(entry)
                self.ahead.append(entry)

    def place(self, feed: FeedId) -> tuple[int, MessageId]:
        """Number of the next entry, and id of the one before."""
        seq = len(self.feeds.get(feed, {})) + 1
        return seq, NO_ID if seq == 1 else self.feeds[feed][seq - 1].id

    def append(self, feed: FeedId, type_: int, content: bytes) -> SealedEntry:
        """Write an entry."""
        seq, prev = self.place(feed)
        hashed = hashlib.sha256(feed + seq.to_bytes(4, "big") + prev + bytes([type_]) + content).digest()
        entry = SealedEntry(feed, seq, MessageId(hashed[: MessageId.SIZE]), prev, type_, content)
        self.put([entry])
        return entry

    def entry(self, feed: FeedId, seq: int) -> SealedEntry | None:
        """One entry."""
        return self.feeds.get(feed, {}).get(seq)

    def came_us(self, feed: FeedId, seq: int) -> int | None:  # noqa: ARG002 - a port's signature
        """Nobody keeps times here."""
        return None

    def again(self, feed: FeedId, type_: int | None = None) -> None:
        """Hand out a feed once more."""
        held = self.feeds.get(feed, {})
        self.ahead.extendleft(
            held[seq] for seq in sorted(held, reverse=True) if type_ in {None, held[seq].type}
        )

    def restart(self) -> None:
        """Hand out everything once more."""
        self.ahead = deque(self.entries)

    def read(self, book: GroupReader) -> list[ReaderEvent]:
        """Let *book* take all that is to be handed out."""
        news: list[ReaderEvent] = []
        while self.ahead or book.unfinished:
            news += book.go_on() if book.unfinished else book.take(self.ahead.popleft())
        return news


def seed_of(name: str) -> bytes:
    """Return the seed of the person with that name."""
    return hashlib.sha256(f"seed/{name}".encode()).digest()


def keys_of(name: str) -> GroupKeys:
    """Return the keys of the person with that name; the bytes they draw are the same each time."""
    drawn = 0

    def draw(size: int) -> bytes:
        nonlocal drawn
        drawn += 1
        return hashlib.shake_256(f"draw/{name}/{drawn}".encode()).digest(size)

    return GroupKeys(seed_of(name), draw)


class Scribe:
    """A member with a book."""

    def __init__(self, name: str) -> None:
        self.keys = keys_of(name)
        self.shelf = Shelf()
        self.reader = GroupReader(self.keys, self.shelf)
        self.since: dict[str, int] = {}
        self._root: MessageId | None = None

    @property
    def me(self) -> FeedId:
        """His main feed."""
        return self.keys.main

    @property
    def root(self) -> MessageId:
        """First message of the group that they knew first."""
        if self._root is None:
            self._root = next(iter(self.reader.groups))
        return self._root

    @property
    def group(self) -> Group:
        """That group."""
        return self.reader.groups[self.root].group

    @property
    def prefers(self) -> MessageId:
        """The epoch that they prefer."""
        epoch = self.group.view.preference(self.me).epoch
        assert epoch is not None
        return epoch

    def receive(self, entries: Iterable[SealedEntry]) -> list[ReaderEvent]:
        """Entries come."""
        self.shelf.put(entries)
        return self.shelf.read(self.reader)

    def append(self, feed: FeedId, type_: int, content: bytes) -> SealedEntry:
        """Write an entry, and read it."""
        entry = self.shelf.append(feed, type_, content)
        self.shelf.read(self.reader)
        return entry

    # --- messages

    def seal(
        self, feed: FeedId, plain: bytes, slots: Sequence[SlotKey], context_feed: FeedId | None = None
    ) -> bytes:
        """An envelope for the next entry of *feed*."""
        _, prev = self.shelf.place(feed)
        return box(plain, context_of(context_feed or feed, prev), slots, self.keys.draw(32))

    def open_additions(self) -> FeedId:
        """His additions feed, begun."""
        feed = self.keys.additions().feed_id
        if feed not in self.shelf.feeds:
            made = self.append(
                self.me, EntryType.CHILD_MADE, serialize_child_made(ChildMade(feed, ADDITIONS_NOTE))
            )
            child = ChildOf(self.me, made.seq, made.id)
            self.append(feed, EntryType.CHILD_OF, serialize_child_of(child))
        return feed

    def open_epoch(self, key: EpochKey, feed: FeedId | None = None) -> FeedId:
        """His feed in an epoch, announced."""
        feed = feed or self.keys.epoch(key).feed_id
        if feed not in self.shelf.feeds:
            _, prev = self.shelf.place(self.me)
            self.append(self.me, 0, seal_announcement(feed, key, self.me, prev))
        return feed

    def write_plain(self, feed: FeedId, plain: bytes, slots: Sequence[SlotKey]) -> SealedEntry:
        """Write a message that is encoded already."""
        if feed != self.keys.additions().feed_id and feed not in self.shelf.feeds:
            plain = with_owner(plain, self.me)
        return self.append(feed, 1, self.seal(feed, plain, slots))

    def write(
        self, message: GroupMessage, key: EpochKey | None = None, known: Iterable[FeedId] = ()
    ) -> SealedEntry:
        """Write a message, sealed with the key of its epoch."""
        plain = encode(message, known=frozenset(known))
        if isinstance(message, AddMember):
            own = [self._slot(person) for person in message.people]
            return self.write_plain(self.open_additions(), plain, [epoch_slot(message.secret), *own])
        key = message.secret if isinstance(message, GroupInit) else key
        assert key is not None
        slots = [epoch_slot(key)]
        if isinstance(message, GroupInit) and message.group is None:
            slots.append(self.keys.own)
        return self.write_plain(self.open_epoch(key), plain, slots)

    def _slot(self, person: FeedId) -> SlotKey:
        slot = self.keys.own if person == self.me else self.keys.member(person)
        assert slot is not None
        return slot

    def draw_key(self) -> EpochKey:
        """A new key."""
        return EpochKey(self.keys.draw(EpochKey.SIZE))

    # --- operations of members

    def create(self) -> MessageId:
        """Begin a group with oneself in it."""
        root = self.write(draft_first(self.draw_key())).id
        self.do([AddStep(root, (self.me,))], root)
        return root

    def do(self, steps: Sequence[Step], root: MessageId | None = None) -> None:
        """Write what steps ask for."""
        root = root or self.root
        begun, known = None, frozenset[FeedId]()
        for step in steps:
            group = self.reader.groups[root].group
            match step:
                case ExcludeStep(epoch, people):
                    self.write(draft_exclude(group, epoch, people), group.view[epoch].key)
                case BeginEpochStep(previous):
                    known = frozenset[FeedId]().union(*(group.view[one].members for one in previous))
                    secret = self.draw_key()
                    self.reader.learn(secret, root)
                    begun = self.write(draft_init(group, self.me, secret, previous)).id
                case AddStep(epoch, people, old_keys):
                    at = epoch or begun
                    assert at is not None
                    message = draft_add(group, at, people, old_keys=old_keys)
                    self.write(message, known=() if epoch else known)

    def say(self, text: str) -> SealedEntry:
        """Write to the preferred epoch."""
        message = draft_content(self.group, *post(text))
        return self.write(message, self.group.view[self.prefers].key)

    def act(self, now_us: int) -> int | None:
        """Do what the plan asks for now. Returns when to look again."""
        if not self.reader.groups:
            return None
        while True:
            found = plan(self.group, self.me, since_us=self.since, now_us=now_us, seed=self.keys.waits_seed)
            self.since = dict(found.since_us)
            if not found.steps:
                return found.wake_us
            self.do(found.steps)


def meet(*scribes: Scribe) -> None:
    """Let these exchange all they hold."""
    union = [entry for scribe in scribes for entry in scribe.shelf.entries]
    for scribe in scribes:
        scribe.receive(union)


def begin(*names: str) -> list[Scribe]:
    """A group made by the first of these people, that all of them know of."""
    scribes = [Scribe(name) for name in names]
    first = scribes[0]
    root = first.create()
    others = tuple(scribe.me for scribe in scribes[1:])
    if others:
        first.do([AddStep(root, others)])
    meet(*scribes)
    return scribes


def texts(book: GroupReader, root: MessageId) -> list[str | None]:
    """Return the texts in a group that count, in its order."""
    return [
        text_of(line.said.message)
        for line in book.groups[root].group.audit()
        if isinstance(line.said.message, GroupContent) and line.flaw is None
    ]


def state(book: GroupReader, feeds: Sequence[FeedId]) -> object:
    """All that a book says of its groups."""
    return (
        {
            root: (held.id, held.creator, held.name, held.group.view, held.group.audit(), held.broken)
            for root, held in book.groups.items()
        },
        {feed: book.role_of(feed) for feed in feeds},
        {root: (sorted(book.keys_of(root)), book.people_of(root)) for root in book.groups},
    )
