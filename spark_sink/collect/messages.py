"""Messages between a node and the collector of its event log: docs/formats/log-shipping.md, byte by byte."""

import re
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, NamedTuple

from spark_sink import limits

TOPICS: Final = "tinyssb-log/+/+/up"
"""Topics that a collector subscribes to."""
STATUS: Final = "tinyssb-log/collector/status"
"""Topic of the collector's status, online or offline."""
FINE, GAP, OTHER, FULL = range(4)
"""States of a segment."""
LISTING, MORE, VERSION = 1, 2, 4
"""Flags of an answer."""
_UP: Final = re.compile(r"tinyssb-log/(open|[0-9a-f]{14})/([0-9a-f]{16})/up\Z")
_KIND_BATCH: Final = 1
_KIND_ASK: Final = 2
_KIND_HAVE: Final = 3
_BATCH: Final = struct.Struct(">BBIIQQI8s16s")
_ASK: Final = struct.Struct(">BBIIQ")
_HAVE: Final = struct.Struct(">BBIIBH")
_ROW: Final = struct.Struct(">IQQB")


class Log(NamedTuple):
    """A node's log in one network."""

    network: str
    """``open``, or 14 hexadecimal digits."""
    node: str
    """16 hexadecimal digits."""

    @property
    def topic_down(self) -> str:
        """Return topic of replies to its shipper."""
        return f"tinyssb-log/{self.network}/{self.node}/down"


class SegmentId(NamedTuple):
    """Names a segment of a log; sorts in order of writing."""

    boot: int
    first: int
    """The offset of its first record."""


class HaveRow(NamedTuple):
    """State of one stored segment."""

    segment: SegmentId
    have: int
    """Number of its first bytes that are stored."""
    state: int = FINE


@dataclass(frozen=True, slots=True)
class LogBatch:
    """Bytes of a segment."""

    run: int
    segment: SegmentId
    at: int
    before: bytes
    """Fingerprint of what comes before."""
    content: bytes


@dataclass(frozen=True, slots=True)
class Ask:
    """The question what is here, from a segment on."""

    run: int
    since: SegmentId


@dataclass(frozen=True, slots=True)
class UnknownVersion:
    """A message of a version that is not known."""

    run: int


@dataclass(frozen=True, slots=True)
class Malformed:
    """A malformed message, and the rule that it breaks."""

    rule: str


def parse_topic(topic: str) -> Log | None:
    """Return the log that a message belongs to; None for any other topic."""
    found = _UP.match(topic)
    return None if found is None else Log(found[1], found[2])


def fingerprint(head: bytes, tail: bytes) -> bytes:
    """Hash what comes before a batch: the first bytes of the segment, and the last ones before the batch."""
    return blake2b(head + tail, digest_size=8).digest()


def parse_message(message: bytes) -> LogBatch | Ask | UnknownVersion | Malformed:
    """Parse the message of a node; any bytes."""
    if len(message) > limits.BATCH_WIRE_MAX:
        return Malformed("too long")
    if len(message) < 6:
        return Malformed("too short")
    if message[0] != limits.SHIPPING_VERSION:
        return UnknownVersion(int.from_bytes(message[2:6], "big"))
    if message[1] == _KIND_ASK:
        if len(message) != _ASK.size:
            return Malformed("a question of another size")
        _, _, run, boot, first = _ASK.unpack(message)
        segment = SegmentId(boot, first)
        return Ask(run, segment) if _can_be(segment) else Malformed("no such segment")
    return _parse_batch(message) if message[1] == _KIND_BATCH else Malformed("unknown kind")


def _parse_batch(message: bytes) -> LogBatch | Malformed:
    if len(message) < _BATCH.size:
        return Malformed("too short")
    _, _, run, boot, first, at, size, before, digest = _BATCH.unpack_from(message)
    segment = SegmentId(boot, first)
    if not _can_be(segment):
        return Malformed("no such segment")
    if not 0 < size <= limits.BATCH_BYTES or at + size > limits.SEGMENT_BYTES_MAX:
        return Malformed("no such place")
    unpacker = zlib.decompressobj()
    try:
        content = unpacker.decompress(message[_BATCH.size :], size + 1)
    except zlib.error:
        return Malformed("not deflated")
    if len(content) != size or not unpacker.eof or unpacker.unused_data:
        return Malformed("another size than it says")
    if blake2b(content, digest_size=16).digest() != digest:
        return Malformed("another content than it says")
    return LogBatch(run, segment, at, before, content)


def _can_be(segment: SegmentId) -> bool:
    return segment.boot < 10**8 and segment.first < limits.OFFSET_MAX


def serialize_have(run: int, life: int, flags: int, rows: Sequence[HaveRow]) -> bytes:
    """Write a reply to the message with this *run*, from a collector that drew *life* at its start."""
    assert len(rows) <= limits.ROWS_MAX
    header = _HAVE.pack(limits.SHIPPING_VERSION, _KIND_HAVE, run, life, flags, len(rows))
    return header + b"".join(_ROW.pack(*row.segment, row.have, row.state) for row in rows)
