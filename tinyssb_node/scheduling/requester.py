"""When to ask for more without waiting for the timer."""


class Requester:
    """Counts what came in since the last request, and asks again when about half an answer has arrived.

    How much an answer holds is not known beforehand: a deployed pub gives three packets, a node of ours on a stream up
    to hundreds. So the count that triggers doubles with each request it triggers, and falls back to what really came when
    the timer had to do it.
    """

    LEAST = 3
    """What the most frugal deployed peers give in one answer."""
    MOST = 256
    """Half of the longest answer (scheduling.link.stream_profile)."""

    def __init__(self) -> None:
        self._trigger = self.LEAST
        self._fresh = 0

    def got(self) -> bool:
        """Something new came in. True if it is time to ask for more."""
        self._fresh += 1
        if self._fresh < self._trigger:
            return False
        self._trigger = min(2 * self._trigger, self.MOST)
        self._fresh = 0
        return True

    def timer_asked(self) -> None:
        """The timer asked: whatever came since was a whole answer."""
        self._trigger = max(self.LEAST, self._fresh)
        self._fresh = 0
