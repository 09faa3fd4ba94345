"""The duty cycle: airtime in any hour, in a microcontroller's memory. Runs in MicroPython.

It counts as the daemon's ledger does: a transmission by its overlap with the window, and the limit holds in every
window, past and future. Transmissions do not overlap, so use is highest in the window that ends with one: checking
that window suffices.
"""

from array import array

from firmware_bridge.firmware.limits import RECORDS_MAX, WINDOW_US


class DutyCycle:
    """Transmissions of the last window, exact to the microsecond while there are at most *records_max*.

    More are merged in pairs, as one that ended with the later: airtime is freed later, never sooner.
    """

    def __init__(self, window_us: int = WINDOW_US, records_max: int = RECORDS_MAX) -> None:
        """*records_max* is even; each takes 16 bytes, all allocated now."""
        self._window_us = window_us
        self._size = records_max
        self._ends_us = array("Q", bytes(8 * records_max))
        self._airtimes_us = array("Q", bytes(8 * records_max))
        self._first = 0
        self._count = 0
        self._last_us = 0
        self._total_us = 0

    def allows(self, airtime_us: int, now_us: int, limit_us: int) -> bool:
        """Return whether every window stays within *limit_us* after a transmission of *airtime_us* from now on."""
        end_us = max(now_us, self._last_us) + airtime_us
        return self._spent_since(end_us - self._window_us) + airtime_us <= limit_us

    def charge(self, airtime_us: int, now_us: int) -> None:
        """Record a transmission of *airtime_us* that begins now, or when the one before is over."""
        self._forget(now_us - self._window_us)
        if self._count == self._size:
            self._merge_pairs()
        self._last_us = max(now_us, self._last_us) + airtime_us
        index = self._index(self._count)
        self._ends_us[index] = self._last_us
        self._airtimes_us[index] = airtime_us
        self._count += 1
        self._total_us += airtime_us

    def used_us(self, now_us: int) -> int:
        """Return the airtime in the window that ends now, including all of the current transmission."""
        return self._spent_since(now_us - self._window_us)

    def _index(self, number: int) -> int:
        return (self._first + number) % self._size

    def _spent_since(self, begin_us: int) -> int:
        spent_us = self._total_us
        for number in range(self._count):
            index = self._index(number)
            airtime_us = self._airtimes_us[index]
            inside_us = self._ends_us[index] - begin_us
            if inside_us > 0:
                return spent_us - airtime_us + min(airtime_us, inside_us)
            spent_us -= airtime_us
        return 0

    def _forget(self, before_us: int) -> None:
        while self._count and self._ends_us[self._first] <= before_us:
            self._total_us -= self._airtimes_us[self._first]
            self._first = self._index(1)
            self._count -= 1

    def _merge_pairs(self) -> None:
        """Merge records in pairs: keep the later end, and the sum of both."""
        for pair in range(self._size // 2):
            earlier, later, index = self._index(2 * pair), self._index(2 * pair + 1), self._index(pair)
            self._airtimes_us[index] = self._airtimes_us[earlier] + self._airtimes_us[later]
            self._ends_us[index] = self._ends_us[later]
        self._count = self._size // 2
