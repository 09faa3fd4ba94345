"""The firmware's entry on a microcontroller, with MicroPython's modules and the loop. Needs MicroPython 1.23 or newer.

The host's cable is the port of MicroPython's prompt. Ctrl-C is off while the program runs, since a frame may contain
it. After a Return frame the board restarts into the prompt, until the next restart.
"""

import os
import random
import select
import sys

import machine
import micropython
import utime

from firmware_bridge.firmware import limits
from firmware_bridge.firmware.power import switch_on_radio
from firmware_bridge.firmware.program import Program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from firmware_bridge.firmware.wiring import Board

PROMPT = "prompt"
"""Name of the file that makes the next start lead to the prompt."""


class Clock:
    """Microseconds since the start. MicroPython's own counter wraps every 18 minutes."""

    def __init__(self) -> None:
        self._ticks = utime.ticks_us()
        self._now_us = 0

    def now_us(self) -> int:
        """Return the time. Call this more often than every 8 minutes."""
        ticks = utime.ticks_us()
        self._now_us += utime.ticks_diff(ticks, self._ticks)
        self._ticks = ticks
        return self._now_us


class StandardConsole:
    """The port of the prompt, byte by byte: reading more at once would block. Implements ``port.Console``."""

    def __init__(self) -> None:
        self._in = select.poll()
        self._in.register(sys.stdin, select.POLLIN)
        self._out = select.poll()
        self._out.register(sys.stdout, select.POLLOUT)

    def read(self, most: int) -> bytes:
        """See Console."""
        data = bytearray()
        while len(data) < most and self._in.poll(0):
            data += sys.stdin.buffer.read(1)
        return bytes(data)

    def writable(self) -> bool:
        """See Console. A USB port that no host has open is not writable."""
        return bool(self._out.poll(0))

    def write(self, data: bytes) -> None:
        """See Console."""
        sys.stdout.buffer.write(data)


def wants_prompt() -> bool:
    """Return whether the last run ended with a request for the prompt, and clear the request."""
    try:
        os.remove(PROMPT)
    except OSError:
        # The file is usually missing.
        return False
    return True


def run(board: "Board") -> None:
    """Run the bridge on *board*, for ever."""
    if wants_prompt():
        return
    micropython.kbd_intr(-1)  # no character interrupts the program
    if board.power_bus is not None:
        scl, sda = board.power_bus
        switch_on_radio(machine.SoftI2C(machine.Pin(scl), machine.Pin(sda), freq=limits.I2C_HZ))
    program = Program(
        board=board,
        machine=machine,
        console=StandardConsole(),
        watchdog=machine.WDT(timeout=limits.WATCHDOG_MS),
        clock_us=Clock().now_us,
        sleep_us=utime.sleep_us,
        random_byte=lambda: random.getrandbits(8),
        started_by_watchdog=machine.reset_cause() == machine.WDT_RESET,
    )
    while program.turn():
        utime.sleep_ms(limits.TURN_MS)
    open(PROMPT, "w").close()
    machine.reset()
