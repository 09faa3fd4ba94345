"""A group that can be read, as a book holds it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.content import NAME, name_of
from tinyssb_node.groups.epochs import NOBODY
from tinyssb_node.groups.membership import Group
from tinyssb_node.groups.messages import GroupContent, OpenedGroupMessage
from tinyssb_node.groups.reader_events import InvalidGroupEntry
from tinyssb_node.ids import FeedId, GroupId, MessageId


@dataclass(slots=True)
class ReadableGroup:
    """A group."""

    group: Group
    creator: FeedId
    """Who made it."""
    broken: dict[MessageId, InvalidGroupEntry] = field(default_factory=dict)
    """Entries that opened and say nothing, up to `limits.BROKEN_MAX`."""
    _names: dict[MessageId, str] = field(default_factory=dict)
    """By message: names that people gave the group."""

    @property
    def root(self) -> MessageId:
        """Its first message."""
        return self.group.root

    @property
    def id(self) -> GroupId:
        """Its id, by which nobody speaks of it on the air."""
        return self.group.group

    @property
    def name(self) -> str | None:
        """The last name in the group's order that somebody gave it who was in the epoch then."""
        names = {id_: name for id_, name in self._names.items() if self._counts(self.group.said(id_))}
        if len(names) > 1:
            placed = [id_ for id_ in self.group.tangle.order() if id_ in names]
            return names[placed[-1] if placed else min(names)]
        return next(iter(names.values()), None)

    def _counts(self, said: OpenedGroupMessage) -> bool:
        inside = NOBODY.union(
            *(
                epoch.members | {epoch.creator}
                for epoch in self.group.view.epochs.values()
                if epoch.key == said.key
            )
        )
        return said.author in inside

    def add(self, said: OpenedGroupMessage) -> None:
        """Take a message."""
        self.group.add(said)
        if isinstance(said.message, GroupContent) and said.message.kind == NAME:
            name = name_of(said.message)
            if name:
                self._names[said.id] = name

    def spoil(self, broken: InvalidGroupEntry) -> bool:
        """Take note of an entry that says nothing. False: there are too many."""
        if len(self.broken) >= group_limits.BROKEN_MAX and broken.id not in self.broken:
            return False
        self.broken[broken.id] = broken
        return True


Groups = Mapping[MessageId, ReadableGroup]
