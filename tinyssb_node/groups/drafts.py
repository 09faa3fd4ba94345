"""Messages of a member, in their places: what each follows in its tangles (exclusion document, 4.10)."""

from collections.abc import Iterable, Mapping
from typing import Final

from tinyssb_node.content.tangle import FIRST, Tangle, TangleData
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.membership import Group
from tinyssb_node.groups.messages import (
    AddMember,
    ExcludedMember,
    ExcludeMember,
    GroupContent,
    GroupInit,
    OpenedGroupMessage,
)
from tinyssb_node.ids import EpochKey, FeedId, MessageId

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
