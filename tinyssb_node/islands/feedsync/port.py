"""Port through which the sync reads feeds. It does not write: data that arrives is handed out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tinyssb_node.ids import FeedId, MessageId


@dataclass(frozen=True, slots=True)
class ForkPair:
    """Both entries signed for one sequence number: a fork."""

    seq: int
    held: bytes
    """120 bytes."""
    other: bytes
    """120 bytes."""


@dataclass(frozen=True, slots=True)
class FeedState:
    """How much of a feed is stored."""

    seq: int
    """Its last entry stored, 0 for none."""
    tip: MessageId | None
    """The id of that entry."""
    chains: Sequence[tuple[int, int]] = ()
    """Side chains that lack packets, sorted: the entries they hang on, each with the number of the next packet."""
    fork: ForkPair | None = None
    """The proof that the feed is forked: nothing of it is requested, and nothing after the fork is sent."""


@dataclass(frozen=True, slots=True)
class KeptEntry:
    """A stored entry."""

    packet: bytes
    """120 bytes."""
    id: MessageId
    chunks: int
    """Packets of its side chain, stored or not."""


class FeedSource(Protocol):
    """Stored feeds, as they are at the moment."""

    def state(self, feed: FeedId) -> FeedState | None:
        """Return how much of *feed* is stored; None: nothing is known of it."""
        ...

    def entries(self, feed: FeedId, first: int, limit: int) -> Sequence[KeptEntry]:
        """Return up to *limit* entries from sequence number *first* on, in order."""
        ...

    def chunks(self, feed: FeedId, seq: int, first: int, limit: int) -> Sequence[bytes]:
        """Return up to *limit* packets of a side chain from number *first* on, in order, up to the first gap."""
        ...
