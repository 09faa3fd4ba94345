"""Further identities of a node: each has a feed of its own, and its own certainty of that feed's tip (decision 0053).

The main identity represents the node: acknowledgements, receipts and private groups are its own. The others write.
"""

import contextlib
from dataclasses import dataclass, field

from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.errors import SetFullError
from tinyssb_node.gossip.certainty import TipCertainty
from tinyssb_node.ids import Dialect, FeedId
from tinyssb_node.replication.replica import Replica


@dataclass(frozen=True, slots=True, kw_only=True)
class FurtherIdentity:
    """A further identity in one network."""

    key: SigningKey = field(repr=False)
    """The key that signs its feed."""
    dialect: Dialect
    """The dialect of its feed, for good."""
    certainty: TipCertainty
    """The certainty of its feed's tip."""

    @property
    def feed(self) -> FeedId:
        """Its feed."""
        return self.key.feed_id

    def enter(self, replica: Replica) -> None:
        """Add its feed to *replica*. If the set is full, the feed stays outside until the node is loaded anew, and the
        other identities go on."""
        with contextlib.suppress(SetFullError):
            replica.own_feed(self.feed, self.dialect, child=True)
