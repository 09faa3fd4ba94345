"""Events of a group reader: the consequences of an entry."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from tinyssb_node.groups.messages import FeedRole, GroupContent, OpenedGroupMessage
from tinyssb_node.ids import EpochKey, FeedId, MessageId


@dataclass(frozen=True, slots=True)
class FeedAssignment:
    """The owner and role of a feed."""

    member: FeedId
    """Main feed of the owner."""
    role: FeedRole
    key: EpochKey | None = field(default=None, repr=False)
    """Key of the epoch; None for additions."""


@dataclass(frozen=True, slots=True)
class FeedClaimed:
    """A member claims a feed. The claim is confirmed by the feed's first entry."""

    feed: FeedId
    assignment: FeedAssignment
    root: MessageId | None
    """First message of the group; None: of no group that we know, or of all."""
    changes = True
    """True if the feeds or the members of the group may have changed."""


@dataclass(frozen=True, slots=True)
class GroupJoined:
    """A group that can be read from now on."""

    root: MessageId
    changes = True


@dataclass(frozen=True, slots=True)
class GroupMessageRead:
    """A message of a group that was read."""

    root: MessageId
    said: OpenedGroupMessage

    @property
    def changes(self) -> bool:
        """True if the feeds or the members of the group may have changed."""
        return not isinstance(self.said.message, GroupContent)


ReaderEvent: TypeAlias = FeedClaimed | GroupJoined | GroupMessageRead


class GroupEntryFault(StrEnum):
    """The fault of an entry that should have been one of a group's."""

    CHILD = "child"
    """A first entry names a parent that does not name it as its feed of additions."""
    OWNER = "owner"
    """A member announces another member's feed as their own."""
    SEAL = "seal"
    """In a feed of an epoch, and not sealed with the epoch's key."""
    BODY = "body"
    """Sealed for us, and changed or cut off."""
    FORM = "form"
    """Sealed for us, and not a message."""
    FULL = "full"
    """Evicted, because more had to be kept in memory than is allowed. It is read again after a restart."""


@dataclass(frozen=True, slots=True)
class InvalidGroupEntry:
    """An entry that opened for us and is malformed."""

    id: MessageId
    feed: FeedId
    seq: int
    author: FeedId
    fault: GroupEntryFault
    what: str
    """Description for the audit."""
