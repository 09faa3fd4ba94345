"""The epoch that a member writes in, and the feeds of a group that they fetch and serve (exclusion document, 4.8)."""

from collections.abc import Mapping
from dataclasses import dataclass

from tinyssb_node.groups.epochs import EpochGraph, People
from tinyssb_node.groups.membership import Group
from tinyssb_node.groups.messages import OpenedGroupMessage
from tinyssb_node.ids import FeedId, MessageId


@dataclass(frozen=True, slots=True, order=True)
class EpochFeed:
    """A member's feed in one epoch."""

    epoch: MessageId
    member: FeedId


@dataclass(frozen=True, slots=True)
class GroupReplication:
    """The feeds of a group to fetch. All of them, ceased ones too, are served to any peer that requests them (R26), and
    missing messages that others follow may be fetched wherever they are (R28)."""

    fetch: frozenset[EpochFeed]
    """To be kept up to date."""
    cease: Mapping[EpochFeed, int | None]
    """Not to be fetched beyond this sequence number (v1.0); None: beyond the stored entries."""
    additions: People
    """People whose additions feeds are fetched."""


def writing_epoch(view: EpochGraph, me: FeedId) -> MessageId | None:
    """Return the one epoch that *me* writes in (R24); None if they are in none, or were excluded from it."""
    preference = view.preference(me)
    return None if preference.excluded else preference.epoch


def replication(group: Group, me: FeedId) -> GroupReplication:
    """Return the feeds that *me* fetches and serves (4.8.2): of epochs that they do not prefer, nothing new of people
    excluded from them.

    This does not apply while a message is missing that others knew when they changed the group. It may be on such a
    feed (R28); and how a fork is judged must not depend on whether its author's exclusion arrived before or after it.
    """
    view = group.view
    lacking = group.lacking
    preferred = view.preference(me).epoch
    fetch, cease = set(), {}
    additions: set[FeedId] = set()
    for init in view.of(me):
        epoch = view[init]
        for member in epoch.members | {epoch.creator}:
            feed = EpochFeed(init, member)
            if lacking or init == preferred or member not in epoch.excluded:
                fetch.add(feed)
            else:
                cease[feed] = _until(view, init, member)
        additions |= epoch.members - epoch.excluded | {epoch.creator}
    return GroupReplication(frozenset(fetch), cease, frozenset(additions))


def unread(view: EpochGraph, epoch: MessageId, said: OpenedGroupMessage) -> bool:
    """Return whether others do not fetch a message: all who excluded its author had only entries before it."""
    if epoch not in view.epochs or said.author not in view[epoch].excluded:
        return False
    until = _until(view, epoch, said.author)
    return until is not None and said.seq > until


def _until(view: EpochGraph, epoch: MessageId, member: FeedId) -> int | None:
    """Return the last entry of an excluded member's feed that any excluder had, if all give one (v1.0)."""
    said = [
        one.until[member] for one in view.exclusions.values() if one.epoch == epoch and member in one.until
    ]
    known = [seq for seq in said if seq is not None]
    return max(known) if known and len(known) == len(said) else None
