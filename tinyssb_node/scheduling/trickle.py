"""Trickle timers: silent while neighbours are consistent, quick when they are not (RFC 6206)."""

from typing import Protocol

from tinyssb_node import limits


class RandomSource(Protocol):
    """A source of randomness; ``random.Random`` is one."""

    def random(self) -> float:
        """Return a number in [0, 1)."""
        ...


class Trickle:
    """A Trickle timer with redundancy constant k = 1 (RFC 6206 section 4.2).

    In each interval it fires once, at a random time of the second half, unless a neighbour sent the same before.
    Intervals double up to the longest; an inconsistency begins again with the shortest.
    """

    def __init__(
        self,
        *,
        shortest_us: int,
        longest_us: int,
        entropy: RandomSource,
        now_us: int,
        grows_unsent: bool = True,
    ) -> None:
        """*grows_unsent*: intervals double also while others send instead (RFC 6206). Otherwise only once we sent: who
        sends the same may be out of reach of the node that could reply."""
        assert 0 < shortest_us <= longest_us
        self._grows_unsent = grows_unsent
        self._shortest_us = shortest_us
        self._longest_us = longest_us
        self._entropy = entropy
        self.silenced = 0
        """How often others sent instead since ``sent``."""
        self._begin(shortest_us, now_us)

    def _begin(self, interval_us: int, now_us: int) -> None:
        self._interval_us = interval_us
        self._end_us = now_us + interval_us
        if self.is_calm:
            # Otherwise the node that is ahead of the others would send for all of them, for ever.
            self._end_us += int(self._entropy.random() * interval_us / limits.TRICKLE_DRIFT)
        half_us = interval_us // 2
        self._fire_us = now_us + half_us + int(self._entropy.random() * (interval_us - half_us))
        self._agreed = False
        self._fired = False

    @property
    def next_us(self) -> int:
        """When ``wake`` is due."""
        return self._end_us if self._fired else self._fire_us

    @property
    def is_calm(self) -> bool:
        """True once no neighbour was inconsistent for so long that intervals are their longest."""
        return self._interval_us >= self._longest_us

    def lengthen(self, longest_us: int) -> None:
        """Let intervals grow up to *longest_us*."""
        self._longest_us = max(self._longest_us, longest_us)

    def hear_consistent(self) -> None:
        """A neighbour sent what we would have sent: no need to repeat it in this interval."""
        self._agreed = True

    def hear_inconsistent(self, now_us: int) -> None:
        """A neighbour has less or more than we do: send soon. No effect in the shortest interval (RFC 6206, rule 6)."""
        if self._interval_us > self._shortest_us:
            self._begin(self._shortest_us, now_us)

    def suppressed(self) -> None:
        """A neighbour sent the packet that was due."""
        self.silenced += 1

    def sent(self) -> None:
        """The packet that was due has left."""
        self.silenced = 0

    def speak_at(self, at_us: int, now_us: int) -> None:
        """Begin again with the shortest interval, in which to send at *at_us*."""
        self._begin(self._shortest_us, now_us)
        self._fire_us = min(at_us, self._end_us)

    def wake(self, now_us: int) -> bool:
        """Move on to *now_us*. Return True if it is time to send."""
        speak = False
        if not self._fired and now_us >= self._fire_us:
            self._fired = True
            speak = not self._agreed
            if not speak:
                self.suppressed()
        if now_us >= self._end_us:
            growth = 1 if self.silenced and not self._grows_unsent else 2
            self._begin(min(growth * self._interval_us, self._longest_us), now_us)
        return speak
