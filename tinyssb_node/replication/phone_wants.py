"""The largest set that deployed phones survive (docs/reference/interop.md).

The phone app lists in a WANT as many numbers as it counts for 100 bytes, and counts too many bytes for each. Then it
cuts that list at the offset, as if all of the set were in it: an offset beyond its end ends the app, at each start.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

_LIST_SIZE: Final = 100
"""Size at which it ends the list."""


class PhoneRoom(StrEnum):
    """Room for more in a set that phones survive."""

    ENOUGH = "enough"
    NEARLY = "nearly"
    """A few more feeds or entries, and they do not."""
    BEYOND = "beyond"
    """They end."""


_MORE_FEEDS: Final = 3
"""Further feeds with which phones should survive a set."""


def phone_room(next_wanted: Sequence[int]) -> PhoneRoom:
    """Return whether phones survive a set, by the next sequence number of each feed in the order of the set."""
    sizes = [_counted_size(seq) for seq in next_wanted]
    if not _survive(sizes):
        return PhoneRoom.BEYOND
    # A number that doubles takes one bit more.
    later = [size + 1 for size in sizes] + [_counted_size(16)] * _MORE_FEEDS
    return PhoneRoom.ENOUGH if _survive(later) else PhoneRoom.NEARLY


def _survive(sizes: Sequence[int]) -> bool:
    """Return True if the list has as many numbers as its offset, wherever it begins."""
    return all(_listed(sizes, offset) >= offset for offset in range(len(sizes)))


def _listed(sizes: Sequence[int], offset: int) -> int:
    """Return how many numbers the app lists from *offset* on."""
    total = _counted_size(offset)
    for count in range(len(sizes)):
        total += sizes[(offset + count) % len(sizes)]
        if total > _LIST_SIZE:
            return count + 1
    return len(sizes)


def _counted_size(number: int) -> int:
    """Return the size that the app counts for *number*: its bits, where bytes are meant, and two more."""
    return 2 + max(1, number.bit_length())
