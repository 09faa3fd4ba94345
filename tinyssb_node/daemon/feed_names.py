"""How a user names a feed: by any beginning of its id that is enough, or as their own."""

from collections.abc import Sequence

from tinyssb_node import limits
from tinyssb_node.ids import FeedId
from tinyssb_node.problems import AmbiguousFeedError, UnknownFeedError
from tinyssb_node.store.port import FeedRecord

OWN_FEED = "me"
"""What the node's own feed may be called."""


def find_feed(records: Sequence[FeedRecord], name: str, own: FeedId | None) -> FeedRecord:
    """The one feed among *records* that *name* names; *own* is the node's.

    Raises UnknownFeedError, AmbiguousFeedError.
    """
    prefix = own.hex() if name == OWN_FEED and own is not None else name.lower()
    found = [record for record in records if prefix and record.feed.hex().startswith(prefix)]
    shown = name[: 2 * limits.FEED_ID_SIZE]
    if not found:
        raise UnknownFeedError(
            f"No feed of this node's set begins with '{shown}'.",
            "`tinyssb feeds` lists them; `tinyssb follow` adds one.",
        )
    if len(found) > 1:
        raise AmbiguousFeedError(
            f"{len(found)} feeds begin with '{shown}'.",
            "Add digits until only one is left; `tinyssb feeds` lists them.",
        )
    return found[0]
