"""Requests for the newest entries of feeds that our user follows newest first (docs/formats/packets.md, "NEWEST and
ANCHOR").

A peer that requests a later entry than we would has those before. Of such a feed the last entries are requested, before
the history, and again while some of them are missing: more and more rarely if none comes.
"""

from dataclasses import dataclass
from typing import Final

from tinyssb_node import limits
from tinyssb_node.codec.packets import Newest, named_item_size
from tinyssb_node.gossip.frontier_gossip import FrontierGossip
from tinyssb_node.ids import FaceName, FeedId
from tinyssb_node.replication.replica import Replica
from tinyssb_node.replication.salted import short_id
from tinyssb_node.replication.want import WantReading
from tinyssb_node.scheduling.transmit_queue import TransmitQueue

_AGAIN_US: Final = 1_000_000
"""Time on wires after which a request is repeated: its replies have come."""
_AGAIN_MAX_US: Final = 3_600_000_000
"""Longest such time, after doubling for each request that brought nothing."""


@dataclass(slots=True)
class _Request:
    """The last request for the newest entries of a feed on a face."""

    seq: int
    """The next sequence number then."""
    next_us: int
    """When it may be repeated."""
    pause_us: int
    claimed: int
    """The next sequence number of the peer that has more."""


class NewestGossip:
    """The requests for newest entries, on all faces of one node."""

    def __init__(self, replica: Replica, frontiers: FrontierGossip) -> None:
        self._replica = replica
        self._frontiers = frontiers
        self._due: dict[FaceName, dict[FeedId, None]] = {}
        """Feeds to request."""
        self._requests: dict[FaceName, dict[FeedId, _Request]] = {}

    def face_up(self, face: FaceName) -> None:
        """A face can be used."""
        self._due[face], self._requests[face] = {}, {}

    def face_down(self, face: FaceName) -> None:
        """A face is gone."""
        del self._due[face], self._requests[face]

    def has_requests(self, face: FaceName) -> bool:
        """Return True if a request is to be sent on *face*."""
        return bool(self._due[face])

    def heard_want(self, queue: TransmitQueue, reading: WantReading, now_us: int) -> None:
        """A peer on *queue* requests these entries, and so has those before."""
        if not reading.behind:
            return
        for feed, seq in reading.wanted:
            if not self._lacks(feed, seq):
                continue
            requests = self._requests[queue.name]
            request = requests.setdefault(feed, _Request(0, now_us, 0, seq))
            request.claimed = seq
            if now_us >= request.next_us:
                self._due[queue.name][feed] = None

    def wake(self, face: FaceName, now_us: int) -> None:
        """Repeat requests whose replies were lost."""
        for feed, request in self._requests[face].items():
            if now_us >= request.next_us and self._lacks(feed, request.claimed):
                self._due[face][feed] = None

    def _lacks(self, feed: FeedId, claimed: int) -> bool:
        """Return True if the newest entries before number *claimed* are to be requested: if they are missing, and do
        not come as quickly in order."""
        wanted = self._replica.newest_wanted(feed)
        if wanted is None:
            return False
        following, count = wanted
        in_order = following == self._replica.frontier(feed) + 1 and claimed - following <= count
        return following < claimed and not in_order

    def build(self, queue: TransmitQueue, now_us: int) -> Newest | None:
        """Return the next request on *queue*, which counts as sent; None if there is none."""
        due, items = self._due[queue.name], []
        room = limits.PACKET_SIZE - limits.NAMED_HEAD_SIZE
        salt = self._frontiers.salt_to_name(queue.name) if due else b""
        for feed in [*due]:
            wanted = self._replica.newest_wanted(feed)
            if wanted is not None:
                room -= named_item_size(*wanted)
                if room < 0:
                    break
                items.append((short_id(salt, feed), *wanted))
                self._note_request(queue, feed, wanted, now_us)
            del due[feed]
        return Newest(salt, tuple(items)) if items else None

    def _note_request(self, queue: TransmitQueue, feed: FeedId, wanted: tuple[int, int], now_us: int) -> None:
        following, count = wanted
        request = self._requests[queue.name][feed]
        if request.seq == following:
            request.pause_us = min(2 * request.pause_us, _AGAIN_MAX_US)
        elif queue.on_air:
            # In this time all can be sent, and as much of others.
            request.pause_us = 2 * count * queue.profile.airtime_us[limits.PACKET_SIZE]
        else:
            request.pause_us = _AGAIN_US
        request.seq, request.next_us = following, now_us + request.pause_us
