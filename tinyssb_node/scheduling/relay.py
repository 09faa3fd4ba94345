"""Entries heard over the air, sent again for stations that are out of their sender's reach.

No node knows which stations hear each other, so the first relays are optimists. A copy overheard after ours shows that
a station received it from us and passes it on: relaying was worth it. Silence shows the opposite, and makes the next
time less likely.
"""

from tinyssb_node import limits
from tinyssb_node.scheduling.suppression import RecentSet
from tinyssb_node.scheduling.trickle import RandomSource


class EntryRelay:
    """Entries that one face is about to relay."""

    def __init__(self, entropy: RandomSource) -> None:
        self._entropy = entropy
        self._news: dict[bytes, None] = {}
        self._carried: RecentSet[bytes] = RecentSet(limits.RECENT_MAX)
        self._likelihood = 1.0

    def __len__(self) -> int:
        return len(self._news)

    def take(self, packet: bytes) -> None:
        """Relay *packet*, a new entry. With enough of them waiting, stations that lack it have to request it."""
        if len(self._news) < limits.CARRY_MAX and self._entropy.random() < self._likelihood:
            self._news[packet] = None

    def heard(self, packet: bytes, now_us: int) -> None:
        """*packet* was heard, perhaps again: another station relays it."""
        self._news.pop(packet, None)
        if self._likelihood < 1 and self._carried.within(packet, limits.CARRY_MEMORY_US, now_us):
            self._likelihood = 1.0

    def forget(self, packet: bytes) -> None:
        """*packet* goes anyway, as a reply: once is enough."""
        self._news.pop(packet, None)

    def pop(self) -> bytes | None:
        """Remove and return the next packet to relay; ``sent`` or ``give_back`` follows."""
        packet = next(iter(self._news), None)
        if packet is not None:
            del self._news[packet]
        return packet

    def sent(self, packet: bytes, now_us: int) -> None:
        """*packet* has left: an echo may come."""
        self._carried.add(packet, now_us)
        self._likelihood = max(limits.CARRY_LEAST, self._likelihood * limits.CARRY_DOUBT)

    def give_back(self, packet: bytes) -> None:
        """*packet* has not left: queue it again."""
        self._news[packet] = None
