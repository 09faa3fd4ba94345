"""The askers for a feed: our user, a group of theirs, or an invitation to a group that they did not accept."""

from dataclasses import replace
from enum import Enum, auto

from tinyssb_node.store.port import FeedRecord


class FeedAsker(Enum):
    """An asker for a feed."""

    USER = auto()
    GROUP = auto()
    """A group that the user takes part in. Feeds that members name as theirs are not people whom the user follows."""
    GROUP_ALONE = auto()
    """The same for a feed that only a member can have written, for its group: no user asks for such a feed. Earlier
    versions noted that the user did."""
    INVITATION = auto()
    """An invitation to a group: its feeds are requested, but have the room of strangers' feeds on the disk, and are not
    acknowledged."""


def asked(record: FeedRecord, asker: FeedAsker | None) -> FeedRecord:
    """Return *record* after *asker* asked for the feed as well; None: only a peer named it."""
    match asker:
        case FeedAsker.USER:
            return replace(record, followed=True, for_group=False)
        case FeedAsker.GROUP:
            return replace(record, followed=True, for_group=record.for_group or not record.followed)
        case FeedAsker.GROUP_ALONE:
            return replace(record, followed=True, for_group=True)
        case FeedAsker.INVITATION:
            return replace(record, for_group=record.for_group or not record.followed)
        case None:
            return record
