"""News that one node brought over the air, said again for those who are out of its reach.

Nobody knows who hears whom, so the first carriers are optimists. A copy overheard after ours says that somebody had
it from us and passes it on: carrying was worth it. Silence says that it was not, and makes the next time less likely.
"""

from tinyssb_node import limits
from tinyssb_node.scheduling.suppression import RecentSet
from tinyssb_node.scheduling.trickle import RandomSource


class EntryRelay:
    """What one face is about to carry on."""

    def __init__(self, entropy: RandomSource) -> None:
        self._entropy = entropy
        self._news: dict[bytes, None] = {}
        self._carried: RecentSet[bytes] = RecentSet(limits.RECENT_MAX)
        self._likelihood = 1.0

    def __len__(self) -> int:
        return len(self._news)

    def take(self, packet: bytes) -> None:
        """*packet* is news. With enough of it waiting, who lacks it has to ask."""
        if len(self._news) < limits.CARRY_MAX and self._entropy.random() < self._likelihood:
            self._news[packet] = None

    def heard(self, packet: bytes, now_us: int) -> None:
        """*packet* was heard, perhaps again: somebody else carries it on."""
        self._news.pop(packet, None)
        if self._likelihood < 1 and self._carried.within(packet, limits.CARRY_MEMORY_US, now_us):
            self._likelihood = 1.0

    def forget(self, packet: bytes) -> None:
        """*packet* goes anyway, as an answer: once is enough."""
        self._news.pop(packet, None)

    def pop(self) -> bytes | None:
        """The next packet to carry on; ``sent`` or ``give_back`` follows."""
        packet = next(iter(self._news), None)
        if packet is not None:
            del self._news[packet]
        return packet

    def sent(self, packet: bytes, now_us: int) -> None:
        """*packet* has left: an echo may come."""
        self._carried.add(packet, now_us)
        self._likelihood = max(limits.CARRY_LEAST, self._likelihood * limits.CARRY_DOUBT)

    def give_back(self, packet: bytes) -> None:
        """*packet* has not left: it waits again."""
        self._news[packet] = None
