"""Value types of the field: built only by checking, immutable, ordered as bytes."""

from enum import StrEnum
from typing import NewType, Self

from tinyssb_node import limits


class _FixedBytes(bytes):
    """Bytes of one size. Subclasses set ``SIZE``."""

    __slots__ = ()
    SIZE = 0

    def __new__(cls, value: bytes) -> Self:
        """Take *value* if it has the right size. Raises ValueError."""
        if len(value) != cls.SIZE:
            raise ValueError(f"{cls.__name__} has {cls.SIZE} bytes, not {len(value)}")
        return super().__new__(cls, value)

    @classmethod
    def from_hex(cls, text: str) -> Self:
        """Read hexadecimal digits. Raises ValueError."""
        return cls(bytes.fromhex(text))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.hex()})"


class FeedId(_FixedBytes):
    """An ed25519 public key: 32 bytes that name a feed (spec 4.1)."""

    __slots__ = ()
    SIZE = limits.FEED_ID_SIZE


def blocked_short(feed: bytes) -> bytes:
    """Return the first 12 bytes of a feed id, which stand for it in blocklists (docs/formats/blocklist.md)."""
    return bytes(feed[: limits.BLOCKED_SIZE])


class MessageId(_FixedBytes):
    """The first 20 bytes of a SHA-256 over an entry and its position (spec 4.2.4)."""

    __slots__ = ()
    SIZE = limits.MESSAGE_ID_SIZE


class GroupId(_FixedBytes):
    """32 bytes that name a private group: the cloaked id of its first message (private-group-spec)."""

    __slots__ = ()
    SIZE = limits.GROUP_ID_SIZE


class EpochKey(_FixedBytes):
    """The 32 secret bytes that all members of an epoch of a private group share."""

    __slots__ = ()
    SIZE = limits.EPOCH_KEY_SIZE

    def __repr__(self) -> str:
        return "EpochKey(secret)"


class Dmx(_FixedBytes):
    """The first 7 bytes of a SHA-256, which identify a packet to nodes that expect it (spec 4.2)."""

    __slots__ = ()
    SIZE = limits.DMX_SIZE


Seq = NewType("Seq", int)
"""Sequence number of an entry in its feed, from 1."""

FaceName = NewType("FaceName", str)
"""Name of a face (a link to the outside), unique in a running node."""

NetworkName = NewType("NetworkName", str)
"""A node's own name for a network. Other nodes may use other names: what they share is the network key."""
DEFAULT_NETWORK = NetworkName("default")
"""The network of a node that has no other."""


class Dialect(StrEnum):
    """The dialect in which a feed is written (decision 0001)."""

    SPEC = "spec"
    DEPLOYED = "deployed"


class Origin(StrEnum):
    """The way by which a packet came into the store."""

    OWN = "own"
    PEER = "peer"
    IMPORT = "import"


class PacketKind(StrEnum):
    """The kind of a packet."""

    ENTRY = "entry"
    CHUNK = "chunk"
    CLAIM = "claim"
    NOVELTY = "novelty"
    ZAP = "zap"
    SKETCH = "sketch"
    ASK = "ask"
    FEEDS = "feeds"
    MORE = "more"
    DIFF = "diff"
    WANT = "want"
    CHNK = "chnk"
    NAMED_WANT = "named_want"
    NAMED_CHNK = "named_chnk"
    NEWEST = "newest"
    ANCHOR = "anchor"
    CODED = "coded"
    CODED_CHUNK = "coded_chunk"
    PING = "ping"
    PONG = "pong"
    UNKNOWN = "unknown"


class Verdict(StrEnum):
    """The result of checking a received packet."""

    NEW = "new"
    DUPLICATE = "duplicate"
    INVALID = "invalid"
    NOT_OURS = "not_ours"


class Direction(StrEnum):
    """The direction of a packet."""

    RX = "rx"
    TX = "tx"
