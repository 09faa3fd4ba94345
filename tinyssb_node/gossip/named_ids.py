"""Rate limit of the ids that are named again and again on one face on the air, whoever asks for them (exponential
backoff).

ASKs, SKETCHes and DIFFs are not signed. One that lies each second made all neighbours name all ids each second
(amplification: three packets for one that is shorter). What any node names counts, as all in reach hear it.
"""

from collections.abc import Hashable, Iterable
from typing import TypeVar

from tinyssb_node import limits as node_limits
from tinyssb_node.ids import FeedId
from tinyssb_node.replication import limits
from tinyssb_node.scheduling.repeat_limiter import RepeatLimiter

K = TypeVar("K", bound=Hashable)


def limit_repeats(packet_us: int) -> RepeatLimiter[K]:
    """Return a rate limiter for what names ids on the air: ids one by one, or claims. *packet_us* is the airtime of a
    packet of 120 bytes."""
    return RepeatLimiter(
        wait_us=node_limits.REPEAT_PACKETS * packet_us,
        wait_max_us=limits.NAME_WAIT_MAX_PACKETS * packet_us,
        most=2 * node_limits.SET_MAX,
    )


class NamedIds:
    """The ids that were named of late on one face."""

    def __init__(self, packet_us: int) -> None:
        """*packet_us* is the airtime of a packet of 120 bytes."""
        self._packet_us = packet_us
        self.forget()

    def forget(self) -> None:
        """Count anew."""
        self._named: RepeatLimiter[FeedId] = limit_repeats(self._packet_us)

    def allows(self, feed: FeedId, now_us: int) -> bool:
        """Return True if *feed* may be named in reply to a request."""
        return self._named.allows(feed, limits.NAMES_EXPECTED, now_us)

    def record(self, feeds: Iterable[FeedId], now_us: int) -> None:
        """*feeds* are named now, by us or by a neighbour."""
        for feed in feeds:
            self._named.gave(feed, limits.NAMES_EXPECTED, now_us)
