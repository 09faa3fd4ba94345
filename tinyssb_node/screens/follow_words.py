"""Words about follows that are pending: feeds of which nothing came, and that no peer named (decision 0070)."""

from typing import Final

PENDING: Final = "pending: nobody near has it yet"
"""The state of such a feed, in a list."""
PENDING_MEANING: Final = (
    "Nobody near has it yet; only this node asks for it, and it takes nobody's place in the set."
)
"""The meaning of that."""


def pending_count(count: int) -> str:
    """Return how many follows are pending."""
    follows = "1 feed that you follow is" if count == 1 else f"{count:,} feeds that you follow are"
    return f"{follows} pending: nobody near has {'it' if count == 1 else 'them'} yet"
