"""An emulated ether in real time, on the clock of an asyncio loop."""

import asyncio
from weakref import WeakKeyDictionary

from firmware_bridge.emulation.ether import Ether
from firmware_bridge.emulation.timeline import Timeline


class LoopTimeline(Timeline):
    """The time of the running loop's clock, *time_scale* times as fast."""

    def __init__(self, time_scale: float = 1.0) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(lambda: int(loop.time() * 1e6 * time_scale))
        self.time_scale = time_scale
        self.on_change = self._arm
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None

    def _arm(self) -> None:
        next_us = self.next_us()
        if next_us is None:
            return
        # One microsecond late is on time; early would need a second timer.
        due_s = (next_us + 1) / 1e6 / self.time_scale
        if self._timer is not None:
            if self._timer.when() <= due_s:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(due_s, self._fire)

    def _fire(self) -> None:
        self._timer = None
        self.catch_up()
        self._arm()


_SHARED: WeakKeyDictionary[asyncio.AbstractEventLoop, Ether] = WeakKeyDictionary()


def shared_ether() -> Ether:
    """Return the ether that all emulated boards of this loop share."""
    return _SHARED.setdefault(asyncio.get_running_loop(), Ether(LoopTimeline()))
