"""Groups whose history is not here yet: the newest posts, which a newcomer reads first, and requests for the history
(decision 0083).

An addition gives a newcomer the key of the latest epoch, and names that epoch's first message. So the posts of that
epoch can be read before all others. Each is signed by its author, and the author is an *early member*: the person who
added us, the author of that first message, or a person whom an early member added to the epoch. Whether the person who
added us was in the group is not known before the first messages and exclusions of all epochs are here.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from tinyssb_node.errors import PeerError
from tinyssb_node.feeds.layout import VARIABLE_TYPE
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.bfe import context_of
from tinyssb_node.groups.consent import GroupConsents, unread_feeds
from tinyssb_node.groups.entry_source import SealedEntry, SealedEntrySource
from tinyssb_node.groups.envelope import unbox
from tinyssb_node.groups.keys import epoch_slot
from tinyssb_node.groups.messages import TELEMETRY, FeedRole, GroupContent, OpenedGroupMessage
from tinyssb_node.groups.reader import GivenEpoch, GroupReader
from tinyssb_node.groups.short_form import ReadingContext, decode, read_addition_head, split_owner
from tinyssb_node.groups.text_chains import SERVICE
from tinyssb_node.groups.waits import GroupWaits
from tinyssb_node.groups.writer import GroupWriterPort
from tinyssb_node.ids import EpochKey, FeedId, GroupId, MessageId
from tinyssb_node.replication.replica import Replica

_UNKNOWN: Final = GroupId(bytes(GroupId.SIZE))
"""Placeholder of the group's id, which follows from its first message."""


class EarlyEpoch:
    """One epoch that we were added to: who is known to be in it, and what they wrote there."""

    def __init__(
        self, root: MessageId, given: GivenEpoch, reader: GroupReader, source: SealedEntrySource
    ) -> None:
        self.given: Final = given
        self.people: set[FeedId] = {given.by}
        """Early members. At most `limits.EARLY_PEOPLE_MAX` of them."""
        self._root = root
        self._reader = reader
        self._source = source
        self._names: set[bytes] = set()
        """Main feed ids of people who were added, or their first 8 bytes."""
        self._read: dict[FeedId, int] = {}
        """By feed: its last entry that was read."""

    def read_on(
        self, frontier: Callable[[FeedId], int], known: Collection[FeedId]
    ) -> list[OpenedGroupMessage]:
        """Read new entries. Returns the messages in them. *frontier*: returns how many entries of a feed are stored;
        *known*: people who may be meant by the beginning of an id."""
        before = 0
        while len(self.people) > before:  # ends: people are bounded
            before = len(self.people)
            self._find_creator()
            for person in sorted(self.people):
                self._read_additions(person, frontier)
            for name in sorted(self._names):
                found = {FeedId(name)} if len(name) == FeedId.SIZE else _called(name, known)
                if len(self.people | found) <= group_limits.EARLY_PEOPLE_MAX:
                    self.people |= found
        return [said for feed in self.feeds() for said in self._read_posts(feed, frontier)]

    def feeds(self) -> list[FeedId]:
        """Return the feeds of early members in the epoch, as far as they are announced."""
        found = (self._reader.feed_of(person, self.given.key) for person in sorted(self.people))
        return [feed for feed in found if feed is not None]

    def _find_creator(self) -> None:
        for person in self._reader.people_of(self._root) - self.people:
            feed = self._reader.feed_of(person, self.given.key)
            first = None if feed is None or self._role(feed) != person else self._source.entry(feed, 1)
            if first is not None and first.id == self.given.init:
                self.people.add(person)

    def _role(self, feed: FeedId) -> FeedId | None:
        """Return the owner of a feed; None unless owner and feed agree."""
        assignment = self._reader.role_of(feed)
        return None if assignment is None else assignment.member

    def _read_additions(self, person: FeedId, frontier: Callable[[FeedId], int]) -> None:
        feed = self._reader.feed_of(person, None)
        if feed is None or self._role(feed) != person:
            return
        for entry in self._entries(feed, frontier(feed)):
            plain = self._opened(entry)
            head = None if plain is None else read_addition_head(plain)
            if head is not None and (head.key, head.root, head.epoch) == (
                self.given.key,
                self._root,
                self.given.init,
            ):
                self._names.update(head.names)

    def _read_posts(self, feed: FeedId, frontier: Callable[[FeedId], int]) -> Iterator[OpenedGroupMessage]:
        author = self._role(feed)
        if author is None:
            return
        for entry in self._entries(feed, frontier(feed)):
            plain = self._opened(entry)
            message = None if plain is None else self._content(plain, author, first=entry.seq == 1)
            if message is not None:
                yield OpenedGroupMessage(
                    entry.id, author, FeedRole.EPOCH, self.given.key, message, entry.seq, entry.arrival
                )

    def _entries(self, feed: FeedId, last: int) -> Iterator[SealedEntry]:
        """Yield the new entries of a feed, up to the first that is not complete; of many only the last ones."""
        begin = max(self._read.get(feed, 0), last - group_limits.EARLY_LOOK_BACK)
        for seq in range(begin + 1, last + 1):
            entry = self._source.entry(feed, seq)
            if entry is None:
                return
            self._read[feed] = seq
            yield entry

    def _opened(self, entry: SealedEntry) -> bytes | None:
        """Return what the epoch's key opens; None: nothing."""
        if entry.type != VARIABLE_TYPE or len(entry.content) < group_limits.ENVELOPE_MIN_SIZE:
            return None
        try:
            opened = unbox(entry.content, context_of(entry.feed, entry.prev), [epoch_slot(self.given.key)])
        except PeerError:
            return None
        return None if opened is None else opened.plain

    def _content(self, plain: bytes, author: FeedId, *, first: bool) -> GroupContent | None:
        """Return a message for people; None for all others."""
        try:
            message = decode(split_owner(plain)[1] if first else plain, self._reading(author))
        except PeerError:
            return None
        if not isinstance(message, GroupContent) or message.kind in SERVICE | {TELEMETRY}:
            return None
        return message

    def _reading(self, author: FeedId) -> ReadingContext:
        key, root = self.given.key, self._root
        return ReadingContext(
            author=author,
            key=key,
            root_of=lambda one: root if one == key else None,
            group_of=lambda _: _UNKNOWN,
            creator_of=lambda _: None,
            people=lambda _: (),
        )


def _called(name: bytes, known: Collection[FeedId]) -> set[FeedId]:
    """Return the people whose id begins with *name*. To make another's beginning takes 2**64 attempts."""
    return {person for person in known if person.startswith(name)}


class EarlyGroup:
    """A group whose history is not here."""

    def __init__(self) -> None:
        self.epochs: dict[EpochKey, dict[FeedId, EarlyEpoch]] = {}
        """By key and the person who gave it: the epochs that we were added to."""
        self.posts: deque[OpenedGroupMessage] = deque(maxlen=group_limits.EARLY_POSTS_MAX)
        """The posts that were read last."""
        self._ids: set[MessageId] = set()

    @property
    def all_epochs(self) -> list[EarlyEpoch]:
        """The epochs, in order of arrival."""
        return [epoch for one in self.epochs.values() for epoch in one.values()]

    @property
    def people(self) -> frozenset[FeedId]:
        """Early members of any of the epochs."""
        return frozenset(person for epoch in self.all_epochs for person in epoch.people)

    @property
    def adders(self) -> Sequence[FeedId]:
        """The people who added us, each once."""
        return [*dict.fromkeys(epoch.given.by for epoch in self.all_epochs)]

    def take(self, found: Iterable[OpenedGroupMessage]) -> None:
        """Add messages that were read at once."""
        for said in sorted(found, key=lambda one: (one.arrival, one.author, one.seq)):
            if said.id not in self._ids:  # two people may have given us the same key
                self._ids.add(said.id)
                self.posts.append(said)
        self._ids = {said.id for said in self.posts}


class EarlyGroups:
    """The groups of one identity whose history is not here, as far as people whom the user follows added them."""

    def __init__(
        self,
        me: FeedId,
        reader: GroupReader,
        source: SealedEntrySource,
        replica: Replica,
        consents: GroupConsents,
        waits: GroupWaits,
    ) -> None:
        self._me = me
        self._reader = reader
        self._source = source
        self._replica = replica
        self._consents = consents
        self._waits = waits
        self._groups: dict[MessageId, EarlyGroup] = {}
        self._history_us: dict[MessageId, int] = {}
        """By group: when more of its history is requested."""
        self._at_once: set[MessageId] = set()
        """Groups whose history the user wants now."""
        self._judged_us: dict[MessageId, int] = {}
        """By group that was one of these: when it was judged. Removed after `limits.EARLY_LAST_US`, as members can name
        predecessors that do not exist."""

    def roots(self) -> list[MessageId]:
        """Return these groups, at most `limits.EARLY_GROUPS_MAX`: the first that came."""
        found = (root for root in self._reader.given_roots if self._unjudged(root))
        return list(islice(found, group_limits.EARLY_GROUPS_MAX))

    def arriving(self, root: MessageId) -> bool:
        """Return whether a group is one of these."""
        return self._unjudged(root) and root in self.roots()

    def shows(self, root: MessageId) -> bool:
        """Return whether screens show the posts found here: of one of these groups, or of one that was until lately,
        in which newest posts wait for the last entries before them."""
        readable = self._reader.groups.get(root)
        waits = readable is not None and bool(readable.group.tangle.waiting)
        return self.arriving(root) or (waits and root in self._judged_us)

    def _unjudged(self, root: MessageId) -> bool:
        if self._waits.decided(root) is not None or root in self._waits.left:
            return False
        given = self._given(root)
        readable = self._reader.groups.get(root)
        if not given or readable is None:
            return bool(given)
        view = readable.group.view
        if view.of(self._me):
            return False
        placed = {epoch.key for epoch in view.epochs.values()}
        # With nothing missing we are simply in none of its epochs: the addition does not count.
        return bool(readable.group.tangle.waiting) or any(one.key not in placed for one in given)

    def _given(self, root: MessageId) -> list[GivenEpoch]:
        theirs = [one for one in self._reader.given(root) if self._consents.follows(one.by)]
        return theirs[-group_limits.EARLY_EPOCHS_MAX :]

    def group(self, root: MessageId) -> EarlyGroup:
        """Return one of these groups, with all posts that can be read."""
        group = self._groups.setdefault(root, EarlyGroup())
        known = {*self._replica.goset.feeds, *self._reader.people_of(root)}
        found: list[OpenedGroupMessage] = []
        for given in self._given(root):
            theirs = group.epochs.setdefault(given.key, {})
            if given.by not in theirs:
                theirs[given.by] = EarlyEpoch(root, given, self._reader, self._source)
            found += theirs[given.by].read_on(self._replica.frontier, known)
        group.take(found)
        return group

    # --- requests

    @property
    def due_us(self) -> Collection[int]:
        """When `fetch` has something to do for a group of which nothing comes."""
        return [
            *self._history_us.values(),
            *(us + group_limits.EARLY_LAST_US for us in self._judged_us.values()),
        ]

    def pass_time(self, now_us: int) -> None:
        """Drop the groups that have been judged for long enough."""
        arriving = set(self.roots())
        for root in self._groups.keys() - arriving - self._judged_us.keys():
            self._judged_us[root] = now_us
            self._history_us.pop(root, None)
            self._at_once.discard(root)
        for root, judged_us in [*self._judged_us.items()]:
            if root in arriving or now_us >= judged_us + group_limits.EARLY_LAST_US:
                del self._judged_us[root]
                self._groups.pop(root, None)

    def fetch(self, port: GroupWriterPort, root: MessageId, now_us: int) -> None:
        """Request the newest feeds of a group; of the others all, or on the air some at a time."""
        group = self.group(root)
        followed = filter(self._consents.follows, self._replica.followed)
        self._reader.consider({*group.people, *followed}, root)
        for epoch in group.all_epochs:
            for feed in epoch.feeds():
                self._consents.want(port, root, feed)
        lacking = [feed for feed in unread_feeds(self._reader, root, self._me) if not self._wanted(feed)]
        if root in self._at_once or not port.on_air_only:
            self._history_us.pop(root, None)
        elif now_us < self._history_us.setdefault(root, now_us + group_limits.HISTORY_WAIT_US):
            return
        else:
            self._history_us[root] = now_us + group_limits.HISTORY_WAIT_US
            # The first epochs come first: with them the group is judged step by step.
            lacking = lacking[: -group_limits.HISTORY_FEEDS - 1 : -1] if port.has_spare_air else []
        for feed in lacking:
            self._consents.want(port, root, feed)

    def requested(self, root: MessageId) -> bool:
        """Return whether all of a group is requested, not only when the air is idle."""
        return root in self._at_once or root not in self._history_us

    def request_history(self, root: MessageId) -> None:
        """Request all of a group with the next `fetch`: the user wants it now."""
        self._at_once.add(root)

    def _wanted(self, feed: FeedId) -> bool:
        replica = self._replica
        return replica.is_closed(feed) or (replica.is_current(feed) and replica.record(feed).wanted)
