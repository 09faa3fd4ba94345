"""A private group's messages in the order in which people read them (decision 0084), and which of them count."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from tinyssb_node.content.tangle import TangleData
from tinyssb_node.content.telemetry import parse_telemetry
from tinyssb_node.content.time_order import DatedMessage, OrderedMessages, Position, order_times
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.epochs import NOBODY, EpochGraph, People
from tinyssb_node.groups.membership import Group
from tinyssb_node.groups.messages import (
    LEAVE,
    NAME,
    TELEMETRY,
    AddMember,
    ExcludeMember,
    GroupContent,
    GroupInit,
    GroupMessage,
    MessageFlaw,
    OpenedGroupMessage,
    record_in,
    said_us_of,
)
from tinyssb_node.groups.text_chains import SERVICE, TEXT
from tinyssb_node.ids import EpochKey, FeedId, MessageId


def _itself(said: OpenedGroupMessage) -> GroupMessage:
    return said.message


def _nobody(_said: OpenedGroupMessage, _people: Collection[FeedId]) -> Collection[FeedId]:
    return ()


@dataclass(frozen=True, slots=True)
class ListedMessages:
    """Messages that screens list, by their positions or by arrival."""

    positions: Sequence[Position]
    """All messages, in order."""
    arrivals: Sequence[tuple[int, bytes]]
    """The number since when each message is listed, and its id, sorted."""
    time: Callable[[bytes], int]
    """Returns the effective time of a message."""
    shown: Callable[[bytes], bool]
    """Returns whether a message is listed."""

    def page(
        self, *, after: Position | None = None, before: Position | None = None, limit: int | None = None
    ) -> list[Position]:
        """Return those between two positions, in order: at most *limit*, the first ones after *after*, else the
        last ones."""
        first = 0 if after is None else bisect_right(self.positions, after)
        behind = len(self.positions) if before is None else bisect_left(self.positions, before)
        places = range(first, behind) if after is not None else range(behind - 1, first - 1, -1)
        found = (self.positions[at] for at in places if self.shown(self.positions[at][1]))
        page = list(islice(found, limit))
        return page if after is not None else page[::-1]

    def arrived(self, after: int | None, limit: int | None = None) -> list[Position]:
        """Return those that arrived since the number *after*, in order of arrival, the first *limit*, and all others
        that came with the last of these; without *after* the last *limit*."""
        if after is None:
            latest = (one for one in reversed(self.arrivals) if self.shown(one[1]))
            found = list(islice(latest, limit))
        else:
            found = []
            for at in range(bisect_left(self.arrivals, (after + 1, b"")), len(self.arrivals)):
                arrival, id_ = self.arrivals[at]
                if limit is not None and len(found) >= limit and arrival > found[-1][0]:
                    break
                if self.shown(id_):
                    found.append((arrival, id_))
        ordered = sorted((arrival, (self.time(id_), id_)) for arrival, id_ in found)
        return [position for _, position in ordered]

    def seen(self, mark: int) -> Position | None:
        """Return the last position in order of those that arrived up to the number *mark*; None: there is none."""
        before = self.arrivals[: bisect_left(self.arrivals, (mark + 1, b""))]
        return max(((self.time(id_), id_) for _, id_ in before if self.shown(id_)), default=None)


def listed_early(posts: Collection[OpenedGroupMessage]) -> ListedMessages:
    """Return the messages of a group whose history is not here."""
    numbers: dict[FeedId, int] = {}
    messages = [
        _dated(said, said.message, numbers.setdefault(said.author, len(numbers)), 0) for said in posts
    ]
    times = order_times(messages)
    return ListedMessages(
        sorted((time, id_) for id_, time in times.items()),
        sorted((said.arrival, said.id) for said in posts),
        times.__getitem__,
        lambda _: True,
    )


def _dated(said: OpenedGroupMessage, message: GroupMessage, author: int, feed: int) -> DatedMessage:
    claimed_us = said_us_of(message) if isinstance(message, GroupContent) else None
    return DatedMessage(said.id, author, said.seq, claimed_us, said.message.group_tangle.previous, feed)


@dataclass
class Timeline:
    """Messages of a group, and which of them count.

    Kept from one question to the next: what is new costs little, a change of members all of it again. What it returns
    is a function of the set of messages, except for the numbers of arrival.
    """

    group: Group
    telemetry: dict[tuple[FeedId, type], MessageId] = field(default_factory=dict)
    """By author and kind: the last of their positions and of their values of sensors that count, in order."""
    posts: int = 0
    """Messages with a position that count, and that tell neither of members nor of the group's name."""
    opened: Callable[[OpenedGroupMessage], GroupMessage] = _itself
    """Returns the message that another one covers, if its key is here."""
    stored_by: Callable[[OpenedGroupMessage, Collection[FeedId]], Collection[FeedId]] = _nobody
    """Returns those of some people who signed that their node stores a message."""
    _order: OrderedMessages = field(default_factory=OrderedMessages)
    _taken: int = 0
    """Messages of the group tangle that are in the order."""
    _numbers: dict[FeedId | tuple[FeedId, EpochKey | None], int] = field(default_factory=dict)
    """Numbers of authors and of their feeds."""
    _arrivals: dict[MessageId, int] = field(default_factory=dict)
    """By message: the arrival since when it has a position, its own or that of a predecessor that came later. Stays the
    same over restarts: the keys of an epoch come before the feeds that they open."""
    _by_arrival: list[tuple[int, bytes]] = field(default_factory=list)
    """The same, sorted."""
    _covered: bool = False
    """A message covers a text whose key was not here when it was taken."""
    _view: EpochGraph | None = None
    _flaws: Mapping[MessageId, MessageFlaw] = field(default_factory=dict)
    _people: dict[EpochKey, People] = field(default_factory=dict)
    _epochs: dict[EpochKey, MessageId] = field(default_factory=dict)
    _added: set[FeedId] = field(default_factory=set)
    """Feeds that anybody added to any epoch so far."""
    _out: set[tuple[MessageId, FeedId]] = field(default_factory=set)
    """Epochs and feeds: somebody excluded the feed from the epoch, or up to it, and nobody added it
    since to any such."""
    _led_to: dict[MessageId, set[MessageId]] = field(default_factory=dict)
    """By exclusion: the epoch it is of, and those that it leads up to."""
    _joined: dict[MessageId, tuple[FeedId, ...]] = field(default_factory=dict)
    _our_bits: dict[MessageId, int] = field(default_factory=dict)
    """A bit for each message of ours."""
    _ours_before: dict[MessageId, int] = field(default_factory=dict)
    """By message: the bits of those of ours that it follows, directly or not, and its own."""
    _shown: dict[FeedId, int] = field(default_factory=dict)
    """By person: the bits of those of ours that any message of theirs follows."""
    _told: dict[MessageId, tuple[MessageId, ...]] = field(default_factory=dict)
    """By message: itself if it tells something, else the latest before it that do."""

    def refresh(self) -> None:
        """Take what is new."""
        tangle = self.group.tangle
        new = [self.group.said(id_) for id_ in islice(tangle, self._taken, None)]
        if self._covered and any(_is_service(said) for said in new):  # it may bring the key
            self._order, self._covered, self._view = OrderedMessages(), False, None
            new = [self.group.said(id_) for id_ in tangle]
        self._taken = len(tangle)
        for said in new:
            self._take(said)
        view = self.group.view
        changed = any(not isinstance(said.message, GroupContent) for said in new)
        if self._order.settle() or changed or view is not self._view:
            self._view, self.posts = view, 0
            self._judge(view)
            new = [self.group.said(MessageId(id_)) for _, id_ in self._order.positions]
        for said in new:
            self._follow(said)

    def _take(self, said: OpenedGroupMessage) -> None:
        """Give a message its position, and note its arrival."""
        message = self.opened(said)
        self._covered |= isinstance(message, GroupContent) and message.kind == TEXT
        author = self._numbers.setdefault(said.author, len(self._numbers))
        feed = self._numbers.setdefault((said.author, said.key), len(self._numbers))
        self._order.add(_dated(said, message, author, feed))
        before = (self._arrivals[id_] for id_ in self.group.tangle.previous(said.id))
        if said.id not in self._arrivals:
            self._arrivals[said.id] = arrival = max(said.arrival, *before, 0)
            insort(self._by_arrival, (arrival, said.id))

    def _judge(self, view: EpochGraph) -> None:
        self._flaws = {line.said.id: line.flaw for line in self.group.audit() if line.flaw is not None}
        self._people, self._epochs = {}, {}
        self._added, self._out, self._joined, self._told = set(), set(), {}, {}
        self._our_bits, self._ours_before, self._shown = {}, {}, {}
        self.telemetry = {}
        self._led_to = {id_: {one.epoch} for id_, one in view.exclusions.items()}
        for epoch in view.epochs.values():
            for id_ in epoch.exclusions:
                self._led_to[id_].add(epoch.init)
        for epoch in view.epochs.values():
            people = self._people.get(epoch.key, NOBODY)
            self._people[epoch.key] = people | epoch.members | {epoch.creator}
            self._epochs.setdefault(epoch.key, epoch.init)

    def _follow(self, said: OpenedGroupMessage) -> None:
        """Count, note who comes and goes by a message that counts, and whether it tells anything."""
        self._witness(said)
        if self.counts(said):
            match said.message:
                case GroupContent():
                    self._note_content(said)
                case AddMember(people=people, members_tangle=TangleData(root=MessageId() as epoch)):
                    joined = [one for one in people if one not in self._added or (epoch, one) in self._out]
                    self._joined[said.id] = tuple(one for one in joined if one != said.author)
                    self._added.update(people)
                    self._out = {(at, one) for at, one in self._out if one not in joined}
                case ExcludeMember(people=people):
                    self._out |= {(at, one) for at in self._led_to.get(said.id, ()) for one in people}
        self._told[said.id] = (said.id,) if self._tells(said) else self.previous(said)

    def _note_content(self, said: OpenedGroupMessage) -> None:
        """Count a post that counts, or keep it as the last record of its author's telemetry."""
        if not self._is_telemetry(said):
            self.posts += _is_post(said)
            return
        record = record_in(self.opened(said))
        if record is not None:
            key = said.author, type(parse_telemetry(record))
            known = self.telemetry.get(key)
            if known is None or (self._order.time(known), known) < (self._order.time(said.id), said.id):
                self.telemetry[key] = said.id

    def _is_telemetry(self, said: OpenedGroupMessage) -> bool:
        content = self.opened(said)
        return isinstance(content, GroupContent) and content.kind == TELEMETRY

    def _witness(self, said: OpenedGroupMessage) -> None:
        """Note which messages of ours the author of a message shows to have: all that it follows. One bit for each."""
        mask = 0
        for id_ in said.message.group_tangle.previous:
            mask |= self._ours_before.get(id_, 0)
        if said.author == self.group.me:
            self._our_bits[said.id] = bit = 1 << len(self._our_bits)
            mask |= bit
        else:
            self._shown[said.author] = self._shown.get(said.author, 0) | mask
        self._ours_before[said.id] = mask

    def holders(self, said: OpenedGroupMessage, people: People) -> list[FeedId]:
        """Return those of *people* who are known to have a message of ours: they wrote a message that follows it, or
        signed that their node stores it."""
        bit = self._our_bits.get(said.id, 0)
        shown = {person for person in people if self._shown.get(person, 0) & bit}
        return sorted(shown.union(self.stored_by(said, people - shown)))

    def previous(self, said: OpenedGroupMessage) -> tuple[MessageId, ...]:
        """Return the messages that tell something and that a message with a position follows."""
        before = (one for id_ in said.message.group_tangle.previous for one in self._told[id_])
        return tuple(islice(dict.fromkeys(before), group_limits.TIPS_MAX))

    def counts(self, said: OpenedGroupMessage) -> bool:
        """Return True if a message counts (`Group.audit` says why not)."""
        if isinstance(said.message, GroupContent):
            return said.key is not None and said.author in self._people.get(said.key, NOBODY)
        return said.id not in self._flaws

    def joined(self, said: OpenedGroupMessage) -> Sequence[FeedId]:
        """Return the feeds that an addition brings into the group: not in it before, or not any more."""
        return self._joined.get(said.id, ())

    def _tells(self, said: OpenedGroupMessage) -> bool:
        """Return True if a message counts and is of interest to a reader.

        Additions to a new epoch of members of the one before are of no interest.
        """
        match said.message:
            case GroupInit():
                return said.id == self.group.root
            case AddMember():
                return bool(self.joined(said))
            case GroupContent(kind=kind) if kind in SERVICE or self._is_telemetry(said):
                return False
        return self.counts(said)

    def epoch(self, said: OpenedGroupMessage) -> MessageId | None:
        """The epoch that a message is about, or was said in; None if we do not know it."""
        match said.message:
            case GroupInit():
                return said.id
            case AddMember() | ExcludeMember():
                return said.message.members_tangle.root
            case GroupContent():
                return None if said.key is None else self._epochs.get(said.key)

    def listed(self) -> ListedMessages:
        """Return the messages that screens list: those that count and tell something."""
        return ListedMessages(
            self._order.positions,
            self._by_arrival,
            self._order.time,
            lambda id_: self._tells(self.group.said(MessageId(id_))),
        )

    def time(self, said: OpenedGroupMessage) -> int:
        """Return the effective time of a message with a position."""
        return self._order.time(said.id)

    def arrival(self, said: OpenedGroupMessage) -> int:
        """Return the arrival number since when a message has its position."""
        return self._arrivals[said.id]

    def waiting(self) -> list[OpenedGroupMessage]:
        """Return texts and files that count and wait for predecessors, the latest arrivals first. All others show
        themselves when they have a position."""
        waiting = [self.group.said(id_) for id_ in self.group.tangle.waiting]
        found = [
            said for said in waiting if _is_post(said) and not self._is_telemetry(said) and self.counts(said)
        ]
        return sorted(found, key=lambda said: (-said.arrival, said.id))

    def missing(self, said: OpenedGroupMessage) -> list[MessageId]:
        """Return the predecessors that a message waits for."""
        return [id_ for id_ in said.message.group_tangle.previous if id_ not in self.group.tangle]

    def added(self, init: MessageId) -> dict[FeedId, list[FeedId]]:
        """By member of an epoch: who added him, by messages that count."""
        adders: dict[FeedId, list[FeedId]] = {}
        tangle = self.group.members_tangle(init)
        for id_ in tangle:
            said = tangle.message(id_)
            if isinstance(said.message, AddMember) and id_ not in self._flaws:
                for person in said.message.people:
                    if said.author not in (by := adders.setdefault(person, [])):
                        by.append(said.author)
        return adders


def _is_service(said: OpenedGroupMessage) -> bool:
    return isinstance(said.message, GroupContent) and said.message.kind in SERVICE


def _is_post(said: OpenedGroupMessage) -> bool:
    content = said.message
    return isinstance(content, GroupContent) and content.kind not in {NAME, LEAVE} | SERVICE
