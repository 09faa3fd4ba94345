"""Retirement: when closed feeds may leave the set (decision 0036).

A feed is closed when it has ended and all of it is here. It leaves once others are known to lack nothing of it, after a
quiet time; and at once when a neighbour shows that it has left there, for sets must be the same. A peer that still
needs it names it, and it comes back; each time it does, the next attempt is twice as far off.
"""

from collections.abc import Iterable, Sequence

from tinyssb_node.codec.events import ChunkAppended, EntryAppended, Event
from tinyssb_node.ids import FeedId
from tinyssb_node.replication import limits
from tinyssb_node.replication.replica import Replica
from tinyssb_node.replication.want import WantReading
from tinyssb_node.scheduling.trickle import RandomSource


class FeedRetirement:
    """The closed feeds of a set, and what neighbours want of them."""

    def __init__(self, replica: Replica, entropy: RandomSource) -> None:
        self._replica = replica
        self._entropy = entropy
        self._since_us: dict[FeedId, int] = {}
        """Closed feeds of the set, and since when they are closed here, or back."""
        self._due_us: dict[FeedId, int] = {}
        """When each is to leave if nobody needs it."""
        self._asked_us: dict[FeedId, int] = {}
        """When somebody wanted something of one last."""
        self._had: set[FeedId] = set()
        """Those of which somebody else wanted nothing, since they are closed here."""
        self._returns: dict[FeedId, int] = {}
        """How often each came back."""
        self._begun = False
        self.next_us: int | None = None
        """When ``take_due`` is due; None: there is no closed feed in the set."""

    # --- what happens

    def begin(self, now_us: int) -> None:
        """A face is up. Quiet times are counted from the first one."""
        if not self._begun:
            self._begun = True
            for feed in sorted(self._replica.closed):
                self._look(feed, now_us)

    def appended(self, events: Iterable[Event], now_us: int) -> None:
        """Entries or chunks were appended, ours or others': a feed may be closed by them."""
        for event in events:
            if isinstance(event, EntryAppended | ChunkAppended):
                self._look(event.feed, now_us)

    def returned(self, feed: FeedId, now_us: int) -> None:
        """*feed* is in the set, new or again."""
        if self._replica.is_closed(feed):
            # It never comes back but from where it left to: so this is a return.
            self._returns[feed] = self._returns.get(feed, 0) + 1
            self._look(feed, now_us)

    def left(self, feed: FeedId) -> None:
        """*feed* has left the set."""
        self._since_us.pop(feed, None)
        self._due_us.pop(feed, None)
        self._asked_us.pop(feed, None)
        self._had.discard(feed)

    def _look(self, feed: FeedId, now_us: int) -> None:
        replica = self._replica
        if feed in self._since_us or not replica.is_closed(feed) or feed in replica.retired:
            return
        if replica.record(feed).own:
            return  # It names us, and what becomes of us is told by nothing else.
        doublings = min(self._returns.get(feed, 0), limits.LEAVE_DOUBLINGS_MAX)
        wait_us = min(limits.LEAVE_US << doublings, limits.LEAVE_MAX_US)
        self._since_us[feed] = now_us
        self._due_us[feed] = now_us + int(wait_us * (1.0 + 0.5 * self._entropy.random()))
        self._plan(now_us)

    def heard_want(self, reading: WantReading, now_us: int) -> None:
        """A peer requested entries."""
        if not self._since_us:
            return
        for feed, _ in reading.wanted:
            self._asked(feed, now_us)
        self._had.update(feed for feed in reading.unwanted if feed in self._since_us)

    def heard_equal(self) -> None:
        """A peer holds all that we hold."""
        self._had.update(self._since_us)

    def heard_chnk(self, asked: Iterable[tuple[FeedId, int]], now_us: int) -> None:
        """A peer requested chunks of side chains, each a feed and a sequence number."""
        for feed, _ in asked:
            self._asked(feed, now_us)

    def _asked(self, feed: FeedId, now_us: int) -> None:
        if feed in self._since_us:
            self._asked_us[feed] = now_us

    # --- what may leave

    @property
    def closed(self) -> Sequence[FeedId]:
        """The closed feeds of the set that may leave some time."""
        return tuple(self._since_us)

    def may_leave(self, feed: FeedId, now_us: int) -> bool:
        """Return True if *feed* may leave as it has left elsewhere."""
        since_us = self._since_us.get(feed)
        if since_us is None or now_us - since_us < limits.LEAVE_FOLLOW_US or feed not in self._had:
            return False
        asked_us = self._asked_us.get(feed)
        if asked_us is not None and now_us - asked_us < limits.LEAVE_ASKED_US:
            return False
        return not self._replica.read_only and self._replica.record(feed).forked_at is None

    def take_due(self, now_us: int) -> list[FeedId]:
        """Return the feeds to retire now: once one is due, all that may leave."""
        if self.next_us is None or now_us < self.next_us:
            return []
        may = [feed for feed in self._since_us if self.may_leave(feed, now_us)]
        due = any(self._due_us[feed] <= now_us for feed in may)
        # Feeds that are due and may not leave yet are checked again later.
        self.next_us = None
        self._plan(now_us + limits.LEAVE_CHECK_US)
        return may if due else []

    def _plan(self, from_us: int) -> None:
        if self._due_us:
            due_us = max(from_us, min(self._due_us.values()))
            self.next_us = due_us if self.next_us is None else min(self.next_us, due_us)
