"""Messages between a node and the collector of its event log: docs/formats/log-shipping.md, byte by byte."""

import struct
import zlib
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from hashlib import blake2b
from itertools import pairwise
from typing import Final, NamedTuple

from tinyssb_node.errors import PeerError
from tinyssb_node.shipping import limits

OPEN: Final = "open"
"""Name of the network without a key, in topics."""
_ROOT: Final = "tinyssb-log"
TOPIC_COLLECTOR: Final = "tinyssb-log/collector/status"
"""Topic of the collector's status."""
_KIND_BATCH: Final = 1
_KIND_ASK: Final = 2
_KIND_HAVE: Final = 3
_BATCH: Final = struct.Struct(f">BBIIQQI{limits.BEFORE_SIZE}s{limits.DIGEST_SIZE}s")
_ASK: Final = struct.Struct(">BBIIQ")
_HAVE: Final = struct.Struct(">BBIIBH")
_ROW: Final = struct.Struct(">IQQB")

assert _BATCH.size + limits.BATCH_BYTES + limits.BATCH_BYTES // 16_384 * 5 + 11 <= limits.BATCH_WIRE_MAX


class SegmentId(NamedTuple):
    """Name of a segment of a log; sorts in order of writing."""

    boot: int
    first: int
    """The offset of its first record."""


class SegmentSlice(NamedTuple):
    """Bytes of a segment."""

    segment: SegmentId
    at: int
    size: int

    @property
    def end(self) -> int:
        """The first byte after it."""
        return self.at + self.size


class SegmentState(IntEnum):
    """Collector's judgement of a segment."""

    FINE = 0
    GAP = 1
    """A batch began after the end of what is there."""
    OTHER = 2
    """The collector has another file of that name."""
    FULL = 3
    """The disk is full."""


class ReplyFlag(IntFlag):
    """Properties of a reply."""

    LISTING = 1
    """It replies to a question."""
    MORE = 2
    """There are more segments than it lists."""
    VERSION = 4
    """The collector does not know the version of the message."""


class SegmentStatus(NamedTuple):
    """How much the collector has of a segment."""

    segment: SegmentId
    have: int
    """Its first so many bytes."""
    state: SegmentState


@dataclass(frozen=True, slots=True)
class CollectorReply:
    """A reply of the collector."""

    run: int
    """The run of the message that it replies to."""
    life: int
    """A number that changes each time the collector is started."""
    flags: ReplyFlag
    rows: tuple[SegmentStatus, ...]


class BadAnswerError(PeerError):
    """An invalid reply of a collector: *rule* says what is wrong."""

    def __init__(self, rule: str) -> None:
        super().__init__(f"invalid reply of a collector: {rule}")
        self.rule = rule


def topic_up(network: str, node: str) -> str:
    """Return the topic for batches and questions of *node*. *network*: ``OPEN``, or the DMX of the set in hex."""
    return f"{_ROOT}/{network}/{node}/up"


def topic_down(network: str, node: str) -> str:
    """Return the topic of replies to *node*."""
    return f"{_ROOT}/{network}/{node}/down"


def topic_status(network: str, node: str) -> str:
    """Return the topic of the status of *node*."""
    return f"{_ROOT}/{network}/{node}/status"


def fingerprint(head: bytes, tail: bytes) -> bytes:
    """Return the fingerprint of a segment's first bytes, *head*, and the last ones before a batch, *tail*:
    ``limits.PRINT_BYTES`` each, or as many as there are."""
    return blake2b(head + tail, digest_size=limits.BEFORE_SIZE).digest()


def serialize_batch(run: int, piece: SegmentSlice, before: bytes, content: bytes) -> bytes:
    """Serialize a batch: *content* of *piece*, and *before*, the ``fingerprint`` of what precedes it."""
    assert len(content) == piece.size <= limits.BATCH_BYTES
    header = _BATCH.pack(
        limits.VERSION,
        _KIND_BATCH,
        run,
        *piece.segment,
        piece.at,
        piece.size,
        before,
        blake2b(content, digest_size=limits.DIGEST_SIZE).digest(),
    )
    return header + zlib.compress(content)


def serialize_ask(run: int, since: SegmentId) -> bytes:
    """Serialize the question how much the collector has of *since* and later segments."""
    return _ASK.pack(limits.VERSION, _KIND_ASK, run, *since)


def parse_have(message: bytes) -> CollectorReply:
    """Parse a reply. Raises BadAnswerError."""
    if message[:2] != bytes((limits.VERSION, _KIND_HAVE)):
        raise BadAnswerError(f"it begins with {message[:2].hex()}")
    if len(message) < _HAVE.size:
        raise BadAnswerError(f"it has {len(message)} bytes")
    _, _, run, life, flags, count = _HAVE.unpack_from(message)
    if flags > ReplyFlag.LISTING | ReplyFlag.MORE | ReplyFlag.VERSION:
        raise BadAnswerError(f"its flags are {flags}")
    if count > limits.ROWS_MAX or len(message) != _HAVE.size + count * _ROW.size:
        raise BadAnswerError(f"it has {len(message)} bytes for {count} rows")
    rows: list[SegmentStatus] = []
    for boot, first, have, state in _ROW.iter_unpack(message[_HAVE.size :]):
        if boot > limits.BOOT_MAX or first > limits.FIRST_MAX or have > limits.SEGMENT_BYTES_MAX:
            raise BadAnswerError(f"there is no segment {boot}-{first} of {have} bytes")
        if state > max(SegmentState):
            raise BadAnswerError(f"there is no state {state}")
        rows.append(SegmentStatus(SegmentId(boot, first), have, SegmentState(state)))
    if any(one.segment >= other.segment for one, other in pairwise(rows)):
        raise BadAnswerError("its rows are not in order")
    return CollectorReply(run, life, ReplyFlag(flags), tuple(rows))
