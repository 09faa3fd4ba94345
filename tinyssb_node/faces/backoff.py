"""Waiting times before a broken link is tried again: twice as long each time, never in step with others."""

from collections.abc import Callable

from tinyssb_node import limits


class Backoff:
    """Waits of 1 s to 30 s, each drawn between half and the whole of its step.

    *entropy* returns numbers from 0 up to 1; several nodes that lost the same link must not come back at the same time.
    """

    def __init__(
        self,
        entropy: Callable[[], float],
        *,
        min_s: float = limits.BACKOFF_MIN_S,
        max_s: float = limits.BACKOFF_MAX_S,
    ) -> None:
        self._entropy = entropy
        self._min_s = min_s
        self._max_s = max_s
        self._step_s = min_s

    def next_s(self) -> float:
        """Return the seconds to wait now. The next wait is about twice as long, up to the longest."""
        step_s = self._step_s
        self._step_s = min(2 * step_s, self._max_s)
        return step_s * (1 + self._entropy()) / 2

    def link_was_up(self, up_s: float) -> None:
        """Record how long the link was up: after a long time the next wait is the shortest again."""
        if up_s >= limits.LINK_SETTLED_S:
            self._step_s = self._min_s
