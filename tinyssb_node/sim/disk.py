"""A node's disk in a simulation: the store in memory, and what becomes of it when power is lost."""

from collections.abc import Callable
from dataclasses import dataclass

from tinyssb_node.ids import FaceName, FeedId, MessageId, Origin
from tinyssb_node.sim import limits as sim_limits
from tinyssb_node.store.memory import MemoryStore


@dataclass(frozen=True, slots=True)
class DiskLoss:
    """What a disk had said was safe, and lost."""

    packets: int
    """Entries and chunks."""
    since_us: int
    """When it wrote last; all that was committed later is lost."""


class SimulatedDisk(MemoryStore):
    """A store whose disk may lie: it says that it committed, and holds in a cache what it should have written.

    What its own node publishes it writes, and with it all that came before: so no feed is forked by what is lost.
    """

    def __init__(self, now_us: Callable[[], int]) -> None:
        """*now_us* tells the virtual time."""
        super().__init__()
        self._now_us = now_us
        self._lies = False
        self._cache: list[Callable[[], None]] = []
        """What undoes all that is not written, oldest first."""
        self._written = 0
        """The last arrival number that is."""
        self._written_us = 0
        """When it wrote last."""
        self._published = False
        """Whether its node published something since the last commit."""

    def lie(self) -> None:
        """From now on say that it is written, and do not."""
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
        """What is not written is lost. Returns what that is of what was said to be committed; None for nothing."""
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
