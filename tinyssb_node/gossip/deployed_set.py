"""The set as deployed peers on a radio have it: ours, and ids that they claim and of which no entry came.

Such a peer gives entries only to those that have its very set. Among nodes of ours ids enter the set only with their
first entry (decision 0103). So a node near boards has two sets, and speaks of each with those that have it.
"""

from collections import OrderedDict

from tinyssb_node.ids import FeedId
from tinyssb_node.replication import limits
from tinyssb_node.replication.goset import Goset
from tinyssb_node.replication.replica import Replica


class DeployedSet:
    """Our set, and what deployed peers have beside it."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self._ids: OrderedDict[FeedId, None] = OrderedDict()
        self._made: tuple[bytes, Goset] | None = None
        """The set last made, and the state of ours that it was made of."""

    def __contains__(self, feed: FeedId) -> bool:
        return feed in self._ids

    def named(self, feed: FeedId) -> bool:
        """A deployed peer has *feed* in its set. Return False if there are too many such ids, and the oldest one had to
        make room."""
        if feed in self._ids:
            return True
        self._ids[feed] = None
        self._made = None
        if len(self._ids) <= limits.DEPLOYED_IDS_MAX:
            return True
        self._ids.popitem(last=False)
        return False

    @property
    def goset(self) -> Goset:
        """Their set, as far as is known; ours, the same object, if they have nothing beside it."""
        ours = self._replica.goset
        if not self._ids:
            return ours
        if self._made is None or self._made[0] != ours.state:
            for feed in [each for each in self._ids if each in ours]:
                del self._ids[feed]
            self._made = ours.state, Goset((*ours.feeds, *self._ids)) if self._ids else ours
        return self._made[1]
