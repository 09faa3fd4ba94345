"""Where a node keeps its groups: nowhere, until there are any.

Most nodes are in no private group, and what groups need is a good part of a program that is to be small. So it is
loaded when somebody's feed of additions is seen, or our user asks for groups; at a start if either was so before.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tinyssb_node.codec.events import EntryAppended, Event
from tinyssb_node.feeds.children import EntryType
from tinyssb_node.groups.waits import META, NOTHING
from tinyssb_node.replication.replica import Replica
from tinyssb_node.store.port import Store

if TYPE_CHECKING:
    from tinyssb_node.groups.manager import GroupManager
    from tinyssb_node.groups.writer import GroupWriterPort

MakeGroups = Callable[[Replica, Store], "GroupManager"]
"""Makes what takes part in private groups, for one identity."""


def groups_of(seed: bytes, draw: Callable[[int], bytes]) -> MakeGroups:
    """For the identity with *seed*; *draw* makes that many random bytes that nobody can guess."""

    def make(replica: Replica, store: Store) -> "GroupManager":
        from tinyssb_node.groups.keys import GroupKeys  # noqa: PLC0415 - most nodes do without
        from tinyssb_node.groups.manager import GroupManager  # noqa: PLC0415 - most nodes do without

        return GroupManager(GroupKeys(seed, draw), replica, store)

    return make


class GroupHost:
    """The groups of a node, once there are any."""

    def __init__(self, make: MakeGroups | None, replica: Replica, store: Store) -> None:
        """*make* makes them; None: this node takes part in none."""
        self._make = make
        self._replica = replica
        self._store = store
        self._grouping: GroupManager | None = None
        if store.get_meta(META) is not None:
            self.open()

    def open(self) -> "GroupManager | None":
        """The groups, made if need be; None if this node takes part in none."""
        if self._grouping is None and self._make is not None:
            self._grouping = self._make(self._replica, self._store)
        return self._grouping

    def appended(self, events: Sequence[Event], now_us: int) -> None:
        """The store got something."""
        if self._grouping is not None:
            if events:
                self._grouping.appended(now_us)
        elif self._make is not None and any(
            isinstance(event, EntryAppended) and event.type == EntryType.CHILD_MADE for event in events
        ):
            self._store.put_meta(META, NOTHING)
            self.open()

    @property
    def next_us(self) -> int | None:
        """When ``wake`` is due; None: nothing is to be done."""
        return None if self._grouping is None else self._grouping.next_us

    def due(self, now_us: int) -> bool:
        """True if ``wake`` has something to do."""
        return (next_us := self.next_us) is not None and now_us >= next_us

    def wake(self, writer: "GroupWriterPort", now_us: int) -> int:
        """Let them do what is due. Returns how often an error stopped the work for one."""
        assert self._grouping is not None
        before = self._grouping.stopped
        self._grouping.wake(writer, now_us)
        return self._grouping.stopped - before
