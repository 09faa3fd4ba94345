"""A Bloom-like filter of one hash: it excludes most packets of a flood without asking SQLite."""

from collections.abc import Iterable
from typing import Final

# Bytes: with a million packets stored, excludes seven of eight unknown ones without SQLite.
_SIZE: Final = 1 << 20
_PLACES: Final = 8 * _SIZE - 1


class PresenceFilter:
    """One bit for every stored number. Numbers come from hashes, so their last bits are enough."""

    __slots__ = ("_bits",)

    def __init__(self, numbers: Iterable[int]) -> None:
        self._bits = bytearray(_SIZE)
        for number in numbers:
            self.add(number)

    def add(self, number: int) -> None:
        """Add *number*."""
        place = number & _PLACES
        self._bits[place >> 3] |= 1 << (place & 7)

    def may_have(self, one: bytes, other: bytes) -> bool:
        """Return False if neither number was added; True if one of them was, or by chance. They are big-endian: signed
        or not, their last bits are the same."""
        bits = self._bits
        place = int.from_bytes(one) & _PLACES
        if bits[place >> 3] >> (place & 7) & 1:
            return True
        place = int.from_bytes(other) & _PLACES
        return bool(bits[place >> 3] >> (place & 7) & 1)
