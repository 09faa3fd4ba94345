"""When a process beside the daemon is to end: at a signal, and with the daemon that started it."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from typing import Final

_READ_SIZE: Final = 4_096
"""Bytes taken at a time of what nobody should write to us."""


def watch_for_the_end(end: Callable[[], None], *, supervised: bool) -> None:
    """Call *end* in the running loop at SIGTERM and SIGINT, and if we are *supervised* when standard input ends, which
    the daemon holds open as long as it lives."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    if not supervised:
        return
    source = sys.stdin.fileno()

    def read() -> None:
        if not os.read(source, _READ_SIZE):
            loop.remove_reader(source)
            end()

    loop.add_reader(source, read)
