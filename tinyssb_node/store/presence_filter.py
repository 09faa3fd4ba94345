"""A Bloom-like filter of one hash: it excludes most packets of a flood without asking SQLite."""

from collections.abc import Iterable
from typing import Final

# Bytes. A filter has eight for each number, of which one bit in 64 is set at first; one in seven at a million.
_SIZE_MIN: Final = 1 << 14
_SIZE_MAX: Final = 1 << 20


class PresenceFilter:
    """One bit for every stored number. Numbers come from hashes, so their last bits are enough."""

    __slots__ = ("_bits", "_count")

    def __init__(self, numbers: Iterable[int]) -> None:
        self._bits = bytearray(_SIZE_MIN)
        self._count = 0
        for number in numbers:
            self.add(number)

    def add(self, number: int) -> None:
        """Add *number*."""
        bits = self._bits
        self._count += 1
        if len(bits) < min(8 * self._count, _SIZE_MAX):
            # What is in it may be in either half now.
            bits *= 2
        place = number & 8 * len(bits) - 1
        bits[place >> 3] |= 1 << (place & 7)

    def may_have(self, one: bytes, other: bytes) -> bool:
        """Return False if neither number was added; True if one of them was, or by chance. They are big-endian: signed
        or not, their last bits are the same."""
        bits, places = self._bits, 8 * len(self._bits) - 1
        place = int.from_bytes(one) & places
        if bits[place >> 3] >> (place & 7) & 1:
            return True
        place = int.from_bytes(other) & places
        return bool(bits[place >> 3] >> (place & 7) & 1)
