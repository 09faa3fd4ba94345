"""Words about follows that are pending: feeds of which nothing came, and that no peer named (decision 0070)."""

from typing import Final

from tinyssb_node.screens.languages import message, tn

PENDING: Final = message("pending: nobody near has it yet")
"""The state of such a feed, in a list."""
PENDING_MEANING: Final = message(
    "Nobody near has it yet; only this node asks for it, and it takes nobody's place in the set."
)
"""The meaning of that."""


def pending_count(count: int) -> str:
    """Return how many follows are pending."""
    return tn(
        count,
        "{n} feed that you follow is pending: nobody near has it yet",
        "{n} feeds that you follow are pending: nobody near has them yet",
    )
