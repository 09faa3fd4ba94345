"""A face's view of the node's stores. A face with a broker that stores packets, such as MQTT, has to know what they are
about."""

from collections.abc import Sequence
from typing import Protocol

from tinyssb_node.ids import FeedId
from tinyssb_node.store.port import StoredChunk, StoredEntry


class FaceStorePort(Protocol):
    """The store of one network. Called in the event loop's thread; raises StoreFailedError, StoreDamagedError."""

    @property
    def network(self) -> str:
        """The network's name in topics, in hexadecimal digits (docs/formats/mqtt.md)."""
        ...

    @property
    def set(self) -> str:
        """Likewise, its set of feeds."""
        ...

    def follows(self) -> frozenset[FeedId]:
        """Return the feeds in the set that its user wants."""
        ...

    def knows(self, packet: bytes) -> bool:
        """Return True if *packet*, of ours, is of this network."""
        ...

    def feeds_of(self, packet: bytes) -> Sequence[FeedId]:
        """Return the feeds of which *packet* is a stored entry or chunk; none if it is something else."""
        ...

    def after(self, arrival: int) -> tuple[Sequence[StoredEntry | StoredChunk], int]:
        """Return some of the appends after the arrival number *arrival*, in order; and the arrival number reached."""
        ...

    def last_arrival(self) -> int:
        """Return the last arrival number, 0 for none."""
        ...

    def recall(self, key: str) -> str | None:
        """Return what ``keep`` stored."""
        ...

    def keep(self, key: str, value: str) -> None:
        """Keep a small value by name, durably, unless the disk is full."""
        ...
