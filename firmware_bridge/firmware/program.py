"""The firmware's loop: cable, bridge, watchdog. Runs in MicroPython, with the machine as an argument."""

from firmware_bridge.firmware import limits
from firmware_bridge.firmware.bridge import Bridge
from firmware_bridge.firmware.dutycycle import DutyCycle
from firmware_bridge.firmware.radio import Transceiver
from firmware_bridge.firmware.wiring import MachineChipPort

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from firmware_bridge.firmware.port import Console, Machine, Watchdog
    from firmware_bridge.firmware.wiring import Board


class Program:
    """The whole firmware. Each ``turn`` is short: it waits neither for the host nor for the air."""

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
        wiring = MachineChipPort(board, machine, sleep_us)
        self.radio = Transceiver(
            board.chip(wiring, **board.options), wiring.interrupted, random_byte, DutyCycle()
        )
        """The transceiver."""
        self.bridge = Bridge(
            self.radio, f"tinySSB bridge on {board.name}", board.power_max_dbm, started_by_watchdog
        )
        """The KISS modem towards the host."""
        self._console = console
        self._watchdog = watchdog
        self._clock_us = clock_us

    def turn(self) -> bool:
        """Do all work that is due. Returns False when the host requested MicroPython's prompt."""
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
        # Only here: if the loop hangs anywhere above, the watchdog restarts the board.
        self._watchdog.feed()
        return not self.bridge.leaving
