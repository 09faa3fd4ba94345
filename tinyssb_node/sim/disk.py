"""A node's simulated disk: the store in memory, and its losses in a power cut."""

from collections.abc import Callable
from dataclasses import dataclass

from tinyssb_node.ids import FaceName, FeedId, MessageId, Origin
from tinyssb_node.sim import limits as sim_limits
from tinyssb_node.store.memory import MemoryStore


@dataclass(frozen=True, slots=True)
class DiskLoss:
    """The writes that a disk had reported as done, and lost."""

    packets: int
    """Entries and chunks."""
    since_us: int
    """The time of its last real write; all that was committed later is lost."""


class SimulatedDisk(MemoryStore):
    """A store whose disk may lie: it reports a commit, and keeps in a cache what it should have written.

    Entries that its own node publishes are really written, and with them all that came before: so no feed is forked by
    a loss.
    """

    def __init__(self, now_us: Callable[[], int]) -> None:
        """*now_us* returns the virtual time."""
        super().__init__()
        self._now_us = now_us
        self._lies = False
        self._cache: list[Callable[[], None]] = []
        """The undo steps of all that is not written, oldest first."""
        self._written = 0
        """The last arrival number that is."""
        self._written_us = 0
        """The time of its last real write."""
        self._published = False
        """True if its node published something since the last commit."""

    def lie(self) -> None:
        """From now on report writes without doing them."""
        self._lies = True
        self._write()

    def lie_no_more(self) -> None:
        """Write what is in the cache, and all that comes."""
        self._lies = False
        self._write()

    def _write(self) -> None:
        self._cache.clear()
        self._written, self._written_us = self._committed, self._now_us()

    def append_entry(
        self, feed: FeedId, seq: int, packet: bytes, id_: MessageId, origin: Origin, face: FaceName | None
    ) -> int:
        """See MemoryStore."""
        self._published = self._published or origin is Origin.OWN
        return super().append_entry(feed, seq, packet, id_, origin, face)

    def commit(self, wall_us: int) -> None:
        """See MemoryStore."""
        if self._lies:
            self._cache += self._journal
        super().commit(wall_us)
        if self._lies and (self._published or len(self._cache) > sim_limits.CACHE_MAX):
            self._write()
        self._published = False

    def power_off(self) -> DiskLoss | None:
        """Lose what is not written. Returns the part of it that was reported as committed; None for nothing."""
        self.rollback()
        self._published = False
        if not self._cache:
            return None
        loss = DiskLoss(len(self._appends) - self._written, self._written_us)
        del self._appends[self._written :]
        self._committed = self._written
        while self._cache:
            self._cache.pop()()
        return loss
