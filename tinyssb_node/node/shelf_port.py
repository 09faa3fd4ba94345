"""The shelf as a node sees it: feeds that are held and are in no set (decision 0048). Gateways have one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from tinyssb_node.ids import FeedId


@dataclass(frozen=True, slots=True)
class BringResult:
    """The outcome of bringing packets."""

    shelved: bool
    """True if they went to the shelf; False: into the set's feeds, or nowhere."""
    entries: int = 0
    """Added."""
    chunks: int = 0
    """Added."""
    held: int = 0
    """Packets that were there before."""
    refused: tuple[int, str] | None = None
    """The first that was not taken, by its number from 0, and why; nothing behind it was looked at."""
    dropped: Sequence[FeedId] = ()
    """Feeds that had to leave the shelf, with all that was held of them: for it; or it itself, if it is more than the
    shelf may hold by now."""


class ShelfPort(Protocol):
    """Feeds held outside the set. All methods raise StoreFailedError; those that write raise StoreFullError, too."""

    def __contains__(self, feed: FeedId) -> bool:
        """Return True if some of *feed* is held."""
        ...

    @property
    def feeds(self) -> Sequence[FeedId]:
        """All feeds held."""
        ...

    def bring(self, feed: FeedId, packets: Sequence[bytes]) -> BringResult:
        """Check and store packets of *feed*, in order."""
        ...

    def packets(self, feed: FeedId) -> Iterator[bytes]:
        """Yield what is held of *feed*, each entry before its chunks."""
        ...

    def drop(self, feeds: Sequence[FeedId]) -> None:
        """Delete all that is held of *feeds*."""
        ...


OpenShelf = Callable[[bool], "ShelfPort | None"]
"""Opens the shelf, made if need be (its argument); None: there is none."""
