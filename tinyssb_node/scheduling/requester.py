"""The pace of requests and replies: how much to give at once, and when to request more."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
P = TypeVar("P")


class RequestPacer:
    """Counts packets since the last request, and triggers the next one when about half an answer has arrived.

    The length of an answer is not known beforehand: a deployed pub gives three packets, a node of ours on a stream up
    to hundreds. So the count that triggers doubles with each request it triggers, and falls back to what really came
    when the timer had to do it. Then it stays for some requests: each failed attempt at more costs a wait.
    """

    LEAST = 3
    """Packets that the most frugal deployed peers give in one answer."""
    STEADY = 8
    """Requests without an attempt at more, after one failed."""

    def __init__(self, answer_max: int) -> None:
        """*answer_max* is the longest answer that a node of ours gives."""
        self._most = max(self.LEAST, answer_max // 2)
        self._trigger = self.LEAST
        self._steady = 0
        self._fresh = 0

    def got(self) -> bool:
        """Count a new packet. Return True if it is time to request more."""
        self._fresh += 1
        if self._fresh < self._trigger:
            return False
        if self._steady:
            self._steady -= 1
        else:
            self._trigger = min(2 * self._trigger, self._most)
        self._fresh = 0
        return True

    def timer_asked(self) -> None:
        """The timer sent a request: what came since the last one was a whole answer."""
        self._trigger = max(self.LEAST, self._fresh)
        self._steady = self.STEADY if self._fresh else 0
        self._fresh = 0


class ReplyCredit(Generic[K]):
    """The number of packets to give in reply to one request: few at first, doubled each time the peer took what it was
    given, few again when it repeats the very same request."""

    def __init__(self, burst: int, burst_max: int) -> None:
        self._burst = burst
        self._burst_max = burst_max
        self._credit = burst
        self._asked: dict[K, int] = {}

    def grant(self, asked: Mapping[K, int]) -> int:
        """Return how many packets to give to a request for *asked*: the first number wanted of each chain."""
        if any(asked.get(chain, number + 1) > number for chain, number in self._asked.items()):
            self._credit = min(2 * self._credit, self._burst_max)
        elif asked == self._asked:
            self._credit = self._burst
        self._asked = dict(asked)
        return self._credit


def share_out(room: int, available: list[int]) -> list[int]:
    """Divide *room* packets among chains that have so many *available*, one to each in turn.

    Chains come first, so that one lost packet does not make the rest of an answer useless.
    """
    shares = [0] * len(available)
    open_ = [number for number, most in enumerate(available) if most > 0]
    while room > 0 and open_:
        for number in open_[:room]:
            shares[number] += 1
        room -= min(room, len(open_))
        open_ = [number for number in open_ if shares[number] < available[number]]
    return shares


def take_turns(chains: Sequence[Sequence[P]]) -> list[P]:
    """Return the members of several chains, the first of each, then the second of each, and so on."""
    longest = max((len(chain) for chain in chains), default=0)
    return [chain[turn] for turn in range(longest) for chain in chains if turn < len(chain)]
