"""The share of a face's allowed airtime that one kind of packet takes."""

from collections import deque

from tinyssb_node.scheduling.link import Allowance

_PERMILLE = 1_000


class AirShare:
    """Airtime spent on one kind of packet in the window that ends now. As many packets are remembered as the law
    allows."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._spent: deque[tuple[int, int]] = deque()
        """When, and how much."""
        self._sum_us = 0

    def spent(self, airtime_us: int, now_us: int) -> None:
        """Count *airtime_us* more."""
        self._forget(now_us)
        self._spent.append((now_us, airtime_us))
        self._sum_us += airtime_us

    def has(self, permille: int, now_us: int, waiting_us: int = 0) -> bool:
        """Return True if less than *permille* of what any window may hold is spent in this one, with *waiting_us* that
        wait to be sent."""
        self._forget(now_us)
        return (self._sum_us + waiting_us) * _PERMILLE < self._allowance.limit_us * permille

    def _forget(self, now_us: int) -> None:
        while self._spent and now_us - self._spent[0][0] >= self._allowance.window_us:
            self._sum_us -= self._spent.popleft()[1]
