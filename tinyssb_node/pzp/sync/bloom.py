"""Bloom filters over ids: which messages one holds, in three bytes each, now and then with one too many."""

import struct
from collections.abc import Iterable
from typing import Final

from blake3 import blake3

from tinyssb_node.pzp.sync import limits

_NUMBERS: Final = struct.Struct(f"<{limits.FILTER_HASHES}I")


class Bloom:
    """A filter that somebody made with *salt*. Any bytes are one; of no bytes nothing is in it."""

    def __init__(self, bits: bytes, salt: bytes) -> None:
        self._bits = bits
        self._salt = salt

    def __contains__(self, item: str) -> bool:
        bits = self._bits
        size = 8 * len(bits)
        return size > 0 and all(
            bits[place >> 3] >> (place & 7) & 1 for place in _places(item, self._salt, size)
        )


def make_bloom(items: Iterable[str], salt: bytes) -> bytes:
    """The bits of a filter over *items*; none for none."""
    listed = list(items)
    if not listed:
        return b""
    bits = bytearray((limits.FILTER_BITS_EACH * len(listed) + limits.FILTER_BITS_MORE) // 8)
    size = 8 * len(bits)
    for item in listed:
        for place in _places(item, salt, size):
            bits[place >> 3] |= 1 << (place & 7)
    return bytes(bits)


def _places(item: str, salt: bytes, size: int) -> list[int]:
    """The bits that *item* sets in a filter of *size* bits."""
    digest = blake3(salt + item.encode()).digest(_NUMBERS.size)
    return [number % size for number in _NUMBERS.unpack(digest)]
