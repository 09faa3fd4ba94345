"""Sliding-window account of time on the air, exact for any window.

The law counts time on the air in *any* window of an hour, not in hours by the clock. So a transmission counts by its
overlap with the window, and what the ledger allows is allowed in every window, past and to come.

One check is enough: transmissions do not overlap each other here, so while one is on the air the window loses at most
what it gains. Use never falls during a transmission, and is highest at its end, in the window that ends there.
"""

from bisect import bisect_left, bisect_right

from tinyssb_node import limits


class Ledger:
    """Transmissions of the last window. Exact to the microsecond; amortised O(log n), n the transmissions in a window.

    Anything unknown is counted as later than it can have been, which frees air later and never sooner. A packet in the
    hands of a radio counts wholly until it has left, and transmissions that would overlap are laid one behind the
    other. Beyond ``limits.LEDGER_RECORDS_MAX`` of them, neighbouring ones are merged.
    """

    __slots__ = ("_ends_us", "_head", "_held_us", "_limit_us", "_sums_us", "_window_us")

    def __init__(self, limit_us: int, window_us: int) -> None:
        """Allow at most *limit_us* on the air in any *window_us*, both in microseconds."""
        assert 0 < limit_us <= window_us
        self._limit_us = limit_us
        self._window_us = window_us
        self._ends_us: list[int] = []
        """When each transmission ended, ascending."""
        self._sums_us: list[int] = []
        """Airtime of all up to and with each."""
        self._head = 0
        """Index of the first that may still matter."""
        self._held_us = 0
        """Airtime of what may be sent at any moment."""

    def __len__(self) -> int:
        return len(self._ends_us) - self._head

    def hold(self, airtime_us: int) -> None:
        """Count a packet of *airtime_us* that was handed to a radio, which sends it when it sees fit."""
        self._held_us += airtime_us

    def settle(self, airtime_us: int, ended_us: int) -> None:
        """A packet that was held has left, at *ended_us* or before."""
        self.release(airtime_us)
        if self._ends_us:
            ended_us = max(ended_us, self._ends_us[-1] + airtime_us)
        self._ends_us.append(ended_us)
        self._sums_us.append(self._total_us + airtime_us)
        self._forget(ended_us - airtime_us - self._window_us)

    def release(self, airtime_us: int) -> None:
        """A packet that was held will not be sent."""
        assert 0 < airtime_us <= self._held_us
        self._held_us -= airtime_us

    def charge(self, airtime_us: int, now_us: int) -> None:
        """Count a transmission of *airtime_us* that begins now, or as soon as the one under way is over."""
        self.hold(airtime_us)
        self.settle(airtime_us, now_us + airtime_us)

    def earliest_send_us(self, airtime_us: int, now_us: int) -> int | None:
        """Return the first moment from *now_us* on at which a transmission of *airtime_us* may begin, as far as is
        known now.

        None: never, it is longer than the whole allowance. While packets are held the answer may move to later.
        """
        spare_us = self._limit_us - airtime_us
        if spare_us < 0:
            return None
        # So much, counted from the oldest, must have left the window when the transmission ends.
        must_leave_us = self._total_us + self._held_us - spare_us
        if must_leave_us <= self._sum_before(self._head):
            return now_us
        if must_leave_us > self._total_us:
            last_us = max(now_us, self._ends_us[-1]) if self._ends_us else now_us
            window_begin_us = last_us + must_leave_us - self._total_us
        else:
            index = bisect_left(self._sums_us, must_leave_us, lo=self._head)
            window_begin_us = self._ends_us[index] - (self._sums_us[index] - must_leave_us)
        return max(now_us, window_begin_us + self._window_us - airtime_us)

    def used_us(self, now_us: int) -> int:
        """Return the microseconds on the air in the window that ends now, held packets included."""
        begin_us = now_us - self._window_us
        index = bisect_right(self._ends_us, begin_us, lo=self._head)
        if index == len(self._ends_us):
            return self._held_us
        # Of the first transmission that reaches into the window, the part inside.
        in_first_us = min(self._ends_us[index] - begin_us, self._sums_us[index] - self._sum_before(index))
        return self._total_us - self._sums_us[index] + in_first_us + self._held_us

    def left_us(self, now_us: int) -> int:
        """Return the microseconds that may still be spent in the window that ends now."""
        return max(0, self._limit_us - self.used_us(now_us))

    @property
    def _total_us(self) -> int:
        return self._sums_us[-1] if self._sums_us else 0

    def _sum_before(self, index: int) -> int:
        return self._sums_us[index - 1] if index else 0

    def _forget(self, before_us: int) -> None:
        """Drop records that no window can reach any more, and detail beyond the bound."""
        while self._ends_us[self._head] <= before_us:
            self._head += 1
        if self._head > limits.LEDGER_RECORDS_MAX:
            # Seldom, so that it costs each transmission next to nothing.
            del self._ends_us[: self._head - 1], self._sums_us[: self._head - 1]
            self._head = 1
        if len(self) > limits.LEDGER_RECORDS_MAX:
            # Of each pair the later end stays, and the sum up to it: the earlier one moves up to the later.
            keep = slice(self._head + (len(self) + 1) % 2, None, 2)
            head = slice(max(0, self._head - 1), self._head)
            self._ends_us = self._ends_us[head] + self._ends_us[keep]
            self._sums_us = self._sums_us[head] + self._sums_us[keep]
            self._head = min(self._head, 1)
