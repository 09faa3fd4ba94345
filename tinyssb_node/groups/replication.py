"""Where a member writes, and which feeds of a group he fetches and serves (exclusion document, 4.8)."""

from collections.abc import Mapping
from dataclasses import dataclass

from tinyssb_node.groups.epochs import EpochGraph, People
from tinyssb_node.groups.membership import Group
from tinyssb_node.ids import FeedId, MessageId


@dataclass(frozen=True, slots=True, order=True)
class EpochFeed:
    """A member's feed in one epoch."""

    epoch: MessageId
    member: FeedId


@dataclass(frozen=True, slots=True)
class GroupReplication:
    """What to do with the feeds of a group."""

    fetch: frozenset[EpochFeed]
    """To be kept up to date."""
    cease: Mapping[EpochFeed, int | None]
    """No more to be fetched beyond this number of an entry (v1.0); None: beyond what is here."""
    serve: frozenset[EpochFeed]
    """To be handed on to whoever asks: all of them (R26)."""
    additions: People
    """Whose additions feeds to fetch."""
    single: frozenset[MessageId]
    """Messages that others follow and that are not here. They may be fetched wherever they are (R28)."""


def writing_epoch(view: EpochGraph, me: FeedId) -> MessageId | None:
    """The one epoch that *me* writes in (R24); None if he is in none, or was excluded from it."""
    preference = view.preference(me)
    return None if preference.excluded else preference.epoch


def replication(group: Group, me: FeedId) -> GroupReplication:
    """What *me* fetches and serves (4.8.2): of epochs that he does not prefer, no news of those excluded from them.

    Unless something is missing that others knew when they changed the group. It may be on such a feed (R28); and what
    one takes somebody's fork for must not depend on whether one heard of his exclusion before or after he made it.
    """
    view = group.view
    lacking = group.lacking
    preferred = view.preference(me).epoch
    fetch, cease, serve = set(), {}, set()
    additions: set[FeedId] = set()
    for init in view.of(me):
        epoch = view[init]
        for member in epoch.members | {epoch.creator}:
            feed = EpochFeed(init, member)
            serve.add(feed)
            if lacking or init == preferred or member not in epoch.excluded:
                fetch.add(feed)
            else:
                cease[feed] = _until(view, init, member)
        additions |= epoch.members - epoch.excluded | {epoch.creator}
    return GroupReplication(
        frozenset(fetch), cease, frozenset(serve), frozenset(additions), frozenset(group.tangle.missing)
    )


def _until(view: EpochGraph, epoch: MessageId, member: FeedId) -> int | None:
    """The last entry of an excluded member's feed that any excluder had, if they say so (v1.0)."""
    said = [
        one.until[member] for one in view.exclusions.values() if one.epoch == epoch and member in one.until
    ]
    known = [seq for seq in said if seq is not None]
    return max(known) if known and len(known) == len(said) else None
