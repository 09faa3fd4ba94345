"""What a face may look up in the node's stores, where it is more than a link: one that speaks through somebody who
keeps packets, such as an MQTT broker, has to know what they are about."""

from collections.abc import Sequence
from typing import Protocol

from tinyssb_node.ids import FeedId
from tinyssb_node.store.port import StoredChunk, StoredEntry


class FaceStorePort(Protocol):
    """What is held of one network. Called in the event loop's thread; raises StoreFailedError, StoreDamagedError."""

    @property
    def network(self) -> str:
        """What the network is called in topics, in hexadecimal digits (docs/formats/mqtt.md)."""
        ...

    @property
    def set(self) -> str:
        """Likewise, its set of feeds."""
        ...

    def follows(self) -> frozenset[FeedId]:
        """The feeds in the set that its user wants."""
        ...

    def knows(self, packet: bytes) -> bool:
        """True if *packet*, of ours, is of this network."""
        ...

    def feeds_of(self, packet: bytes) -> Sequence[FeedId]:
        """The feeds of which *packet* is an entry or a chunk that is held; none for what is something else."""
        ...

    def after(self, arrival: int) -> tuple[Sequence[StoredEntry | StoredChunk], int]:
        """What was appended behind the place *arrival*, some of it, in order; and the place reached by that."""
        ...

    def last_arrival(self) -> int:
        """The place of what was appended last, 0 for nothing."""
        ...

    def recall(self, key: str) -> str | None:
        """What ``keep`` kept."""
        ...

    def keep(self, key: str, value: str) -> None:
        """Keep a small value by name, durably, unless the disk is full."""
        ...
