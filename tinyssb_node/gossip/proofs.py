"""First entries sent as proofs: a neighbour that refuses made-up ids takes an id whose first entry came before it.

While a flood of made-up ids goes on (Sybil), neighbours refuse ids that bring nothing (decision 0070), and sets differ
by more than a SKETCH can tell. So the first entry of a feed that a neighbour lacks is sent with its id, again after 20
s, 40 s, up to half an hour, and from a share of the airtime of its own: lies about sets must not use it up.
"""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tinyssb_node import limits as node_limits
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.packets import Feeds, serialize_feeds
from tinyssb_node.ids import FaceName, FeedId, PacketKind
from tinyssb_node.replication import limits
from tinyssb_node.replication.replica import Replica
from tinyssb_node.scheduling.share import AirShare
from tinyssb_node.scheduling.transmit_queue import TransmitQueue


@dataclass(slots=True)
class _Lacked:
    """A feed that a peer lacks."""

    since_us: int
    seen_us: int
    """When that was seen last."""
    times: int = 0
    """How often it was proven."""
    next_us: int = 0
    """When it may be proven again."""


class _Face:
    """Feeds that were proven on one face."""

    def __init__(self, share: AirShare | None) -> None:
        self.share = share
        """The share of the airtime that proofs take; None where airtime costs nothing."""
        self.lacked: OrderedDict[FeedId, _Lacked] = OrderedDict()


class FirstEntryProofs:
    """The proofs that one node sends, on all its faces."""

    def __init__(self, replica: Replica, network: Network, own: FeedId) -> None:
        """*own* is the node's own feed, which it proves first: no other node may have it."""
        self._replica = replica
        self._dmx = network.goset_dmx
        self._own = own
        self._faces: dict[FaceName, _Face] = {}

    def face_up(self, queue: TransmitQueue) -> None:
        """A face can be used."""
        allowance = queue.profile.allowance
        self._faces[queue.name] = _Face(None if allowance is None else AirShare(allowance))

    def face_down(self, face: FaceName) -> None:
        """A face is gone."""
        self._faces.pop(face, None)

    def lacked(
        self, queue: TransmitQueue, feeds: Iterable[FeedId], now_us: int, *, flooded: bool
    ) -> Sequence[FeedId]:
        """A peer on *queue* lacks *feeds* of our set: prove those that it goes on lacking for two minutes, or for 20 s
        while this face is *flooded*. Return those that are proven now, three at most."""
        after_us = limits.PROOF_AGAIN_US if flooded else limits.PROOF_AFTER_US
        table = self._faces[queue.name].lacked
        proven: list[FeedId] = []
        for feed in feeds:
            if not self._replica.holds(feed):
                continue
            lacked = table.pop(feed, None)
            if lacked is None or now_us - lacked.seen_us >= limits.PROOF_AGAIN_MAX_US:
                lacked = _Lacked(now_us, now_us)
            lacked.seen_us = now_us
            due = now_us >= lacked.next_us and now_us - lacked.since_us >= after_us
            if (
                due
                and len(proven) < node_limits.FEEDS_MAX
                and self._has_airtime(queue, limits.PROOF_PERMILLE, len(proven), now_us)
            ):
                proven.append(feed)
                lacked.next_us = now_us + min(
                    limits.PROOF_AGAIN_US << min(lacked.times, 16), limits.PROOF_AGAIN_MAX_US
                )
                lacked.times += 1
            table[feed] = lacked
            if len(table) > node_limits.SET_MAX:
                table.popitem(last=False)
        self._send(queue, proven, now_us)
        return proven

    def unknown(self, queue: TransmitQueue, now_us: int) -> None:
        """A peer on *queue* has a set that differs from ours by too much to know in what: prove ours, and others in
        turn, beginning behind ours, so that neighbours begin at different places."""
        feeds = [feed for feed in self._replica.goset.feeds if feed != self._own]
        at = bisect_right(feeds, self._own)
        own = [self._own] if self._own in self._replica.goset else []
        self.lacked(queue, [*own, *feeds[at:], *feeds[:at]], now_us, flooded=True)

    def has_airtime(self, queue: TransmitQueue, now_us: int) -> bool:
        """Return True if airtime is left on *queue* for first entries before their ids."""
        return self._has_airtime(queue, limits.GIVEN_PERMILLE, 0, now_us)

    def give_entries(self, queue: TransmitQueue, feeds: Sequence[FeedId], now_us: int) -> None:
        """Send the first entries of *feeds*; the caller sends their ids behind them."""
        self._put_entries(queue, feeds, now_us, now_us)

    def _has_airtime(self, queue: TransmitQueue, permille: int, entries: int, now_us: int) -> bool:
        if queue.keeps_airtime(now_us):
            return False
        share = self._faces[queue.name].share
        airtime_us = queue.profile.airtime_us[node_limits.PACKET_SIZE]
        return share is None or share.has(permille, now_us, entries * airtime_us)

    def _send(self, queue: TransmitQueue, feeds: Sequence[FeedId], now_us: int) -> None:
        """Send the first entries of *feeds*, and then their ids."""
        if not feeds:
            return
        due_us = queue.reply_due_us(now_us)
        self._put_entries(queue, feeds, due_us, now_us)
        self._put(queue, serialize_feeds(self._dmx, Feeds(tuple(feeds))), PacketKind.FEEDS, due_us, now_us)

    def _put_entries(self, queue: TransmitQueue, feeds: Iterable[FeedId], due_us: int, now_us: int) -> None:
        for feed in feeds:
            if (entry := self._replica.first_entry(feed)) is not None:
                self._put(queue, entry, PacketKind.ENTRY, due_us, now_us)

    def _put(self, queue: TransmitQueue, packet: bytes, kind: PacketKind, due_us: int, now_us: int) -> None:
        """Queue *packet*, and charge its airtime to the share."""
        share = self._faces[queue.name].share
        if queue.put_once(packet, kind, due_us, now_us) and share is not None:
            share.spent(queue.profile.airtime_us[len(packet)], now_us)
