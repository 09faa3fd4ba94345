"""What a book finds out when an entry comes."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from tinyssb_node.groups.messages import FeedRole, GroupContent, OpenedGroupMessage
from tinyssb_node.ids import EpochKey, FeedId, MessageId


@dataclass(frozen=True, slots=True)
class FeedAssignment:
    """Whose a feed is, and what for."""

    member: FeedId
    """His main feed."""
    role: FeedRole
    key: EpochKey | None = field(default=None, repr=False)
    """Of the epoch; None for additions."""


@dataclass(frozen=True, slots=True)
class FeedClaimed:
    """Somebody says that a feed is his. Whether the feed says so too is known once its first entry is here."""

    feed: FeedId
    place: FeedAssignment
    root: MessageId | None
    """Of the group; None: of no group that we know, or of all."""
    changes = True
    """Whether the feeds or the members of the group may be others now."""


@dataclass(frozen=True, slots=True)
class GroupJoined:
    """A group can be read from now on."""

    root: MessageId
    changes = True


@dataclass(frozen=True, slots=True)
class GroupMessageRead:
    """A message of a group."""

    root: MessageId
    said: OpenedGroupMessage

    @property
    def changes(self) -> bool:
        """Whether the feeds or the members of the group may be others now."""
        return not isinstance(self.said.message, GroupContent)


ReaderEvent: TypeAlias = FeedClaimed | GroupJoined | GroupMessageRead


class GroupEntryFault(StrEnum):
    """What is wrong with an entry that should have been one of a group's."""

    CHILD = "child"
    """A first entry names a parent that does not name it as its feed of additions."""
    OWNER = "owner"
    """Somebody announces as his what is another's."""
    SEAL = "seal"
    """In a feed of an epoch, and not sealed with the epoch's key."""
    BODY = "body"
    """Sealed for us, and changed or cut off."""
    FORM = "form"
    """Sealed for us, and no message."""
    FULL = "full"
    """Forgotten, since there was too much to be kept in mind. A restart looks at it again."""


@dataclass(frozen=True, slots=True)
class InvalidGroupEntry:
    """An entry that opened for us, and says nothing that anybody could mean."""

    id: MessageId
    feed: FeedId
    seq: int
    author: FeedId
    fault: GroupEntryFault
    what: str
    """In words, for the audit."""
