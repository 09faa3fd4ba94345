"""Feed ids that were named one by one on a face: a peer that takes them needs each only once."""

from collections.abc import Iterable, Sequence

from tinyssb_node import limits
from tinyssb_node.codec.packets import Claim
from tinyssb_node.ids import FeedId
from tinyssb_node.replication import limits as replication_limits
from tinyssb_node.replication.goset import Goset


class NamedFeeds:
    """The ids named on one face, and when to name them again."""

    def __init__(self, now_us: int) -> None:
        self._named: set[FeedId] = set()
        self._named_us = now_us
        """When the last of them were."""
        self._again_us = replication_limits.NAMES_AGAIN_US
        """After which time all are named again to a peer that goes on showing a smaller set."""
        self._larger_set: tuple[Claim, bytes] | None = None
        """The last claim of a larger set by the peer of a stream, and the state of ours at that time."""

    def add(self, feed: FeedId) -> None:
        """*feed* is named now."""
        self._named.add(feed)

    def forget(self, feeds: Iterable[FeedId]) -> None:
        """*feeds* are to be named again."""
        self._named.difference_update(feeds)

    def reset_interval(self) -> None:
        """The sets agree, or ours is another one: begin with the shortest interval again."""
        self._again_us = replication_limits.NAMES_AGAIN_US

    def name_next(self, goset: Goset, claim: Claim, now_us: int) -> Sequence[FeedId]:
        """Return ids of *goset* to name now, which were not named yet, in answer to *claim*.

        Where air costs nothing, that brings a set together at once, while deployed peers work on a few claims every
        10 to 15 s.
        """
        if claim.count >= limits.SET_MAX:
            return []
        if claim.count < len(goset) and now_us - self._named_us >= self._again_us:
            # The peer retired some since. Halving claims brings these not back: bounds name nothing that left. Or its
            # set is full, and so never the same as ours: the ids are named ever more seldom, at last once an hour.
            self._again_us = min(4 * self._again_us, 3_600_000_000)
            self._named.clear()
        known = {*self._named, claim.low, claim.high}
        unnamed = [feed for feed in goset.feeds if feed not in known][: limits.NAMES_MAX]
        if unnamed:
            self._named.update(unnamed)
            self._named_us = now_us
        return unnamed

    def is_unanswered(self, claim: Claim, state: bytes) -> bool:
        """Return True if *claim*, of a larger set than ours with this *state*, is the same as before, and we learned
        nothing meanwhile."""
        before, self._larger_set = self._larger_set, (claim, state)
        return before == self._larger_set
