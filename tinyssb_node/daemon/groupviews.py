"""A private group as rows of the control protocol: who is in it, how its epochs hang together, what was said."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

import msgspec

from tinyssb_node.content.tangle import TangleData
from tinyssb_node.control.group_rows import (
    GroupArrivingRow,
    GroupAuditRow,
    GroupEpochRow,
    GroupFileHeadRow,
    GroupForkRow,
    GroupMemberRow,
    GroupMessageRow,
    GroupReviewRow,
    GroupRow,
    GroupSaidRow,
    GroupShownRow,
    GroupStepRow,
)
from tinyssb_node.control.rows import GroupInvitationRow
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.early_posts import EarlyPost
from tinyssb_node.groups.epochs import NOBODY, Epoch, EpochGraph, People
from tinyssb_node.groups.manager import GroupManager, GroupReview
from tinyssb_node.groups.membership import AuditLine, Group
from tinyssb_node.groups.messages import (
    ADD,
    EXCLUDE,
    INIT,
    LEAVE,
    NAME,
    AddMember,
    ExcludeMember,
    FeedRole,
    GroupContent,
    GroupInit,
    GroupMessage,
    MessageFlaw,
    OpenedGroupMessage,
    file_of,
    name_of,
    reply_of,
    said_us_of,
    text_of,
)
from tinyssb_node.groups.plan import AddStep, BeginEpochStep, ExcludeStep, Step, awaited
from tinyssb_node.groups.reader import ReadableGroup
from tinyssb_node.groups.reader_events import FeedAssignment, InvalidGroupEntry
from tinyssb_node.groups.replication import unread
from tinyssb_node.groups.text_chains import SERVICE
from tinyssb_node.groups.waits import GroupConsent
from tinyssb_node.ids import EpochKey, FeedId, MessageId


def _itself(said: OpenedGroupMessage) -> GroupMessage:
    return said.message


def _nobody(_said: OpenedGroupMessage, _people: Collection[FeedId]) -> Collection[FeedId]:
    return ()


ARRIVING: Final = "arriving"
"""State of a group whose history is not here."""
CameUs = Callable[[OpenedGroupMessage], int | None]
"""Wall clock when a message came; None: not known."""


@dataclass
class Timeline:
    """Messages of a group, in the order in which they found their place here, and which of them count.

    Kept from one question to the next: what is new costs little, a change of members all of it again.
    """

    group: Group
    ids: list[MessageId] = field(default_factory=list)
    """Messages with a place; the place of the first is 1."""
    posts: int = 0
    """Of those the ones that count, and that tell neither of members nor of the group's name."""
    opened: Callable[[OpenedGroupMessage], GroupMessage] = _itself
    """Returns the message that another one covers, if its key is here."""
    stored_by: Callable[[OpenedGroupMessage, Collection[FeedId]], Collection[FeedId]] = _nobody
    """Returns those of some people who signed that their node stores a message."""
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
        known = len(self.ids)
        if len(self.group.tangle) != known:
            self.ids += islice(self.group.tangle, known, None)
        view = self.group.view
        if view is not self._view:
            self._view, known, self.posts = view, 0, 0
            self._judge(view)
        for id_ in self.ids[known:]:
            self._follow(self.group.said(id_))

    def _judge(self, view: EpochGraph) -> None:
        self._flaws = {line.said.id: line.flaw for line in self.group.audit() if line.flaw is not None}
        self._people, self._epochs = {}, {}
        self._added, self._out, self._joined, self._told = set(), set(), {}, {}
        self._our_bits, self._ours_before, self._shown = {}, {}, {}
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
                case GroupContent(kind=kind):
                    self.posts += kind not in {NAME, LEAVE} | SERVICE
                case AddMember(people=people, members_tangle=TangleData(root=MessageId() as epoch)):
                    joined = [one for one in people if one not in self._added or (epoch, one) in self._out]
                    self._joined[said.id] = tuple(one for one in joined if one != said.author)
                    self._added.update(people)
                    self._out = {(at, one) for at, one in self._out if one not in joined}
                case ExcludeMember(people=people):
                    self._out |= {(at, one) for at in self._led_to.get(said.id, ()) for one in people}
        self._told[said.id] = (said.id,) if self._tells(said) else self.previous(said)

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
        """Return the messages that tell something and that a message with a place follows."""
        before = (one for id_ in said.message.group_tangle.previous for one in self._told[id_])
        return tuple(islice(dict.fromkeys(before), group_limits.TIPS_MAX))

    def counts(self, said: OpenedGroupMessage) -> bool:
        """Return True if a message with a place counts (`Group.audit` says why not)."""
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
            case GroupContent(kind=kind) if kind in SERVICE:
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

    def page(
        self, *, first: int, behind: int, limit: int | None, forward: bool
    ) -> list[tuple[int, OpenedGroupMessage]]:
        """Messages that tell something, with their places: from place *first* on, before place *behind*; at most
        *limit* of them, the first ones if *forward*, else the last ones."""
        places = range(max(first, 1), min(behind, len(self.ids) + 1))
        found = (
            (place, said)
            for place in (places if forward else reversed(places))
            if self._tells(said := self.group.said(self.ids[place - 1]))
        )
        page = list(islice(found, limit))
        return page if forward else page[::-1]

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


def said_row(
    timeline: Timeline, place: int, said: OpenedGroupMessage, me: FeedId, came_us: CameUs
) -> GroupSaidRow:
    """A message that counts; of an addition those are told who were not in the group before."""
    opened = timeline.opened(said)
    row = _row(said, opened, timeline.epoch(said), me, came_us)
    people = _hex(timeline.joined(said)) if isinstance(said.message, AddMember) else row.people
    row = msgspec.structs.replace(row, previous=_hex(timeline.previous(said)), people=people)
    epoch = timeline.epoch(said)
    others = _others(timeline, me) if row.own else NOBODY
    return GroupSaidRow(
        **msgspec.structs.asdict(row),
        group=timeline.group.root.hex(),
        place=place,
        reply_to=_reply(timeline, opened),
        file=_file_head(opened),
        said_us=said_us_of(opened) if isinstance(opened, GroupContent) else None,
        holders=tuple(one.hex() for one in timeline.holders(said, others)),
        expected=len(others),
        held=said.id in timeline.group.set_aside,
        unread=row.own and epoch is not None and unread(timeline.group.view, epoch, said),
    )


def early_row(root: MessageId, post: EarlyPost, me: FeedId, came_us: CameUs) -> GroupSaidRow:
    """A message of a group whose history is not here. Its predecessors are left out: they are unknown."""
    message = post.said.message
    row = msgspec.structs.replace(_row(post.said, message, None, me, came_us), previous=[])
    return GroupSaidRow(
        **msgspec.structs.asdict(row),
        group=root.hex(),
        place=post.place,
        file=_file_head(message),
        said_us=said_us_of(message) if isinstance(message, GroupContent) else None,
        early=True,
    )


def early_group_row(groups: GroupManager, root: MessageId, me: FeedId, came_us: CameUs) -> GroupRow:
    """A group whose history is not here."""
    group = groups.early.group(root)
    last = group.posts[-1] if group.posts else None
    return GroupRow(
        group=root.hex(),
        group_id="",
        name=None,
        state=ARRIVING,
        members=_hex(sorted(group.people)),
        epochs=0,
        posts=len(group.posts),
        last=None if last is None else early_row(root, last, me, came_us),
        arriving=_arriving_row(groups, root),
    )


def _arriving_row(groups: GroupManager, root: MessageId) -> GroupArrivingRow:
    group = groups.early.group(root)
    return GroupArrivingRow(
        added_by=_hex(group.adders),
        people=_hex(sorted(group.people)),
        requested=groups.early.requested(root),
    )


def early_shown_row(groups: GroupManager, root: MessageId) -> GroupShownRow:
    """All that is known of a group whose history is not here."""
    group, problem = groups.early.group(root), groups.problems.get(root)
    return GroupShownRow(
        group=root.hex(),
        group_id="",
        name=None,
        state=ARRIVING,
        creator=None,
        epoch=None,
        rules=[],
        interim=False,
        posts=len(group.posts),
        messages=len(group.posts),
        waiting=0,
        forks=[],
        tasks=[],
        problem=None if problem is None else problem.message,
        reviews=[],
        arriving=_arriving_row(groups, root),
    )


def _others(timeline: Timeline, me: FeedId) -> People:
    """Return the other members of the epoch that our user writes in."""
    view = timeline.group.view
    epoch = view.preference(me).epoch
    return NOBODY if epoch is None else view[epoch].members - view[epoch].excluded - {me}


def _file_head(message: GroupMessage) -> GroupFileHeadRow | None:
    file = file_of(message) if isinstance(message, GroupContent) else None
    return None if file is None else GroupFileHeadRow(file.name, file.type, len(file.data))


def _reply(timeline: Timeline, message: GroupMessage) -> str | None:
    """Return the message of the group that a post answers: never one of another conversation, which would be quoted."""
    answered = reply_of(message) if isinstance(message, GroupContent) else None
    return None if answered is None or answered not in timeline.group else answered.hex()


def audit_row(timeline: Timeline, line: AuditLine, me: FeedId, came_us: CameUs) -> GroupAuditRow:
    """Any message, with the rule that it broke."""
    row = _row(line.said, timeline.opened(line.said), timeline.epoch(line.said), me, came_us)
    return GroupAuditRow(
        **msgspec.structs.asdict(row),
        role=line.said.role.value,
        waits=line.waits,
        rule=None if line.flaw is None else line.flaw.rule,
        flaw=None if line.flaw is None else line.flaw.what,
    )


def broken_row(
    broken: InvalidGroupEntry, me: FeedId, place: FeedAssignment | None, came_us: int | None
) -> GroupAuditRow:
    """An entry that opened, and that is no message."""
    return GroupAuditRow(
        id=broken.id.hex(),
        feed=broken.author.hex(),
        seq=broken.seq,
        own=broken.author == me,
        epoch=None,
        kind="broken",
        text=None,
        people=[],
        previous=[],
        committed_us=came_us,
        role=(FeedRole.EPOCH if place is None else place.role).value,
        waits=False,
        rule=broken.fault.value,
        flaw=broken.what,
    )


def _row(
    said: OpenedGroupMessage, message: GroupMessage, epoch: MessageId | None, me: FeedId, came_us: CameUs
) -> GroupMessageRow:
    kind, text, people = _meaning(message)
    return GroupMessageRow(
        id=said.id.hex(),
        feed=said.author.hex(),
        seq=said.seq,
        own=said.author == me,
        epoch=None if epoch is None else epoch.hex(),
        kind=kind,
        text=text,
        people=_hex(people),
        previous=_hex(message.group_tangle.previous),
        committed_us=came_us(said),
    )


def _meaning(message: GroupMessage) -> tuple[str, str | None, Iterable[FeedId]]:
    match message:
        case GroupInit():
            return INIT, None, ()
        case AddMember():
            return ADD, message.text, message.people
        case ExcludeMember():
            return EXCLUDE, None, (each.member for each in message.excludes)
        case GroupContent():
            return message.kind, text_of(message) or name_of(message), ()


# --- Epochs


def epoch_rows(timeline: Timeline, me: FeedId, came_us: CameUs) -> list[GroupEpochRow]:
    """The epochs, each behind those that it succeeds."""
    view = timeline.group.view
    tips = set(view.tips_among(view.epochs))
    missing = awaited(timeline.group, me)
    return [
        GroupEpochRow(
            epoch=epoch.init.hex(),
            creator=epoch.creator.hex(),
            previous=_hex(epoch.previous),
            members=_member_rows(timeline, view, epoch),
            missing=_hex(sorted(missing.get(epoch.init, NOBODY))),
            tip=epoch.init in tips,
            inside=me in epoch.members,
            committed_us=came_us(timeline.group.said(epoch.init)),
        )
        for epoch in view.epochs.values()
    ]


def _member_rows(timeline: Timeline, view: EpochGraph, epoch: Epoch) -> list[GroupMemberRow]:
    """Members; *excluded_by* is empty for whom somebody took on again."""
    added = timeline.added(epoch.init)
    exclusions = [one for one in view.exclusions.values() if one.epoch == epoch.init]
    return [
        GroupMemberRow(
            feed=person.hex(),
            added_by=_hex(added.get(person, ())),
            excluded_by=_hex(sorted({one.by for one in exclusions if person in one.people & epoch.excluded})),
        )
        for person in sorted(epoch.members)
    ]


def fork_rows(view: EpochGraph, held: Collection[MessageId]) -> list[GroupForkRow]:
    """Pairs of epochs that nothing joins yet, without those *held*; none if they are so many that somebody makes them
    for mischief."""
    if len(view.tips_among(view.epochs)) > group_limits.TIPS_MAX:
        return []
    return [
        GroupForkRow(
            epochs=_hex(fork.epochs),
            relation=fork.relation.value,
            winner=fork.winner.hex(),
            witnesses=_hex(sorted(fork.witnesses)),
        )
        for fork in view.forks()
        if not set(held) & set(fork.epochs)
    ]


def review_rows(view: EpochGraph, reviews: Iterable[GroupReview]) -> list[GroupReviewRow]:
    """The forks that wait for the user, with the evidence."""
    rows = []
    for each in reviews:
        fork = each.fork
        named = NOBODY.union(*(view.exclusions[one].people for one in fork.written if one in view.exclusions))
        rows.append(
            GroupReviewRow(
                fork=fork.tip.hex(),
                by=_hex(sorted(fork.by)),
                excluded_by=_hex(sorted({view.exclusions[one].by for one in fork.against})),
                excludes=_hex(sorted(named)),
                out=_hex(sorted(fork.out)),
                reasons=[reason.value for reason in fork.reasons],
                late_us=fork.late_us,
                messages=fork.depth,
                rejected=each.rejected,
            )
        )
    return rows


def invitation_row(groups: GroupManager, root: MessageId) -> GroupInvitationRow | None:
    """Return who invites the user to a group; None if they decided, or need not."""
    if groups.consents.of(root) is not GroupConsent.INVITED:
        return None
    found = groups.consents.invitation(root)
    return GroupInvitationRow(
        group=root.hex(),
        name=name_of_group(groups.reader.groups[root]),
        creator=found.creator.hex(),
        added_by=[person.hex() for person in found.adders],
        strangers=sorted(person.hex() for person in found.strangers),
    )


def name_of_group(readable: ReadableGroup) -> str | None:
    """Return a group's name; none if this program fails on the group, so that others can be found."""
    try:
        return readable.name
    except Exception:  # noqa: BLE001 - an error in one group concerns that group only
        return None


def step_row(step: Step) -> GroupStepRow:
    """A message that is going to be written."""
    match step:
        case ExcludeStep():
            return GroupStepRow(step="exclude", epoch=step.epoch.hex(), people=_hex(step.people))
        case BeginEpochStep():
            return GroupStepRow(step="begin", epoch=None, people=[])
        case AddStep():
            epoch = None if step.epoch is None else step.epoch.hex()
            return GroupStepRow(step="add", epoch=epoch, people=_hex(step.people))


def _hex(ids: Iterable[bytes]) -> list[str]:
    return [one.hex() for one in ids]
