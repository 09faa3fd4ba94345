"""Responding side of the feed sync: which feeds the peer wants, and what of them was sent."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from tinyssb_node.ids import FeedId
from tinyssb_node.islands.feedsync import limits
from tinyssb_node.islands.feedsync.packets import (
    FeedSyncDiffers,
    FeedSyncGive,
    FeedSyncMore,
    FeedSyncPacketError,
    FeedSyncShow,
    FeedSyncShown,
    FeedSyncWant,
    Packet,
    PacketRun,
    WantedRange,
)
from tinyssb_node.islands.feedsync.port import FeedSource, FeedState


@dataclass(slots=True)
class AskedFeed:
    """A feed that the peer wants."""

    number: int
    short: bytes
    feed: FeedId | None
    """None: no feed of that name is offered now."""
    seq: int = 0
    """The entry it wants next; 0: nothing."""
    check: tuple[int, bytes] | None = None
    """An entry that is to be compared with ours, once we store it."""
    chains: dict[int, int] = field(default_factory=dict)
    """The next packet of each unfinished side chain, by its entry."""
    proved: bool = False
    """The proof of a fork was sent to it."""


class FeedResponder:
    """Replies to one peer."""

    def __init__(self, holding: FeedSource, outbox: deque[Packet]) -> None:
        """Send feeds of *holding*, and put urgent packets into *outbox*."""
        self._holding = holding
        self._outbox: Final = outbox
        self._offered: dict[bytes, FeedId] = {}
        self.asked: list[AskedFeed] = []
        self._of_feed: dict[FeedId, AskedFeed] = {}
        self._unmatched: dict[bytes, AskedFeed] = {}
        self._due: dict[int, None] = {}
        """Numbers of feeds of which there may be something to send, in order of their turns."""
        self._chains = 0
        """Side chains remembered, of all feeds."""
        self._shows = 0

    # --- our offers

    def offer(self, offered: Mapping[bytes, FeedId]) -> None:
        """Offer these feeds and no others, by their short names. Feeds beyond OFFERS_MAX are not offered."""
        self._offered = dict(islice(offered.items(), limits.OFFERS_MAX))
        for feed in self._of_feed.keys() - set(self._offered.values()):
            asked = self._of_feed.pop(feed)
            asked.feed = None
            self._unmatched[asked.short] = asked
        for short in [short for short in self._unmatched if short in self._offered]:
            self._match(self._unmatched.pop(short))

    def changed(self, feed: FeedId) -> None:
        """Note that there may be more of *feed*."""
        if (asked := self._of_feed.get(feed)) is not None and asked.seq:
            self._due[asked.number] = None

    def has(self, feed: FeedId, run: PacketRun) -> None:
        """Note that the peer sent *run* of *feed*, so it stores that, and what comes before."""
        if (asked := self._of_feed.get(feed)) is None or not asked.seq:
            return
        end = len(run.packets)
        if run.chunk is None:
            asked.seq = max(asked.seq, run.seq + end)
        elif run.seq in asked.chains:
            asked.chains[run.seq] = max(asked.chains[run.seq], run.chunk + end)

    # --- packets of the peer

    def on_want(self, want: FeedSyncWant) -> None:
        """Raises FeedSyncPacketError."""
        if len(self.asked) + len(want.names) > limits.FEEDS_MAX:
            raise FeedSyncPacketError("it wants too many feeds")
        for name in want.names:
            asked = AskedFeed(len(self.asked), name.short, None)
            self.asked.append(asked)
            self._take(asked, name.lacking)
            self._match(asked)

    def on_more(self, more: FeedSyncMore) -> None:
        """Raises FeedSyncPacketError."""
        asked = self._numbered(more.number)
        if more.lacking.seq and more.lacking.seq < asked.seq and not asked.check:
            # It crossed what we sent meanwhile: only its side chains are new.
            self._take_chains(asked, more.lacking)
        else:
            self._take(asked, more.lacking)
        if asked.feed is not None:
            self.changed(asked.feed)

    def on_show(self, show: FeedSyncShow) -> None:
        """Raises FeedSyncPacketError."""
        asked = self._numbered(show.number)
        self._shows += 1
        if self._shows > limits.SHOWS_MAX:
            raise FeedSyncPacketError("it requests too many entries to be shown")
        if asked.feed is not None:  # Else it is not offered any more: an empty reply would look like a lie.
            kept = self._holding.entries(asked.feed, show.seq, 1)
            self._outbox.append(FeedSyncShown(show.number, show.seq, tuple(one.packet for one in kept)))

    def _numbered(self, number: int) -> AskedFeed:
        if number >= len(self.asked):
            raise FeedSyncPacketError("a number of a feed that it did not name")
        return self.asked[number]

    def _match(self, asked: AskedFeed) -> None:
        feed = self._offered.get(asked.short)
        if feed is None:
            self._unmatched[asked.short] = asked
            return
        if feed not in self._of_feed:
            asked.feed = feed
            self._of_feed[feed] = asked
            self.changed(feed)

    def _take(self, asked: AskedFeed, lacking: WantedRange) -> None:
        asked.seq = lacking.seq
        asked.check = (lacking.seq - 1, lacking.check) if lacking.seq > 1 else None
        if not lacking.seq:
            self._chains -= len(asked.chains)
            asked.chains.clear()
        self._take_chains(asked, lacking)

    def _take_chains(self, asked: AskedFeed, lacking: WantedRange) -> None:
        """Remember them as far as there is room. The others are requested again over the next connection."""
        for seq, chunk in lacking.chains:
            if seq in asked.chains:
                asked.chains[seq] = max(chunk, asked.chains[seq])
            elif self._chains < limits.CHAINS_TOTAL_MAX:
                asked.chains[seq] = chunk
                self._chains += 1

    # --- sending

    def next_packet(self) -> FeedSyncGive | None:
        """Return the next packets, and count them as sent; None for nothing now. Other replies go to the outbox."""
        while self._due:
            number = next(iter(self._due))
            del self._due[number]
            asked = self.asked[number]
            state = None if asked.feed is None else self._holding.state(asked.feed)
            if asked.feed is None or state is None or not asked.seq:
                continue
            if self._differs(asked, asked.feed, state):
                asked.seq = 0
                self._outbox.append(FeedSyncDiffers(number))
            elif runs := self._pick(asked, asked.feed, _last(state)):
                self._due[number] = None
                return FeedSyncGive(number, tuple(runs))
            self._prove(asked, state)
        return None

    def _pick(self, asked: AskedFeed, feed: FeedId, last: int) -> list[PacketRun]:
        before = len(asked.chains)
        runs = _Pick(self._holding, feed, asked, last).runs()
        self._chains += len(asked.chains) - before
        while self._chains > limits.CHAINS_TOTAL_MAX:
            asked.chains.popitem()
            self._chains -= 1
        return runs

    def _differs(self, asked: AskedFeed, feed: FeedId, state: FeedState) -> bool:
        """Return True if the peer's last entry differs from ours; unknown, so False, while we store none there."""
        if asked.check is None or asked.check[0] > state.seq:
            return False
        seq, check = asked.check
        asked.check = None
        held = self._holding.entries(feed, seq, 1)
        return bool(held) and held[0].id[: limits.CHECK_SIZE] != check

    def _prove(self, asked: AskedFeed, state: FeedState) -> None:
        fork = state.fork
        if fork is None or asked.proved or (asked.seq and asked.seq < fork.seq):
            return
        asked.proved = True
        self._outbox.append(FeedSyncShown(asked.number, fork.seq, (fork.held, fork.other)))


def _last(state: FeedState) -> int:
    """Return the last entry that is sent: of a forked feed, the first forked one."""
    return state.seq if state.fork is None else min(state.seq, state.fork.seq)


class _Pick:
    """Selection for one packet of one feed: missing chunks, then entries, each with its side chain."""

    def __init__(self, holding: FeedSource, feed: FeedId, asked: AskedFeed, last: int) -> None:
        self._holding = holding
        self._feed = feed
        self._asked = asked
        self._last = last
        self._room = limits.GIVE_PACKETS_MAX
        self._runs: list[PacketRun] = []

    def runs(self) -> list[PacketRun]:
        """Return the selected packets in order, and count them as sent."""
        asked = self._asked
        for seq in sorted(asked.chains):
            if self._room and seq <= self._last:
                held = self._holding.entries(self._feed, seq, 1)
                self._chain(seq, asked.chains[seq], held[0].chunks if held else 0)
        count = min(self._room, self._last - asked.seq + 1)
        entries = self._holding.entries(self._feed, asked.seq, count) if count > 0 else ()
        begun, packets = asked.seq, list[bytes]()
        for kept in entries:
            if not self._room:
                break
            packets.append(kept.packet)
            asked.seq += 1
            self._room -= 1
            if kept.chunks:
                self._runs.append(PacketRun(begun, None, tuple(packets)))
                self._chain(asked.seq - 1, 0, kept.chunks)
                begun, packets = asked.seq, []
        if packets:
            self._runs.append(PacketRun(begun, None, tuple(packets)))
        return self._runs

    def _chain(self, seq: int, first: int, chunks: int) -> None:
        room = min(self._room, chunks - first)
        packets = self._holding.chunks(self._feed, seq, first, room) if room > 0 else ()
        if packets:
            self._runs.append(PacketRun(seq, first, tuple(packets)))
            self._room -= len(packets)
        following = first + len(packets)
        if following < chunks:
            self._asked.chains[seq] = following
        else:
            self._asked.chains.pop(seq, None)
