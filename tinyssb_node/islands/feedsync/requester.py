"""Requesting side of the feed sync: which feeds we want of the peer, and what it knows that we have."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from tinyssb_node import limits as field_limits
from tinyssb_node.ids import FeedId
from tinyssb_node.islands.feedsync import limits
from tinyssb_node.islands.feedsync.packets import (
    FeedSyncGive,
    FeedSyncMore,
    FeedSyncPacketError,
    FeedSyncShow,
    FeedSyncShown,
    FeedSyncWant,
    Packet,
    PacketRun,
    WantedFeed,
    WantedRange,
)
from tinyssb_node.islands.feedsync.port import FeedSource


@dataclass(slots=True)
class _Parting:
    """Binary search for the entry at which two branches part: it is after *same*, and not after *other*."""

    same: int
    other: int
    packet: bytes | None = None
    """Their entry at *other*, once it was shown."""


@dataclass(slots=True)
class _Wanted:
    """A feed that we want."""

    number: int
    feed: FeedId
    seq: int = 0
    """The entry that we want next, as far as the peer knows; 0: none."""
    chains: frozenset[int] = field(default_factory=frozenset)
    """Side chains in the last request."""
    left_out: bool = False
    """There were more side chains than fit in a request."""
    parting: _Parting | None = None


class FeedRequester:
    """Requests to one peer."""

    def __init__(self, holding: FeedSource, outbox: deque[Packet], short: Callable[[FeedId], bytes]) -> None:
        """Request what *holding* lacks, and put urgent packets into *outbox*. *short* returns the name of a feed over
        this connection."""
        self._holding = holding
        self._short = short
        self._outbox: Final = outbox
        self._waiting: dict[FeedId, None] = {}
        """Feeds that are not named yet."""
        self._due: dict[int, None] = {}
        """Numbers of feeds whose state is to be reported to the peer."""
        self._wanted: list[_Wanted] = []
        self._of_feed: dict[FeedId, _Wanted] = {}
        self._repeats = 0

    # --- our requests

    def want(self, feed: FeedId) -> bool:
        """Request *feed* from now on. Return False if too many are wanted."""
        if (wanted := self._of_feed.get(feed)) is not None:
            if not wanted.seq and wanted.parting is None:
                self._due[wanted.number] = None
            return True
        if len(self._wanted) + len(self._waiting) >= limits.FEEDS_MAX:
            return False
        self._waiting[feed] = None
        return True

    def leave(self, feed: FeedId) -> None:
        """Stop requesting *feed*."""
        self._waiting.pop(feed, None)
        wanted = self._of_feed.get(feed)
        if wanted is not None and wanted.seq:
            self._due.pop(wanted.number, None)
            wanted.seq = 0
            self._outbox.append(FeedSyncMore(wanted.number, WantedRange(0)))

    def changed(self, feed: FeedId) -> None:
        """Note that *feed* has grown here, or turned out to be forked."""
        wanted = self._of_feed.get(feed)
        if wanted is None or not wanted.seq:
            return
        state = self._holding.state(feed)
        if state is None:
            return
        if state.fork is not None:
            self.leave(feed)
        elif state.seq >= wanted.seq or (wanted.left_out and wanted.chains.isdisjoint(dict(state.chains))):
            self._due[wanted.number] = None

    def next_packet(self) -> FeedSyncWant | FeedSyncMore | None:
        """Return the next names, or an update of a named feed; None if there is neither."""
        names: list[WantedFeed] = []
        while self._waiting and len(names) < limits.NAMES_MAX:
            feed = next(iter(self._waiting))
            del self._waiting[feed]
            wanted = _Wanted(len(self._wanted), feed)
            lacking = self._lacking(wanted)
            if lacking.seq:
                self._wanted.append(wanted)
                self._of_feed[feed] = wanted
                names.append(WantedFeed(self._short(feed), lacking))
        if names:
            return FeedSyncWant(tuple(names))
        while self._due:
            number = next(iter(self._due))
            del self._due[number]
            lacking = self._lacking(self._wanted[number])
            if lacking.seq:
                return FeedSyncMore(number, lacking)
        return None

    def _lacking(self, wanted: _Wanted) -> WantedRange:
        """Return what we lack of a feed now, and count it as reported."""
        state = self._holding.state(wanted.feed)
        if state is None or not state.seq:
            wanted.seq = 1
            return WantedRange(1)
        if state.fork is not None or state.seq >= field_limits.SEQ_MAX:
            return WantedRange(0)
        assert state.tip is not None
        chains = tuple(state.chains[: limits.CHAINS_MAX])
        wanted.seq = state.seq + 1
        wanted.chains = frozenset(seq for seq, _ in chains)
        wanted.left_out = len(chains) < len(state.chains)
        return WantedRange(wanted.seq, state.tip[: limits.CHECK_SIZE], chains)

    # --- packets of the peer

    def on_give(self, give: FeedSyncGive) -> tuple[FeedId, list[PacketRun]] | None:
        """Return the packets received; None if the feed is not wanted any more. Raises FeedSyncPacketError."""
        wanted = self._numbered(give.number)
        if not wanted.seq:
            return None
        for run in give.runs:
            if run.chunk is not None:
                if run.seq >= wanted.seq:
                    raise FeedSyncPacketError("it sends chunks of an entry that it did not send")
                continue
            if run.seq > wanted.seq:
                raise FeedSyncPacketError("it leaves entries out")
            end = run.seq + len(run.packets)
            self._repeats += min(end, wanted.seq) - run.seq
            wanted.seq = max(wanted.seq, end)
        if self._repeats > limits.REPEATS_MAX:
            raise FeedSyncPacketError("it sends the same again and again")
        return wanted.feed, list(give.runs)

    def on_differs(self, number: int) -> None:
        """Start the search for the fork. Raises FeedSyncPacketError."""
        wanted = self._numbered(number)
        if wanted.seq > 1 and wanted.parting is None:
            state = self._holding.state(wanted.feed)
            assert state is not None
            wanted.parting = _Parting(0, min(wanted.seq - 1, state.seq))
            wanted.seq = 0
            self._go_on(wanted, wanted.parting)

    def on_shown(self, shown: FeedSyncShown) -> tuple[FeedId, tuple[bytes, ...]] | None:
        """Return entries that prove a fork, to be stored; None for none. Raises FeedSyncPacketError."""
        wanted = self._numbered(shown.number)
        if len(shown.packets) == 2:
            return wanted.feed, shown.packets
        parting = wanted.parting
        if parting is None or shown.seq != self._looked_at(parting) or not shown.packets:
            raise FeedSyncPacketError("it does not show the entry requested")
        ours = self._holding.entries(wanted.feed, shown.seq, 1)
        if ours and ours[0].packet == shown.packets[0]:
            if shown.seq == parting.other:
                raise FeedSyncPacketError("it reports a difference where there is none")
            parting.same = shown.seq
        else:
            parting.other, parting.packet = shown.seq, shown.packets[0]
        return self._go_on(wanted, parting)

    def _go_on(self, wanted: _Wanted, parting: _Parting) -> tuple[FeedId, tuple[bytes, ...]] | None:
        if parting.other - parting.same == 1 and parting.packet is not None:
            wanted.parting = None
            return wanted.feed, (parting.packet,)
        self._outbox.append(FeedSyncShow(wanted.number, self._looked_at(parting)))
        return None

    @staticmethod
    def _looked_at(parting: _Parting) -> int:
        """Return the entry to compare next: halfway; at the end, the one not shown yet."""
        return max((parting.same + parting.other) // 2, parting.same + 1)

    def _numbered(self, number: int) -> _Wanted:
        if number >= len(self._wanted):
            raise FeedSyncPacketError("a number of a feed that we did not name")
        return self._wanted[number]
