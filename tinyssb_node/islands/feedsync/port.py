"""What the sync needs of who holds feeds: a few questions. What comes is handed out, and not added here."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tinyssb_node.ids import FeedId, MessageId


@dataclass(frozen=True, slots=True)
class ForkPair:
    """Both entries signed for one place."""

    seq: int
    held: bytes
    """120 bytes."""
    other: bytes
    """120 bytes."""


@dataclass(frozen=True, slots=True)
class FeedState:
    """How far a feed is held."""

    seq: int
    """Its last entry held, 0 for none."""
    tip: MessageId | None
    """The id of that entry."""
    chains: Sequence[tuple[int, int]] = ()
    """Side chains that lack packets, sorted: the entries they hang on, each with the number of the next packet."""
    fork: ForkPair | None = None
    """What proves that the feed is forked: nothing is wanted of it, and nothing behind that given."""


@dataclass(frozen=True, slots=True)
class KeptEntry:
    """An entry that is held."""

    packet: bytes
    """120 bytes."""
    id: MessageId
    chunks: int
    """Packets of its side chain, held or not."""


class FeedSource(Protocol):
    """Feeds that are held, as they are at the moment."""

    def state(self, feed: FeedId) -> FeedState | None:
        """How far *feed* is held; None: nothing is known of it."""
        ...

    def entries(self, feed: FeedId, first: int, limit: int) -> Sequence[KeptEntry]:
        """Up to *limit* entries from sequence number *first* on, in order."""
        ...

    def chunks(self, feed: FeedId, seq: int, first: int, limit: int) -> Sequence[bytes]:
        """Up to *limit* packets of a side chain from number *first* on, in order, up to the first one missing."""
        ...
