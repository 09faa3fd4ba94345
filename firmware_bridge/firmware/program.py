"""The loop of the firmware: cable, bridge, watchdog. Runs in MicroPython, on whatever it is given."""

from firmware_bridge.firmware import limits
from firmware_bridge.firmware.account import Account
from firmware_bridge.firmware.bridge import Bridge
from firmware_bridge.firmware.radio import Radio
from firmware_bridge.firmware.wiring import Wiring

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from firmware_bridge.firmware.port import Console, Machine, Watchdog
    from firmware_bridge.firmware.wiring import Board


class Program:
    """All that runs. Each ``turn`` is short: nothing in it waits for the host or the air."""

    def __init__(
        self,
        *,
        board: "Board",
        machine: "Machine",
        console: "Console",
        watchdog: "Watchdog",
        clock_us: "Callable[[], int]",
        sleep_us: "Callable[[int], None]",
        random_byte: "Callable[[], int]",
        started_by_watchdog: bool = False,
    ) -> None:
        wiring = Wiring(board, machine, sleep_us)
        self.radio = Radio(board.chip(wiring, **board.options), wiring.interrupted, random_byte, Account())
        """The chip."""
        self.bridge = Bridge(
            self.radio, f"tinySSB bridge on {board.name}", board.power_max_dbm, started_by_watchdog
        )
        """The conversation with the host."""
        self._console = console
        self._watchdog = watchdog
        self._clock_us = clock_us

    def turn(self) -> bool:
        """Do all there is to do. False: the host wants MicroPython's prompt instead."""
        now_us = self._clock_us()
        if self.bridge.ready:
            data = self._console.read(limits.READ_MAX)
            if data:
                self.bridge.receive(data, now_us)
        self.bridge.step(now_us)
        for _ in range(limits.WRITES_IN_A_TURN):
            if not self._console.writable():
                break
            data = self.bridge.take(limits.WRITE_MAX)
            if not data:
                break
            self._console.write(data)
        # Only here: a loop that hangs anywhere above is one that does not feed it.
        self._watchdog.feed()
        return not self.bridge.leaving
