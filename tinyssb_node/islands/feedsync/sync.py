"""One side of the feed sync: packets in, packets and received data out. No clock, no socket.

    sync = FeedSync(holding, greeting.met.salt)
    sync.offer(feeds), sync.want(feeds)
    while (packet := sync.next_packet()) is not None:
        send(packet)
    sync.receive(received)
    for event in sync.events():
        ...

Received data is handed out to be verified and stored elsewhere. ``changed`` must be called once it is stored, and for
all other growth of feeds.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeAlias

from tinyssb_node.ids import FeedId
from tinyssb_node.islands.feedsync import limits
from tinyssb_node.islands.feedsync.handshake import CONTEXT
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
    parse_packet,
    serialize_packet,
)
from tinyssb_node.islands.feedsync.port import FeedSource
from tinyssb_node.islands.feedsync.requester import FeedRequester
from tinyssb_node.islands.feedsync.responder import FeedResponder


@dataclass(frozen=True, slots=True)
class FeedDataReceived:
    """Entries and chunks of a wanted feed, received and not verified."""

    feed: FeedId
    packets: tuple[bytes, ...]
    """120 bytes each; in order, each entry before the chunks of its side chain."""


@dataclass(frozen=True, slots=True)
class FeedSyncViolation:
    """A violation of the protocol by the peer: close the connection."""

    why: str
    """In words."""


Event: TypeAlias = FeedDataReceived | FeedSyncViolation


@dataclass(slots=True)
class FeedSyncCounters:
    """Traffic of one connection, so far."""

    sent_bytes: int = 0
    received_bytes: int = 0
    given: int = 0
    """Entries and chunks sent to the peer."""
    got: int = 0
    """Entries and chunks received from the peer."""


class FeedSync:
    """One side of the sync with one peer."""

    def __init__(self, holding: FeedSource, salt: bytes) -> None:
        """Sync feeds of *holding*; *salt* is the result of the handshake."""
        self._salt = salt
        self._broken = False
        self._outbox: deque[Packet] = deque()
        self.responder = FeedResponder(holding, self._outbox)
        self.requester = FeedRequester(holding, self._outbox, self._short)
        self._events: list[Event] = []
        self.counts = FeedSyncCounters()

    # --- calls of the shell

    def want(self, feeds: Iterable[FeedId]) -> bool:
        """Request these feeds, and their new entries. Return False if too many are wanted."""
        taken = [self.requester.want(feed) for feed in feeds]
        return all(taken)

    def leave(self, feeds: Iterable[FeedId]) -> None:
        """Stop requesting these feeds."""
        for feed in feeds:
            self.requester.leave(feed)

    def offer(self, feeds: Iterable[FeedId]) -> None:
        """Offer these feeds to the peer, and no others from now on."""
        self.responder.offer({self._short(feed): feed for feed in feeds})

    def changed(self, feeds: Iterable[FeedId]) -> None:
        """Note that these feeds have grown here, or turned out to be forked."""
        for feed in feeds:
            self.responder.changed(feed)
            self.requester.changed(feed)

    def refused(self, feed: FeedId, why: str) -> None:
        """End the sync: the data sent for *feed* is invalid, and a node that verifies its data cannot have it. For data
        without room or use, call ``leave`` instead."""
        self._break(f"it sends invalid data of the feed {feed.hex()}: {why}")

    # --- packets

    def receive(self, data: bytes) -> None:
        """Handle any bytes of the peer."""
        if self._broken:
            return
        self.counts.received_bytes += len(data)
        try:
            self._take(parse_packet(data))
        except FeedSyncPacketError as error:
            self._break(str(error))
        if len(self._outbox) > limits.OUTBOX_MAX:
            self._break("it requests without reading the replies")

    def next_packet(self) -> bytes | None:
        """Return the next packet to send; None if there is none for now."""
        packet: Packet | None = None
        if self._broken:
            return None
        if not self._outbox:
            packet = self.requester.next_packet() or self.responder.next_packet()
        if packet is None and self._outbox:
            packet = self._outbox.popleft()
        if packet is None:
            return None
        if isinstance(packet, FeedSyncGive):
            self.counts.given += sum(len(run.packets) for run in packet.runs)
        data = serialize_packet(packet)
        self.counts.sent_bytes += len(data)
        return data

    def events(self) -> list[Event]:
        """Return the events since the last call."""
        events, self._events = self._events, []
        return events

    def _break(self, why: str) -> None:
        self._broken = True
        self._events.append(FeedSyncViolation(why))

    def _take(self, packet: Packet) -> None:
        match packet:
            case FeedSyncWant():
                self.responder.on_want(packet)
            case FeedSyncMore():
                self.responder.on_more(packet)
            case FeedSyncShow():
                self.responder.on_show(packet)
            case FeedSyncGive():
                if (given := self.requester.on_give(packet)) is not None:
                    self._got(*given)
            case FeedSyncDiffers():
                self.requester.on_differs(packet.number)
            case FeedSyncShown():
                if (shown := self.requester.on_shown(packet)) is not None:
                    self._events.append(FeedDataReceived(*shown))
            case _:
                raise FeedSyncPacketError("it repeats the handshake")

    def _got(self, feed: FeedId, runs: Iterable[PacketRun]) -> None:
        packets: list[bytes] = []
        for run in runs:
            self.responder.has(feed, run)
            packets += run.packets
        self.counts.got += len(packets)
        self._events.append(FeedDataReceived(feed, tuple(packets)))

    def _short(self, feed: FeedId) -> bytes:
        return sha256(CONTEXT + self._salt + feed).digest()[: limits.SHORT_SIZE]
