"""Bytes read as what somebody does: a fuzzer changes bytes, and so changes the story."""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
BYTES_MAX = 130
"""Of one piece: a few more than a packet has."""


class Script:
    """Takes bytes for decisions; behind their end all are 0."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def over(self) -> bool:
        """True if nothing is left to take."""
        return self._at >= len(self._data)

    def number(self, below: int) -> int:
        """A number from 0."""
        taken = self._take(2 if below > 256 else 1)
        return int.from_bytes(taken, "big") % below

    def pick(self, things: Sequence[T]) -> T:
        """One of them."""
        return things[self.number(len(things))]

    def piece(self) -> bytes:
        """At least one byte, at most BYTES_MAX."""
        return self._take(1 + self.number(BYTES_MAX)) or b"\x00"

    def _take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        self._at += size
        return taken
