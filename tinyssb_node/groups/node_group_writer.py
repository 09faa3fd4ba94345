"""What a node lends to its private groups while they write."""

from collections.abc import Sequence
from typing import Protocol

from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.effects import Effect
from tinyssb_node.events import EntryAppended
from tinyssb_node.ids import FeedId
from tinyssb_node.replication.replica import Replica


class GroupWriterNode(Protocol):
    """The node, as far as a pen needs it."""

    def append_to_feed(
        self, key: SigningKey, content: bytes, now_us: int, type_: int | None = None
    ) -> tuple[EntryAppended, list[Effect]]:
        """See ``Node``."""
        ...

    def follow(self, feed: FeedId, now_us: int) -> Sequence[Effect]:
        """See ``Node``."""
        ...

    def unfollow(self, feed: FeedId, now_us: int) -> Sequence[Effect]:
        """See ``Node``."""
        ...


class NodeGroupWriter:
    """A ``groupwriter.Pen``."""

    def __init__(self, node: GroupWriterNode, replica: Replica, key: SigningKey, now_us: int) -> None:
        self.main = key
        self._node = node
        self._replica = replica
        self._now_us = now_us
        self.effects: list[Effect] = []
        """What is to be done for what was written so far."""

    def write(self, key: SigningKey, content: bytes, type_: int | None = None) -> EntryAppended:
        """See ``Pen``."""
        appended, effects = self._node.append_to_feed(key, content, self._now_us, type_)
        self.effects += effects
        return appended

    def want(self, feed: FeedId, *, wanted: bool) -> bool:
        """See ``Pen``."""
        if self._replica.is_closed(feed):
            return True  # All of it is here. To follow it would bring it back into everybody's set.
        known = feed in self._replica.goset
        if known and self._replica.record(feed).wanted == wanted:
            return True
        if wanted and not known and self._replica.goset.full:
            return False
        if wanted:
            self.effects += self._node.follow(feed, self._now_us)
        elif known:
            self.effects += self._node.unfollow(feed, self._now_us)
        return True
