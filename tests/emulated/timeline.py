"""An emulated ether's time, moved by tests."""

from firmware_bridge.emulation.timeline import Timeline


class VirtualTimeline(Timeline):
    """A timeline whose time passes by calls only."""

    def __init__(self) -> None:
        self._virtual_us = 0
        super().__init__(lambda: self._virtual_us)

    def advance(self, us: int) -> None:
        """Let *us* microseconds pass, and run the events in them in order."""
        until_us = self._virtual_us + us
        while (next_us := self.next_us()) is not None and next_us <= until_us:
            self._virtual_us = max(next_us, self._virtual_us)
            self.catch_up()
        self._virtual_us = until_us
