"""What waits to be published at a broker: all that is new in a store, from the place that was reached. Pure.

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
    """True if we wrote it: nobody else can say it."""


class MqttBacklog:
    """The queue of one face in one network. *face* is where what came from is not published again."""

    def __init__(self, library: FaceStorePort, face: FaceName) -> None:
        """Goes on where the one before ended; without one, with what the store holds."""
        self._library = library
        self._face = face
        self._key = f"mqtt:{face}:arrival"
        kept = library.recall(self._key) or ""
        # A store that was mended has fewer appends than it had: what is said twice does no harm.
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
        """The first that wait, up to a batch, in the order of their arrival; none if all is published. What is of feeds
        that are not in the set, or not wanted, is passed over."""
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
        """True if *packet* is among the first that wait: it need not be said otherwise."""
        return any(waiting.packet == packet for waiting in self.look())

    def done(self) -> None:
        """What ``look`` gave was published, or needs no publishing."""
        self._next.clear()
        self._reached = self._through

    def keep(self) -> None:
        """Let a restart go on from the place reached."""
        if self._kept != self._reached:
            self._library.keep(self._key, str(self._reached))
            self._kept = self._reached
