"""Token bucket: a rate limit that allows a burst."""


class TokenBucket:
    """A rate limit: so many at once, refilled at a steady rate."""

    __slots__ = ("_at_us", "_level", "_most", "_per_us", "_rate")

    def __init__(self, most: int, rate: int, per_us: int, now_us: int) -> None:
        """Allow *most* at once, and *rate* each *per_us*."""
        self._most = float(most)
        self._rate = rate
        self._per_us = per_us
        self._level = self._most
        self._at_us = now_us

    def has(self, now_us: int) -> bool:
        """Return True if one more is allowed now."""
        self._level = min(self._most, self._level + (now_us - self._at_us) / self._per_us * self._rate)
        self._at_us = now_us
        return self._level >= 1

    def take(self, amount: int = 1) -> None:
        """Use what ``has`` allowed; what is beyond that comes off what is allowed later."""
        self._level -= amount
