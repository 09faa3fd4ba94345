"""Additions that no key opens yet."""

from collections.abc import Iterator
from dataclasses import dataclass

from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.bfe import EnvelopeContext
from tinyssb_node.groups.envelope import SlotKey, opens_first
from tinyssb_node.ids import FeedId


@dataclass(frozen=True, slots=True)
class _Addition:
    context: EnvelopeContext
    head: bytes


class UnopenedAdditions:
    """What is kept of them, by feed: who writes many that are not for us pushes out nobody else's."""

    def __init__(self) -> None:
        self._feeds: dict[FeedId, dict[int, _Addition]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def put(self, feed: FeedId, seq: int, context: EnvelopeContext, content: bytes) -> bool:
        """Keep one. False: there were too many, and the feed with the most lost its first one."""
        held = self._feeds.setdefault(feed, {})
        self._count += seq not in held
        held[seq] = _Addition(context, content[: group_limits.ENVELOPE_HEAD_SIZE])
        if self._count <= group_limits.UNREAD_MAX:
            return True
        most = max(self._feeds, key=lambda one: len(self._feeds[one]))
        self._forget(most, min(self._feeds[most]))
        return False

    def opened_by(self, slot: SlotKey) -> Iterator[tuple[FeedId, int] | None]:
        """Try a key on each that is here now: what it opens, which is forgotten; None for what it does not."""
        for feed, held in list(self._feeds.items()):
            for seq, one in list(held.items()):
                opens = opens_first(one.head, one.context, slot)
                if opens:
                    self._forget(feed, seq)
                yield (feed, seq) if opens else None

    def _forget(self, feed: FeedId, seq: int) -> None:
        held = self._feeds.get(feed, {})
        if held.pop(seq, None) is not None:
            self._count -= 1
            if not held:
                del self._feeds[feed]
