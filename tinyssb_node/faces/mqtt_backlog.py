"""The backlog to publish at a broker: all that is new in a store since the saved position. Pure.

The queue is the store, which keeps it anyway, and one number in it, which survives restarts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tinyssb_node.faces import limits
from tinyssb_node.faces.store_port import FaceStorePort
from tinyssb_node.ids import FaceName, FeedId, Origin


@dataclass(frozen=True, slots=True)
class BacklogItem:
    """An entry or a chunk to be published."""

    feed: FeedId
    packet: bytes
    ours: bool
    """True if we wrote it: no other node can publish it."""


class MqttBacklog:
    """The backlog of one face in one network. What came by *face* is not published there again."""

    def __init__(self, library: FaceStorePort, face: FaceName) -> None:
        """Goes on at the saved position; without one, at the end of the store."""
        self._library = library
        self._face = face
        self._key = f"mqtt:{face}:arrival"
        kept = library.recall(self._key) or ""
        # A store that was repaired has fewer appends than before: publishing twice does no harm.
        known = kept.isdecimal() and int(kept) <= library.last_arrival()
        self._reached = self._kept = int(kept) if known else 0
        self._next: list[BacklogItem] = []
        """The first of those that wait."""
        self._through = self._reached
        """The place behind them."""

    @property
    def size(self) -> int:
        """About how many wait: places in the store, of which some may need no publishing."""
        return min(self._library.last_arrival() - self._reached, limits.MQTT_BACKLOG_MAX)

    def look(self) -> Sequence[BacklogItem]:
        """Return the first items, up to a batch, in the order of their arrival; none if all is published. Feeds that
        are not in the set, or not wanted, are skipped."""
        oldest = self._library.last_arrival() - limits.MQTT_BACKLOG_MAX
        if not self._next:
            self._reached = self._through = max(self._reached, oldest)
        follows = frozenset() if self._next else self._library.follows()
        while not self._next:
            appended, through = self._library.after(self._through)
            if through == self._through:
                break
            self._through = through
            for each in appended:
                if each.face != self._face and each.feed in follows:
                    self._next.append(BacklogItem(each.feed, each.packet, each.origin is Origin.OWN))
            if not self._next:
                self._reached = through
        return tuple(self._next)

    def holds(self, packet: bytes) -> bool:
        """Return True if *packet* is among the first items: it need not be sent otherwise."""
        return any(waiting.packet == packet for waiting in self.look())

    def done(self) -> None:
        """Record that the items of ``look`` were published, or need no publishing."""
        self._next.clear()
        self._reached = self._through

    def keep(self) -> None:
        """Let a restart go on from the place reached."""
        if self._kept != self._reached:
            self._library.keep(self._key, str(self._reached))
            self._kept = self._reached
