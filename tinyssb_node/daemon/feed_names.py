"""Names that a user may give for a feed: any prefix of its id that is unique, or the name of their own feed."""

from collections.abc import Sequence

from tinyssb_node import limits
from tinyssb_node.errors import ProblemError
from tinyssb_node.ids import FeedId
from tinyssb_node.store.port import FeedRecord

OWN_FEED = "me"
"""A name for the node's own feed."""


def find_feed(records: Sequence[FeedRecord], name: str, own: FeedId | None) -> FeedRecord:
    """Return the one feed among *records* that *name* stands for; *own* is the node's.

    Raises ProblemError.
    """
    prefix = own.hex() if name == OWN_FEED and own is not None else name.lower()
    found = [record for record in records if prefix and record.feed.hex().startswith(prefix)]
    shown = name[: 2 * limits.FEED_ID_SIZE]
    if not found:
        raise ProblemError(
            f"No feed of this node's set begins with '{shown}'.",
            "`tinyssb feeds` lists them; `tinyssb follow` adds one.",
            code="unknown_feed",
        )
    if len(found) > 1:
        raise ProblemError(
            f"{len(found)} feeds begin with '{shown}'.",
            "Add digits until only one is left; `tinyssb feeds` lists them.",
            code="ambiguous_feed",
        )
    return found[0]
