"""How a process beside the daemon ends: at a signal, with the daemon that started it, and what it tells it of why."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable
from typing import Final

from tinyssb_node import limits

TOLD_FD: Final = "TINYSSB_TOLD_FD"
"""Environment variable: the number of the pipe in which the daemon is told why."""
_READ_SIZE: Final = 4_096
"""Bytes taken at a time of what nobody should write to us."""


def watch_for_shutdown(end: Callable[[], None], *, supervised: bool) -> None:
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


def report_exit_reason(message: str, hint: str) -> None:
    """Tell the daemon that started us why we end: *message* says what happened, *hint* what to do about it.

    Nothing happens if none did.
    """
    number = os.environ.get(TOLD_FD, "")
    if not (number.isascii() and number.isdigit()):
        return
    told = "\n".join((" ".join(message.split()), hint)).encode(errors="replace")
    with contextlib.suppress(OSError):  # The daemon is gone: nobody asks.
        os.write(int(number), told[: limits.COMPANION_TOLD_MAX])
