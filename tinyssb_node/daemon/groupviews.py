"""A private group as rows of the control protocol: who is in it, how its epochs hang together, what was said."""

from collections.abc import Callable, Collection, Iterable
from typing import Final, TypedDict

import msgspec

from tinyssb_node.content.limits import CLAIM_MIN_US
from tinyssb_node.content.time_order import Position, doubtful, order_key
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
from tinyssb_node.daemon.group_timeline import Timeline, listed_early
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.epochs import NOBODY, Epoch, EpochGraph, People
from tinyssb_node.groups.manager import GroupManager, GroupReview
from tinyssb_node.groups.membership import AuditLine
from tinyssb_node.groups.messages import (
    ADD,
    EXCLUDE,
    INIT,
    AddMember,
    ExcludeMember,
    FeedRole,
    GroupContent,
    GroupInit,
    GroupMessage,
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
from tinyssb_node.groups.waits import GroupConsent
from tinyssb_node.ids import FeedId, MessageId

ARRIVING: Final = "arriving"
"""State of a group whose history is not here."""
CameUs = Callable[[OpenedGroupMessage], int | None]
"""Wall clock when a message came; None: not known."""


def said_row(timeline: Timeline, said: OpenedGroupMessage, me: FeedId, came_us: CameUs) -> GroupSaidRow:
    """A message that counts, with a position or waiting for one; an addition names the people who were not in the
    group before."""
    opened = timeline.opened(said)
    row = _row(said, opened, timeline.epoch(said), me, came_us)
    waits = said.id not in timeline.group.tangle
    previous = said.message.group_tangle.previous if waits else timeline.previous(said)
    people = _hex(timeline.joined(said)) if isinstance(said.message, AddMember) else row.people
    row = msgspec.structs.replace(row, previous=_hex(previous), people=people)
    epoch = timeline.epoch(said)
    others = _others(timeline, me) if row.own else NOBODY
    return GroupSaidRow(
        **msgspec.structs.asdict(row),
        **_position(said, opened, None if waits else (timeline.time(said), said.id)),
        group=timeline.group.root.hex(),
        place=None if waits else timeline.arrival(said),
        missing=tuple(_hex(timeline.missing(said))) if waits else (),
        reply_to=_reply(timeline, opened),
        file=_file_head(opened),
        holders=tuple(one.hex() for one in timeline.holders(said, others)),
        expected=len(others),
        held=said.id in timeline.group.set_aside,
        unread=row.own and epoch is not None and unread(timeline.group.view, epoch, said),
    )


def early_row(
    root: MessageId, said: OpenedGroupMessage, position: Position, me: FeedId, came_us: CameUs
) -> GroupSaidRow:
    """A message of a group whose history is not here. Its predecessors are left out: they are unknown."""
    row = msgspec.structs.replace(_row(said, said.message, None, me, came_us), previous=[])
    return GroupSaidRow(
        **msgspec.structs.asdict(row),
        **_position(said, said.message, position),
        group=root.hex(),
        place=said.arrival,
        file=_file_head(said.message),
        early=True,
    )


class _PositionFields(TypedDict):
    """The fields of a row about its times and its position."""

    said_us: int | None
    order: str
    order_us: int | None
    doubtful: bool


def _position(said: OpenedGroupMessage, message: GroupMessage, position: Position | None) -> _PositionFields:
    said_us = said_us_of(message) if isinstance(message, GroupContent) else None
    if position is None:
        return _PositionFields(said_us=said_us, order="", order_us=None, doubtful=False)
    order_us, _ = position
    return _PositionFields(
        said_us=said_us,
        order=order_key(order_us, said.id),
        order_us=order_us if order_us >= CLAIM_MIN_US else None,
        doubtful=doubtful(said_us, order_us),
    )


def early_group_row(groups: GroupManager, root: MessageId, me: FeedId, came_us: CameUs) -> GroupRow:
    """A group whose history is not here."""
    group = groups.early.group(root)
    return GroupRow(
        group=root.hex(),
        group_id="",
        name=None,
        state=ARRIVING,
        members=_hex(sorted(group.people)),
        epochs=0,
        posts=len(group.posts),
        last=early_last(groups, root, me, came_us),
        arriving=_arriving_row(groups, root),
    )


def early_last(groups: GroupManager, root: MessageId, me: FeedId, came_us: CameUs) -> GroupSaidRow | None:
    """The message of a group whose history is not here that arrived last."""
    posts = {said.id: said for said in groups.early.group(root).posts}
    found = listed_early(posts.values()).arrived(None, 1)
    return next((early_row(root, posts[MessageId(one[1])], one, me, came_us) for one in found), None)


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
