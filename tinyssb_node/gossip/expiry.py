"""Expiry of ids that bring no entry: when they leave the set again (decision 0070).

A feed id costs nothing to make up (Sybil), a place in the set of 255 is scarce. If many ids of a set have no entry, and
one of them has had none for half an hour, it leaves, and with it all others that had some minutes for one. A neighbour
that sees this by a SKETCH lets the same ids go, as with closed feeds (decision 0036), so that sets are the same again.
An id that left is refused for an hour, and twice as long each time, unless an entry of it comes first.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterable
from hashlib import sha256

from tinyssb_node import limits as node_limits
from tinyssb_node.codec.events import EntryAppended, Event
from tinyssb_node.ids import FaceName, FeedId
from tinyssb_node.replication import limits
from tinyssb_node.replication.replica import Replica
from tinyssb_node.scheduling.link import LinkMedium, LinkProfile


class IdExpiry:
    """The ids of the set without an entry, and those that left it for that."""

    def __init__(self, replica: Replica, own: FeedId | None, *, expires: bool) -> None:
        """*own* is the node's own feed: so nodes wait for different times. *expires*: False where phones and boards are
        neighbours, whose sets only grow."""
        self._replica = replica
        self._own = own or b""
        self.expires = expires
        """True if ids of which no entry comes leave."""
        self._begun = False
        self._wait_us = limits.EXPIRE_US
        self._since_us: OrderedDict[FeedId, int] = OrderedDict()
        """Ids of the set without an entry, and since when they are in it, oldest first."""
        self._expired: OrderedDict[FeedId, tuple[int, int]] = OrderedDict()
        """Ids that left: how often, and until when they are refused."""
        self._flooded_us: dict[FaceName, int] = {}
        """When an id was last refused that a face named."""
        self._radios: set[FaceName] = set()
        """The radios that are up."""
        self._put_off: OrderedDict[FeedId, int] = OrderedDict()
        """Ids that radios named, refused of late since there are too many without an entry, and when."""
        self._made_up_us: int | None = None
        """When the last of too many such ids was refused."""
        self.next_us: int | None = None
        """When ``take_due`` is due; None: the set has few such ids."""

    # --- what happens

    def face_up(self, face: FaceName, profile: LinkProfile, now_us: int) -> None:
        """A face is up. On slow radios entries may take longer. Times are counted from the first face."""
        if profile.medium is LinkMedium.AIR:
            self._radios.add(face)
        airtime_us = profile.airtime_us[node_limits.PACKET_SIZE]
        self._wait_us = max(self._wait_us, limits.EXPIRE_PACKETS * airtime_us)
        if not self._begun:
            self._begun = True
            for feed in self._replica.goset.feeds:
                self.entered(feed, now_us)

    def entered(self, feed: FeedId, now_us: int) -> None:
        """*feed* is in the set, new or again."""
        if self.expires and self._replica.is_unproven(feed):
            self._since_us[feed] = now_us
            self._plan(now_us)

    def appended(self, events: Iterable[Event]) -> None:
        """Entries were appended."""
        for event in events:
            if isinstance(event, EntryAppended):
                self._since_us.pop(event.feed, None)
                self._expired.pop(event.feed, None)

    def left(self, feed: FeedId, now_us: int) -> None:
        """*feed* has left the set for want of an entry."""
        self._since_us.pop(feed, None)
        times, _ = self._expired.pop(feed, (0, 0))
        refused_us = min(limits.EXPIRED_US << min(times, limits.LEAVE_DOUBLINGS_MAX), limits.LEAVE_MAX_US)
        self._expired[feed] = times + 1, now_us + refused_us
        if len(self._expired) > limits.EXPIRED_MAX:
            self._expired.popitem(last=False)

    def id_refused(self, face: FaceName, now_us: int) -> None:
        """An id that *face* named was not admitted."""
        self._flooded_us[face] = now_us

    def put_off(self, feed: FeedId, face: FaceName, now_us: int) -> None:
        """*feed*, which *face* named, was refused since there are too many without an entry."""
        if face not in self._radios:
            return
        while self._put_off and now_us - next(iter(self._put_off.values())) >= limits.FLOOD_US:
            self._put_off.popitem(last=False)
        self._put_off.pop(feed, None)
        self._put_off[feed] = now_us
        if len(self._put_off) > limits.PUT_OFF_MAX:
            self._put_off.popitem(last=False)
            self.neighbours_are_flooded(now_us)

    def neighbours_are_flooded(self, now_us: int) -> None:
        """From now on, for an hour, ids enter the set with their first entry only."""
        self._made_up_us = now_us

    def face_down(self, face: FaceName) -> None:
        """A face is gone."""
        self._flooded_us.pop(face, None)
        self._radios.discard(face)

    # --- what leaves, and what stays away

    def proven_only(self, now_us: int) -> bool:
        """Return True while ids enter the set only with their first entry: a flood of made-up ids came in the last hour
        by a radio, where airtime is scarce (decision 0103)."""
        if not self.expires or self._made_up_us is None:
            return False
        return now_us - self._made_up_us < limits.PROVEN_US

    def refused_us(self, face: FaceName) -> int | None:
        """Return when an id was last refused that *face* named; None: never."""
        return self._flooded_us.get(face)

    def is_flooded(self, face: FaceName, now_us: int) -> bool:
        """Return True while a flood of made-up ids goes on at *face*: within ten minutes it names one that is refused.
        Then ids without an entry are worth no airtime."""
        refused_us = self._flooded_us.get(face)
        return refused_us is not None and now_us - refused_us < limits.FLOOD_US

    def may_leave(self, feed: FeedId, now_us: int) -> bool:
        """Return True if *feed* may leave as it has left elsewhere: it has had time for an entry, and for being named
        to all neighbours."""
        since_us = self._since_us.get(feed) if len(self._since_us) >= limits.EXPIRE_FEW else None
        return since_us is not None and now_us - since_us >= self._wait_us // limits.EXPIRE_FOLLOW_SHARE

    def was_named(self, feed: FeedId, now_us: int) -> bool:
        """Return True if *feed* has no entry, and all neighbours have had time to take it."""
        since_us = self._since_us.get(feed)
        return self.expires and since_us is not None and now_us - since_us >= limits.REFUSED_US

    @property
    def unproven(self) -> Collection[FeedId]:
        """The ids of the set without an entry, oldest first."""
        return self._since_us.keys()

    def refused(self, now_us: int) -> Collection[FeedId]:
        """Return the ids that are refused now."""
        return [feed for feed in self._expired if self.refuses(feed, now_us)]

    def refuses(self, feed: FeedId, now_us: int) -> bool:
        """Return True if *feed* left not long ago, and there are some without an entry already."""
        expired = self._expired.get(feed) if len(self._since_us) >= limits.EXPIRE_FEW else None
        return expired is not None and now_us < expired[1]

    def take_due(self, now_us: int) -> list[FeedId]:
        """Return the ids to leave now: once one is due, all that may leave, so that it is one change of the set."""
        if self.next_us is None or now_us < self.next_us:
            return []
        self.next_us = None
        if self._replica.read_only:
            self.next_us = now_us + limits.LEAVE_CHECK_US
            return []
        may = [feed for feed in self._since_us if self.may_leave(feed, now_us)]
        oldest_us = next(iter(self._since_us.values()), now_us)
        if len(self._since_us) <= limits.EXPIRE_ABOVE or now_us - oldest_us < self._wait_us:
            self._plan(now_us)
            return []
        return may

    def _plan(self, now_us: int) -> None:
        """Wait for the oldest id, if there are many; a time longer that is another one on each node, so that one begins
        and the others follow."""
        if self.next_us is None and len(self._since_us) > limits.EXPIRE_ABOVE:
            oldest, oldest_us = next(iter(self._since_us.items()))
            longer_us = self._wait_us * sha256(self._own + oldest).digest()[0] // 512
            self.next_us = max(now_us + limits.LEAVE_CHECK_US, oldest_us + self._wait_us + longer_us)
