"""The firmware on a microcontroller itself: MicroPython's modules, and the loop. Needs MicroPython 1.23 or newer.

The host's cable is the port that MicroPython's prompt is on. So that a frame cannot interrupt the program, Ctrl-C means
nothing while it runs; a host that sends a Return frame gets the prompt after a restart, until the next one.
"""

import os
import random
import select
import sys

import machine
import micropython
import utime

from firmware_bridge.firmware import limits
from firmware_bridge.firmware.power import feed_radio
from firmware_bridge.firmware.program import Program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from firmware_bridge.firmware.wiring import Board

PROMPT = "prompt"
"""A file of this name: the next start leads to the prompt."""
CTRL_C = 3
"""What interrupts a program at the prompt."""
NOTHING = -1
"""Said instead of a character: nothing interrupts."""


class Clock:
    """Microseconds since the start. MicroPython's own count begins anew every 18 minutes."""

    def __init__(self) -> None:
        self._ticks = utime.ticks_us()
        self._now_us = 0

    def now_us(self) -> int:
        """To be asked more often than every 8 minutes."""
        ticks = utime.ticks_us()
        self._now_us += utime.ticks_diff(ticks, self._ticks)
        self._ticks = ticks
        return self._now_us


class StandardConsole:
    """Implements ``port.Console`` over the port of the prompt, byte by byte: more at once would wait for more."""

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
        """See Console. A USB port that nobody has open is not."""
        return bool(self._out.poll(0))

    def write(self, data: bytes) -> None:
        """See Console."""
        sys.stdout.buffer.write(data)


def wants_prompt() -> bool:
    """Whether the last program ended with a wish for the prompt; it is granted once."""
    try:
        os.remove(PROMPT)
    except OSError:
        # There is no such file, which is the usual case.
        return False
    return True


def run(board: "Board") -> None:
    """Be a bridge on *board*, for ever."""
    if wants_prompt():
        return
    micropython.kbd_intr(NOTHING)
    if board.power_bus is not None:
        scl, sda = board.power_bus
        feed_radio(machine.SoftI2C(machine.Pin(scl), machine.Pin(sda), freq=limits.I2C_HZ))
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
