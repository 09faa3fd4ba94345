"""Rate limit for what is given again and again (exponential backoff), whoever requests it.

Requests on the air are not signed, and names cost nothing, so repeats are counted for what is given, not for the peers
that request it. What was given as often as honest loss explains is given ever more rarely from then on.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from math import floor
from typing import Final, Generic, TypeVar

from tinyssb_node.scheduling.suppression import LatestByKey

K = TypeVar("K", bound=Hashable)

_SPARE: Final = 4
"""Packets given at once beyond the length of what is requested: of short ones more get lost, in proportion."""
_TAKING: Final = 3
"""Factor on what is given at once to a peer whose requests show that it takes what it gets: at a loss of 50 % it needs
two and a half times the length in most cases."""
_SPARE_DOUBLINGS: Final = 3
"""Doublings of the wait at most while airtime is left for it (decision 0092)."""
_FORGET_US: Final = 3_600_000_000
"""Time in which as much is forgotten as is given at once: nodes that come later need it too."""


@dataclass(slots=True)
class _Given:
    packets: float
    """How many were given, less what is forgotten since."""
    at_us: int
    """When the last one was."""


class RepeatLimiter(Generic[K]):
    """Counts what was given on a face. Bounded: what was not given for longest is forgotten first."""

    def __init__(self, *, wait_us: int, wait_max_us: int, most: int) -> None:
        """The first repeat beyond the free ones waits *wait_us*, each further one twice as long, at most
        *wait_max_us*."""
        self._wait_us = wait_us
        self._wait_max_us = wait_max_us
        self._given: LatestByKey[K, _Given] = LatestByKey(most)

    def allows(self, key: K, length: int, now_us: int, *, taking: bool = False, spare: bool = False) -> bool:
        """Return True if a packet of *key*, which has so many, may be given now. *taking*: the peer that requests it
        has taken what it got before. *spare*: enough airtime is left for repeats."""
        given = self._given[key]
        if given is None:
            return True
        free = (length + _SPARE) * (_TAKING if taking else 1)
        beyond = floor(_left(given, length, now_us)) - free
        doublings = min(beyond, _SPARE_DOUBLINGS if spare else 20)
        return beyond < 0 or now_us - given.at_us >= min(self._wait_us << doublings, self._wait_max_us)

    def gave(self, key: K, length: int, now_us: int, packets: int = 1) -> None:
        """Record that so many packets of *key* are given now."""
        given = self._given[key]
        before = 0.0 if given is None else _left(given, length, now_us)
        self._given[key] = _Given(before + packets, now_us)


def _left(given: _Given, length: int, now_us: int) -> float:
    """Return how many packets still count."""
    return max(0.0, given.packets - (length + _SPARE) * (now_us - given.at_us) / _FORGET_US)
