"""Messages of a shipper, as the format has them; made here, for the sink knows nothing of the node's code."""

import struct
import zlib
from hashlib import blake2b

from spark_sink.collect.messages import SegmentId

NODE = "3f0a1b2c4d5e6f70"
UP = f"tinyssb-log/open/{NODE}/up"
FIRST = SegmentId(7, 0)


def batch(content: bytes, at: int, size: int, *, segment: SegmentId = FIRST, run: int = 1) -> bytes:
    """Bytes of a segment with this *content*."""
    piece, near = content[at : at + size], min(at, 128)
    before = blake2b(content[:near] + content[at - near : at], digest_size=8).digest()
    digest = blake2b(piece, digest_size=16).digest()
    header = struct.pack(">BBIIQQI", 1, 1, run, *segment, at, len(piece)) + before + digest
    return header + zlib.compress(piece)


def ask(since: SegmentId = FIRST, run: int = 1) -> bytes:
    return struct.pack(">BBIIQ", 1, 2, run, *since)


def have(message: bytes) -> list[tuple[int, int, int, int]]:
    """The rows of an answer."""
    return list(struct.iter_unpack(">IQQB", message[13:]))
