"""The groups of one identity in the node: reading, following the rules, finishing interrupted operations.

The node calls the manager in turns. It reads new entries of the store, some at a time, so that a long history delays
nothing. Then, for each group with new messages, it fetches the feeds that it should, and writes the steps of the plan.

The state of groups is rebuilt from the store after each start. Only the running waits are kept, and which groups the
user left.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.events import EntryAppended
from tinyssb_node.content.tangle import TangleData
from tinyssb_node.errors import LocalError
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.consent import GroupConsentError, GroupConsents, unread_feeds
from tinyssb_node.groups.early_posts import EarlyGroups
from tinyssb_node.groups.entry_source import StoreEntrySource
from tinyssb_node.groups.faults import GroupFaultError, isolated
from tinyssb_node.groups.keys import GroupKeys
from tinyssb_node.groups.late_forks import LateFork
from tinyssb_node.groups.membership import Group
from tinyssb_node.groups.messages import FeedRole, GroupContent, OpenedGroupMessage, leave, rename
from tinyssb_node.groups.plan import (
    AddStep,
    BeginEpochStep,
    GroupPlan,
    GroupRefusalError,
    GroupTask,
    RefusalReason,
    add,
    begins_too_many,
    exclude,
    is_out,
    join,
    plan,
    settling,
    unwelcome,
)
from tinyssb_node.groups.reader import GroupReader
from tinyssb_node.groups.reader_events import FeedClaimed, GroupMessageRead, ReaderEvent
from tinyssb_node.groups.receipts import MemberReceipts
from tinyssb_node.groups.replication import replication, writing_epoch
from tinyssb_node.groups.secrecy import TICK, TextSecrecy, erased_after_days
from tinyssb_node.groups.text_chains import SERVICE, UNCOVERED
from tinyssb_node.groups.waits import GroupConsent, GroupWaits
from tinyssb_node.groups.writer import (
    EpochNotCountedError,
    GroupWriteCost,
    GroupWriter,
    GroupWriterPort,
    draft_content,
    draft_first,
)
from tinyssb_node.ids import EpochKey, FeedId, MessageId
from tinyssb_node.replication.replica import Replica
from tinyssb_node.store.port import Store


class GroupLeftError(LocalError):
    """A group that the user left."""

    def __init__(self, root: MessageId) -> None:
        super().__init__("nothing was written: you left this group. Ask a member to add you again")
        self.root = root


class GroupBoundError(LocalError):
    """Our node began so many epochs of a group that it begins no more by itself."""

    def __init__(self) -> None:
        super().__init__(
            f"your node began {group_limits.EPOCHS_UNASKED_MAX} epochs of this group and begins no more by itself: "
            "somebody seems to make it do so. Nodes of other members go on; you can still exclude people"
        )


class GroupBudgetError(LocalError):
    """Our node wrote so much for a group by itself that the rest has to wait."""

    def __init__(self, used: int) -> None:
        super().__init__(
            f"your node wrote {used} packets for this group by itself within 24 hours, of "
            f"{group_limits.UNASKED_PACKETS_A_DAY} that it may: what is due waits. Somebody seems to make it write. "
            "Your own messages and changes do not wait; other members' nodes go on"
        )
        self.used = used


@dataclass(frozen=True, slots=True)
class GroupWriteResult:
    """The entries that an operation wrote."""

    root: MessageId
    """The group's first message."""
    entries: tuple[EntryAppended, ...]
    """In order."""


@dataclass(frozen=True, slots=True)
class GroupReview:
    """A fork that is held until the user decides."""

    fork: LateFork
    rejected: bool
    """True if the user decided against it; they may still accept it."""


@dataclass(frozen=True, slots=True)
class DueGroupTask:
    """A task that the node will do for a group, unless another member does it first."""

    task: GroupTask
    due_us: int
    """When the node does it."""


class GroupManager:
    """The groups of one identity."""

    def __init__(self, keys: GroupKeys, replica: Replica, store: Store) -> None:
        self._keys = keys
        self._replica = replica
        self._source = StoreEntrySource(store)
        self.reader = GroupReader(keys, self._source)
        """The state of the groups."""
        self.writer: Final = GroupWriter(keys, self.reader, replica, self._read_all)
        self.secrecy: Final = TextSecrecy(keys, self.reader, replica, store)
        """The keys of texts in groups whose texts are erased."""
        self._receipts = MemberReceipts(store, self._frontier)
        self._waits = GroupWaits(store)
        self.consents: Final = GroupConsents(keys.main, self.reader, replica, self._waits)
        """The user's decisions about taking part in groups."""
        self.early: Final = EarlyGroups(
            keys.main, self.reader, self._source, replica, self.consents, self._waits
        )
        """Groups whose history is not here yet."""
        self._changed: set[MessageId] = set()
        """Groups with new messages since they were last checked."""
        self._additions: dict[FeedId, FeedId] = {}
        """By main feed: the feed of additions of a person whom our user does not follow, as far as was looked."""
        self._open_reviews: dict[MessageId, int] = {}
        """By group: how many forks wait for the user."""
        self._due_us: dict[MessageId, int] = {}
        """When to check a group again."""
        self.next_us: int | None = 0
        """When ``wake`` is due; None: nothing is to be done."""
        self.problems: dict[MessageId, LocalError] = {}
        """By group: the error that kept the node from doing a task."""
        self.stopped = 0
        """How often an error stopped the work for a group, or the reading of an entry."""
        self._faulty: dict[MessageId, int] = {}
        """Groups in whose work this program failed, and when it tries again: no message makes it try earlier."""
        self._unread: set[FeedId] = set()
        """Feeds with entries on which reading failed."""
        self._unreadable: set[MessageId] = set()
        """The groups of these feeds."""
        self._reread_all = False
        """True if reading failed on a key, or in the store, so that it is not known which feeds."""
        self._retry_us: int | None = None
        """When all this is read again."""
        self._paused_us = 0
        """Nothing is done before this, after an error outside any group."""

    def appended(self, now_us: int) -> None:
        """Note that the store has new entries."""
        self.next_us = max(now_us, self._paused_us)

    @property
    def read_all(self) -> bool:
        """True if all stored entries were read, with all keys."""
        return self._source.read_all and not self.reader.unfinished

    def wake(self, port: GroupWriterPort, now_us: int) -> None:
        """Read on; when everything is read, do the tasks that are due. Raises the errors of the disk only."""
        with isolated(partial(self._pause, now_us)):
            self._work(port, now_us)

    def _pause(self, now_us: int, _error: LocalError) -> None:
        """Stop all work for a while: an error outside any group."""
        self.stopped += 1
        self._reread_all = True
        self.next_us = self._paused_us = now_us + group_limits.RETRY_US

    def _work(self, port: GroupWriterPort, now_us: int) -> None:
        self._read_again(now_us)
        self._read_on()
        if not self.read_all:
            self.next_us = now_us
            return
        self._waits.upgrade(self.reader.groups, now_us)
        with isolated(partial(self._pause, now_us)):
            self._fetch_additions(port)
            self._changed |= self.consents.newly_accepted()
        self._faulty = {root: until_us for root, until_us in self._faulty.items() if until_us > now_us}
        arriving = self._fetch_early(port, now_us)
        for root in sorted(self._changed - self.reader.groups.keys() - arriving):
            with isolated(partial(self._stop, root, now_us)):
                self._fetch_unread(port, root)
        for root in self._looking_at(now_us):
            if root in arriving:
                continue
            if root not in self._unreadable:
                self.problems.pop(root, None)
            # No command waits for this: the problem is shown in listings, and the work is tried again later.
            with isolated(partial(self._stop, root, now_us)):
                self._look(port, root, now_us)
        self._read_all()
        due_us = [*self._due_us.values(), *self.early.due_us]
        due_us += [] if self._retry_us is None else [self._retry_us]
        self.next_us = now_us if self._changed else min(due_us, default=None)

    def _stop(self, root: MessageId, now_us: int, error: LocalError) -> None:
        """Stop the work for a group for a while."""
        self.stopped += 1
        self.problems[root] = error
        self._due_us[root] = now_us + group_limits.RETRY_US
        if isinstance(error, GroupFaultError | EpochNotCountedError):
            self._faulty[root] = self._due_us[root]

    # --- reading

    def _read_all(self) -> None:
        while not self.read_all:
            self._read_on()

    def _read_on(self) -> None:
        """Try new keys before more entries are read, some of either in a turn."""
        if self.reader.unfinished:
            with isolated(partial(self._skip, None)):
                self._apply_events(self.reader.go_on())
            return
        for entry in self._source.next(200):  # some milliseconds on a Raspberry Pi
            with isolated(partial(self._skip, entry.feed)):
                self._apply_events(self.reader.take(entry))

    def _skip(self, feed: FeedId | None, error: LocalError) -> None:
        """Leave out what this program failed to read; None: it failed on a key."""
        self.stopped += 1
        assignment = None if feed is None else self.reader.role_of(feed)
        key = None if assignment is None else assignment.key
        for root in () if key is None else self.reader.roots_of(key):
            self.problems[root] = error
            self._unreadable.add(root)
        if feed is None:
            self._reread_all = True
        elif len(self._unread) < group_limits.UNREAD_FEEDS_MAX:
            self._unread.add(feed)

    def _read_again(self, now_us: int) -> None:
        """Read again, after a pause, what this program failed to read."""
        if self._retry_us is not None and now_us >= self._retry_us:
            if self._reread_all:
                self.reader.restart()
            for feed in self._unread:
                self._source.again(feed)
            for root in self._unreadable:
                self.problems.pop(root, None)
            self._unread.clear()
            self._unreadable.clear()
            self._reread_all, self._retry_us = False, None
        if (self._unread or self._reread_all) and self._retry_us is None:
            self._retry_us = now_us + group_limits.RETRY_US

    def _apply_events(self, events: Iterable[ReaderEvent]) -> None:
        for event in events:
            if event.root is not None and event.changes:
                self._changed.add(event.root)
            if isinstance(event, FeedClaimed) and event.assignment.key is None:
                self._additions[event.assignment.member] = event.feed
            if isinstance(event, GroupMessageRead):
                self.secrecy.read(event.root, event.said)
                content = event.said.message
                if isinstance(content, GroupContent) and content.kind in SERVICE:
                    self._changed.add(event.root)

    # --- due tasks

    def _looking_at(self, now_us: int) -> Sequence[MessageId]:
        due = {root for root, due_us in self._due_us.items() if due_us <= now_us}
        roots = sorted((due | self._changed) & self.reader.groups.keys() - self._faulty.keys())
        self._changed.clear()
        return roots

    def _look(self, port: GroupWriterPort, root: MessageId, now_us: int) -> None:
        day_us = None if self._replica.read_only else self._pass_time(root, now_us)
        self._fetch(port, root, now_us)
        self._open_reviews[root] = sum(not one.rejected for one in self.reviews(root))
        if self._replica.read_only:
            return
        kept: dict[str, int] = {}
        wakes: list[int] = []
        if day_us is not None:
            kept[TICK] = day_us
            wakes.append(day_us + group_limits.STEP_US)
        if self.consents.of(root) is GroupConsent.ACCEPTED:
            self._take_part(port, root, now_us, kept, wakes)
        self._waits.keep(root, kept, now_us)
        self._due_us.pop(root, None)
        if wakes:
            # The durations of all waits are stored from time to time.
            self._due_us[root] = min(*wakes, now_us + group_limits.WAITS_SAVE_US)

    def _take_part(
        self, port: GroupWriterPort, root: MessageId, now_us: int, kept: dict[str, int], wakes: list[int]
    ) -> None:
        """Write what is due; note in *kept* and *wakes* what waits, and until when."""
        since_us = self._waits.since_us(root, now_us)
        if root not in self._waits.left:
            planned = self._plan(root, now_us)
            if planned.bounded:
                self.stopped += 1
                self.problems[root] = GroupBoundError()
            steps = planned.steps
            if steps and self._affords(root, self.writer.cost(root, steps).packets, now_us, wakes):
                self._charge(root, self.writer.do(port, root, steps), now_us)
                self._changed.add(root)
            kept |= planned.since_us
            wakes += [] if planned.wake_us is None else [planned.wake_us]
            if TICK in kept and not steps:
                asked = self._deliver_keys(port, root, now_us, wakes)
                kept |= asked
                wakes += [self.secrecy.due_us(task, at_us) for task, at_us in asked.items()]
        for feed, key in self._superseded(root).items():
            since = since_us.get(_end_key(feed), now_us)
            due_us = since + group_limits.END_WAIT_US
            if due_us <= now_us and self._affords(root, 1, now_us, wakes):
                self._charge(root, [self.writer.end(port, key)], now_us)
            else:
                kept[_end_key(feed)] = since
                wakes += [due_us] if due_us > now_us else []

    def _affords(self, root: MessageId, packets: int, now_us: int, wakes: list[int]) -> bool:
        """Return whether a group's budget has room for *packets*; if not, tell the user, and note when it will."""
        wait_us = self._waits.spending.wait_us(root, packets, now_us)
        if wait_us:
            self.stopped += root not in self.problems
            self.problems.setdefault(root, GroupBudgetError(self._waits.spending.used(root, now_us)))
            wakes.append(now_us + wait_us)
        return not wait_us

    def _charge(self, root: MessageId, entries: Iterable[EntryAppended], now_us: int) -> None:
        self._waits.charge(root, sum(1 + entry.chunks for entry in entries), now_us)

    def spent(self, root: MessageId, now_us: int) -> int:
        """Return how many packets the node wrote for a group by itself in the last 24 hours."""
        return self._waits.spending.used(root, now_us)

    def _pass_time(self, root: MessageId, now_us: int) -> int | None:
        """Erase the keys of days that are over. Returns since when the day counts; None in a group that keeps its
        texts."""
        if erased_after_days(self.reader.groups[root].group) is None:
            return None
        since_us = self._waits.since_us(root, now_us)
        day_us = self.secrecy.pass_time(root, since_us.get(TICK, now_us), now_us)
        if day_us != since_us.get(TICK):
            self._waits.keep(root, {**since_us, TICK: day_us}, now_us)
        return day_us

    def _deliver_keys(
        self, port: GroupWriterPort, root: MessageId, now_us: int, wakes: list[int]
    ) -> dict[str, int]:
        """Publish a prekey if ours was used, and answer requests that are due. Returns the others, and since when they
        wait."""
        since_us = self._waits.since_us(root, now_us)
        prekey = self.secrecy.prekey_due(root)
        if prekey is not None and self._write_unasked(port, root, (prekey.kind, prekey.body), now_us, wakes):
            self.secrecy.published(root, prekey.key)
        asked = self.secrecy.requests(root)
        since = {task: since_us.get(task, now_us) for task in asked}
        due = [task for task in asked if self.secrecy.due_us(task, since[task]) <= now_us]
        answer = self.secrecy.answer(root, [asked[task] for task in due])
        if answer is not None:
            if not self._write_unasked(port, root, answer, now_us, wakes):
                return since
            self.secrecy.answered(root, len(due))
        return {task: at_us for task, at_us in since.items() if task not in due}

    def _write_unasked(
        self,
        port: GroupWriterPort,
        root: MessageId,
        content: tuple[str, bytes],
        now_us: int,
        wakes: list[int],
    ) -> bool:
        """Write a message that the user did not ask for, if the group's budget has room for it."""
        draft = draft_content(self.reader.groups[root].group, *content)
        if not self._affords(root, self.writer.cost(root, (), contents=[draft]).packets, now_us, wakes):
            return False
        self._charge(root, self._write_content(port, root, *content), now_us)
        return True

    def _plan(self, root: MessageId, now_us: int) -> GroupPlan:
        since_us = self._waits.since_us(root, now_us)
        group = self.reader.groups[root].group
        return plan(group, self._keys.main, since_us=since_us, now_us=now_us, seed=self._keys.waits_seed)

    def _fetch(self, port: GroupWriterPort, root: MessageId, now_us: int) -> None:
        """Want the feeds that the rules name (4.8.2), and no others of the group; few of one that is not accepted."""
        if self.consents.settle(root, now_us) is not GroupConsent.ACCEPTED:
            self.consents.request(port, root)
            return
        group = self.reader.groups[root].group
        wish = replication(group, self._keys.main)
        left = root in self._waits.left
        for place in wish.fetch | wish.cease.keys():
            feed = self.reader.feed_of(place.member, group.view[place.epoch].key)
            if feed is None or place.member == self._keys.main or self._replica.is_closed(feed):
                continue
            until = wish.cease.get(place)
            done = place in wish.cease and (until is None or self._frontier(feed) >= until)
            port.want(feed, wanted=not done and not left, certain=self.reader.role_of(feed) is not None)
        if not left:
            for person in sorted(wish.additions - {self._keys.main}):
                feed = self.reader.feed_of(person, None)
                if feed is not None:
                    port.want(feed, wanted=True, certain=self.reader.role_of(feed) is not None)
            self._fetch_unread(port, root)

    def _fetch_additions(self, port: GroupWriterPort) -> None:
        """Want the feeds of additions of the people whom our user follows: they may add us to a group. The main feed
        announces it, so no neighbour has to name it first."""
        for person in sorted(self._replica.followed & self._additions.keys()):
            port.want(self._additions.pop(person), wanted=True)

    def _fetch_early(self, port: GroupWriterPort, now_us: int) -> set[MessageId]:
        """Request feeds of the groups whose history is not here, and return these groups."""
        roots: list[MessageId] = []
        with isolated(partial(self._pause, now_us)):
            self.early.pass_time(now_us)
            roots = [root for root in self.early.roots() if root not in self._faulty]
        for root in roots:
            self._due_us.pop(root, None)
            self.problems.pop(root, None)
            with isolated(partial(self._stop, root, now_us)):
                self.early.fetch(port, root, now_us)
        return set(roots)

    def fetch_history(self, root: MessageId, now_us: int) -> None:
        """Request all of a group whose history is not here, at once. Raises LocalError."""
        self._read_all()
        if not self.early.arriving(root):
            raise LocalError(f"nothing was requested: the history of {root.hex()} is here, or is requested")
        self.early.request_history(root)
        self.next_us = now_us

    def _fetch_unread(self, port: GroupWriterPort, root: MessageId) -> None:
        """Want the feeds of epochs whose key we have, and in which we are not known to be: their first messages, or the
        predecessors of our addition, are missing. Feeds that ended before we came have left the set, and return only if
        a peer names them."""
        accepted = self.consents.of(root) is GroupConsent.ACCEPTED
        for feed in unread_feeds(self.reader, root, self._keys.main):
            if not self._replica.is_closed(feed):
                if accepted:
                    port.want(feed, wanted=True)
                else:
                    self.consents.want(port, root, feed)

    def _frontier(self, feed: FeedId) -> int:
        return self._replica.frontier(feed) if self._replica.holds(feed) else 0

    def _superseded(self, root: MessageId) -> dict[FeedId, SigningKey]:
        """Return our feeds that have not ended, in epochs that the one we write in succeeds, or in all epochs if we
        left."""
        view = self.reader.groups[root].group.view
        me = self._keys.main
        epoch = writing_epoch(view, me)
        if root in self._waits.left:
            passed: Collection[MessageId] = view.of(me)
        else:
            passed = frozenset() if epoch is None else view.predecessors(epoch)
        keys = [self.writer.open_key(view[init].key) for init in sorted(passed)]
        return {key.feed_id: key for key in keys if self._replica.holds(key.feed_id)}

    # --- consent

    def accept_group(self, root: MessageId, now_us: int) -> None:
        """Take part in a group that our user was added to, also one that they declined. Raises LocalError,
        GroupConsentError."""
        if self._consent(root, now_us) is GroupConsent.ACCEPTED:
            raise GroupConsentError(GroupConsent.ACCEPTED, root)
        self._waits.accept(root, now_us)
        self._changed.add(root)
        self.next_us = now_us

    def decline_group(self, root: MessageId, now_us: int) -> None:
        """Do not take part in a group that our user was added to, whoever adds them again. Raises LocalError,
        GroupConsentError."""
        consent = self._consent(root, now_us)
        if consent is not GroupConsent.INVITED:
            raise GroupConsentError(consent, root)
        self._waits.decline(root, now_us)
        self._changed.add(root)
        self.next_us = now_us

    def _consent(self, root: MessageId, now_us: int) -> GroupConsent:
        """Return whether our user takes part in a group. Raises LocalError if it is not here."""
        self._read_all()
        self._waits.upgrade(self.reader.groups, now_us)
        if root not in self.reader.groups:
            raise LocalError(f"nothing was written: no group here begins with {root.hex()}")
        return self.consents.of(root)

    # --- operations of the user

    def create(
        self, port: GroupWriterPort, name: str | None, now_us: int, erase_days: int | None = None
    ) -> GroupWriteResult:
        """Begin a group with ourselves in it, whose texts are erased after *erase_days*, or never. Raises the errors of
        publishing."""
        self._read_all()
        self._waits.begin()
        self._waits.upgrade(self.reader.groups, now_us)
        secret = EpochKey(self._keys.draw(EpochKey.SIZE))
        entries = self.writer.write(port, draft_first(secret, erase_days), secret)
        root = entries[-1].id
        self.reader.learn(secret, root)
        self._read_all()
        self._waits.accept(root, now_us)
        entries += self.writer.do(port, root, [AddStep(root, (self._keys.main,))])
        if name is not None:
            entries += self._post(port, root, *rename(name))
        return self._written(root, entries, now_us)

    def add(
        self, port: GroupWriterPort, root: MessageId, people: Iterable[FeedId], text: str | None, now_us: int
    ) -> GroupWriteResult:
        """Add *people* to a group, with a greeting. Raises GroupRefusalError and the errors of publishing."""
        steps = add(self._changeable(root), self._keys.main, people)
        return self._written(root, self.writer.do(port, root, steps, text), now_us)

    def exclude(
        self, port: GroupWriterPort, root: MessageId, people: Iterable[FeedId], now_us: int
    ) -> GroupWriteResult:
        """Begin an epoch without *people*. Raises GroupRefusalError and the errors of publishing."""
        steps = exclude(self._changeable(root), self._keys.main, people)
        return self._written(root, self.writer.do(port, root, steps), now_us)

    def post(
        self, port: GroupWriterPort, root: MessageId, kind: str, body: bytes, now_us: int
    ) -> GroupWriteResult:
        """Write a message to a group. Raises GroupRefusalError and the errors of publishing."""
        self._writable(root)
        entries = self._settle(port, root)
        return self._written(root, [*entries, *self._post(port, root, kind, body)], now_us)

    def leave(self, port: GroupWriterPort, root: MessageId, now_us: int) -> GroupWriteResult:
        """Announce that we leave a group, if we still can write there, and take no part in it from then on. Until
        others exclude us, we can come back. Raises the errors of publishing."""
        group = self._group(root)
        entries = []
        if writing_epoch(group.view, self._keys.main) is not None and not is_out(group, self._keys.main):
            entries = self._post(port, root, *leave())
        self._waits.leave(root, now_us)
        return self._written(root, entries, now_us)

    def come_back(self, root: MessageId, now_us: int) -> None:
        """Take part again in a group that we left. Raises LocalError."""
        self._read_all()
        if root not in self.reader.groups:
            raise LocalError(f"nothing was written: no group here begins with {root.hex()}")
        self._waits.come_back(root, now_us)
        self._changed.add(root)
        self.next_us = now_us

    def reviews(self, root: MessageId) -> list[GroupReview]:
        """Return the forks of a group that are held, those that wait for the user first; none unless they take part."""
        if self.consents.of(root) is not GroupConsent.ACCEPTED:
            return []
        forks = self.reader.groups[root].group.late_forks
        found = [GroupReview(fork, self._waits.rejected(root, fork.against)) for fork in forks]
        return sorted(found, key=lambda one: one.rejected)

    def open_reviews(self) -> int:
        """Return how many forks of all groups wait for the user, as of the last look at each group."""
        return sum(self._open_reviews.values())

    def accept(
        self, port: GroupWriterPort, root: MessageId, fork: MessageId, now_us: int
    ) -> GroupWriteResult:
        """Join a held fork: begin an epoch that all members follow. Raises GroupRefusalError and the errors of
        publishing."""
        group = self._changeable(root)
        steps = join(group, self._keys.main, fork)
        with group.released(fork):
            entries = self.writer.do(port, root, steps)
        return self._written(root, entries, now_us)

    def cost_of_accepting(self, root: MessageId, fork: MessageId) -> GroupWriteCost:
        """Return the cost of joining a held fork. Raises GroupRefusalError."""
        return self.writer.cost(root, join(self._changeable(root), self._keys.main, fork))

    def reject(self, root: MessageId, fork: MessageId, now_us: int) -> None:
        """Ignore a held fork, and further ones by the same people after the same exclusions. Raises
        GroupRefusalError."""
        found = [one for one in self._group(root).late_forks if one.tip == fork]
        if not found:
            raise GroupRefusalError(RefusalReason.NOT_HELD)
        self._waits.reject(root, found[0].against, now_us)
        self._changed.add(root)
        self.next_us = now_us

    def cost_of_creating(
        self, name: str | None, people: Collection[FeedId], erase_days: int | None
    ) -> GroupWriteCost:
        """Return the cost of creating a group and adding *people* to it."""
        return self.writer.cost_of_creating(name, people, erase_days)

    def cost_of_adding(self, root: MessageId, people: Iterable[FeedId], text: str | None) -> GroupWriteCost:
        """Return the cost of adding *people*. Raises GroupRefusalError."""
        return self.writer.cost(root, add(self._changeable(root), self._keys.main, people), text)

    def cost_of_excluding(self, root: MessageId, people: Iterable[FeedId]) -> GroupWriteCost:
        """Return the cost of excluding *people*. Raises GroupRefusalError."""
        return self.writer.cost(root, exclude(self._changeable(root), self._keys.main, people))

    def cost_of_posting(self, root: MessageId, kind: str, body: bytes) -> GroupWriteCost:
        """Return the cost of a message, and of the changes that must come before it. Raises GroupRefusalError."""
        group = self._writable(root)
        steps = settling(group, self._keys.main) if unwelcome(group, self._keys.main) else ()
        messages = [(kind, body)]
        if kind not in UNCOVERED and erased_after_days(group) is not None:
            anew = any(isinstance(step, BeginEpochStep) for step in steps)
            messages = self.secrecy.sized(root, kind, body, anew=anew)
        first, *rest = (draft_content(group, *one) for one in messages)
        behind = TangleData(root, (root,))  # a further message follows the one before, and no others
        contents = [first, *(replace(one, group_tangle=behind) for one in rest)]
        return self.writer.cost(root, steps, contents=contents)

    def stored_by(self, said: OpenedGroupMessage, people: Collection[FeedId]) -> list[FeedId]:
        """Return those of *people* who signed that their node stores a message."""
        feed = self.reader.feed_of(said.author, None if said.role is FeedRole.ADDITIONS else said.key)
        return [] if feed is None else [one for one in people if self._receipts.stores(one, feed, said.seq)]

    def left(self, root: MessageId) -> bool:
        """Return whether we left a group."""
        return root in self._waits.left

    def mute(self, root: MessageId, now_us: int, *, muted: bool) -> None:
        """Set whether screens tell the user of new messages of a group."""
        self._waits.mute(root, now_us, muted=muted)

    def muted(self, root: MessageId) -> bool:
        """Return whether screens are silent about new messages of a group."""
        return root in self._waits.muted

    def due(self, root: MessageId, now_us: int) -> list[DueGroupTask]:
        """Return the tasks that the node will do for a group, the most urgent first. Raises LocalError,
        GroupLeftError."""
        self._group(root)
        planned = self._plan(root, now_us)
        return [DueGroupTask(task, planned.due_us[task.key]) for task in planned.tasks]

    def _group(self, root: MessageId) -> Group:
        """Return a group that we take part in. Raises LocalError, GroupLeftError, GroupConsentError."""
        self._read_all()
        if root not in self.reader.groups:
            raise LocalError(f"nothing was written: no group here begins with {root.hex()}")
        if root in self._waits.left:
            raise GroupLeftError(root)
        if self.consents.of(root) is not GroupConsent.ACCEPTED:
            raise GroupConsentError(self.consents.of(root), root)
        return self.reader.groups[root].group

    def _changeable(self, root: MessageId) -> Group:
        """Return a group that our user may change. Members do not follow an excluded person into a fork of theirs.
        Raises LocalError, GroupLeftError, GroupConsentError, GroupRefusalError."""
        group = self._group(root)
        if is_out(group, self._keys.main):
            raise GroupRefusalError(RefusalReason.EXCLUDED)
        return group

    def _writable(self, root: MessageId) -> Group:
        """Return a group in which somebody reads what our user writes. Raises LocalError, GroupLeftError,
        GroupConsentError, GroupRefusalError."""
        group = self._changeable(root)
        if group.view.preference(self._keys.main).epoch is None:
            raise GroupRefusalError(RefusalReason.OUTSIDE)
        return group

    def _post(self, port: GroupWriterPort, root: MessageId, kind: str, body: bytes) -> list[EntryAppended]:
        group = self._writable(root)
        if kind in UNCOVERED or erased_after_days(group) is None:
            return self._write_content(port, root, kind, body)
        entries: list[EntryAppended] = []
        if (begun := self.secrecy.first(root)) is not None:
            entries = self._write_content(port, root, begun.kind, begun.body)
            self.secrecy.begin(root, entries[-1].id, begun.key)
        return entries + self._write_content(port, root, *self.secrecy.covered(root, kind, body))

    def _write_content(
        self, port: GroupWriterPort, root: MessageId, kind: str, body: bytes
    ) -> list[EntryAppended]:
        """Write a message in the epoch that we prefer."""
        group = self.reader.groups[root].group
        epoch = group.view.preference(self._keys.main).epoch
        assert epoch is not None, "we are in the group"
        return self.writer.write(port, draft_content(group, kind, body), group.view[epoch].key)

    def _settle(self, port: GroupWriterPort, root: MessageId) -> list[EntryAppended]:
        """Join forks, and finish exclusions, as far as excluded people would read what we write next. Raises
        GroupRefusalError if that is not for us to do."""
        entries: list[EntryAppended] = []
        for _ in range(group_limits.SETTLE_MAX):
            group = self.reader.groups[root].group
            people = unwelcome(group, self._keys.main)
            if not people:
                return entries
            steps = settling(group, self._keys.main)
            if not steps:
                break
            if begins_too_many(group, self._keys.main, steps):
                raise GroupRefusalError(RefusalReason.EPOCHS)
            entries += self.writer.do(port, root, steps)
            self._read_all()
        raise GroupRefusalError(RefusalReason.DISPUTED, sorted(people))

    def _written(self, root: MessageId, entries: Iterable[EntryAppended], now_us: int) -> GroupWriteResult:
        self._changed.add(root)
        self.next_us = now_us
        return GroupWriteResult(root, tuple(entries))


def _end_key(feed: FeedId) -> str:
    """Return the key of the wait before a feed ends, among those of the plan."""
    return f"end/{feed.hex()}"
